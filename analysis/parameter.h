/*
 * What the inference states: parameters of one device, each with its interval, its confidence, the
 * method and the path of its evidence, or with the reason why there is no value.
 */
#ifndef PB_ANALYSIS_PARAMETER_H
#define PB_ANALYSIS_PARAMETER_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record.h"

enum { PB_LIST_MAX = 64 };

/* A number and the interval that holds it, in the parameter's unit. NaN value: not seen. */
struct pb_estimate {
    double value, low, high;
};

#define PB_ESTIMATE_NONE ((struct pb_estimate){NAN, NAN, NAN})

enum pb_value_kind {
    PB_VALUE_NONE, /* `reason` says why */
    PB_VALUE_NUMBER,
    PB_VALUE_LIST,  /* numbers in an order that the parameter's inference documents */
    PB_VALUE_MASKS, /* a list of bit masks of addresses, below 2^53; hexadecimal in reports */
    PB_VALUE_WORD,
};

struct pb_parameter {
    char memory[PB_NAME_LENGTH]; /* l1, l2, dram, shared, clock, … (design 3.3) */
    char name[PB_NAME_LENGTH];
    char unit[PB_NAME_LENGTH];
    enum pb_value_kind kind;
    struct pb_estimate numbers[PB_LIST_MAX];
    size_t number_count; /* 1 for PB_VALUE_NUMBER */
    char word[PB_TEXT_LENGTH];
    double votes;                     /* share of the votes, 0 … 1, see confidence.h */
    double confidence;                /* the same until the device is finished, then calibrated */
    char method[PB_MESSAGE_LENGTH];   /* how, and from how much */
    char evidence[PB_MESSAGE_LENGTH]; /* path of the recording in the fleet file */
    char reason[PB_MESSAGE_LENGTH];
};

/* Where each SM is, by its number; the arrays are of sm_count. */
struct pb_topology {
    size_t sm_count;
    uint16_t *gpcs;          /* 0 is that of SM 0; NULL: not determined */
    unsigned char *l2_sides; /* 0 is that of SM 0; NULL: L2 has none, or they are not determined */
};

/* All parameters of one device, in the order of the table of inferences. */
struct pb_parameters {
    struct pb_parameter *items;
    size_t count, capacity;
    struct pb_topology topology; /* of which the parameters have the numbers of SMs alone */
};

/* Adds a parameter without value or reason. PB_NO_MEMORY leaves set unchanged. */
enum pb_status pb_parameters_declare(struct pb_parameters *set, const char *memory,
                                     const char *name, const char *unit, const char *evidence,
                                     struct pb_error *err);

/* The declared parameter, or NULL. Valid until the next one is declared. */
struct pb_parameter *pb_parameters_find(const struct pb_parameters *set, const char *memory,
                                        const char *name);

/* Its value where it is one number, else NaN. */
double pb_parameters_number(const struct pb_parameters *set, const char *memory, const char *name);

/* Frees what the set owns and empties it; NULL is allowed. */
void pb_parameters_clear(struct pb_parameters *set);
void pb_topology_clear(struct pb_topology *topology);

/*
 * Giving a parameter its value. The format states the method. A value that is not finite, or has no
 * interval around it, is no value: the parameter then says so instead.
 */
void pb_parameter_set_number(struct pb_parameter *parameter, struct pb_estimate estimate,
                             double confidence, const char *method, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * What a parameter has that is one number, in an interval from low to high, and half as sure; why
 * is added to its method. Any other stays as it is.
 */
void pb_parameter_widen(struct pb_parameter *parameter, double low, double high, const char *why);
void pb_parameter_set_list(struct pb_parameter *parameter, const struct pb_estimate *estimates,
                           size_t count, double confidence, const char *method, ...)
    __attribute__((format(printf, 5, 6)));
void pb_parameter_set_masks(struct pb_parameter *parameter, const uint64_t *masks, size_t count,
                            double confidence, const char *method, ...)
    __attribute__((format(printf, 5, 6)));
void pb_parameter_set_word(struct pb_parameter *parameter, const char *word, double confidence,
                           const char *method, ...) __attribute__((format(printf, 4, 5)));

/* Makes another test of the same device the evidence. */
void pb_parameter_point_to(struct pb_parameter *parameter, const char *test);

/* Takes any value away and says why there is none. */
void pb_parameter_set_none(struct pb_parameter *parameter, const char *reason, ...)
    __attribute__((format(printf, 2, 3)));

#endif
