/*
 * What needs no score: ranks whose device was not measured to the end. An absence is recorded as
 * carefully as a number.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/judge.h"

/* A status of /fleet, and what it means. */
static const struct device_outcome {
    const char *status, *cause, *meaning, *advice;
    enum pb_severity severity;
} fates[] = {
    {"failed", "failed", "the device could not be measured",
     "read the message, try plumb-probe on it alone", PB_SEVERITY_CRITICAL},
    {"hung", "hung", "a kernel did not end before its deadline; the probe was killed",
     "look for Xid errors in the kernel's log, reset the device", PB_SEVERITY_CRITICAL},
    {"crashed", "crashed", "the probe died while it measured",
     "look for Xid errors in the kernel's log, repeat with plumb-probe", PB_SEVERITY_CRITICAL},
    {"lost", "off_the_bus", "the device fell off the bus while it was measured",
     "power-cycle the node, reseat the board, replace it if it is lost again",
     PB_SEVERITY_CRITICAL},
    {"absent", "absent", "no device was there for this rank",
     "compare lspci and nvidia-smi -L with what the node should have", PB_SEVERITY_CRITICAL},
    {"duplicate", "duplicate", "another rank measured the same device",
     "start one rank for each device: check --gpus-per-task and the binding", PB_SEVERITY_WARNING},
};

/* Corruption and co-tenants explain that tests failed: no second finding for it. */
static bool is_explained(const struct pb_verdict *verdict, const struct pb_feature_row *device)
{
    for (size_t i = 0; i < verdict->findings.count; i++) {
        const struct pb_finding *finding = &verdict->findings.items[i];

        if (strcmp(finding->device, device->key) == 0 &&
            (strcmp(finding->cause, "integrity") == 0 ||
             strncmp(finding->cause, "co_tenant", strlen("co_tenant")) == 0))
            return true;
    }
    return false;
}

/* A rank without a device is known by its slot, or by itself. */
static void place_at(const struct pb_feature_row *device, struct pb_finding *finding)
{
    pb_finding_place(device, finding);
    PB_TEXT_SET(finding->evidence_path, "/fleet");
    if (device->key[0] != '\0')
        return;
    if (device->slot >= 0)
        snprintf(finding->place, sizeof(finding->place), "%s.gpu%lld", device->host,
                 (long long)device->slot);
    else
        snprintf(finding->place, sizeof(finding->place), "rank %lld on %s", (long long)device->rank,
                 device->host);
}

static enum pb_status add(struct pb_verdict *verdict, const struct pb_feature_row *device,
                          const struct device_outcome *how, const char *what)
{
    struct pb_finding finding = pb_finding_blank(how->severity, PB_LEVEL_DEVICE);

    place_at(device, &finding);
    PB_TEXT_SET(finding.cause, how->cause);
    PB_TEXT_SET(finding.advice, how->advice);
    snprintf(finding.summary, sizeof(finding.summary), "%s: %s", how->meaning, what);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "rank %lld of the run has the status %s%s%s", (long long)device->rank, device->status,
             device->missing[0] == '\0' ? "" : "; ", device->missing);
    return pb_verdict_add_device(verdict, &finding, (size_t)(device - verdict->features->devices));
}

/* Did a test end so, whatever the status of the device? Failed ones have the finding "incomplete".
 */
static bool has_ended_so(const struct pb_feature_row *device, const struct device_outcome *how)
{
    enum pb_outcome outcome = pb_outcome_parse(how->status);

    return outcome != PB_TEST_FAILED && outcome != PB_TEST_MISSING &&
           (device->endings >> outcome & 1u) != 0;
}

static enum pb_status judge_one(struct pb_verdict *verdict, const struct pb_feature_row *device)
{
    static const struct device_outcome incomplete = {
        "partial", "incomplete", "tests did not end well, so nothing is known of what they measure",
        "read the messages of the tests, repeat the run", PB_SEVERITY_WARNING};
    bool is_partial = strcmp(device->status, "partial") == 0 || device->missing[0] != '\0';
    enum pb_status status = PB_OK;
    bool is_reported = false;

    for (size_t i = 0; i < sizeof(fates) / sizeof(fates[0]) && status == PB_OK; i++) {
        bool is_status = strcmp(fates[i].status, device->status) == 0;

        if (!is_status && !has_ended_so(device, &fates[i]))
            continue;
        is_reported = true;
        status = add(verdict, device, &fates[i],
                     is_status && device->message[0] != '\0' ? device->message
                     : device->missing[0] != '\0'            ? device->missing
                                                             : "no message");
    }
    if (status == PB_OK && !is_reported && is_partial && !is_explained(verdict, device))
        status = add(verdict, device, &incomplete,
                     device->message[0] == '\0' ? device->missing : device->message);
    return status;
}

enum pb_status pb_judge_status(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < verdict->features->device_count && status == PB_OK; i++)
        status = judge_one(verdict, &verdict->features->devices[i]);
    return status;
}
