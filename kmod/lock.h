/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How requests wait for ipcuckoo_net.names, and for the contents of sets and shadows.
 *
 * Generic netlink calls the handlers of requests under its cb_lock, which it holds for reading.
 * Who registers a family, such as a module that is being loaded, waits until all requests that
 * have begun are done, and every later request on the machine waits for him, whatever its family
 * and its namespace. So a request must not wait for long, however many writers its namespace has.
 *
 * A turn, a semaphore, comes before each of these mutexes:
 *
 *  - The wait for a semaphore can be limited. A request waits until ipcuckoo_lock_limit(), and then
 *    fails with -EAGAIN; its sender may send it again. Who holds no lock of the machine, such as
 *    a write to procfs, waits until it has its turn, or a fatal signal.
 *  - A semaphore is passed on in the order of arrival. So nobody who locks the same contents again
 *    and again overtakes those who wait.
 *
 * Who has the turn locks the mutex, for which therefore nobody waits. It is there for lockdep, and
 * says what is held.
 *
 * Claims
 * ------
 *
 * A write to procfs may work on the contents for long, and others may be waiting with it. A request
 * that finds a set locked therefore claims the set, and those who wait with IPCUCKOO_LAST stand
 * back. A commit needs the contents of several sets at one moment. It claims all of them before
 * it waits for the first, and requests stand back, too. So a request waits for one writer that has
 * begun, and a commit for one in each set, which end at the same time.
 *
 * If that takes longer than the limit, the claim stays when the request fails with -EAGAIN, for
 * CLAIM_TIME at most: the sender finds the sets idle when it tries again. Each waiter stands back
 * once, and not longer than one claim lasts. So requests and commits without end do not keep others
 * away.
 */
#ifndef _IPCUCKOO_LOCK_H
#define _IPCUCKOO_LOCK_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/semaphore.h>

struct ipcuckoo_net;
struct ipcuckoo_set;

/* Instead of a limit: wait without one; or, in IPCUCKOO_LAST, also stand back for requests. */
#define IPCUCKOO_FOREVER	0UL
#define IPCUCKOO_LAST		1UL

/* Jiffies from now to a limit, 0 if that has passed. */
static inline long ipcuckoo_lock_left(unsigned long until)
{
	return max_t(long, until - jiffies, 0);
}

unsigned long ipcuckoo_lock_limit(void);
bool ipcuckoo_lock_expired(unsigned long until);
int ipcuckoo_lock_turn(struct semaphore *turn, unsigned long until);

int ipcuckoo_lock_names(struct ipcuckoo_net *pernet, unsigned long until);
void ipcuckoo_lock_names_anyway(struct ipcuckoo_net *pernet);
void ipcuckoo_unlock_names(struct ipcuckoo_net *pernet);

int ipcuckoo_lock_contents(struct ipcuckoo_set *set, unsigned long until);
int ipcuckoo_lock_claimed(struct ipcuckoo_set *set, unsigned long until);
void ipcuckoo_lock_contents_anyway(struct ipcuckoo_set *set);
void ipcuckoo_unlock_contents(struct ipcuckoo_set *set);

void ipcuckoo_lock_init(struct ipcuckoo_net *pernet);
bool ipcuckoo_lock_wanted(const struct ipcuckoo_set *set);
void ipcuckoo_claim(struct ipcuckoo_set *set);
void ipcuckoo_disclaim(struct ipcuckoo_set *set);

#endif /* _IPCUCKOO_LOCK_H */
