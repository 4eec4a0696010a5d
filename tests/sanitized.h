/* Sanitizers take six times as long: of many cases of the same code they watch a few. */
#ifndef PB_TESTS_SANITIZED_H
#define PB_TESTS_SANITIZED_H

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
