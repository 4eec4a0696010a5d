/* Findings as rows of the fleet file, and the nodes that they would drain; see outliers.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/hostlist.h"
#include "cli/outliers.h"
#include "core/text.h"
#include "h5schema/file.h"

static void fill_row(const struct pb_finding *finding, struct pb_finding_row *row)
{
    PB_TEXT_SET(row->severity, pb_severity_name(finding->severity));
    PB_TEXT_SET(row->level, pb_level_name(finding->level));
    PB_TEXT_SET(row->place, finding->place);
    PB_TEXT_SET(row->host, finding->host);
    PB_TEXT_SET(row->device, finding->device);
    PB_TEXT_SET(row->model, finding->model);
    PB_TEXT_SET(row->cause, finding->cause);
    PB_TEXT_SET(row->metric, finding->metric);
    PB_TEXT_SET(row->unit, finding->unit);
    row->value = finding->value;
    row->expected = finding->expected;
    row->shift = finding->shift;
    row->sigmas = finding->sigmas;
    row->p = finding->p;
    row->metrics = finding->metrics;
    row->peers = finding->peers;
    row->drain = finding->drain ? 1 : 0;
    PB_TEXT_SET(row->summary, finding->summary);
    PB_TEXT_SET(row->evidence, finding->evidence);
    PB_TEXT_SET(row->evidence_path, finding->evidence_path);
    PB_TEXT_SET(row->advice, finding->advice);
}

enum pb_status pb_ruling_rows(const struct pb_findings *findings, struct pb_finding_row **rows_out,
                              struct pb_error *err)
{
    struct pb_finding_row *rows = calloc(findings->count + 1, sizeof(*rows));

    if (rows == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu findings", findings->count);
    for (size_t i = 0; i < findings->count; i++)
        fill_row(&findings->items[i], &rows[i]);
    *rows_out = rows;
    return PB_OK;
}

/* The devices of each finding; one that is missing from the run has no key. */
static size_t fill_members(const struct pb_ruling *ruling, struct pb_finding_member *members)
{
    size_t count = 0;

    for (size_t i = 0; i < ruling->findings.count; i++) {
        const struct pb_members *of = &ruling->findings.items[i].members;

        for (size_t k = 0; k < of->count; k++) {
            const char *key = ruling->features.devices[of->devices[k]].key;

            if (key[0] == '\0')
                continue;
            if (members != NULL) {
                members[count].finding = i;
                PB_TEXT_SET(members[count].device, key);
            }
            count++;
        }
    }
    return count;
}

enum pb_status pb_ruling_store(const struct pb_ruling *ruling, const char *path,
                               struct pb_error *err)
{
    size_t count = fill_members(ruling, NULL);
    struct pb_finding_member *members = calloc(count + 1, sizeof(*members));
    struct pb_finding_row *rows = NULL;
    enum pb_status status =
        members == NULL ? pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu devices", count)
                        : pb_ruling_rows(&ruling->findings, &rows, err);

    if (status == PB_OK) {
        const struct pb_finding_tables tables = {rows, ruling->findings.count, members,
                                                 fill_members(ruling, members)};

        status = pb_file_write_findings(path, &tables, err);
    }
    free(rows);
    free(members);
    return status;
}

size_t pb_ruling_simulated(const struct pb_ruling *ruling)
{
    size_t count = 0;

    for (size_t i = 0; i < ruling->features.device_count; i++)
        count += pb_backend_is_simulated(ruling->features.devices[i].info.backend);
    return count;
}

/* A finding of several devices of a node is one reason. */
static void add_reason(struct pb_drain *drain, const struct pb_finding *finding)
{
    char reason[PB_TEXT_LENGTH + PB_NAME_LENGTH + 8];
    size_t used = strlen(drain->reason);

    snprintf(reason, sizeof(reason), "%s, %s", finding->cause, finding->place);
    if (strstr(drain->reason, reason) == NULL &&
        used + strlen(reason) + sizeof("; ") < sizeof(drain->reason))
        snprintf(drain->reason + used, sizeof(drain->reason) - used, "%s%s", used > 0 ? "; " : "",
                 reason);
}

static void add_drain(struct pb_drain *drains, size_t *count, const char *host,
                      const struct pb_finding *finding)
{
    size_t at = 0;

    if (host[0] == '\0')
        return;
    while (at < *count && strcmp(drains[at].host, host) != 0)
        at++;
    if (at == *count)
        drains[(*count)++].host = host;
    add_reason(&drains[at], finding);
}

/* Nodes that a list of drains can have at most. */
static size_t count_hosts(const struct pb_findings *findings)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].members.count + 1;
    return count;
}

/* A device that is missing is no member of this run: its finding names the host alone. */
enum pb_status pb_ruling_drains(const struct pb_ruling *ruling, struct pb_drain **drains_out,
                                size_t *count_out, struct pb_error *err)
{
    const struct pb_findings *findings = &ruling->findings;
    struct pb_drain *drains = calloc(count_hosts(findings) + 1, sizeof(*drains));
    size_t count = 0;

    if (drains == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory listing the nodes of %zu findings",
                       findings->count);
    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];
        const struct pb_members *members = &finding->members;

        if (!finding->drain)
            continue;
        for (size_t j = 0; j < members->count; j++)
            add_drain(drains, &count, ruling->features.devices[members->devices[j]].host, finding);
        if (members->count == 0)
            add_drain(drains, &count, finding->host, finding);
    }
    *drains_out = drains;
    *count_out = count;
    return PB_OK;
}

enum pb_status pb_ruling_hostlist(const struct pb_ruling *ruling, char **text_out,
                                  struct pb_error *err)
{
    struct pb_drain *drains = NULL;
    size_t count = 0, named = 0;
    const char **hosts = NULL;
    enum pb_status status = pb_ruling_drains(ruling, &drains, &count, err);

    if (status == PB_OK && (hosts = calloc(count + 1, sizeof(const char *))) == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory listing %zu hosts", count);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        if (pb_text_is_host(drains[i].host))
            hosts[named++] = drains[i].host;
    if (status == PB_OK)
        status = pb_hostlist_fold(hosts, named, text_out, err);
    free(hosts);
    free(drains);
    return status;
}

static bool is_in_hostlist(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("[],-_.", c) != NULL);
}

/* A hostlist is one line of names, brackets, commas and ranges; an HDF5 file begins otherwise. */
static bool is_hostlist(const char *head, size_t length)
{
    const char *end = memchr(head, '\n', length);

    if (end != NULL && end != head + length - 1)
        return false;
    for (size_t i = 0; i < length - (end != NULL); i++)
        if (!is_in_hostlist(head[i]))
            return false;
    return true;
}

const struct pb_atomic_file_kind pb_ruling_hostlist_kind = {.name = "a Slurm hostlist",
                                                            .is_one = is_hostlist};

/* No node: an empty file, so that it can be distinguished from a check that never ran. */
enum pb_status pb_ruling_write_hostlist(const struct pb_ruling *ruling, FILE *file,
                                        struct pb_error *err)
{
    char *text = NULL;
    enum pb_status status = pb_ruling_hostlist(ruling, &text, err);

    if (status == PB_OK && text[0] != '\0')
        fprintf(file, "%s\n", text);
    free(text);
    return status;
}
