// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "daemon/job.h"
#include "daemon/memory.h"
#include "daemon/timer.h"

static void random_hex(char *to, size_t bytes)
{
	for (; bytes; bytes--, to += 2)
		sprintf(to, "%02x", (unsigned int)random_upto(255));
}

struct job *job_new(enum job_kind kind)
{
	struct job *job = need_zeros(sizeof(*job));

	job->kind = kind;
	job->since = now_seconds();
	random_hex(job->token, 16);
	job_new_version(job);
	return job;
}

void job_new_version(struct job *job)
{
	random_hex(job->version, 12);
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
