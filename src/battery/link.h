/* Private to the battery: transfers over a link, as the tests alone and together share them. */
#ifndef PB_BATTERY_LINK_H
#define PB_BATTERY_LINK_H

#include "battery/battery.h"
#include "battery/grid.h"

enum { PB_LINK_PEERS_MAX = 64, PB_LINK_BULK_BYTES = 64 << 20 };

/* The axes' labels; a place on them says what pb_link_host() makes. */
extern const char *const pb_link_directions[2]; /* to_device, from_device */
extern const char *const pb_link_memories[2];   /* pageable, pinned */

/* A transfer between host and device. */
struct pb_link pb_link_host(size_t direction, size_t memory, uint64_t bytes);

/* Makes link->repeats transfers; words that arrive wrong are counted in the message. */
enum pb_status pb_link_take(struct pb_session *session, const struct pb_link *link,
                            struct pb_recording *recording, struct pb_link_result *result_out,
                            struct pb_error *err);

/*
 * The node's other devices, *count_out of *peers_out, to be freed; those after this one in the list
 * of all come first. MIG instances are and have none. PB_UNSUPPORTED: there are none.
 */
enum pb_status pb_link_peers(struct pb_session *session, struct pb_device_entry **peers_out,
                             size_t *count_out, struct pb_error *err);

/*
 * The same for a test in which one GPU after the other measures while the rest are at rest: waits
 * until all have met, opens the ways to the peers, and waits for this GPU's turn.
 */
enum pb_status pb_link_await_peers(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_device_entry **peers_out, size_t *count_out,
                                   struct pb_error *err);

/* Sets an axis to the peers; labels_out[PB_LINK_PEERS_MAX] has to stay. */
struct pb_grid_axis pb_link_peer_axis(const struct pb_device_entry *peers, size_t count,
                                      const char **labels_out);

/* Opens the matrix peer × quantity. */
enum pb_status pb_link_open_grid(const struct pb_device_entry *peers, size_t count,
                                 const struct pb_grid_axis *quantities, const char *unit,
                                 const char *description, struct pb_matrix *matrix,
                                 struct pb_error *err);

#endif
