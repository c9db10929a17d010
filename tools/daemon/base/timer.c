// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "daemon/base/log.h"
#include "daemon/base/timer.h"

static int on_time(sd_event_source *source, uint64_t usec, void *data)
{
	const struct timer *timer = data;

	(void)source;
	(void)usec;
	timer->handler(timer->data);
	return 0;
}

void timer_start(sd_event *event, struct timer *timer, uint64_t ms, void (*handler)(void *data),
		 void *data)
{
	int err;

	timer->handler = handler;
	timer->data = data;
	/* sd_event forgets no timer that has gone off. */
	if (timer->source) {
		err = sd_event_source_set_time_relative(timer->source, ms * 1000);
		if (err >= 0)
			err = sd_event_source_set_enabled(timer->source, SD_EVENT_ONESHOT);
	} else {
		/* The accuracy 0 is that of sd_event, 250 ms: timers go off together. */
		err = sd_event_add_time_relative(event, &timer->source, CLOCK_BOOTTIME, ms * 1000,
						 ms < 1000 ? 1000 : 0, on_time, timer);
	}
	/* The loop has ended. libcurl asks for a timer when its transfers are taken from it. */
	if (err >= 0 || err == -ESTALE)
		return;
	log_error("no timer can be set; the sets in the kernel stay as they are");
	exit(EXIT_FAILURE);
}

void timer_stop(struct timer *timer)
{
	timer->source = sd_event_source_disable_unref(timer->source);
}

uint64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

int64_t clock_ahead_ms(void)
{
	return clock_ms(CLOCK_REALTIME) - clock_ms(CLOCK_BOOTTIME);
}

uint64_t random_upto(uint64_t most)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return 0;
	return most == UINT64_MAX ? number : number % (most + 1);
}

uint64_t backoff_ms(unsigned int failures, uint64_t least, uint64_t most)
{
	uint64_t ms = least * 1000;

	while (failures-- > 1 && ms < most * 1000)
		ms *= 2;
	if (ms > most * 1000)
		ms = most * 1000;
	return ms / 2 + random_upto(ms / 2);
}
