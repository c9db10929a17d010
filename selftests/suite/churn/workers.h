/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that use the module at the same time: workers_run() starts a thread for each worker,
 * lets all of them run for some time, stops them, and checks what they report. On a busy machine
 * some threads may not get a processor for that time; then it waits for them.
 */
#ifndef _WORKERS_H
#define _WORKERS_H

#include <arpa/inet.h>
#include <err.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ktap.h"

/* What each worker must have done before workers_run() stops it, and for how many seconds more than
 * asked for that waits.
 */
enum { WORKERS_LEAST = 5, WORKERS_PATIENCE = 120 };

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
	atomic_ulong done;
	atomic_ulong unexpected;
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

/* Send a packet to a port of this machine on which nothing listens. It may fail: the error of one
 * packet is returned by a later call.
 */
static inline void worker_send(int s)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	sendto(s, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
}

static inline void *worker_main(void *data)
{
	struct worker *worker = data;

	worker->run(worker);
	return NULL;
}

/* Have all workers done something? One with an unexpected result may have ended early. */
static inline bool workers_busy(const struct worker *workers, unsigned int count)
{
	const struct worker *worker;

	for (worker = workers; worker < workers + count; worker++)
		if (worker->done < WORKERS_LEAST && !worker->unexpected)
			return false;
	return true;
}

/* Expect that each worker has done something, and that no result was unexpected. */
static inline void workers_run(struct worker *workers, unsigned int count, double seconds)
{
	double end = ktap_seconds() + seconds + WORKERS_PATIENCE;
	struct worker *worker;
	int error;

	workers_stop = false;
	for (worker = workers; worker < workers + count; worker++) {
		error = pthread_create(&worker->thread, NULL, worker_main, worker);
		if (error)
			errx(2, "a thread: %s", strerror(error));
	}
	usleep(seconds * 1e6);
	while (!workers_busy(workers, count) && ktap_seconds() < end)
		usleep(10000);
	workers_stop = true;
	for (worker = workers; worker < workers + count; worker++) {
		pthread_join(worker->thread, NULL);
		printf("# %s: %lu\n", worker->name, (unsigned long)worker->done);
		expect(worker->done, "%s: some", worker->name);
		expect(!worker->unexpected, "%s: %lu times: %s", worker->name,
		       (unsigned long)worker->unexpected, worker->first);
	}
}

#endif /* _WORKERS_H */
