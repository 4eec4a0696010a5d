/*
 * Writes to standard output a page about a fleet whose every text is hostile: markup, quotes,
 * control characters, what is no UTF-8. For tests of how a report escapes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/report.h"

#define SCRIPT "<script>alert(1)</script>"
#define IMAGE  "\"'><img src=http://x/ onerror=y>&amp;\x1b[31m\xff"
#define TAG    "\"'><b onclick=x>&amp;\x1b[31m\xff" /* fits into a name */

static enum pb_status load_recording(void *context, size_t device, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err)
{
    (void)context;
    (void)device;
    if (strcmp(test, "bank_conflict") != 0)
        return pb_fail(err, PB_NOT_FOUND, SCRIPT "%s", test);
    *recording_out =
        (struct pb_recording){.name = SCRIPT, .outcome = PB_TEST_FAILED, .message = IMAGE};
    return PB_OK;
}

static enum pb_status load_info(void *context, size_t device, struct pb_device_info *info_out,
                                struct pb_error *err)
{
    (void)context;
    (void)device;
    (void)err;
    *info_out = (struct pb_device_info){.backend = "sim",
                                        .model = SCRIPT,
                                        .uuid = IMAGE,
                                        .vbios = SCRIPT,
                                        .source = IMAGE,
                                        .power_limit_w = NAN};
    return PB_OK;
}

static enum pb_status load_states(void *context, size_t device, struct pb_state **states_out,
                                  size_t *count_out, struct pb_error *err)
{
    (void)context;
    (void)device;
    (void)states_out;
    (void)count_out;
    return pb_fail(err, PB_NOT_FOUND, IMAGE);
}

static enum pb_status load_agreement(void *context, size_t device,
                                     struct pb_agreement_row **rows_out, size_t *count_out,
                                     struct pb_error *err)
{
    (void)context;
    (void)device;
    (void)err;
    *rows_out = calloc(1, sizeof(**rows_out));
    *count_out = *rows_out == NULL ? 0 : 1;
    if (*rows_out != NULL)
        **rows_out = (struct pb_agreement_row){.test = "<b onclick=x>", .accesses = 4, .agreed = 3};
    return PB_OK;
}

int main(void)
{
    struct pb_parameter_row parameters[] = {{.memory = "l1",
                                             .parameter = "latency_cycles",
                                             .unit = SCRIPT,
                                             .value = "32",
                                             .number = 32.0,
                                             .low = 31.0,
                                             .high = 33.0,
                                             .confidence = 0.9},
                                            {.memory = "l1",
                                             .parameter = "policy",
                                             .value = SCRIPT,
                                             .number = NAN,
                                             .low = NAN,
                                             .high = NAN},
                                            {.memory = "l2",
                                             .parameter = "size_bytes",
                                             .reason = IMAGE,
                                             .number = NAN,
                                             .low = NAN,
                                             .high = NAN}};
    const struct pb_member rank = {.key = SCRIPT,
                                   .host = IMAGE,
                                   .model = SCRIPT,
                                   .uuid = IMAGE,
                                   .pci_bus_id = SCRIPT,
                                   .status = TAG,
                                   .message = SCRIPT};
    struct pb_report_device device = {
        .member = &rank, .is_recorded = true, .parameters = parameters, .parameter_count = 3};
    const size_t member = 0;
    const struct pb_finding_row row = {.level = SCRIPT,
                                       .place = IMAGE,
                                       .host = SCRIPT,
                                       .device = SCRIPT,
                                       .cause = TAG,
                                       .metric = SCRIPT,
                                       .unit = TAG,
                                       .summary = SCRIPT,
                                       .evidence = IMAGE,
                                       .evidence_path = SCRIPT,
                                       .advice = IMAGE,
                                       .value = 1.0,
                                       .expected = 2.0,
                                       .drain = 1};
    struct pb_report_finding finding = {
        .row = &row, .severity = PB_SEVERITY_CRITICAL, .members = &member, .member_count = 1};
    const struct pb_run run = {
        .run_id = SCRIPT, .created = TAG, .command_line = SCRIPT, .tool_version = TAG};
    const struct pb_report report = {.file = IMAGE,
                                     .run = &run,
                                     .devices = &device,
                                     .device_count = 1,
                                     .findings = &finding,
                                     .finding_count = 1,
                                     .is_judged = true,
                                     .detailed = &member,
                                     .detailed_count = 1};
    const struct pb_report_source source = {NULL, load_recording, load_info, load_states,
                                            load_agreement};
    struct pb_error err = PB_ERROR_INIT;

    if (pb_report_write(&report, &source, stdout, &err) != PB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
