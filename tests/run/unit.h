/* What every cmocka program here includes, in the order that cmocka wants. */
#ifndef PB_TESTS_RUN_UNIT_H
#define PB_TESTS_RUN_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
