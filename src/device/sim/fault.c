/* Reading fault specifications by one table of forms; see fault.h. */
#include "device/sim/fault.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suggest.h"

enum form {
    FORM_FACTOR,      /* =F */
    FORM_SHARE,       /* =F, at most 1 */
    FORM_SM_FACTOR,   /* =SM:F */
    FORM_SM_CHANCE,   /* =SM:PROBABILITY */
    FORM_TAIL,        /* =PROBABILITY:CYCLES */
    FORM_THROTTLE,    /* =F@SECONDS */
    FORM_WIDTH,       /* =N */
    FORM_PROBABILITY, /* =PROBABILITY */
    FORM_TEST,        /* @TEST */
    FORM_BARE,        /* nothing */
};

static const struct rule {
    const char *name;
    enum pb_sim_fault_kind kind;
    enum form form;
} rules[] = {
    {"clock", PB_SIM_FAULT_CLOCK, FORM_FACTOR},
    {"dram_bandwidth", PB_SIM_FAULT_DRAM_BANDWIDTH, FORM_FACTOR},
    {"l2_bandwidth", PB_SIM_FAULT_L2_BANDWIDTH, FORM_FACTOR},
    {"dram_latency", PB_SIM_FAULT_DRAM_LATENCY, FORM_FACTOR},
    {"l2_latency", PB_SIM_FAULT_L2_LATENCY, FORM_FACTOR},
    {"l1_size", PB_SIM_FAULT_L1_SIZE, FORM_SHARE},
    {"sm_slow", PB_SIM_FAULT_SM_SLOW, FORM_SM_FACTOR},
    {"sm_l1_size", PB_SIM_FAULT_SM_L1_SIZE, FORM_SM_FACTOR},
    {"sm_conflict", PB_SIM_FAULT_SM_CONFLICT, FORM_SM_FACTOR},
    {"tail", PB_SIM_FAULT_TAIL, FORM_TAIL},
    {"throttle", PB_SIM_FAULT_THROTTLE, FORM_THROTTLE},
    {"pcie_width", PB_SIM_FAULT_PCIE_WIDTH, FORM_WIDTH},
    {"bitflip", PB_SIM_FAULT_BITFLIP, FORM_PROBABILITY},
    {"hang", PB_SIM_FAULT_HANG, FORM_TEST},
    {"crash", PB_SIM_FAULT_CRASH, FORM_TEST},
    {"lost", PB_SIM_FAULT_LOST, FORM_TEST},
    {"absent", PB_SIM_FAULT_ABSENT, FORM_BARE},
    {"load_knee", PB_SIM_FAULT_LOAD_KNEE, FORM_FACTOR},
    {"atomic_rate", PB_SIM_FAULT_ATOMIC_RATE, FORM_FACTOR},
    {"dsm_latency", PB_SIM_FAULT_DSM_LATENCY, FORM_FACTOR},
    {"peer_latency", PB_SIM_FAULT_PEER_LATENCY, FORM_FACTOR},
    {"compute_flip", PB_SIM_FAULT_COMPUTE_FLIP, FORM_SM_CHANCE},
};

static const double factor_low = 0.01, factor_high = 100.0;

/* How a specification is written, for messages. */
static const char *form_text(enum form form)
{
    static const char *const texts[] = {
        [FORM_FACTOR] = "=F with F from 0.01 to 100",
        [FORM_SHARE] = "=F with F from 0.01 to 1",
        [FORM_SM_FACTOR] = "=SM:F with SM from 0 and F from 0.01 to 100",
        [FORM_SM_CHANCE] = "=SM:PROBABILITY with SM from 0 and PROBABILITY from 0 to 1",
        [FORM_TAIL] = "=PROBABILITY:CYCLES with PROBABILITY from 0 to 1 and CYCLES from 0 to 1e9",
        [FORM_THROTTLE] = "=F@SECONDS with F from 0.01 to 1 and SECONDS from 0 to 1e6",
        [FORM_WIDTH] = "=N with N one of 1, 2, 4, 8, 16 and 32",
        [FORM_PROBABILITY] = "=PROBABILITY from 0 to 1",
        [FORM_TEST] = "@TEST with the name of a test",
        [FORM_BARE] = " without a value",
    };

    return texts[form];
}

/* Takes a number within a range from *text and moves on behind it. */
static bool take_number(const char **text, double low, double high, double *value_out)
{
    char *end = NULL;
    double value = strtod(*text, &end);

    if (end == *text || !isfinite(value) || value < low || value > high)
        return false;
    *text = end;
    *value_out = value;
    return true;
}

static bool take_char(const char **text, char expected)
{
    if (**text != expected)
        return false;
    (*text)++;
    return true;
}

static bool take_width(const char **text, double *value_out)
{
    return take_number(text, 1, 32, value_out) &&
           (*value_out == 1 || *value_out == 2 || *value_out == 4 || *value_out == 8 ||
            *value_out == 16 || *value_out == 32);
}

static bool take_sm(const char **text, int64_t *sm_out)
{
    double value;

    if (!take_number(text, 0, 4095, &value) || value != floor(value))
        return false;
    *sm_out = (int64_t)value;
    return true;
}

/* A test's name: the whole rest. */
static bool take_test(const char **text, char test[PB_NAME_LENGTH])
{
    size_t length = strlen(*text);

    if (length == 0 || length >= PB_NAME_LENGTH)
        return false;
    memcpy(test, *text, length + 1);
    *text += length;
    return true;
}

static bool take_value(const char **text, enum form form, struct pb_sim_fault *fault)
{
    switch (form) {
    case FORM_FACTOR:
        return take_char(text, '=') && take_number(text, factor_low, factor_high, &fault->value);
    case FORM_SHARE:
        return take_char(text, '=') && take_number(text, factor_low, 1, &fault->value);
    case FORM_SM_FACTOR:
        return take_char(text, '=') && take_sm(text, &fault->sm) && take_char(text, ':') &&
               take_number(text, factor_low, factor_high, &fault->value);
    case FORM_SM_CHANCE:
        return take_char(text, '=') && take_sm(text, &fault->sm) && take_char(text, ':') &&
               take_number(text, 0, 1, &fault->value);
    case FORM_TAIL:
        return take_char(text, '=') && take_number(text, 0, 1, &fault->value) &&
               take_char(text, ':') && take_number(text, 0, 1e9, &fault->cycles);
    case FORM_THROTTLE:
        return take_char(text, '=') && take_number(text, factor_low, 1, &fault->value) &&
               take_char(text, '@') && take_number(text, 0, 1e6, &fault->seconds);
    case FORM_WIDTH:
        return take_char(text, '=') && take_width(text, &fault->value);
    case FORM_PROBABILITY:
        return take_char(text, '=') && take_number(text, 0, 1, &fault->value);
    case FORM_TEST:
        return take_char(text, '@') && take_test(text, fault->test);
    case FORM_BARE:
        return true;
    }
    return false;
}

static enum pb_status refuse_name(const char *spec, size_t name_length, struct pb_error *err)
{
    char names[PB_ERROR_LENGTH] = "", word[PB_NAME_LENGTH];
    struct pb_suggestion suggestion = {.word = word};
    size_t length = 0;

    snprintf(word, sizeof(word), "%.*s", (int)name_length, spec);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && length < sizeof(names); i++) {
        pb_suggest(&suggestion, rules[i].name);
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i == 0 ? "" : ", ", rules[i].name);
    }
    if (suggestion.best != NULL)
        return pb_fail(err, PB_INVALID, "fault \"%s\": no fault has this name; did you mean %s?",
                       spec, suggestion.best);
    return pb_fail(err, PB_INVALID, "fault \"%s\": expected one of %s", spec, names);
}

enum pb_status pb_sim_fault_parse(const char *spec, struct pb_sim_fault *fault_out,
                                  struct pb_error *err)
{
    size_t name_length = strcspn(spec, "=@");

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct pb_sim_fault fault = {.kind = rules[i].kind, .value = 1.0};
        const char *text = spec + name_length;

        if (strlen(rules[i].name) != name_length || memcmp(rules[i].name, spec, name_length) != 0)
            continue;
        if (!take_value(&text, rules[i].form, &fault) || *text != '\0')
            return pb_fail(err, PB_INVALID, "fault \"%s\": expected %s%s, found \"%s\"", spec,
                           rules[i].name, form_text(rules[i].form), spec + name_length);
        *fault_out = fault;
        return PB_OK;
    }
    return refuse_name(spec, name_length, err);
}

enum pb_status pb_sim_faults_parse(const char *const *specs, size_t count,
                                   struct pb_sim_faults *faults_out, struct pb_error *err)
{
    struct pb_sim_faults faults = {NULL, count};
    enum pb_status status = PB_OK;

    if (count > 0) {
        faults.list = calloc(count, sizeof(*faults.list));
        if (faults.list == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu faults", count);
    }
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = pb_sim_fault_parse(specs[i], &faults.list[i], err);
    if (status != PB_OK) {
        pb_sim_faults_free(&faults);
        return status;
    }
    *faults_out = faults;
    return PB_OK;
}

void pb_sim_faults_free(struct pb_sim_faults *faults)
{
    free(faults->list);
    faults->list = NULL;
    faults->count = 0;
}

double pb_sim_faults_factor(const struct pb_sim_faults *faults, enum pb_sim_fault_kind kind)
{
    double factor = 1.0;

    for (size_t i = 0; i < faults->count; i++)
        if (faults->list[i].kind == kind)
            factor *= faults->list[i].value;
    return factor;
}

const struct pb_sim_fault *pb_sim_faults_find(const struct pb_sim_faults *faults,
                                              enum pb_sim_fault_kind kind)
{
    for (size_t i = 0; i < faults->count; i++)
        if (faults->list[i].kind == kind)
            return &faults->list[i];
    return NULL;
}

double pb_sim_faults_bitflip(const struct pb_sim_faults *faults)
{
    const struct pb_sim_fault *fault = pb_sim_faults_find(faults, PB_SIM_FAULT_BITFLIP);

    return fault != NULL ? fault->value : 0.0;
}

bool pb_sim_faults_strike(const struct pb_sim_faults *faults, enum pb_sim_fault_kind kind,
                          const char *test)
{
    for (size_t i = 0; i < faults->count; i++)
        if (faults->list[i].kind == kind && strcmp(faults->list[i].test, test) == 0)
            return true;
    return false;
}
