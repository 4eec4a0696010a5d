/* Edit distance (optimal string alignment) over short words; see suggest.h. */
#include "core/suggest.h"

#include <string.h>

enum { LETTERS_MAX = 40 }; /* longer words are not compared */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The changes from the first i letters of a to the first j of b, from the three rows before. */
static size_t changes_at(const char *a, const char *b, size_t i, size_t j,
                         size_t rows[3][LETTERS_MAX + 1])
{
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
    size_t changes = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));

    if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        changes = least(changes, second[j - 2] + 1);
    return changes;
}

static size_t count_changes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LETTERS_MAX + 1] = {{0}};

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        rows[i % 3][0] = i;
        for (size_t j = 1; j <= b_length; j++)
            rows[i % 3][j] = changes_at(a, b, i, j, rows);
    }
    return rows[a_length % 3][b_length];
}

void pb_suggest(struct pb_suggestion *suggestion, const char *candidate)
{
    size_t length = strlen(suggestion->word), other = strlen(candidate), changes;

    if (length == 0 || length > LETTERS_MAX || other > LETTERS_MAX)
        return;
    changes = count_changes(suggestion->word, length, candidate, other);
    if (changes > (length + 2) / 3 || changes == length ||
        (suggestion->best != NULL && changes >= suggestion->changes))
        return;
    suggestion->best = candidate;
    suggestion->changes = changes;
}
