// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/redis/clock.h"
#include "daemon/redis/list.h"
#include "daemon/set/source.h"

#define ASK_MS		(600 * 1000)
/* Entries expire at full seconds, so smaller differences do not matter. */
#define DIFFERENCE_MS	2000

bool clock_due(struct clock_check *check)
{
	uint64_t now = clock_ms(CLOCK_REALTIME);

	if (check->asked_ms && now >= check->asked_ms && now - check->asked_ms < ASK_MS)
		return false;
	check->asked_ms = now;
	return true;
}

/* The answer is [seconds, microseconds]. */
static bool read_time(const redisReply *reply, uint64_t *ms)
{
	uint64_t parts[2];
	size_t i;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
		return false;
	for (i = 0; i < 2; i++)
		if (reply->element[i]->type != REDIS_REPLY_STRING ||
		    !list_number(reply->element[i]->str, reply->element[i]->len, &parts[i]))
			return false;
	if (parts[0] > UINT32_MAX || parts[1] >= 1000000)
		return false;
	*ms = parts[0] * 1000 + parts[1] / 1000;
	return true;
}

static void note_refused(struct clock_check *check, struct source *source, const char *server)
{
	source->clock_difference = -1;
	if (check->differs)
		source_set_warning(source, NULL);
	if (!check->refused)
		log_info("[redis %s] Redis at %s does not tell its time, so the clocks are not compared: let the user run TIME (+time)",
			 source->name, server);
	check->refused = true;
}

void clock_compare(struct clock_check *check, struct source *source, const char *server,
		   const redisReply *reply)
{
	uint64_t now = clock_ms(CLOCK_REALTIME), theirs, ms;
	bool behind, differs;

	if (!read_time(reply, &theirs)) {
		note_refused(check, source, server);
		return;
	}
	/* Redis read its clock after it was asked, and before the answer was here. Only a time outside
	 * of that is a difference.
	 */
	behind = theirs > now;
	ms = behind ? theirs - now : theirs < check->asked_ms ? check->asked_ms - theirs : 0;
	source->clock_difference = ms / 1000.0;
	differs = ms >= DIFFERENCE_MS;
	/* Another warning is not removed. */
	if (!differs && check->differs)
		source_set_warning(source, NULL);
	else if (differs)
		source_set_warning(source, need_text(
			"the clock of this machine is %llu seconds %s that of Redis at %s, so entries with a timeout expire that much %s here; set both clocks by NTP",
			(unsigned long long)(ms + 500) / 1000, behind ? "behind" : "ahead of",
			server, behind ? "later" : "earlier"));
	if (differs && !check->differs)
		log_warning("[redis %s] %s", source->name, source->warning);
	else if (!differs && check->differs)
		log_info("[redis %s] the clocks of this machine and of Redis at %s agree again",
			 source->name, server);
	check->differs = differs;
}

void clock_forget(struct clock_check *check, struct source *source)
{
	check->asked_ms = 0;
	source->clock_difference = -1;
	if (check->differs)
		source_set_warning(source, NULL);
}
