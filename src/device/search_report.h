/* Why no GPU was found: the driver, device files and container that a GPU would need. */
#ifndef PB_DEVICE_SEARCH_REPORT_H
#define PB_DEVICE_SEARCH_REPORT_H

#include <stddef.h>

/*
 * One sentence that lists what was looked for and what was there: the kernel driver, its device
 * files, the environment that restricts devices, and whether this is a container.
 *
 * root   prefix of every path, "" for this machine
 * text   cut where it does not fit
 */
void pb_gpu_search_report(const char *root, char *text, size_t size);

#endif
