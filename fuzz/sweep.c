/*
 * The main of a harness of courses of events that lets each call fail in turn:
 * each file that the arguments name is run with the first allocation failing,
 * with the second, and so on, until there is no such one; and then each other
 * call in each of its ways. The last line printed is the run that ended us.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/faults.h"
#include "fuzz/fuzz.h"

/* Flags, the kind and the number of the call come before the events. */
#define HEAD 4

static struct {
	uint8_t data[HEAD + FUZZ_LEN_MAX];
	size_t len;
} input;

static void
read_input(const char *path)
{
	FILE *f = fopen(path, "rbe");
	uint8_t flags;

	if (f == NULL || fread(&flags, 1, 1, f) != 1) {
		(void)fprintf(stderr, "sweep: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	input.data[0] = flags | SWEEP_FLAG;
	input.len = HEAD + fread(input.data + HEAD, 1, FUZZ_LEN_MAX - HEAD, f);
	(void)fclose(f);
}

/* Returns how many calls of that kind there are. */
static unsigned int
sweep(const char *path, enum fault_call call, uint8_t how)
{
	unsigned int n = 0;

	input.data[1] =
	    (uint8_t)((unsigned int)call + how * (unsigned int)FAULT_CALLS);
	do {
		n++;
		assert(n <= UINT16_MAX);
		input.data[2] = (uint8_t)(n >> 8);
		input.data[3] = (uint8_t)n;
		(void)fprintf(stderr, "\r%s call=%u how=%u n=%u ", path,
		    (unsigned int)call, (unsigned int)how, n);
		(void)LLVMFuzzerTestOneInput(input.data, input.len);
	} while (fault_clear());
	(void)fprintf(stderr, "\n");
	return n - 1;
}

int
main(int argc, char **argv)
{
	unsigned int failed = 0;

	for (int i = 1; i < argc; i++) {
		read_input(argv[i]);
		for (int call = 0; call < FAULT_CALLS; call++)
			for (uint8_t how = 0;
			     how < fault_ways((enum fault_call)call); how++)
				failed +=
				    sweep(argv[i], (enum fault_call)call, how);
	}
	(void)fprintf(stderr, "%u calls failed\n", failed);
	return failed > 0 ? 0 : 1;
}
