/* SPDX-License-Identifier: GPL-2.0-only */
/* The module that measures look-ups; lab.c begins with how it is used. */
#ifndef _IPCUCKOO_LAB_H
#define _IPCUCKOO_LAB_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/types.h>

struct net;

/* Look-ups between two looks at the clock: too many for the clock to matter, too few for the
 * host to have other plans for the processor meanwhile, as a rule.
 */
#define LAB_CHUNK	256

/* The name of every set, and of nftables' table. */
#define LAB_SET		"lab"

/**
 * struct lab_traffic - addresses to look up, in turn
 * @list:	of all
 * @name:	its name
 * @v4, @v6:	the addresses as packets have them; one of the two is NULL
 * @count:	how many, a power of two
 */
struct lab_traffic {
	struct list_head list;
	char name[32];
	const __be32 *v4;
	const struct in6_addr *v6;
	u32 count;
};

/**
 * struct lab_run - a measurement
 * @net:	the namespace it was asked for in
 * @traffic:	what is looked up
 * @serial:	one look-up at a time: each is complete before the next begins
 * @at:		index of the next address
 * @area:	of "lines"
 * @lines:	cache lines of it
 */
struct lab_run {
	struct net *net;
	const struct lab_traffic *traffic;
	bool serial;
	u32 at;
	const void *area;
	u32 lines;
};

/**
 * struct lab_subject - something to measure
 * @part:	"hook" or "bare"
 * @name:	its name
 * @begin:	find what is looked up in
 * @chunk:	LAB_CHUNK look-ups; returns how many found their address
 * @end:	let go of it
 *
 * One at a time: subjects may keep what they need in static variables.
 */
struct lab_subject {
	const char *part;
	const char *name;
	int (*begin)(const struct lab_run *run);
	u32 (*chunk)(const struct lab_run *run);
	void (*end)(void);
};

extern const struct lab_subject lab_bare[], lab_hook[];

/* Index of the address that is @i after the first of a chunk. */
static inline u32 lab_index(const struct lab_run *run, u32 i)
{
	return (run->at + i) & (run->traffic->count - 1);
}

/* Nothing after it begins before everything before it is complete; on AMD as
 * well, where Linux sees to that.
 */
static inline void lab_wait(bool serial)
{
	if (serial)
		asm volatile("lfence" : : : "memory");
}

int lab_traffic_read(const char *name, int family, const char *path);
const struct lab_traffic *lab_traffic_find(const char *name);
void lab_traffic_exit(void);

#endif /* _IPCUCKOO_LAB_H */
