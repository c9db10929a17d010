// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/redis/queue.h"

static void random_hex(char *to, size_t bytes)
{
	uint64_t number = 0;
	size_t i;

	/* One number has eight bytes: to ask the kernel for each byte takes long. */
	for (i = 0; i < bytes; i++, number >>= 8) {
		if (i % 8 == 0)
			number = random_upto(UINT64_MAX);
		sprintf(to + 2 * i, "%02x", (unsigned int)(number & 255));
	}
}

struct job *job_new(enum job_kind kind)
{
	struct job *job = need_zeros(sizeof(*job));

	job->kind = kind;
	job->since = now_seconds();
	return job;
}

void job_new_token(struct job *job)
{
	random_hex(job->token, 16);
}

void job_new_version(struct job *job)
{
	random_hex(job->version, 12);
}

bool job_is_awaited(const struct job *job)
{
	return job->request && request_is_awaited(job->request);
}

void job_answer(struct job *job, int status, char *text)
{
	if (job->request)
		request_answer(job->request, status, text);
	else
		free(text);
	job->request = NULL;
	timer_stop(&job->expires);
}

void job_free(struct job *job)
{
	if (job->request)
		job_answer(job, STATUS_REFUSED, need_copy("the daemon gave it up"));
	timer_stop(&job->expires);
	fleet_free(job->fleet);
	free(job->bytes.data);
	free(job);
}
