/* SPDX-License-Identifier: GPL-2.0 */
/* For tests that define _GNU_SOURCE: sockets in other network namespaces, without procfs. */
#ifndef _NETNS_H
#define _NETNS_H

#include <err.h>
#include <pthread.h>
#include <sched.h>

struct netns_call {
	void (*run)(void *data);
	void *data;
};

static inline void *netns_main(void *data)
{
	struct netns_call *call = data;

	if (unshare(CLONE_NEWNET))
		err(2, "a namespace");
	call->run(call->data);
	return NULL;
}

/* Run a function in a new network namespace, in a thread. After it, only the sockets that it has
 * opened refer to the namespace.
 */
static inline void netns_run(void (*run)(void *data), void *data)
{
	struct netns_call call = { run, data };
	pthread_t thread;

	if (pthread_create(&thread, NULL, netns_main, &call) || pthread_join(thread, NULL))
		errx(2, "a thread");
}

#endif /* _NETNS_H */
