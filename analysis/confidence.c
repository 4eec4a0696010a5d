/* Votes of the evidence; see confidence.h for what they mean. */
#include "analysis/confidence.h"

void pb_votes_add(struct pb_votes *votes, bool agrees)
{
    pb_votes_add_many(votes, agrees ? 1 : 0, 1);
}

void pb_votes_add_many(struct pb_votes *votes, size_t agreeing, size_t seen)
{
    votes->agreeing += (double)agreeing;
    votes->seen += (double)seen;
}

void pb_votes_add_share(struct pb_votes *votes, size_t agreeing, size_t seen, size_t most)
{
    double weight = seen > most ? (double)most / (double)seen : 1.0;

    votes->agreeing += weight * (double)agreeing;
    votes->seen += weight * (double)seen;
}

void pb_votes_doubt(struct pb_votes *votes)
{
    votes->seen += votes->seen > 1.0 ? votes->seen : 1.0;
}

double pb_votes_confidence(const struct pb_votes *votes)
{
    return (votes->agreeing + 1.0) / (votes->seen + 2.0);
}
