/*
 * Sanitizers take three times as long, and many cases run the same code: of those they watch a few.
 * Include cmocka.h before.
 */
#ifndef PB_TESTS_SANITIZED_H
#define PB_TESTS_SANITIZED_H

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* A test that takes long, by code that shorter ones run as well. */
static inline void skip_if_sanitized(void)
{
    if (SANITIZED)
        skip();
}

#endif
