/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common functions of the measurements of the core: time, and lines of JSON for
 * ../lab/measurements.py.
 */
#ifndef _BENCH_H
#define _BENCH_H

#include <time.h>

#include "core.h"

enum {
	BENCH_ROUNDS_MAX = 64,
};

/**
 * struct bench_line - a measurement, with a sample for each round
 * @part:	part of the report
 * @name:	name of the case
 * @unit:	unit of the samples
 * @params:	more members of the JSON object, or NULL
 * @samples:	the samples
 * @rounds:	number of samples
 */
struct bench_line {
	const char *part;
	const char *name;
	const char *unit;
	const char *params;
	const double *samples;
	unsigned int rounds;
};

static inline void bench_print(const struct bench_line *line)
{
	unsigned int i;

	printf("{\"part\": \"%s\", \"case\": \"%s\", \"subject\": \"ipcuckoo\", \"unit\": \"%s\"",
	       line->part, line->name, line->unit);
	if (line->params)
		printf(", %s", line->params);
	printf(", \"samples\": [");
	for (i = 0; i < line->rounds; i++)
		printf("%s%.6g", i ? ", " : "", line->samples[i]);
	printf("]}\n");
}

/* Seconds that this thread has run. Time in which other processes ran does not count. */
static inline double bench_thread_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline double bench_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noreturn, format(printf, 1, 2)))
static inline void bench_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

/* Set the seed to $SEED, or to 1, for the measurements and for the code under test. */
static inline void bench_begin(void)
{
	ktap.seed = ktap_option("SEED", 1);
	shim_random_seed(ktap.seed);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

/* A positive number from the environment, or the default. */
static inline unsigned long bench_option(const char *name, unsigned long usual,
					 unsigned long most)
{
	unsigned long value = ktap_option(name, usual);

	if (!value || value > most)
		bench_die("%s=%s: from 1 to %lu", name, getenv(name), most);
	return value;
}

static inline const char *bench_family(bool v6)
{
	return v6 ? "inet6" : "inet";
}

static inline const char *bench_family_name(bool v6)
{
	return v6 ? "IPv6" : "IPv4";
}

/* A random host. IPv6 hosts differ in both halves. */
static inline struct ipcuckoo_entry bench_host(struct random *random, bool v6)
{
	struct ipcuckoo_entry entry = { .v6 = v6, .len = family_bits(v6) };

	entry.addr.lo = v6 ? random_u64(random) : random_u32(random);
	if (v6)
		entry.addr.hi = random_u64(random);
	return entry;
}

#endif /* _BENCH_H */
