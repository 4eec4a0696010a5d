/*
 * policy and way_eviction_probabilities of a cache: which hypothesis explains the chases over the
 * lines of one set (replacement.h), and how often each way was the victim.
 *
 * way_eviction_probabilities is a list by way, in the order in which an empty set fills; shares of
 * all victims with 95% intervals (Jeffreys), wider where chases differ by more. It is stated for
 * random and weighted policies.
 *
 * Limit: with two ways, lru and plru are the same; it is then called lru.
 *
 * Source: M16 section 4.5.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/level.h"
#include "analysis/cache/set_chases.h"
#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/statistics/sample.h"
#include "analysis/trace.h"

/* Where two ways are all there are, plru is lru, and is called so. */
static bool is_rival(enum pb_model_policy policy, enum pb_model_policy best, uint32_t ways)
{
    return policy != best && (ways != 2 || policy != PB_MODEL_PLRU);
}

/* The likeliest policy, the next one and the share of the first. */
static enum pb_model_policy judge(const struct pb_replacement *fit, uint32_t ways,
                                  enum pb_model_policy *next_out, double *posterior_out)
{
    enum pb_model_policy best = PB_MODEL_LRU, next = PB_MODEL_POLICY_COUNT;
    double sum = 1.0;

    for (enum pb_model_policy i = PB_MODEL_LRU; i < PB_MODEL_POLICY_COUNT; i++)
        if (fit->log_likelihood[i] > fit->log_likelihood[best])
            best = i;
    for (enum pb_model_policy i = PB_MODEL_LRU; i < PB_MODEL_POLICY_COUNT; i++) {
        if (!is_rival(i, best, ways))
            continue;
        sum += exp(fit->log_likelihood[i] - fit->log_likelihood[best]);
        if (next == PB_MODEL_POLICY_COUNT || fit->log_likelihood[i] > fit->log_likelihood[next])
            next = i;
    }
    *next_out = next;
    *posterior_out = isfinite(sum) ? 1.0 / sum : 0.0;
    return best;
}

static bool is_drawn(enum pb_model_policy policy)
{
    return policy == PB_MODEL_RANDOM || policy == PB_MODEL_WEIGHTED;
}

/* Does noise, as the reference shows it, make as many hits and misses look like each other? */
static bool are_mispredictions_noise(const struct pb_replacement *fit, enum pb_model_policy policy,
                                     const struct pb_tally *background)
{
    size_t mispredicted = fit->mispredicted[policy];
    struct pb_tally seen = {fit->accesses, fit->accesses - mispredicted, mispredicted};

    return is_drawn(policy) || pb_tally_surprise(&seen, background) > PB_MISSES_BY_CHANCE;
}

static void state_probabilities(struct pb_parameter *answer, const struct pb_replacement *fit,
                                uint32_t ways, double confidence)
{
    struct pb_estimate shares[PB_LIST_MAX];

    if (ways > PB_LIST_MAX || fit->draws == 0) {
        pb_parameter_set_none(answer,
                              "not applicable: %zu probabilities of %u ways are too many to list",
                              fit->draws, ways);
        return;
    }
    for (uint32_t way = 0; way < ways; way++) {
        double hits = (double)fit->victims[way], draws = (double)fit->draws, share = hits / draws;
        double by_trace = PB_SIGMAS * pb_replacement_deviation(fit, way);

        shares[way].value = share;
        pb_share_interval(hits, draws, &shares[way].low, &shares[way].high);
        shares[way].low = fmin(shares[way].low, fmax(0.0, share - by_trace));
        shares[way].high = fmax(shares[way].high, fmin(1.0, share + by_trace));
    }
    pb_parameter_set_list(answer, shares, ways, confidence,
                          "shares of %zu evictions by way, in the order of filling", fit->draws);
}

/* Why no policy is stated; false: `best` is. */
static bool refuse(const struct pb_replacement *fit, enum pb_model_policy best,
                   enum pb_model_policy next, double posterior, const struct pb_tally *background,
                   struct pb_parameter *answer)
{
    const char *name = pb_model_policy_name(best);
    bool is_noise = are_mispredictions_noise(fit, best, background);

    if (!is_noise)
        pb_parameter_set_none(answer,
                              "unexplained: no policy fits: the best one, %s, has %.3f of the "
                              "likelihood, and %zu of %zu accesses contradict it, more than the "
                              "%zu of %zu hits that look like misses allow",
                              name, posterior, fit->mispredicted[best], fit->accesses,
                              background->misses, background->accesses);
    else if (posterior < 1.0 - PB_POSSIBLE_SHARE)
        pb_parameter_set_none(answer,
                              "ambiguous: several policies predict the chases: %s has %.3f of the "
                              "likelihood, and %s comes next; %zu and %zu of %zu accesses "
                              "contradict them",
                              name, posterior, pb_model_policy_name(next), fit->mispredicted[best],
                              fit->mispredicted[next], fit->accesses);
    else if ((double)fit->agreeing[best] < PB_MOST * (double)fit->traces)
        pb_parameter_set_none(answer,
                              "unexplained: no policy fits: the best one, %s, is the best of only "
                              "%zu of %zu chases by themselves",
                              name, fit->agreeing[best], fit->traces);
    else
        return false;
    return true;
}

static void state_policy(const struct pb_case *at, const struct pb_replacement *fit, uint32_t ways,
                         const struct pb_tally *background)
{
    struct pb_parameter *answer = pb_case_answer(at, "policy");
    struct pb_parameter *victims = pb_case_answer(at, "way_eviction_probabilities");
    struct pb_votes votes = {0, 0};
    double posterior, confidence;
    enum pb_model_policy next, best = judge(fit, ways, &next, &posterior);

    if (refuse(fit, best, next, posterior, background, answer)) {
        pb_parameter_set_none(victims, "depends on policy, which is undetermined");
        return;
    }
    pb_votes_add_many(&votes, fit->agreeing[best], fit->traces);
    confidence = posterior * pb_votes_confidence(&votes);
    pb_parameter_set_word(answer, pb_model_policy_name(best), confidence,
                          "M16 4.5: replayed on %zu accesses to the lines of a set of %u ways; "
                          "mispredicted by lru %zu, by fifo %zu, by plru %zu, by keep_hits %zu%s",
                          fit->accesses, ways, fit->mispredicted[PB_MODEL_LRU],
                          fit->mispredicted[PB_MODEL_FIFO], fit->mispredicted[PB_MODEL_PLRU],
                          fit->mispredicted[PB_MODEL_KEEP_HITS],
                          ways == 2 && best == PB_MODEL_LRU ? "; with two ways plru is lru" : "");
    if (is_drawn(best))
        state_probabilities(victims, fit, ways, confidence);
    else
        pb_parameter_set_none(victims,
                              "not applicable: %s is deterministic and has no probabilities",
                              pb_model_policy_name(best));
}

/*
 * Sets that are open and ways that come from the chase alone: is the cache as a whole a number of
 * such sets? Where it is not, lines of something else (a kernel's own parameters in a constant
 * cache) hold ways of that one set, and its victims are not the cache's. PB_NOT_FOUND then.
 */
static enum pb_status check_whole_sets(const struct pb_case *at, double ways, struct pb_error *err)
{
    const char *memory = at->inference->memory;
    const struct pb_parameter *known = pb_parameters_find(at->parameters, memory, "way_counts");
    const struct pb_parameter *size = pb_parameters_find(at->parameters, memory, "size_bytes");
    double line = pb_parameters_number(at->parameters, memory, "line_bytes"), least, most;

    if ((known != NULL && known->kind != PB_VALUE_NONE) || size == NULL ||
        size->kind != PB_VALUE_NUMBER || isnan(line))
        return PB_OK;
    least = ceil(size->numbers[0].low / line);
    most = floor(size->numbers[0].high / line);
    if (floor(most / ways) * ways >= least)
        return PB_OK;
    return pb_fail(err, PB_NOT_FOUND,
                   "inconsistent: the chased set holds %.0f lines, which does not divide the %.0f "
                   "lines of the cache; other lines may occupy ways of it",
                   ways, most);
}

/* Do lines miss again, behind their first loads, more often than noise makes hits look like it? */
static enum pb_status check_misses(const struct pb_set_chases *chases,
                                   const struct pb_tally *background, struct pb_error *err)
{
    size_t first_loads = chases->count * chases->line_count;
    struct pb_tally again = {0, 0, 0};

    for (size_t i = 0; i < chases->access_count; i++) {
        again.hits += chases->observed[i] == PB_OBSERVED_HIT;
        again.misses += chases->observed[i] == PB_OBSERVED_MISS;
    }
    again.misses -= first_loads < again.misses ? first_loads : again.misses;
    again.accesses = again.hits + again.misses;
    if (pb_tally_surprise(&again, background) <= PB_MISSES_BY_CHANCE)
        return PB_OK;
    return pb_fail(err, PB_NOT_FOUND,
                   "not observable: the chased lines displace none: %zu of %zu accesses miss "
                   "again, no more often than the %zu of %zu hits that look like misses",
                   again.misses, again.accesses, background->misses, background->accesses);
}

static enum pb_status infer_from(const struct pb_case *at, const struct pb_cache_level *level,
                                 struct pb_error *err)
{
    double ways = pb_parameters_number(at->parameters, at->inference->memory, "way_counts");
    struct pb_tally background = pb_level_background(level);
    struct pb_set_chases chases;
    struct pb_replacement fit;
    enum pb_status status = pb_set_chases_read(level, &chases, err);

    if (status == PB_OK)
        status = pb_set_chases_drop_foreign(&chases, isnan(ways) ? 0 : (size_t)ways, err);
    if (status == PB_OK && chases.line_count == 0)
        status = pb_fail(err, PB_NOT_FOUND, "not observable: no chase over the lines of one set");
    if (status == PB_OK)
        status = check_misses(&chases, &background, err);
    if (status == PB_OK && isnan(ways)) /* as many lines as make one miss */
        ways = (double)chases.line_count - 1.0;
    if (status == PB_OK && ways == 1.0)
        status = pb_fail(err, PB_NOT_FOUND,
                         "not applicable: sets of one line have no replacement policy");
    if (status == PB_OK && !(ways >= 1.0 && ways <= PB_WAYS_MAX))
        status = pb_fail(err, PB_NOT_FOUND,
                         "not applicable: a set of %.0f lines is too large to be replayed", ways);
    if (status == PB_OK)
        status = check_whole_sets(at, ways, err);
    if (status == PB_OK)
        status = pb_replacement_fit(chases.traces, chases.count, (uint32_t)ways, &fit, err);
    if (status == PB_OK)
        state_policy(at, &fit, (uint32_t)ways, &background);
    pb_set_chases_clear(&chases);
    return status;
}

enum pb_status pb_infer_policy(const struct pb_case *at, struct pb_error *err)
{
    struct pb_cache_level level;
    enum pb_status status = pb_level_open_classified(at, &level, err);

    if (status != PB_OK)
        return status;
    status = infer_from(at, &level, err);
    pb_level_clear(&level);
    return status;
}
