// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <sys/random.h>

#include "daemon/base/log.h"
#include "daemon/base/timer.h"

void timer_start(sd_event *event, sd_event_source **timer, uint64_t ms,
		 sd_event_time_handler_t handler, void *data)
{
	int err;

	/* A timer belongs to one handler and its data; sd_event forgets no timer that ran. */
	if (*timer) {
		err = sd_event_source_set_time_relative(*timer, ms * 1000);
		if (err >= 0)
			err = sd_event_source_set_enabled(*timer, SD_EVENT_ONESHOT);
	} else {
		/* The accuracy 0 is that of sd_event, 250 ms: timers go off together. */
		err = sd_event_add_time_relative(event, timer, CLOCK_BOOTTIME, ms * 1000,
						 ms < 1000 ? 1000 : 0, handler, data);
	}
	if (err >= 0)
		return;
	log_error("no timer can be set; the sets in the kernel stay as they are");
	exit(EXIT_FAILURE);
}

void timer_stop(sd_event_source **timer)
{
	*timer = sd_event_source_disable_unref(*timer);
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
