/*
 * Slurm's way to write many hosts in few words: "n[01-04,07],login".
 *
 * Limit: ranges are made of the digits a name ends with; Slurm 22.05 knows no others.
 */
#ifndef PB_CLI_HOSTLIST_H
#define PB_CLI_HOSTLIST_H

#include <stddef.h>

#include "core/error.h"

/*
 * Folds hosts, in any order and each as often as it likes, into a list that
 * `scontrol show hostnames` unfolds to the same set. Leading zeros are kept: n1 and n01 are two
 * hosts. No host gives an empty list.
 *
 * text_out  free() it
 *
 * PB_INVALID: a name is none by pb_text_is_host(): Slurm or a shell would read it as something
 * else.
 */
enum pb_status pb_hostlist_fold(const char *const *hosts, size_t count, char **text_out,
                                struct pb_error *err);

#endif
