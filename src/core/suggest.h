/*
 * What a mistyped word was meant to be: of the words that are possible the one with the fewest
 * changes, where one change is a letter added, left out or replaced, or two neighbours exchanged.
 */
#ifndef PB_CORE_SUGGEST_H
#define PB_CORE_SUGGEST_H

#include <stddef.h>

/* Begin with {.word = WORD}. */
struct pb_suggestion {
    const char *word;
    const char *best; /* NULL: no candidate is near */
    size_t changes;   /* from the word to the best candidate */
};

/*
 * Keeps the candidate if it is near enough to be meant (a change for every three letters, and not
 * of all of them), and nearer than those before it.
 */
void pb_suggest(struct pb_suggestion *suggestion, const char *candidate);

#endif
