/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of the event loop, and the times at which to try again. */
#ifndef IPCUCKOOD_TIMER_H
#define IPCUCKOOD_TIMER_H

#include <stdint.h>
#include <systemd/sd-event.h>

/* Call @handler once in @ms milliseconds. *@timer is NULL at first; a timer that is running starts
 * again. Timers end with timer_stop().
 */
void timer_start(sd_event *event, sd_event_source **timer, uint64_t ms,
		 sd_event_time_handler_t handler, void *data);
void timer_stop(sd_event_source **timer);

/* A random number from 0 to @most. */
uint64_t random_upto(uint64_t most);

/* How long to wait, in milliseconds, after failure number @failures (from 1): @least seconds,
 * doubled with each failure up to @most seconds; a random time between half of that and all of it,
 * so that not all firewalls try again at once.
 */
uint64_t backoff_ms(unsigned int failures, uint64_t least, uint64_t most);

#endif /* IPCUCKOOD_TIMER_H */
