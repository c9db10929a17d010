/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compares the clock of Redis with that of this machine. When an entry expires is a second of the
 * clock: firewalls whose clocks differ do not let go of it together.
 */
#ifndef IPCUCKOOD_CLOCK_H
#define IPCUCKOOD_CLOCK_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct source;

/**
 * struct clock_check - when the clock of Redis was asked for; zeros if never
 * @asked_ms:	when that was, in milliseconds since 1970
 * @differs:	the clocks were found to differ
 */
struct clock_check {
	uint64_t asked_ms;
	bool differs;
};

/**
 * clock_ask() - is it time to ask for the clock?
 * @check:	the check; if it is time, it expects that the caller sends the command TIME now
 *
 * Return: whether it was not asked for in the last ten minutes.
 */
bool clock_ask(struct clock_check *check);

/**
 * clock_compare() - take the answer to TIME
 * @check:	the check
 * @source:	the source. Its clock_difference is set, and its warning if that is two seconds or more
 * @server:	address of Redis, for messages
 * @reply:	the answer. One that has no time, as the user may not run TIME, is ignored
 */
void clock_compare(struct clock_check *check, struct source *source, const char *server,
		   const redisReply *reply);

#endif /* IPCUCKOOD_CLOCK_H */
