/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that use the module at the same time: workers_run() starts a thread for each worker,
 * lets all of them run for some time, stops them, and checks what they report.
 */
#ifndef _WORKERS_H
#define _WORKERS_H

#include <err.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ktap.h"

/* All workers return soon after this is set. */
static atomic_bool workers_stop;

/**
 * struct worker - a thread, and what it has done
 * @name:	what @done counts
 * @run:	what the thread does until workers_stop is set
 * @random:	state of the thread's random numbers, if it needs any
 * @done:	what the thread has done, as a number
 * @unexpected:	number of unexpected results
 * @first:	description of the first unexpected result
 * @thread:	for workers_run()
 */
struct worker {
	const char *name;
	void (*run)(struct worker *worker);
	uint32_t random;
	unsigned long done;
	unsigned long unexpected;
	char first[120];
	pthread_t thread;
};

/* Count an unexpected result, and describe it if it is the first one. */
__attribute__((format(printf, 2, 3)))
static inline void worker_report(struct worker *worker, const char *format, ...)
{
	va_list args;

	if (worker->unexpected++)
		return;
	va_start(args, format);
	vsnprintf(worker->first, sizeof(worker->first), format, args);
	va_end(args);
}

static inline void *worker_main(void *data)
{
	struct worker *worker = data;

	worker->run(worker);
	return NULL;
}

/* Expect that each worker has done something, and that no result was unexpected. */
static inline void workers_run(struct worker *workers, unsigned int count, double seconds)
{
	struct worker *worker;
	int error;

	workers_stop = false;
	for (worker = workers; worker < workers + count; worker++) {
		error = pthread_create(&worker->thread, NULL, worker_main, worker);
		if (error)
			errx(2, "a thread: %s", strerror(error));
	}
	usleep(seconds * 1e6);
	workers_stop = true;
	for (worker = workers; worker < workers + count; worker++) {
		pthread_join(worker->thread, NULL);
		printf("# %s: %lu\n", worker->name, worker->done);
		expect(worker->done, "%s: some", worker->name);
		expect(!worker->unexpected, "%s: %lu times: %s", worker->name, worker->unexpected,
		       worker->first);
	}
}

#endif /* _WORKERS_H */
