/* Ranges of recorded devices; see reference.h. */
#include "analysis/verdict/reference.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/former_names.h"

#define PRACTICALS_OF_SEVERAL 2.0
#define PRACTICALS_OF_ONE     4.0

const struct pb_reference *pb_reference_find(const struct pb_references *references,
                                             const char *model)
{
    for (size_t i = 0; references != NULL && i < references->count; i++)
        if (strcmp(references->items[i].model, model) == 0)
            return &references->items[i];
    return NULL;
}

const struct pb_reference_number *pb_reference_number_of(const struct pb_reference *reference,
                                                         const struct pb_metric *metric)
{
    for (size_t i = 0; i < reference->count; i++) {
        const struct pb_reference_number *number = &reference->numbers[i];

        if (pb_name_matches(number->name, metric->name) &&
            number->method_version == metric->method_version &&
            strcmp(number->test, metric->test) == 0 && strcmp(number->unit, metric->unit) == 0)
            return number;
    }
    return NULL;
}

double pb_reference_range(const struct pb_reference_number *number, const struct pb_metric *metric,
                          double p)
{
    double practical = metric->practical * fabs(number->center), devices = (double)number->devices;
    double run_sd = isnan(number->run_sd) ? 0.0 : number->run_sd;
    double spread;

    if (number->devices < 2 || isnan(number->device_sd))
        return PRACTICALS_OF_ONE * practical + gsl_cdf_ugaussian_Qinv(p / 2.0) * run_sd;
    spread = sqrt(number->device_sd * number->device_sd * (1.0 + 1.0 / devices) + run_sd * run_sd);
    return fmax(PRACTICALS_OF_SEVERAL * practical,
                gsl_cdf_tdist_Qinv(p / 2.0, devices - 1.0) * spread + metric->quantum / 2.0);
}

void pb_references_clear(struct pb_references *references)
{
    if (references == NULL)
        return;
    for (size_t i = 0; i < references->count; i++)
        free(references->items[i].numbers);
    free(references->items);
    *references = (struct pb_references){0};
}
