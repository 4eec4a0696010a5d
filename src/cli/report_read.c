/* Reading for a report; see report_read.h. */
#include "cli/report_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analyze_rows.h"
#include "cli/analyze_workers.h"
#include "cli/worker.h"

static enum pb_status no_memory(const struct pb_report_input *input, struct pb_error *err)
{
    return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", input->path);
}

/* ---- devices ---- */

static int compare_members(const void *a, const void *b)
{
    const struct pb_member *left = a, *right = b;
    int hosts = strverscmp(left->host, right->host);

    if (hosts != 0)
        return hosts;
    return left->slot != right->slot ? (left->slot > right->slot) - (left->slot < right->slot)
                                     : (left->rank > right->rank) - (left->rank < right->rank);
}

/* By node and slot. */
static enum pb_status read_list(struct pb_report_input *input, struct pb_error *err)
{
    struct pb_fleet_list *list = &input->list;
    enum pb_status status = pb_fleet_list_read(input->reader, input->path, list, err);

    if (status != PB_OK)
        return status;
    qsort(list->members, list->member_count, sizeof(*list->members), compare_members);
    input->report.device_count = list->member_count;
    return PB_OK;
}

static enum pb_status fill_devices(struct pb_report_input *input, struct pb_error *err)
{
    size_t count = input->report.device_count;

    input->devices = calloc(count, sizeof(*input->devices));
    if (input->devices == NULL)
        return no_memory(input, err);
    for (size_t i = 0; i < count; i++) {
        const struct pb_member *member = &input->list.members[i];

        input->devices[i] = (struct pb_report_device){
            .member = member,
            .is_recorded = pb_fleet_list_has(&input->list, member->key),
        };
        for (size_t k = 0; k < PB_REPORT_COLUMNS; k++)
            input->devices[i].columns[k] = NAN;
    }
    input->report.devices = input->devices;
    return PB_OK;
}

/* ---- findings ---- */

/* As plumb-outliers judges without a baseline. */
static enum pb_status judge(struct pb_report_input *input, const char *policy, struct pb_error *err)
{
    const struct pb_ruling_options how = {.policy = policy};
    struct pb_ruling *ruling = &input->ruling;
    enum pb_status status = pb_ruling_make(input->path, &how, ruling, err);

    input->is_ruled = true;
    if (status == PB_OK)
        status = pb_ruling_rows(&ruling->findings, &input->rows, err);
    if (status == PB_OK)
        input->report.finding_count = ruling->findings.count;
    return status;
}

static enum pb_severity severity_of(const char *word)
{
    enum pb_severity severity = PB_SEVERITY_OK;

    while (severity < PB_SEVERITY_UNKNOWN && strcmp(pb_severity_name(severity), word) != 0)
        severity++;
    return severity;
}

/* Is this device one of those that the row is about? */
static bool concerns(const struct pb_report_input *input, size_t row, size_t device)
{
    const struct pb_finding_row *finding = &input->rows[row];
    const struct pb_member *what = &input->list.members[device];

    if (input->is_ruled) {
        const struct pb_members *members = &input->ruling.findings.items[row].members;

        for (size_t i = 0; i < members->count; i++)
            if (strcmp(input->ruling.features.devices[members->devices[i]].key, what->key) == 0 &&
                what->key[0] != '\0')
                return true;
    }
    if (finding->device[0] != '\0')
        return strcmp(finding->device, what->key) == 0;
    return finding->host[0] != '\0' && strcmp(finding->host, what->host) == 0;
}

/* The devices that the file names for this row. */
static size_t read_members_of(const struct pb_report_input *input, size_t row, size_t *members)
{
    size_t count = 0;

    for (size_t k = 0; k < input->stored_count; k++)
        for (size_t i = 0; input->stored[k].finding == row && i < input->report.device_count; i++)
            if (strcmp(input->stored[k].device, input->list.members[i].key) == 0 &&
                count < input->report.device_count) {
                members[count++] = i;
                break;
            }
    return count;
}

static enum pb_status fill_members(const struct pb_report_input *input, size_t row,
                                   struct pb_report_finding *finding, struct pb_error *err)
{
    size_t *members = calloc(input->report.device_count + 1, sizeof(*members));

    if (members == NULL)
        return no_memory(input, err);
    finding->members = members;
    finding->member_count = read_members_of(input, row, members);
    if (finding->member_count > 0)
        return PB_OK;
    for (size_t i = 0; i < input->report.device_count; i++)
        if (concerns(input, row, i))
            members[finding->member_count++] = i;
    return PB_OK;
}

static enum pb_status fill_findings(struct pb_report_input *input, struct pb_error *err)
{
    size_t count = input->report.finding_count;
    enum pb_status status = PB_OK;

    input->findings = calloc(count + 1, sizeof(*input->findings));
    input->numbers = calloc(count + 1, sizeof(*input->numbers));
    if (input->findings == NULL || input->numbers == NULL)
        return no_memory(input, err);
    input->report.findings = input->findings;
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        input->findings[i] = (struct pb_report_finding){
            .row = &input->rows[i], .severity = severity_of(input->rows[i].severity)};
        status = fill_members(input, i, &input->findings[i], err);
    }
    return status;
}

/* The findings of the file, and the devices of each; files of before have only the former. */
static enum pb_status read_stored(struct pb_report_input *input, struct pb_error *err)
{
    enum pb_status status =
        pb_reader_findings(input->reader, &input->rows, &input->report.finding_count, err);

    if (status != PB_OK)
        return status;
    status = pb_reader_finding_members(input->reader, &input->stored, &input->stored_count, err);
    if (status != PB_NOT_FOUND)
        return status;
    *err = (struct pb_error)PB_ERROR_INIT;
    return PB_OK;
}

/* A policy of its own means a judgement of its own. */
static enum pb_status read_findings(struct pb_report_input *input, const char *policy,
                                    pb_report_announce *announce, struct pb_error *err)
{
    enum pb_status status = policy != NULL ? PB_NOT_FOUND : read_stored(input, err);

    if (status == PB_NOT_FOUND) {
        if (announce != NULL && policy == NULL)
            announce(input->path, "verdict", input->list.key_count);
        pb_reader_close(input->reader); /* workers have readers of their own */
        input->reader = NULL;
        *err = (struct pb_error)PB_ERROR_INIT;
        status = judge(input, policy, err);
        if (status == PB_OK)
            status = pb_reader_open(input->path, &input->reader, err);
    }
    input->report.is_judged = status == PB_OK;
    return status == PB_OK ? fill_findings(input, err) : status;
}

/* ---- who is shown in detail ---- */

static bool is_shown(const struct pb_report_input *input, size_t device)
{
    for (size_t i = 0; i < input->report.detailed_count; i++)
        if (input->detailed[i] == device)
            return true;
    return false;
}

static bool has_finding(const struct pb_report_input *input, size_t device)
{
    for (size_t i = 0; i < input->report.finding_count; i++)
        for (size_t k = 0; k < input->findings[i].member_count; k++)
            if (input->findings[i].members[k] == device)
                return true;
    return false;
}

static bool is_model_shown(const struct pb_report_input *input, const char *model)
{
    for (size_t i = 0; i < input->report.detailed_count; i++)
        if (strcmp(input->list.members[input->detailed[i]].model, model) == 0)
            return true;
    return false;
}

/* Of each model the first device without a finding; where all have one, the first. */
static void choose_representatives(struct pb_report_input *input)
{
    size_t most = pb_report_details_max(input->report.device_count);

    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < input->report.device_count; i++)
            if (input->report.detailed_count < most && input->devices[i].is_recorded &&
                !is_model_shown(input, input->list.members[i].model) &&
                (any == 1 || !has_finding(input, i)))
                input->detailed[input->report.detailed_count++] = i;
}

static enum pb_status choose_detailed(struct pb_report_input *input, const char *device,
                                      struct pb_error *err)
{
    input->detailed = calloc(input->report.device_count + 1, sizeof(*input->detailed));
    if (input->detailed == NULL)
        return no_memory(input, err);
    input->report.detailed = input->detailed;
    if (device == NULL) {
        choose_representatives(input);
        return PB_OK;
    }
    for (size_t i = 0; i < input->report.device_count; i++)
        if (input->devices[i].is_recorded && strcmp(input->list.members[i].key, device) == 0)
            input->detailed[input->report.detailed_count++] = i;
    if (input->report.detailed_count == 0)
        return pb_fail(err, PB_INVALID, "%s: no device %s among %zu (the first is %s)", input->path,
                       device, input->list.key_count,
                       input->list.key_count > 0 ? input->list.keys[0].text : "none");
    input->report.detailed_count = 1;
    input->report.is_one_device = true;
    return PB_OK;
}

/* ---- parameters ---- */

struct row_sink {
    struct pb_report_input *input;
    size_t device; /* of the last row: rows of a device follow each other */
};

static bool find_row(struct row_sink *row_sink, const char *key)
{
    const struct pb_report_input *input = row_sink->input;

    for (size_t n = 0; n < input->report.device_count; n++) {
        size_t i = (row_sink->device + n) % input->report.device_count;

        if (strcmp(input->list.members[i].key, key) == 0) {
            row_sink->device = i;
            return true;
        }
    }
    return false;
}

static enum pb_status keep_parameter(struct pb_report_input *input, size_t device,
                                     const struct pb_parameter_row *row, struct pb_error *err)
{
    struct pb_report_device *to = &input->devices[device];
    bool is_full = (to->parameter_count & (to->parameter_count - 1)) == 0; /* 0, 1, 2, 4, … */
    struct pb_parameter_row *larger;

    if (is_full) {
        larger = realloc(to->parameters, (2 * to->parameter_count + 1) * sizeof(*larger));
        if (larger == NULL)
            return no_memory(input, err);
        to->parameters = larger;
    }
    to->parameters[to->parameter_count++] = *row;
    return PB_OK;
}

/* The numbers of a finding's metric, which may be a parameter: "MEMORY.PARAMETER". */
static enum pb_status keep_number(struct pb_report_input *input, size_t device,
                                  const struct pb_parameter_row *row, struct pb_error *err)
{
    char name[2 * PB_NAME_LENGTH + 1];

    snprintf(name, sizeof(name), "%s.%s", row->memory, row->parameter);
    for (size_t i = 0; i < input->report.finding_count && i < PB_REPORT_FINDINGS_DRAWN; i++) {
        if (strcmp(input->findings[i].row->metric, name) != 0)
            continue;
        if (input->numbers[i] == NULL) {
            input->numbers[i] = calloc(input->report.device_count, sizeof(double));
            if (input->numbers[i] == NULL)
                return no_memory(input, err);
            for (size_t k = 0; k < input->report.device_count; k++)
                input->numbers[i][k] = NAN;
            input->findings[i].numbers = input->numbers[i];
        }
        input->numbers[i][device] = row->number;
    }
    return PB_OK;
}

static enum pb_status keep_row(void *context, const struct pb_parameter_row *row,
                               struct pb_error *err)
{
    struct row_sink *row_sink = context;
    struct pb_report_input *input = row_sink->input;
    enum pb_status status;

    if (!find_row(row_sink, row->device))
        return PB_OK; /* of a device that is no more in the file */
    for (size_t i = 0; i < PB_REPORT_COLUMNS; i++)
        if (strcmp(row->memory, pb_report_columns[i].memory) == 0 &&
            strcmp(row->parameter, pb_report_columns[i].parameter) == 0)
            input->devices[row_sink->device].columns[i] = row->number;
    status = keep_number(input, row_sink->device, row, err);
    if (status == PB_OK && is_shown(input, row_sink->device))
        status = keep_parameter(input, row_sink->device, row, err);
    return status;
}

/* Devices to infer: all, or those shown in detail where the judgement has inferred all already. */
static size_t list_unanalysed(const struct pb_report_input *input, struct pb_key *keys)
{
    size_t count = 0;

    for (size_t i = 0; i < input->report.device_count; i++)
        if (input->devices[i].is_recorded &&
            ((!input->is_ruled && !input->report.is_one_device) || is_shown(input, i))) {
            PB_TEXT_SET(keys[count].text, input->list.members[i].key);
            count++;
        }
    return count;
}

/* The agreement of a device that is shown, beside what others have. */
static enum pb_status keep_agreement(struct pb_report_input *input, const char *key,
                                     const struct pb_agreement *agreement, struct pb_error *err)
{
    size_t count = input->agreement_count + agreement->count;
    struct pb_agreement_row *rows = realloc(input->agreement, (count + 1) * sizeof(*rows));

    if (rows == NULL)
        return no_memory(input, err);
    input->agreement = rows;
    for (size_t i = 0; i < agreement->count; i++)
        pb_agreement_row_of(key, &agreement->tests[i], &rows[input->agreement_count++]);
    return PB_OK;
}

static enum pb_status keep_result(struct row_sink *row_sink, const char *key,
                                  const struct pb_device_result *result, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    struct pb_parameter_row row;

    for (size_t k = 0; status == PB_OK && k < result->parameters.count; k++) {
        pb_parameter_row_of(key, &result->parameters.items[k], &row);
        status = keep_row(row_sink, &row, err);
    }
    if (status == PB_OK && is_shown(row_sink->input, row_sink->device))
        status = keep_agreement(row_sink->input, key, &result->agreement, err);
    return status;
}

static enum pb_status infer_devices(struct pb_report_input *input, const struct pb_key *keys,
                                    size_t count, struct row_sink *row_sink, struct pb_error *err)
{
    struct pb_workers *workers = NULL;
    enum pb_status status = pb_workers_start(input->path, keys, count, pb_worker_processors(),
                                             PB_WANT_PARAMETERS, &workers, err);

    for (size_t i = 0; i < count && status == PB_OK; i++) {
        struct pb_device_result result = {.analysed = 0};

        status = pb_workers_next(workers, &result, err);
        if (status == PB_OK)
            status = keep_result(row_sink, keys[i].text, &result, err);
        pb_device_result_clear(&result);
    }
    pb_workers_stop(workers);
    return status;
}

/* What the judgement has inferred of each device: for the table of all. */
static void fill_columns(struct pb_report_input *input)
{
    const struct pb_features *features = &input->ruling.features;
    char name[PB_METRIC_NAME_LENGTH];

    for (size_t c = 0; c < PB_REPORT_COLUMNS; c++) {
        size_t metric;

        snprintf(name, sizeof(name), "%s.%s", pb_report_columns[c].memory,
                 pb_report_columns[c].parameter);
        metric = pb_features_find(features, name);
        for (size_t s = 0; s < features->device_count; s++)
            for (size_t i = 0; i < input->report.device_count; i++)
                if (strcmp(features->devices[s].key, input->list.members[i].key) == 0)
                    input->devices[i].columns[c] = pb_features_reading(features, s, metric).value;
    }
}

static enum pb_status infer(struct pb_report_input *input, struct row_sink *row_sink,
                            pb_report_announce *announce, struct pb_error *err)
{
    struct pb_key *keys = calloc(input->report.device_count + 1, sizeof(*keys));
    size_t count;
    enum pb_status status = PB_OK;

    if (keys == NULL)
        return no_memory(input, err);
    count = list_unanalysed(input, keys);
    if (announce != NULL && !input->is_ruled)
        announce(input->path, "parameters by this version of the analysis", count);
    pb_reader_close(input->reader);
    input->reader = NULL;
    input->is_inferred = true;
    if (count > 0)
        status = infer_devices(input, keys, count, row_sink, err);
    if (status == PB_OK)
        status = pb_reader_open(input->path, &input->reader, err);
    free(keys);
    return status;
}

static enum pb_status read_parameters(struct pb_report_input *input, pb_report_announce *announce,
                                      struct pb_error *err)
{
    struct row_sink row_sink = {input, 0};
    enum pb_status status = pb_stored_parameters(input->reader, keep_row, &row_sink, err);

    if (status == PB_NOT_FOUND) {
        *err = (struct pb_error)PB_ERROR_INIT;
        if (input->is_ruled)
            fill_columns(input);
        status = infer(input, &row_sink, announce, err);
    }
    return status;
}

/* ---- what the page requests while it is written ---- */

static enum pb_status load_recording(void *context, size_t device, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err)
{
    const struct pb_report_input *input = context;

    return pb_reader_recording(input->reader, input->list.members[device].key, test, recording_out,
                               err);
}

static enum pb_status load_info(void *context, size_t device, struct pb_device_info *info_out,
                                struct pb_error *err)
{
    const struct pb_report_input *input = context;

    return pb_reader_device(input->reader, input->list.members[device].key, info_out, err);
}

static enum pb_status load_states(void *context, size_t device, struct pb_state **states_out,
                                  size_t *count_out, struct pb_error *err)
{
    const struct pb_report_input *input = context;

    return pb_reader_states(input->reader, input->list.members[device].key, states_out, count_out,
                            err);
}

/* What was inferred for this page goes with the parameters that it shows. */
static enum pb_status load_agreement(void *context, size_t device,
                                     struct pb_agreement_row **rows_out, size_t *count_out,
                                     struct pb_error *err)
{
    const struct pb_report_input *input = context;
    const char *key = input->list.members[device].key;

    if (!input->is_inferred)
        return pb_reader_agreement(input->reader, key, rows_out, count_out, err);
    *rows_out = calloc(input->agreement_count + 1, sizeof(**rows_out));
    if (*rows_out == NULL)
        return no_memory(input, err);
    for (size_t i = 0; i < input->agreement_count; i++)
        if (strcmp(input->agreement[i].device, key) == 0)
            (*rows_out)[(*count_out)++] = input->agreement[i];
    return PB_OK;
}

static void describe_run(struct pb_report_input *input)
{
    const char *slash = strrchr(input->path, '/');

    input->report.file = slash == NULL ? input->path : slash + 1;
    input->report.run = &input->run;
    input->source =
        (struct pb_report_source){input, load_recording, load_info, load_states, load_agreement};
}

enum pb_status pb_report_read(const char *path, const char *device, const char *policy,
                              pb_report_announce *announce, struct pb_report_input *input_out,
                              struct pb_error *err)
{
    struct pb_report_input *input = input_out;
    enum pb_status status;

    *input = (struct pb_report_input){.path = path};
    status = pb_reader_open(path, &input->reader, err);
    if (status == PB_OK)
        status = pb_reader_run(input->reader, &input->run, err);
    if (status == PB_OK)
        status = read_list(input, err);
    if (status == PB_OK)
        status = fill_devices(input, err);
    if (status == PB_OK && device == NULL)
        status = read_findings(input, policy, announce, err);
    if (status == PB_OK)
        status = choose_detailed(input, device, err);
    if (status == PB_OK)
        status = read_parameters(input, announce, err);
    if (status == PB_OK)
        describe_run(input);
    return status;
}

void pb_report_input_clear(struct pb_report_input *input)
{
    pb_reader_close(input->reader);
    for (size_t i = 0; input->devices != NULL && i < input->report.device_count; i++)
        free(input->devices[i].parameters);
    for (size_t i = 0; i < input->report.finding_count; i++) {
        if (input->findings != NULL)
            free((void *)input->findings[i].members);
        if (input->numbers != NULL)
            free(input->numbers[i]);
    }
    pb_ruling_clear(&input->ruling);
    free(input->agreement);
    free(input->numbers);
    free(input->findings);
    free(input->devices);
    free(input->detailed);
    free(input->rows);
    free(input->stored);
    pb_fleet_list_clear(&input->list);
}
