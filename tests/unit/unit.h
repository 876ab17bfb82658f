/* What every unit test needs: cmocka, failing allocations, counting fds. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/*
 * Let the nth allocation from here fail, 1 being the next; 0: none. Every
 * test is linked so that malloc, calloc and realloc of our code come by.
 */
void alloc_fail_at(unsigned int n);
/* Whether that allocation was reached. */
int alloc_failed(void);

/* Skip the present test and say why; tests/report.py reads it. */
#define skip_because(reason)                                                   \
	do {                                                                   \
		print_message("# skip: %s\n", reason);                         \
		skip();                                                        \
	} while (0)

/* Descriptors that this process has open. */
unsigned int fds_open(void);

#endif
