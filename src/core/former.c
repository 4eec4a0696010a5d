/* The table of the names of version 1; see former.h. */
#include "core/former.h"

#include <stdio.h>
#include <string.h>

const struct pb_former_name pb_former_names[] = {
    {PB_NAME_OF_TEST, "host_link_together", "host_link_concurrent"},
    {PB_NAME_OF_TEST, "l1_bases", "l1_alignment"},
    {PB_NAME_OF_TEST, "memory_pattern", "memory_integrity"},
    {PB_NAME_OF_TEST, "peer_link_together", "peer_link_concurrent"},
    {PB_NAME_OF_TEST, "sustain", "sustained_load"},
    {PB_NAME_OF_TEST, "tlb_alias", "tlb_remap"},
    {PB_NAME_OF_MODE, "lap", "timed"},
    {PB_NAME_OF_MODE, "trace", "traced"},
    {PB_NAME_OF_PARAMETER, "all_miss_bytes", "full_miss_bytes"},
    {PB_NAME_OF_PARAMETER, "entry_span_bytes", "entry_coverage_bytes"},
    {PB_NAME_OF_PARAMETER, "from_together_bytes_per_s", "from_concurrent_bytes_per_s"},
    {PB_NAME_OF_PARAMETER, "group_sm_counts", "sm_group_sizes"},
    {PB_NAME_OF_PARAMETER, "jump_line_bytes", "stride_knee_bytes"},
    {PB_NAME_OF_PARAMETER, "line_group_count", "address_group_count"},
    {PB_NAME_OF_PARAMETER, "onset_bytes", "first_miss_bytes"},
    {PB_NAME_OF_PARAMETER, "peak_little", "littles_law_ratio"},
    {PB_NAME_OF_PARAMETER, "peak_share", "peak_efficiency"},
    {PB_NAME_OF_PARAMETER, "per_sm", "outstanding_per_sm"},
    {PB_NAME_OF_PARAMETER, "per_warp", "outstanding_per_warp"},
    {PB_NAME_OF_PARAMETER, "read_peak_little", "read_littles_law_ratio"},
    {PB_NAME_OF_PARAMETER, "read_peak_share", "read_peak_efficiency"},
    {PB_NAME_OF_PARAMETER, "shares_room_with", "shares_capacity_with"},
    {PB_NAME_OF_PARAMETER, "shares_with", "same_cache_as"},
    {PB_NAME_OF_PARAMETER, "side_sm_counts", "partition_sm_counts"},
    {PB_NAME_OF_PARAMETER, "to_together_bytes_per_s", "to_concurrent_bytes_per_s"},
    {PB_NAME_OF_PARAMETER, "together_bytes_per_s", "concurrent_bytes_per_s"},
    {PB_NAME_OF_PARAMETER, "victim_probabilities", "way_eviction_probabilities"},
    {PB_NAME_OF_PARAMETER, "write_peak_little", "write_littles_law_ratio"},
    {PB_NAME_OF_PARAMETER, "write_peak_share", "write_peak_efficiency"},
};

const size_t pb_former_name_count = sizeof(pb_former_names) / sizeof(pb_former_names[0]);

const char *pb_name_now(enum pb_name_kind kind, const char *name)
{
    for (size_t i = 0; i < pb_former_name_count; i++)
        if (pb_former_names[i].kind == kind && strcmp(pb_former_names[i].before, name) == 0)
            return pb_former_names[i].now;
    return name;
}

const char *pb_name_before(enum pb_name_kind kind, const char *name)
{
    for (size_t i = 0; i < pb_former_name_count; i++)
        if (pb_former_names[i].kind == kind && strcmp(pb_former_names[i].now, name) == 0)
            return pb_former_names[i].before;
    return NULL;
}

void pb_name_update(enum pb_name_kind kind, char *text, size_t size)
{
    char *dot, *name = text;
    const char *now;

    if (memchr(text, '\0', size) == NULL)
        return; /* no text of ours */
    if (kind == PB_NAME_OF_PARAMETER && (dot = strrchr(text, '.')) != NULL)
        name = dot + 1;
    now = pb_name_now(kind, name);
    if (now != name)
        snprintf(name, size - (size_t)(name - text), "%s", now);
}
