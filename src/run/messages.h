/*
 * The messages of frames and the orders to a probe: small JSON objects and the structures behind
 * them.
 *
 * Encoders return a string to be freed, or NULL when memory is short. Decoders refuse with
 * PB_CORRUPT what is not such a message, and change their output only on success. Text that is not
 * UTF-8 loses those bytes to '?': a message must never cost a result.
 */
#ifndef PB_RUN_MESSAGES_H
#define PB_RUN_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record.h"
#include "device/device.h"
#include "h5schema/rows.h"

/* What is known of a test before it runs: enough to record that it never did. */
struct pb_test_spec {
    char name[PB_NAME_LENGTH];
    char unit[PB_NAME_LENGTH];
    char method[PB_TEXT_LENGTH];
    /* Of a test that all devices of a node run at the same time: their number; in a HELLO, which
       does not know it, 1. 0: another test. */
    int64_t concurrent_devices;
    int64_t link_use; /* enum pb_link_use: what it requires of the node's other devices */
};

struct pb_test_list {
    struct pb_test_spec *specs;
    size_t count;
};

/* HELLO: what this probe can open and will run. Owns its arrays. */
struct pb_hello {
    char backend[PB_NAME_LENGTH];
    struct pb_device_entry *devices;
    size_t device_count;
    struct pb_test_list tests;
};

/* OPENED: who the device is. */
struct pb_opened {
    char uuid[PB_TEXT_LENGTH];
    char pci_bus_id[PB_NAME_LENGTH];
    char model[PB_TEXT_LENGTH];
    char host[PB_KEY_LENGTH]; /* the node of a simulated fleet; empty: this one */
    int64_t slot;             /* -1: not known */
    int64_t fleet_size;       /* devices of the simulated fleet; 0: no such fleet */
};

/* REFUSED: why an order could not be done. */
struct pb_refusal {
    int64_t status; /* enum pb_status, never PB_OK */
    char message[PB_ERROR_LENGTH];
    char host[PB_KEY_LENGTH]; /* the node of a simulated fleet that has no such device … */
    int64_t slot;             /* … in this slot; empty: this one, and the slot is not known */
};

/*
 * DEVICE, START, TEST and MEMBER: what they are about. Only a TEST has everything; the outcome of a
 * MEMBER is its status, the message of a DEVICE its model.
 */
struct pb_test_report {
    char key[PB_KEY_LENGTH];
    char uuid[PB_TEXT_LENGTH];
    char test[PB_NAME_LENGTH];
    char outcome[PB_NAME_LENGTH]; /* pb_outcome_name(), pb_member_status_name() */
    double seconds;
    char message[PB_MESSAGE_LENGTH];
    int64_t test_count;         /* of a DEVICE: tests that follow */
    int64_t concurrent_devices; /* of a TEST; see struct pb_test_end */
};

/* The last step of a test: the links for itself until the test is over. Before it: barriers. */
enum { PB_STEP_EXCLUSIVE = 999 };

/* READY: the step for which a probe waits, until a GO or LINKS order answers. */
struct pb_ready {
    char test[PB_NAME_LENGTH];
    int64_t step; /* 0, 1, …: a barrier of `test`; PB_STEP_EXCLUSIVE */
};

/* PLAN: whose spool this is, and what it ought to hold in the end. Owns tests. */
struct pb_plan {
    struct pb_run run;
    struct pb_member member; /* rank, host and the device; status and counts are empty */
    int64_t rank_count;
    struct pb_test_list tests;
};

/* SEAL: of a file that an earlier run has left, only so much counts: it may still be written. */
struct pb_sealed_file {
    char name[PB_TEXT_LENGTH]; /* in the same folder */
    int64_t bytes;
};

/* Owns files. */
struct pb_seal {
    struct pb_sealed_file *files;
    size_t count;
};

enum pb_probe_order_kind {
    PB_ORDER_OPEN,
    PB_ORDER_RUN,
    PB_ORDER_GO,    /* the step that a READY named begins */
    PB_ORDER_LINKS, /* the host link is this device's, for its exclusive tests */
};

/* An order to the probe: one line of JSON. Owns tests. */
struct pb_probe_order {
    int64_t kind;                  /* enum pb_probe_order_kind */
    char selector[PB_TEXT_LENGTH]; /* open: index, UUID or PCI bus id; empty: the first */
    int64_t rank;                  /* open: the device of the simulated fleet that is meant */
    char key[PB_KEY_LENGTH];       /* run */
    struct pb_test_list tests;     /* run */
    int64_t count;                 /* go: devices that begin now; 0: they were there before */
};

/* How the test of a TEST ended. */
struct pb_test_end pb_message_end(const struct pb_test_report *report);

char *pb_message_hello(const struct pb_hello *hello);
char *pb_message_opened(const struct pb_opened *opened);
char *pb_message_refusal(const struct pb_refusal *refusal);
char *pb_message_test(const struct pb_test_report *report);
char *pb_message_ready(const struct pb_ready *ready);
char *pb_message_plan(const struct pb_plan *plan);
char *pb_message_seal(const struct pb_seal *seal);
char *pb_message_order(const struct pb_probe_order *order);

enum pb_status pb_message_read_hello(const char *message, struct pb_hello *hello_out,
                                     struct pb_error *err);
enum pb_status pb_message_read_opened(const char *message, struct pb_opened *opened_out,
                                      struct pb_error *err);
enum pb_status pb_message_read_refusal(const char *message, struct pb_refusal *refusal_out,
                                       struct pb_error *err);
enum pb_status pb_message_read_test(const char *message, struct pb_test_report *report_out,
                                    struct pb_error *err);
enum pb_status pb_message_read_ready(const char *message, struct pb_ready *ready_out,
                                     struct pb_error *err);
enum pb_status pb_message_read_plan(const char *message, struct pb_plan *plan_out,
                                    struct pb_error *err);
enum pb_status pb_message_read_seal(const char *message, struct pb_seal *seal_out,
                                    struct pb_error *err);
enum pb_status pb_message_read_order(const char *message, struct pb_probe_order *order_out,
                                     struct pb_error *err);

/* Frees what they own; NULL is allowed. */
void pb_hello_clear(struct pb_hello *hello);
void pb_plan_clear(struct pb_plan *plan);
void pb_seal_clear(struct pb_seal *seal);
void pb_probe_order_clear(struct pb_probe_order *order);

#endif
