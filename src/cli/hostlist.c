/* Folding host names; see hostlist.h. */
#include "cli/hostlist.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

enum { DIGITS_MAX = 15 }; /* more are part of the name: they would not count exactly */

/* n07: prefix of 1 byte, number 7, width 2. No digits: the prefix is all, width 0. */
struct host {
    const char *name;
    size_t prefix;
    int width;
    long long number;
    bool folded; /* is in the list already */
};

static struct host split(const char *name)
{
    struct host host = {name, strlen(name), 0, 0, false};

    while (host.prefix > 0 && host.width < DIGITS_MAX && name[host.prefix - 1] >= '0' &&
           name[host.prefix - 1] <= '9') {
        host.prefix--;
        host.width++;
    }
    if (host.width > 0)
        host.number = strtoll(name + host.prefix, NULL, 10);
    return host;
}

/* By prefix, number, width: the order in which people count. */
static int compare(const void *a, const void *b)
{
    const struct host *x = a, *y = b;
    size_t shorter = x->prefix < y->prefix ? x->prefix : y->prefix;
    int order = strncmp(x->name, y->name, shorter);

    if (order != 0)
        return order;
    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->width > y->width) - (x->width < y->width);
}

static enum pb_status sort_hosts(const char *const *names, size_t count, struct host **hosts_out,
                                 size_t *count_out, struct pb_error *err)
{
    struct host *hosts = calloc(count + 1, sizeof(*hosts));
    size_t kept = 0;

    if (hosts == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu hosts", count);
    for (size_t i = 0; i < count; i++) {
        if (!pb_text_is_host(names[i])) {
            free(hosts);
            return pb_fail(err, PB_INVALID, "expected a host's name, found \"%s\"", names[i]);
        }
        hosts[i] = split(names[i]);
    }
    qsort(hosts, count, sizeof(*hosts), compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare(&hosts[kept - 1], &hosts[i]) != 0)
            hosts[kept++] = hosts[i];
    *hosts_out = hosts;
    *count_out = kept;
    return PB_OK;
}

/* The host that Slurm names next when it counts on from `from` in numbers of `width` digits. */
static struct host *find_next(struct host *hosts, size_t count, const struct host *from, int width)
{
    struct host wanted = *from;
    char digits[DIGITS_MAX + 8];
    struct host *found;

    wanted.number++;
    wanted.width = snprintf(digits, sizeof(digits), "%0*lld", width, wanted.number);
    found = bsearch(&wanted, hosts, count, sizeof(*hosts), compare);
    return found == NULL || found->folded ? NULL : found;
}

/* "01-04", or "07" for one alone. */
static void print_range(FILE *text, struct host *hosts, size_t count, struct host *first)
{
    struct host *last = first;

    first->folded = true;
    for (struct host *next; (next = find_next(hosts, count, last, first->width)) != NULL;) {
        next->folded = true;
        last = next;
    }
    fprintf(text, "%s", first->name + first->prefix);
    if (last != first)
        fprintf(text, "-%s", last->name + last->prefix);
}

static bool have_one_prefix(const struct host *a, const struct host *b)
{
    return a->width > 0 && b->width > 0 && a->prefix == b->prefix &&
           strncmp(a->name, b->name, a->prefix) == 0;
}

/* Hosts [at, end) share their prefix. */
static void print_hosts(FILE *text, struct host *hosts, size_t at, size_t end)
{
    const char *separator = "";

    if (end == at + 1) {
        fputs(hosts[at].name, text);
        return;
    }
    fprintf(text, "%.*s[", (int)hosts[at].prefix, hosts[at].name);
    for (size_t i = at; i < end; i++) {
        if (hosts[i].folded)
            continue;
        fputs(separator, text);
        print_range(text, hosts + at, end - at, &hosts[i]);
        separator = ",";
    }
    fputc(']', text);
}

enum pb_status pb_hostlist_fold(const char *const *hosts, size_t count, char **text_out,
                                struct pb_error *err)
{
    struct host *sorted = NULL;
    char *bytes = NULL;
    size_t kept = 0, size = 0;
    FILE *text;
    enum pb_status status = sort_hosts(hosts, count, &sorted, &kept, err);

    if (status != PB_OK)
        return status;
    text = open_memstream(&bytes, &size);
    for (size_t at = 0, end; text != NULL && at < kept; at = end) {
        for (end = at + 1; end < kept && have_one_prefix(&sorted[at], &sorted[end]);)
            end++;
        if (at > 0)
            fputc(',', text);
        print_hosts(text, sorted, at, end);
    }
    free(sorted);
    if (text == NULL || fclose(text) != 0) {
        free(bytes);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a list of %zu hosts", count);
    }
    *text_out = bytes;
    return PB_OK;
}
