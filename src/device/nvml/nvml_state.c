/* Reading a GPU's state through NVML: what a driver refuses to tell stays unknown; see nvml.h. */
#include "device/nvml/nvml_calls.h"

static double field_as_real(const struct pb_nvml_field *field)
{
    switch (field->value_type) {
    case 0:
        return field->value.real;
    case 1:
        return field->value.uint;
    case 2:
        return (double)field->value.ulong;
    case 3:
        return (double)field->value.ulonglong;
    case 4:
        return (double)field->value.slonglong;
    default:
        return field->value.sint;
    }
}

static void read_sensors(struct pb_nvml *nvml, struct pb_state *state)
{
    struct pb_nvml_field memory = {.field = NVML_FIELD_MEMORY_TEMPERATURE};
    unsigned value;

    if (nvml->call.clock != NULL) {
        if (nvml->call.clock(nvml->device, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
            state->sm_clock_mhz = value;
        if (nvml->call.clock(nvml->device, NVML_CLOCK_MEM, &value) == NVML_SUCCESS)
            state->memory_clock_mhz = value;
    }
    if (nvml->call.temperature != NULL &&
        nvml->call.temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        state->temperature_c = value;
    if (nvml->call.field_values != NULL &&
        nvml->call.field_values(nvml->device, 1, &memory) == NVML_SUCCESS &&
        memory.status == NVML_SUCCESS)
        state->memory_temperature_c = field_as_real(&memory);
    pb_nvml_read_real(nvml, nvml->call.power, 1e-3, &state->power_w);
}

/* GPUs before remapped rows retire pages instead. Without space for addresses, NVML answers with
   their number. */
static void read_retired(struct pb_nvml *nvml, int cause, int64_t *pages)
{
    unsigned count = 0;
    int status;

    if (nvml->call.retired_pages == NULL)
        return;
    status = nvml->call.retired_pages(nvml->device, cause, &count, NULL);
    if (status == NVML_SUCCESS || status == NVML_ERROR_INSUFFICIENT_SIZE)
        *pages = count;
}

static void read_retirements(struct pb_nvml *nvml, struct pb_state *state)
{
    int is_pending;

    read_retired(nvml, NVML_RETIRED_CORRECTED, &state->retired_corrected);
    read_retired(nvml, NVML_RETIRED_UNCORRECTED, &state->retired_uncorrected);
    if (nvml->call.retirement_pending != NULL &&
        nvml->call.retirement_pending(nvml->device, &is_pending) == NVML_SUCCESS)
        state->retirement_pending = is_pending != 0;
}

static void read_errors(struct pb_nvml *nvml, struct pb_state *state)
{
    unsigned corrected, uncorrected, pending, failed;
    unsigned long long count;

    if (nvml->call.ecc_errors != NULL) {
        if (nvml->call.ecc_errors(nvml->device, NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE, &count) ==
            NVML_SUCCESS)
            state->ecc_corrected = (int64_t)count;
        if (nvml->call.ecc_errors(nvml->device, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE, &count) ==
            NVML_SUCCESS)
            state->ecc_uncorrected = (int64_t)count;
    }
    if (nvml->call.remapped_rows != NULL &&
        nvml->call.remapped_rows(nvml->device, &corrected, &uncorrected, &pending, &failed) ==
            NVML_SUCCESS) {
        state->remapped_corrected = corrected;
        state->remapped_uncorrected = uncorrected;
        state->remap_pending = pending;
        state->remap_failed = failed;
    }
}

/* Of a MIG instance alone where it is one: what its neighbours use is no company. */
static void read_use(struct pb_nvml *nvml, struct pb_state *state)
{
    void *device = nvml->is_part ? nvml->instance : nvml->device;
    struct pb_nvml_memory memory;
    unsigned count = 0; /* room for none: NVML answers with how many there are */
    int status;

    if (device == NULL)
        return;
    if (nvml->call.memory != NULL && nvml->call.memory(device, &memory) == NVML_SUCCESS)
        state->memory_used_bytes = (int64_t)memory.used_bytes;
    if (nvml->call.processes == NULL)
        return;
    status = nvml->call.processes(device, &count, NULL);
    if (status == NVML_SUCCESS || status == NVML_ERROR_INSUFFICIENT_SIZE)
        state->processes = count;
}

static void read_link(struct pb_nvml *nvml, struct pb_state *state)
{
    pb_nvml_read_integer(nvml, nvml->call.pcie_generation, &state->pcie_generation);
    pb_nvml_read_integer(nvml, nvml->call.pcie_width, &state->pcie_width);
    pb_nvml_read_integer(nvml, nvml->call.pcie_generation_max, &state->pcie_generation_max);
    pb_nvml_read_integer(nvml, nvml->call.pcie_width_max, &state->pcie_width_max);
    pb_nvml_read_integer(nvml, nvml->call.pcie_replays, &state->pcie_replays);
}

/* Links that a GPU does not have are refused; one that is down is answered for. */
static void read_nvlinks_up(struct pb_nvml *nvml, struct pb_state *state)
{
    for (unsigned link = 0; nvml->call.nvlink_state != NULL && link < NVML_NVLINKS_MAX; link++) {
        int is_up = 0;

        if (nvml->call.nvlink_state(nvml->device, link, &is_up) != NVML_SUCCESS)
            return;
        state->nvlinks_up = (state->nvlinks_up < 0 ? 0 : state->nvlinks_up) + (is_up != 0);
    }
}

/* One call for all counters and links: state is read often. */
static void read_nvlink_errors(struct pb_nvml *nvml, struct pb_state *state)
{
    struct pb_nvml_field counters[] = {{.field = NVML_FIELD_NVLINK_CRC_FLIT},
                                       {.field = NVML_FIELD_NVLINK_CRC_DATA},
                                       {.field = NVML_FIELD_NVLINK_REPLAY},
                                       {.field = NVML_FIELD_NVLINK_RECOVERY}};
    const int count = sizeof(counters) / sizeof(counters[0]);

    if (nvml->call.field_values == NULL ||
        nvml->call.field_values(nvml->device, count, counters) != NVML_SUCCESS)
        return;
    for (int i = 0; i < count; i++)
        if (counters[i].status == NVML_SUCCESS)
            state->nvlink_errors = (state->nvlink_errors < 0 ? 0 : state->nvlink_errors) +
                                   (int64_t)field_as_real(&counters[i]);
}

static void read_violation(struct pb_nvml *nvml, int policy, int64_t *ns)
{
    struct pb_nvml_violation violation;

    if (nvml->call.violation != NULL &&
        nvml->call.violation(nvml->device, policy, &violation) == NVML_SUCCESS)
        *ns = (int64_t)violation.violation_ns;
}

bool pb_nvml_read_state(struct pb_nvml *nvml, struct pb_state *state)
{
    unsigned long long reasons;
    unsigned milliwatt;

    if (nvml == NULL)
        return true;
    if (nvml->call.power != NULL &&
        nvml->call.power(nvml->device, &milliwatt) == NVML_ERROR_GPU_IS_LOST)
        return false;
    if (nvml->call.reasons != NULL && nvml->call.reasons(nvml->device, &reasons) == NVML_SUCCESS)
        state->throttle_reasons = (int64_t)reasons;
    read_sensors(nvml, state);
    read_errors(nvml, state);
    read_retirements(nvml, state);
    read_link(nvml, state);
    read_use(nvml, state);
    read_nvlinks_up(nvml, state);
    read_nvlink_errors(nvml, state);
    read_violation(nvml, NVML_PERF_POLICY_POWER, &state->violation_power_ns);
    read_violation(nvml, NVML_PERF_POLICY_THERMAL, &state->violation_thermal_ns);
    return true;
}
