/* SPDX-License-Identifier: GPL-2.0-only */
/* The module that measures look-ups; see the beginning of lab.c for its use. */
#ifndef _IPCUCKOO_LAB_H
#define _IPCUCKOO_LAB_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/types.h>

struct net;

/* Number of look-ups between two readings of the clock: enough that the clock's cost does not
 * matter, and so few that the host rarely interrupts a chunk.
 */
#define LAB_CHUNK	256

/* The name of every set, and of the table of nftables */
#define LAB_SET		"lab"

/**
 * struct lab_traffic - addresses to look up in turn
 * @list:	in the list of all
 * @name:	its name
 * @v4, @v6:	the addresses in network byte order; one of the two is NULL
 * @count:	number of addresses, a power of two
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
 * @net:	the namespace of the caller
 * @traffic:	the addresses
 * @serial:	one look-up at a time: each is complete before the next begins
 * @once:	each address once, and not for some time
 * @at:		index of the next address
 * @area:	area of "lines"
 * @lines:	number of its cache lines
 */
struct lab_run {
	struct net *net;
	const struct lab_traffic *traffic;
	bool serial;
	bool once;
	u32 at;
	const void *area;
	u32 lines;
};

/**
 * struct lab_subject - something to measure
 * @part:	"hook", "bare" or "change"
 * @name:	its name
 * @begin:	find the set to look up in
 * @chunk:	do LAB_CHUNK look-ups; returns the number of matches
 * @end:	release the set
 * @before:	called before each chunk, and not timed; or NULL
 *
 * Only one subject is measured at a time, so subjects may use static variables.
 */
struct lab_subject {
	const char *part;
	const char *name;
	int (*begin)(const struct lab_run *run);
	u32 (*chunk)(const struct lab_run *run);
	void (*end)(void);
	void (*before)(const struct lab_run *run);
};

extern const struct lab_subject lab_bare[], lab_hook[], lab_change[];

/* The index of address number @i of a chunk */
static inline u32 lab_index(const struct lab_run *run, u32 i)
{
	return (run->at + i) & (run->traffic->count - 1);
}

/* A fence: nothing after it begins before everything before it is complete. On AMD, Linux
 * configures the processor so that this holds, too.
 */
static inline void lab_wait(bool serial)
{
	if (serial)
		asm volatile("lfence" : : : "memory");
}

/* The loop is the same for all. LOOK_UP4 and LOOK_UP6 are expressions that use the address in "be"
 * or in "*in6".
 */
#define LAB_LOOP4(run, LOOK_UP4) ({					\
	const __be32 *v4 = (run)->traffic->v4;				\
	u32 hits = 0, i;						\
									\
	if ((run)->serial) {						\
		for (i = 0; i < LAB_CHUNK; i++) {			\
			const __be32 be = v4[lab_index(run, i)];	\
									\
			hits += LOOK_UP4;				\
			lab_wait(true);					\
		}							\
	} else {							\
		for (i = 0; i < LAB_CHUNK; i++) {			\
			const __be32 be = v4[lab_index(run, i)];	\
									\
			hits += LOOK_UP4;				\
		}							\
	}								\
	hits;								\
})

#define LAB_LOOP6(run, LOOK_UP6) ({					\
	const struct in6_addr *v6 = (run)->traffic->v6;			\
	u32 hits = 0, i;						\
									\
	if ((run)->serial) {						\
		for (i = 0; i < LAB_CHUNK; i++) {			\
			const struct in6_addr *in6 =			\
				&v6[lab_index(run, i)];			\
									\
			hits += LOOK_UP6;				\
			lab_wait(true);					\
		}							\
	} else {							\
		for (i = 0; i < LAB_CHUNK; i++) {			\
			const struct in6_addr *in6 =			\
				&v6[lab_index(run, i)];			\
									\
			hits += LOOK_UP6;				\
		}							\
	}								\
	hits;								\
})

int lab_traffic_read(const char *name, int family, const char *path);
const struct lab_traffic *lab_traffic_find(const char *name);
void lab_traffic_exit(void);

#endif /* _IPCUCKOO_LAB_H */
