/*
 * Inventory: which devices are there, against the baseline. Missing, new, moved, swapped, replaced;
 * one UUID in two places; and a baseline that is this very measurement.
 *
 * What a host should have is what the latest run of the baseline that covers the host had there.
 * A run of less than half of the baseline's hosts is a partial one on purpose: the hosts that it
 * leaves out are listed, and are no anomaly; so is a run of one device on a node of several.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/baseline.h"
#include "analysis/verdict/judge.h"

/* Where each device stood last: rows of the baseline, of which only the latest of a UUID counts. */
struct inventory {
    struct pb_verdict *verdict;
    const struct pb_features *now, *base;
    struct pb_uuids now_uuids;
    double *run_seconds; /* by run of the baseline */
    size_t *last;        /* [last_count] latest row of each UUID of the baseline */
    size_t last_count;
    size_t *members; /* scratch of the present run's devices, … */
    size_t *moved;   /* … and of one host's that moved together */
};

static bool is_at(const struct pb_feature_row *a, const struct pb_feature_row *b)
{
    return strcmp(a->host, b->host) == 0 && a->slot == b->slot;
}

static bool has_device(const struct pb_feature_row *device)
{
    return device->info.uuid[0] != '\0' && strcmp(device->status, "duplicate") != 0;
}

/* When each run of the baseline was measured: the latest of its devices. */
static enum pb_status time_runs(struct inventory *inventory)
{
    const struct pb_features *base = inventory->base;
    size_t runs = 0;

    for (size_t i = 0; i < base->device_count; i++)
        runs = base->devices[i].run >= runs ? base->devices[i].run + 1 : runs;
    inventory->run_seconds = calloc(runs + 1, sizeof(*inventory->run_seconds));
    if (inventory->run_seconds == NULL)
        return pb_fail(inventory->verdict->err, PB_NO_MEMORY, "out of memory for %zu runs", runs);
    for (size_t i = 0; i < base->device_count; i++) {
        double *seconds = &inventory->run_seconds[base->devices[i].run];

        *seconds = fmax(*seconds, base->devices[i].measured_seconds);
    }
    return PB_OK;
}

/* Is row a of a later run than row b? Without times the order of the files counts. */
static bool is_later(const struct inventory *inventory, size_t a, size_t b)
{
    size_t run_a = inventory->base->devices[a].run, run_b = inventory->base->devices[b].run;
    double time_a = inventory->run_seconds[run_a], time_b = inventory->run_seconds[run_b];

    return time_a != time_b ? time_a > time_b : run_a > run_b;
}

/* Has the baseline a later run of this row's host, in which the device was not? */
static bool is_outdated(const struct inventory *inventory, size_t row)
{
    const struct pb_features *base = inventory->base;

    for (size_t i = 0; i < base->device_count; i++)
        if (strcmp(base->devices[i].host, base->devices[row].host) == 0 &&
            is_later(inventory, i, row))
            return true;
    return false;
}

static enum pb_status find_last(struct inventory *inventory)
{
    const struct pb_features *base = inventory->base;
    struct pb_uuids uuids = {0};
    enum pb_status status = pb_uuids_make(base, &uuids, inventory->verdict->err);

    for (size_t first = 0, end; status == PB_OK && first < uuids.count; first = end) {
        size_t last = uuids.items[first].device;

        pb_uuids_range(&uuids, uuids.items[first].text, &first, &end);
        for (size_t i = first; i < end; i++)
            if (is_later(inventory, uuids.items[i].device, last))
                last = uuids.items[i].device;
        if (has_device(&base->devices[last]) && !is_outdated(inventory, last))
            inventory->last[inventory->last_count++] = last;
    }
    pb_uuids_clear(&uuids);
    return status;
}

/* The row of the baseline that has this UUID; NULL: none. */
static const struct pb_feature_row *known(const struct inventory *inventory, const char *uuid)
{
    for (size_t i = 0; i < inventory->last_count; i++)
        if (strcmp(inventory->base->devices[inventory->last[i]].info.uuid, uuid) == 0)
            return &inventory->base->devices[inventory->last[i]];
    return NULL;
}

static const struct pb_feature_row *known_at(const struct inventory *inventory,
                                             const struct pb_feature_row *place)
{
    for (size_t i = 0; i < inventory->last_count; i++)
        if (is_at(&inventory->base->devices[inventory->last[i]], place))
            return &inventory->base->devices[inventory->last[i]];
    return NULL;
}

/* The device of this run at a place; device_count: none. */
static size_t now_at(const struct inventory *inventory, const struct pb_feature_row *place)
{
    size_t i = 0;

    while (i < inventory->now->device_count &&
           (!has_device(&inventory->now->devices[i]) || !is_at(&inventory->now->devices[i], place)))
        i++;
    return i;
}

static bool host_is_in(const struct pb_features *features, const char *host)
{
    for (size_t i = 0; i < features->device_count; i++)
        if (strcmp(features->devices[i].host, host) == 0)
            return true;
    return false;
}

static struct pb_finding begin(enum pb_severity severity, enum pb_level level, const char *cause,
                               const char *advice)
{
    struct pb_finding finding = pb_finding_blank(severity, level);

    PB_TEXT_SET(finding.cause, cause);
    PB_TEXT_SET(finding.advice, advice);
    PB_TEXT_SET(finding.evidence, "UUIDs, hosts and slots of this run and of the baseline");
    return finding;
}

/* ---- devices of this run ---- */

static enum pb_status add_moved(struct inventory *inventory, size_t at,
                                const struct pb_feature_row *before)
{
    const struct pb_feature_row *device = &inventory->now->devices[at];
    size_t other = now_at(inventory, before);
    const struct pb_feature_row *was =
        other < inventory->now->device_count
            ? known(inventory, inventory->now->devices[other].info.uuid)
            : NULL;
    bool is_swap = was != NULL && is_at(was, device);
    struct pb_finding finding =
        begin(PB_SEVERITY_WARNING, PB_LEVEL_DEVICE, is_swap ? "devices_swapped" : "device_moved",
              "compare with the maintenance log; update the baseline when it was meant");
    size_t pair[2] = {at, other};
    struct pb_members members = {pair, 2};

    pb_finding_place(device, &finding);
    if (!is_swap) {
        snprintf(finding.summary, sizeof(finding.summary), "%.64s was %.96s in the baseline",
                 device->info.uuid, before->key);
        return pb_verdict_add_device(inventory->verdict, &finding, at);
    }
    if (other < at)
        return PB_OK; /* found from the other side */
    snprintf(finding.summary, sizeof(finding.summary), "%.96s and %.96s have changed places",
             device->key, before->key);
    return pb_verdict_add(inventory->verdict, &finding, &members, NULL);
}

/* Was every device of this one's host in the same slot of one other host? Its members, if so. */
static size_t list_renamed(const struct inventory *inventory, size_t at)
{
    const struct pb_feature_row *device = &inventory->now->devices[at];
    const struct pb_feature_row *first = known(inventory, device->info.uuid);
    size_t count = 0;

    for (size_t i = 0; i < inventory->now->device_count; i++) {
        const struct pb_feature_row *other = &inventory->now->devices[i], *before;

        if (!has_device(other) || strcmp(other->host, device->host) != 0)
            continue;
        before = known(inventory, other->info.uuid);
        if (before == NULL || before->slot != other->slot || strcmp(before->host, first->host) != 0)
            return 0;
        inventory->moved[count++] = i;
    }
    return count;
}

/* One finding for a host whose devices have all moved together: it has another name, or other
   boards. */
static enum pb_status add_renamed(struct inventory *inventory, size_t count)
{
    const struct pb_feature_row *device = &inventory->now->devices[inventory->moved[0]];
    struct pb_members members = {inventory->moved, count};
    struct pb_finding finding =
        begin(PB_SEVERITY_WARNING, PB_LEVEL_NODE, "device_moved",
              "compare with the maintenance log; update the baseline when it was meant");

    PB_TEXT_SET(finding.place, device->host);
    PB_TEXT_SET(finding.host, device->host);
    PB_TEXT_SET(finding.model, device->info.model);
    snprintf(finding.summary, sizeof(finding.summary),
             "all %zu devices were in the same slots of %.96s in the baseline", count,
             known(inventory, device->info.uuid)->host);
    return pb_verdict_add(inventory->verdict, &finding, &members, NULL);
}

static enum pb_status judge_moved(struct inventory *inventory, size_t at,
                                  const struct pb_feature_row *before)
{
    size_t renamed = list_renamed(inventory, at);

    if (renamed < 2)
        return add_moved(inventory, at, before);
    return at == inventory->moved[0] ? add_renamed(inventory, renamed) : PB_OK;
}

static enum pb_status add_replaced(struct inventory *inventory, size_t at,
                                   const struct pb_feature_row *before)
{
    struct pb_finding finding =
        begin(PB_SEVERITY_WARNING, PB_LEVEL_DEVICE, "device_replaced",
              "compare with the maintenance log; update the baseline when it was meant");

    pb_finding_place(&inventory->now->devices[at], &finding);
    snprintf(finding.summary, sizeof(finding.summary),
             "%.64s stands where the baseline had %.64s, which is not in this run",
             inventory->now->devices[at].info.uuid, before->info.uuid);
    return pb_verdict_add_device(inventory->verdict, &finding, at);
}

static enum pb_status add_new(struct inventory *inventory, size_t count)
{
    struct pb_finding finding = begin(PB_SEVERITY_OK, PB_LEVEL_FLEET, "device_new",
                                      "add the run to the baseline when it is healthy");
    struct pb_members members = {inventory->members, count};

    if (count == 0)
        return PB_OK;
    PB_TEXT_SET(finding.place, "inventory");
    snprintf(finding.summary, sizeof(finding.summary),
             "%zu devices are not in the baseline: they have no history", count);
    return pb_verdict_add(inventory->verdict, &finding, &members, NULL);
}

static enum pb_status judge_present(struct inventory *inventory)
{
    enum pb_status status = PB_OK;
    size_t new_count = 0;

    for (size_t i = 0; i < inventory->now->device_count && status == PB_OK; i++) {
        const struct pb_feature_row *device = &inventory->now->devices[i];
        const struct pb_feature_row *before, *there;

        if (!has_device(device))
            continue;
        before = known(inventory, device->info.uuid);
        there = known_at(inventory, device);
        if (before != NULL && !is_at(before, device))
            status = judge_moved(inventory, i, before);
        else if (before == NULL && there != NULL &&
                 !pb_uuids_have(&inventory->now_uuids, there->info.uuid))
            status = add_replaced(inventory, i, there);
        else if (before == NULL)
            inventory->members[new_count++] = i;
    }
    return status == PB_OK ? add_new(inventory, new_count) : status;
}

/* ---- devices and nodes that this run lacks ---- */

/* Is the place taken by another device, or has a rank there a status that says why? */
static bool is_explained(const struct inventory *inventory, const struct pb_feature_row *missing)
{
    for (size_t i = 0; i < inventory->now->device_count; i++) {
        const struct pb_feature_row *device = &inventory->now->devices[i];

        if (strcmp(device->host, missing->host) == 0 &&
            (device->slot == missing->slot ||
             (device->slot < 0 && strcmp(device->status, "ok") != 0)))
            return true;
    }
    return false;
}

/* Does this run lack the device, on a host that it measured? */
static bool is_missing(const struct inventory *inventory, const struct pb_feature_row *device)
{
    return host_is_in(inventory->now, device->host) &&
           !pb_uuids_have(&inventory->now_uuids, device->info.uuid) &&
           !is_explained(inventory, device);
}

/* One finding for a host: " gpu1 GPU-…" for each device that it lacks. */
static enum pb_status add_missing(struct inventory *inventory, size_t first)
{
    const struct pb_feature_row *place = &inventory->base->devices[inventory->last[first]];
    struct pb_finding finding =
        begin(PB_SEVERITY_WARNING, PB_LEVEL_NODE, "device_missing",
              "compare lspci and nvidia-smi -L with what the node should have");
    size_t count = 0, length;

    PB_TEXT_SET(finding.place, place->host);
    PB_TEXT_SET(finding.host, place->host);
    PB_TEXT_SET(finding.model, place->info.model);
    if (inventory->now->device_count == 1)
        finding.severity = PB_SEVERITY_OK;
    PB_TEXT_SET(finding.summary, "the baseline has devices here that this run lacks:");
    for (size_t i = first; i < inventory->last_count; i++) {
        const struct pb_feature_row *device = &inventory->base->devices[inventory->last[i]];

        if (strcmp(device->host, place->host) != 0 || !is_missing(inventory, device))
            continue;
        length = strlen(finding.summary);
        snprintf(finding.summary + length, sizeof(finding.summary) - length, "%s %.80s (%.48s)",
                 count++ == 0 ? "" : ",", device->key, device->info.uuid);
    }
    return count == 0 ? PB_OK : pb_verdict_add(inventory->verdict, &finding, NULL, NULL);
}

/* Is this the first row of its host among the devices of the baseline? */
static bool is_first_of_host(const struct inventory *inventory, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(inventory->base->devices[inventory->last[i]].host,
                   inventory->base->devices[inventory->last[at]].host) == 0)
            return false;
    return true;
}

static enum pb_status judge_missing(struct inventory *inventory)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < inventory->last_count && status == PB_OK; i++)
        if (is_first_of_host(inventory, i))
            status = add_missing(inventory, i);
    return status;
}

static enum pb_status judge_nodes(struct inventory *inventory)
{
    struct pb_finding finding =
        begin(PB_SEVERITY_WARNING, PB_LEVEL_FLEET, "node_missing",
              "find out why these nodes were not measured; drop them from the baseline when they "
              "are gone for good");
    size_t hosts = 0, missing = 0, length = 0;
    char names[PB_MESSAGE_LENGTH / 2] = "";

    for (size_t i = 0; i < inventory->last_count; i++) {
        const char *host = inventory->base->devices[inventory->last[i]].host;

        if (!is_first_of_host(inventory, i))
            continue;
        hosts++;
        if (host_is_in(inventory->now, host))
            continue;
        missing++;
        if (length + strlen(host) + 8 < sizeof(names))
            length += (size_t)snprintf(names + length, sizeof(names) - length, " %s", host);
        else if (length > 0 && names[length - 1] != '.')
            length += (size_t)snprintf(names + length, sizeof(names) - length, " ...");
    }
    if (missing == 0)
        return PB_OK;
    PB_TEXT_SET(finding.place, "inventory");
    if (2 * missing > hosts)
        finding.severity = PB_SEVERITY_OK;
    snprintf(finding.summary, sizeof(finding.summary),
             "%zu of the baseline's %zu nodes are not in this run%s:%s", missing, hosts,
             2 * missing > hosts ? ", which covers less than half of them" : "", names);
    return pb_verdict_add(inventory->verdict, &finding, NULL, NULL);
}

/* ---- one UUID twice, and a baseline that is this measurement ---- */

static enum pb_status judge_duplicates(struct pb_verdict *verdict, const struct pb_uuids *uuids,
                                       size_t *members)
{
    enum pb_status status = PB_OK;

    for (size_t first = 0, end; first < uuids->count && status == PB_OK; first = end) {
        struct pb_finding finding = begin(
            PB_SEVERITY_WARNING, PB_LEVEL_DEVICE, "duplicate_uuid",
            "find out which is right: the same device measured twice, or files joined wrongly");
        struct pb_members pair = {members, 0};

        pb_uuids_range(uuids, uuids->items[first].text, &first, &end);
        for (size_t i = first; i < end; i++)
            if (has_device(&verdict->features->devices[uuids->items[i].device]))
                members[pair.count++] = uuids->items[i].device;
        if (pair.count < 2)
            continue;
        pb_finding_place(&verdict->features->devices[members[0]], &finding);
        PB_TEXT_SET(finding.evidence, "UUIDs of this run");
        snprintf(finding.summary, sizeof(finding.summary),
                 "%zu devices of this run have the UUID %.64s; only the first is compared",
                 pair.count, uuids->items[first].text);
        status = pb_verdict_add(verdict, &finding, &pair, NULL);
    }
    return status;
}

static enum pb_status judge_copies(struct pb_verdict *verdict, size_t *members)
{
    struct pb_finding finding =
        begin(PB_SEVERITY_UNKNOWN, PB_LEVEL_FLEET, "self_baseline",
              "compare with an earlier run; of a baseline that grows, judge before it is added");
    struct pb_members copies = {members, 0};

    for (size_t i = 0; i < verdict->features->device_count; i++)
        if (verdict->features->devices[i].is_own_baseline)
            members[copies.count++] = i;
    if (copies.count == 0)
        return PB_OK;
    PB_TEXT_SET(finding.place, "baseline");
    PB_TEXT_SET(finding.evidence, "the time at which the baseline's devices were measured");
    snprintf(finding.summary, sizeof(finding.summary),
             "of %zu devices the baseline holds this very measurement; it was left out, since a "
             "device never differs from itself",
             copies.count);
    return pb_verdict_add(verdict, &finding, &copies, NULL);
}

static enum pb_status judge_against(struct inventory *inventory)
{
    enum pb_status status = time_runs(inventory);

    if (status == PB_OK)
        status = find_last(inventory);
    if (status == PB_OK)
        status = judge_present(inventory);
    if (status == PB_OK)
        status = judge_missing(inventory);
    return status == PB_OK ? judge_nodes(inventory) : status;
}

enum pb_status pb_judge_inventory(struct pb_verdict *verdict)
{
    struct inventory inventory = {
        .verdict = verdict, .now = verdict->features, .base = verdict->options.baseline};
    size_t rows = verdict->features->device_count +
                  (inventory.base == NULL ? 0 : inventory.base->device_count);
    enum pb_status status = pb_uuids_make(verdict->features, &inventory.now_uuids, verdict->err);

    inventory.members = calloc(rows + 1, sizeof(*inventory.members));
    inventory.moved = calloc(rows + 1, sizeof(*inventory.moved));
    inventory.last = calloc(rows + 1, sizeof(*inventory.last));
    if (status == PB_OK &&
        (inventory.members == NULL || inventory.moved == NULL || inventory.last == NULL))
        status = pb_fail(verdict->err, PB_NO_MEMORY, "out of memory listing %zu devices", rows);
    if (status == PB_OK)
        status = judge_duplicates(verdict, &inventory.now_uuids, inventory.members);
    if (status == PB_OK)
        status = judge_copies(verdict, inventory.members);
    if (status == PB_OK && inventory.base != NULL && inventory.base->device_count > 0)
        status = judge_against(&inventory);
    free(inventory.run_seconds);
    free(inventory.last);
    free(inventory.members);
    free(inventory.moved);
    pb_uuids_clear(&inventory.now_uuids);
    return status;
}
