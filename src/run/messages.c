/*
 * The messages of frames and the orders to a probe, as JSON; see messages.h.
 *
 * Each structure has a table of its members; one encoder and one decoder go through all of them.
 */
#include "run/messages.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* One member: its JSON key, its type, and where it lies. */
struct member {
    const char *name;
    enum { MEMBER_TEXT, MEMBER_WHOLE, MEMBER_LATER, MEMBER_REAL, MEMBER_LIST } type;
    size_t offset, size;
    /* Of a list: offset is of the pointer, size of one element. */
    size_t count_offset;
    const struct member *elements;
};

#define PLAIN(structure, field, type)                                                              \
    {                                                                                              \
#field, type, offsetof(struct structure, field), sizeof(((struct structure *)0)->field),   \
            0, NULL                                                                                \
    }
#define TEXT(structure, field)  PLAIN(structure, field, MEMBER_TEXT)
#define WHOLE(structure, field) PLAIN(structure, field, MEMBER_WHOLE)
/* A whole number that older messages lack: 0 there. */
#define LATER(structure, field) PLAIN(structure, field, MEMBER_LATER)
#define REAL(structure, field)  PLAIN(structure, field, MEMBER_REAL)
#define LIST(structure, field, count, elements)                                                    \
    {                                                                                              \
#field, MEMBER_LIST, offsetof(struct structure, field),                                    \
            sizeof(*((struct structure *)0)->field), offsetof(struct structure, count), elements   \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, MEMBER_TEXT, 0, 0, 0, NULL                                                           \
    }

/* clang-format off */
static const struct member spec_members[] = {
    TEXT(pb_test_spec, name), TEXT(pb_test_spec, unit), TEXT(pb_test_spec, method),
    LATER(pb_test_spec, concurrent_devices), LATER(pb_test_spec, link_use), END};

static const struct member entry_members[] = {
    TEXT(pb_device_entry, uuid), TEXT(pb_device_entry, pci_bus_id), TEXT(pb_device_entry, model),
    END};

static const struct member hello_members[] = {
    TEXT(pb_hello, backend), LIST(pb_hello, devices, device_count, entry_members),
    LIST(pb_hello, tests.specs, tests.count, spec_members), END};

static const struct member opened_members[] = {
    TEXT(pb_opened, uuid), TEXT(pb_opened, pci_bus_id), TEXT(pb_opened, model),
    TEXT(pb_opened, host), WHOLE(pb_opened, slot), WHOLE(pb_opened, fleet_size), END};

static const struct member refusal_members[] = {
    WHOLE(pb_refusal, status), TEXT(pb_refusal, message), TEXT(pb_refusal, host),
    WHOLE(pb_refusal, slot), END};

static const struct member test_members[] = {
    TEXT(pb_test_report, key), TEXT(pb_test_report, uuid), TEXT(pb_test_report, test),
    TEXT(pb_test_report, outcome), REAL(pb_test_report, seconds), TEXT(pb_test_report, message),
    WHOLE(pb_test_report, test_count), LATER(pb_test_report, concurrent_devices), END};

static const struct member ready_members[] = {
    TEXT(pb_ready, test), WHOLE(pb_ready, step), END};

static const struct member plan_members[] = {
    TEXT(pb_plan, run.tool_version), TEXT(pb_plan, run.run_id), TEXT(pb_plan, run.created),
    TEXT(pb_plan, run.command_line), WHOLE(pb_plan, member.rank), TEXT(pb_plan, member.host),
    WHOLE(pb_plan, member.slot), TEXT(pb_plan, member.key), TEXT(pb_plan, member.uuid),
    TEXT(pb_plan, member.pci_bus_id), TEXT(pb_plan, member.model), WHOLE(pb_plan, rank_count),
    LIST(pb_plan, tests.specs, tests.count, spec_members), END};

static const struct member sealed_members[] = {
    TEXT(pb_sealed_file, name), WHOLE(pb_sealed_file, bytes), END};

static const struct member seal_members[] = {
    LIST(pb_seal, files, count, sealed_members), END};

static const struct member order_members[] = {
    WHOLE(pb_probe_order, kind), TEXT(pb_probe_order, selector), WHOLE(pb_probe_order, rank), TEXT(pb_probe_order, key),
    LIST(pb_probe_order, tests.specs, tests.count, spec_members), WHOLE(pb_probe_order, count), END};
/* clang-format on */

/* A JSON string of any text: bytes that are no UTF-8 become '?'. */
static json_t *text_json(const char *text)
{
    json_t *string = json_string(text);
    char *plain;

    if (string != NULL)
        return string;
    plain = strdup(text);
    if (plain == NULL)
        return NULL;
    for (char *at = plain; *at != '\0'; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    string = json_string(plain);
    free(plain);
    return string;
}

static json_t *encode(const struct member *members, const void *structure)
{
    json_t *object = json_object();

    for (const struct member *member = members; member->name != NULL; member++) {
        const char *at = (const char *)structure + member->offset;
        json_t *value = NULL;

        if (member->type == MEMBER_TEXT) {
            value = text_json(at);
        } else if (member->type == MEMBER_WHOLE || member->type == MEMBER_LATER) {
            value = json_integer(*(const int64_t *)at);
        } else if (member->type == MEMBER_REAL) {
            double real;

            memcpy(&real, at, sizeof(real));
            value = json_real(real);
        } else {
            const char *array;
            size_t count;

            memcpy(&array, at, sizeof(array));
            memcpy(&count, (const char *)structure + member->count_offset, sizeof(count));
            value = json_array();
            for (size_t i = 0; i < count; i++)
                json_array_append_new(value, encode(member->elements, array + i * member->size));
        }
        json_object_set_new(object, member->name, value);
    }
    return object;
}

static enum pb_status decode(const json_t *object, const char *what, const struct member *members,
                             void *structure, struct pb_error *err);

/* Sets a list's pointer and count; the elements belong to the structure even when this fails. */
static enum pb_status decode_list(const json_t *json, const char *what, const struct member *member,
                                  void *structure, struct pb_error *err)
{
    size_t count = json_array_size(json);
    char *array = calloc(count + 1, member->size);
    enum pb_status status = PB_OK;

    if (array == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %zu %s", what, count,
                       member->name);
    memcpy((char *)structure + member->offset, &array, sizeof(array));
    memcpy((char *)structure + member->count_offset, &count, sizeof(count));
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status =
            decode(json_array_get(json, i), what, member->elements, array + i * member->size, err);
    return status;
}

/* Sets every member from an object; a wrong or missing one is named. */
static enum pb_status decode(const json_t *object, const char *what, const struct member *members,
                             void *structure, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (const struct member *member = members; member->name != NULL && status == PB_OK; member++) {
        const json_t *value = json_object_get(object, member->name);
        char *at = (char *)structure + member->offset;
        double real = json_number_value(value);

        if (member->type == MEMBER_LATER && value == NULL)
            continue;
        if (member->type == MEMBER_TEXT && json_is_string(value))
            pb_text_copy(at, member->size, json_string_value(value));
        else if ((member->type == MEMBER_WHOLE || member->type == MEMBER_LATER) &&
                 json_is_integer(value))
            *(int64_t *)at = json_integer_value(value);
        else if (member->type == MEMBER_REAL && json_is_number(value))
            memcpy(at, &real, sizeof(real));
        else if (member->type == MEMBER_LIST && json_is_array(value))
            status = decode_list(value, what, member, structure, err);
        else
            status = pb_fail(err, PB_CORRUPT, "%s: \"%s\" is %s", what, member->name,
                             value == NULL ? "missing" : "of the wrong type");
    }
    return status;
}

static char *write_message(const struct member *members, const void *structure)
{
    json_t *object = encode(members, structure);
    char *text = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    return text;
}

/* Reads into a structure that starts as all zero; the caller clears it, whatever the status. */
static enum pb_status read_message(const char *message, const char *what,
                                   const struct member *members, void *structure,
                                   struct pb_error *err)
{
    json_error_t error;
    json_t *root;
    enum pb_status status;

    if (message == NULL)
        return pb_fail(err, PB_CORRUPT, "%s: expected a message, found none", what);
    root = json_loads(message, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return pb_fail(err, PB_CORRUPT, "%s: %s", what, error.text);
    status = decode(root, what, members, structure, err);
    json_decref(root);
    return status;
}

/* ---- the messages ---- */

char *pb_message_hello(const struct pb_hello *hello)
{
    return write_message(hello_members, hello);
}

enum pb_status pb_message_read_hello(const char *message, struct pb_hello *hello_out,
                                     struct pb_error *err)
{
    struct pb_hello hello = {.backend = ""};
    enum pb_status status = read_message(message, "HELLO", hello_members, &hello, err);

    if (status == PB_OK)
        *hello_out = hello;
    else
        pb_hello_clear(&hello);
    return status;
}

void pb_hello_clear(struct pb_hello *hello)
{
    if (hello == NULL)
        return;
    free(hello->devices);
    free(hello->tests.specs);
    memset(hello, 0, sizeof(*hello));
}

char *pb_message_opened(const struct pb_opened *opened)
{
    return write_message(opened_members, opened);
}

enum pb_status pb_message_read_opened(const char *message, struct pb_opened *opened_out,
                                      struct pb_error *err)
{
    struct pb_opened opened = {.uuid = ""};
    enum pb_status status = read_message(message, "OPENED", opened_members, &opened, err);

    if (status == PB_OK)
        *opened_out = opened;
    return status;
}

char *pb_message_refusal(const struct pb_refusal *refusal)
{
    return write_message(refusal_members, refusal);
}

enum pb_status pb_message_read_refusal(const char *message, struct pb_refusal *refusal_out,
                                       struct pb_error *err)
{
    struct pb_refusal refusal = {.status = PB_OK};
    enum pb_status status = read_message(message, "REFUSED", refusal_members, &refusal, err);

    if (status != PB_OK)
        return status;
    if (refusal.status <= PB_OK || refusal.status > PB_CORRUPT)
        return pb_fail(err, PB_CORRUPT, "REFUSED: status %lld is unknown",
                       (long long)refusal.status);
    *refusal_out = refusal;
    return PB_OK;
}

char *pb_message_test(const struct pb_test_report *report)
{
    return write_message(test_members, report);
}

struct pb_test_end pb_message_end(const struct pb_test_report *report)
{
    return (struct pb_test_end){pb_outcome_parse(report->outcome), report->concurrent_devices};
}

enum pb_status pb_message_read_test(const char *message, struct pb_test_report *report_out,
                                    struct pb_error *err)
{
    struct pb_test_report test = {.key = ""};
    enum pb_status status = read_message(message, "TEST", test_members, &test, err);

    if (status == PB_OK)
        *report_out = test;
    return status;
}

char *pb_message_ready(const struct pb_ready *ready)
{
    return write_message(ready_members, ready);
}

enum pb_status pb_message_read_ready(const char *message, struct pb_ready *ready_out,
                                     struct pb_error *err)
{
    struct pb_ready ready = {.test = ""};
    enum pb_status status = read_message(message, "READY", ready_members, &ready, err);

    if (status == PB_OK && (ready.step < 0 || ready.step > PB_STEP_EXCLUSIVE))
        status = pb_fail(err, PB_CORRUPT, "READY: expected a step of 0 to %d, found %lld",
                         PB_STEP_EXCLUSIVE, (long long)ready.step);
    if (status == PB_OK)
        *ready_out = ready;
    return status;
}

char *pb_message_plan(const struct pb_plan *plan)
{
    return write_message(plan_members, plan);
}

enum pb_status pb_message_read_plan(const char *message, struct pb_plan *plan_out,
                                    struct pb_error *err)
{
    struct pb_plan plan = {.rank_count = 0};
    enum pb_status status = read_message(message, "PLAN", plan_members, &plan, err);

    if (status == PB_OK && (plan.member.rank < 0 || plan.rank_count <= plan.member.rank))
        status = pb_fail(err, PB_CORRUPT, "PLAN: rank %lld of %lld", (long long)plan.member.rank,
                         (long long)plan.rank_count);
    if (status == PB_OK)
        *plan_out = plan;
    else
        pb_plan_clear(&plan);
    return status;
}

void pb_plan_clear(struct pb_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->tests.specs);
    memset(plan, 0, sizeof(*plan));
}

char *pb_message_seal(const struct pb_seal *seal)
{
    return write_message(seal_members, seal);
}

enum pb_status pb_message_read_seal(const char *message, struct pb_seal *seal_out,
                                    struct pb_error *err)
{
    struct pb_seal seal = {NULL, 0};
    enum pb_status status = read_message(message, "SEAL", seal_members, &seal, err);

    if (status == PB_OK)
        *seal_out = seal;
    else
        pb_seal_clear(&seal);
    return status;
}

void pb_seal_clear(struct pb_seal *seal)
{
    if (seal == NULL)
        return;
    free(seal->files);
    memset(seal, 0, sizeof(*seal));
}

char *pb_message_order(const struct pb_probe_order *order)
{
    return write_message(order_members, order);
}

enum pb_status pb_message_read_order(const char *message, struct pb_probe_order *order_out,
                                     struct pb_error *err)
{
    struct pb_probe_order order = {.kind = PB_ORDER_OPEN};
    enum pb_status status = read_message(message, "order", order_members, &order, err);

    if (status == PB_OK && (order.kind < PB_ORDER_OPEN || order.kind > PB_ORDER_LINKS))
        status = pb_fail(err, PB_CORRUPT, "order: kind %lld is unknown", (long long)order.kind);
    if (status == PB_OK)
        *order_out = order;
    else
        pb_probe_order_clear(&order);
    return status;
}

void pb_probe_order_clear(struct pb_probe_order *order)
{
    if (order == NULL)
        return;
    free(order->tests.specs);
    memset(order, 0, sizeof(*order));
}
