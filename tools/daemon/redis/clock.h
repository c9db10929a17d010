/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compares the clock of Redis with that of this machine. The time at which an entry expires is a
 * second of the clock: a firewall whose clock is wrong lets go of it too early or too late.
 */
#ifndef IPCUCKOOD_CLOCK_H
#define IPCUCKOOD_CLOCK_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct source;

/**
 * struct clock_check - a comparison of clocks; zeros before the first one
 * @asked_ms:	when Redis was asked for its clock, in milliseconds since 1970; 0: ask again
 * @differs:	the last comparison found a difference, which was logged
 * @refused:	it was logged that Redis does not tell its time
 */
struct clock_check {
	uint64_t asked_ms;
	bool differs;
	bool refused;
};

/* Whether the caller shall send the command TIME now: once in ten minutes. */
bool clock_due(struct clock_check *check);
/* The answer to it: set the source's clock_difference, and its warning if that is two seconds or
 * more. If the answer is no time, because the user may not run TIME for instance, nothing is known
 * any more. @server: for messages
 */
void clock_compare(struct clock_check *check, struct source *source, const char *server,
		   const redisReply *reply);
/* The connection is lost: the difference is not known any more. */
void clock_forget(struct clock_check *check, struct source *source);

#endif /* IPCUCKOOD_CLOCK_H */
