/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of the event loop, and the times at which to try again. */
#ifndef IPCUCKOOD_TIMER_H
#define IPCUCKOOD_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include <time.h>

/* Begins with zeros, and must not move while it exists. */
struct timer {
	sd_event_source *source;
	void (*handler)(void *data);
	void *data;
};

/* Call a function once, in so many milliseconds; the time until a call that waits is set anew. The
 * function may free the timer.
 */
void timer_start(sd_event *event, struct timer *timer, uint64_t ms, void (*handler)(void *data),
		 void *data);
void timer_stop(struct timer *timer);
/* Whether it was started, and not stopped since; also if it has gone off. */
static inline bool timer_exists(const struct timer *timer)
{
	return timer->source;
}

/* What a clock says, in milliseconds */
uint64_t clock_ms(clockid_t clock);
/* How far CLOCK_REALTIME is ahead of the time since boot: that changes when it is set. */
int64_t clock_ahead_ms(void);

/* A random number from 0 to @most. */
uint64_t random_upto(uint64_t most);

/* How long to wait, in milliseconds, after failure number @failures (from 1): @least seconds,
 * doubled with each failure up to @most seconds; a random time between half of that and all of it,
 * so that not all firewalls try again at once.
 */
uint64_t backoff_ms(unsigned int failures, uint64_t least, uint64_t most);

#endif /* IPCUCKOOD_TIMER_H */
