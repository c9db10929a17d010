/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test cases that print KTAP. A case consists of expectations. It passes if it has at least one
 * expectation and all of them hold.
 */
#ifndef _KTAP_H
#define _KTAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* How many failed expectations of a case are printed. */
#define KTAP_PRINTED	5

static struct {
	unsigned int cases;
	unsigned int failed;
	unsigned int skipped;
	unsigned long held;	/* expectations of the current case that held */
	unsigned long broken;	/* and those that did not */
	uint64_t seed;
} ktap;

/* Print the header and the seed: $SEED, or a new one. */
static inline uint64_t ktap_begin(const char *name)
{
	const char *text = getenv("SEED");
	struct timespec now;

	setvbuf(stdout, NULL, _IOLBF, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	ktap.seed = text ? strtoull(text, NULL, 0) :
			   ((uint64_t)now.tv_sec << 20 ^ now.tv_nsec ^
			    (uint64_t)getpid() << 40);
	printf("KTAP version 1\n# %s: SEED=%llu repeats this run\n", name,
	       (unsigned long long)ktap.seed);
	return ktap.seed;
}

/* The number in the environment variable @name, or @value if it is not set. */
static inline unsigned long ktap_option(const char *name, unsigned long value)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 0) : value;
}

/* How much of random work to do: one $DIVIDE-th of @work, at least 1. */
static inline unsigned long ktap_share(unsigned long work)
{
	unsigned long share = work / ktap_option("DIVIDE", 1);

	return share ? share : 1;
}

__attribute__((format(printf, 2, 3)))
static inline bool expect(bool held, const char *format, ...)
{
	va_list args;

	if (held) {
		ktap.held++;
		return true;
	}
	if (ktap.broken++ < KTAP_PRINTED) {
		va_start(args, format);
		printf("# expectation failed: ");
		vprintf(format, args);
		printf("\n");
		va_end(args);
	}
	return false;
}

#define expect_equal(actual, expected, format, ...) ({			\
	long long expect_actual = (actual), expect_expected = (expected);	\
	expect(expect_actual == expect_expected,			\
	       format ": expected %lld, got %lld", ##__VA_ARGS__,	\
	       expect_expected, expect_actual);				\
})

/* Has the current case failed already? Lets long loops end early. */
static inline bool ktap_failing(void)
{
	return ktap.broken;
}

/* End the current case, and print its result. */
__attribute__((format(printf, 1, 2)))
static inline void ktap_case(const char *format, ...)
{
	bool passed = ktap.held && !ktap.broken;
	va_list args;

	if (!ktap.held && !ktap.broken)
		printf("# the case has no expectations\n");
	if (ktap.broken > KTAP_PRINTED)
		printf("# and %lu more expectations failed\n", ktap.broken - KTAP_PRINTED);
	printf("%sok %u ", passed ? "" : "not ", ++ktap.cases);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	ktap.failed += !passed;
	ktap.held = ktap.broken = 0;
}

/* A kernel may have no procfs. */
static inline bool has_procfs(void)
{
	return !access("/proc/self", F_OK);
}

/* A case that this kernel cannot run. */
static inline void ktap_skip(const char *name, const char *reason)
{
	printf("ok %u %s # SKIP %s\n", ++ktap.cases, name, reason);
	ktap.skipped++;
}

/* This kernel can run none of the cases. Return the exit status of the program. */
static inline int ktap_skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	return 4;
}

/* Print the plan. Return the exit status of the program. */
static inline int ktap_end(void)
{
	printf("1..%u\n", ktap.cases);
	printf("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0\n",
	       ktap.cases - ktap.failed - ktap.skipped, ktap.failed, ktap.skipped);
	return ktap.failed || !ktap.cases;
}

static inline double ktap_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

#endif /* _KTAP_H */
