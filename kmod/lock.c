// SPDX-License-Identifier: GPL-2.0-only
/* How requests wait for locks: see lock.h. */
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "lock.h"
#include "net.h"
#include "set.h"

/* How long a request waits, and how long a claim lasts, in jiffies. */
#define PATIENCE	(HZ / 4)
#define CLAIM_TIME	HZ

static bool is_limit(unsigned long until)
{
	return until > IPCUCKOO_LAST;
}

/**
 * ipcuckoo_lock_limit() - until when may a request wait that begins to wait now?
 *
 * Return: a time in jiffies.
 */
unsigned long ipcuckoo_lock_limit(void)
{
	return max(jiffies + PATIENCE, IPCUCKOO_LAST + 1);
}

/**
 * ipcuckoo_lock_expired() - has a limit passed?
 * @until:	from ipcuckoo_lock_limit(), IPCUCKOO_FOREVER or IPCUCKOO_LAST
 */
bool ipcuckoo_lock_expired(unsigned long until)
{
	return is_limit(until) && time_after_eq(jiffies, until);
}

/**
 * ipcuckoo_lock_turn() - wait for a turn
 * @turn:	a semaphore; up() ends the turn
 * @until:	from ipcuckoo_lock_limit(), IPCUCKOO_FOREVER or IPCUCKOO_LAST
 *
 * With a limit, a fatal signal does not end the wait before its time.
 *
 * Context: process context.
 * Return: 0, -EINTR for a fatal signal, or -EAGAIN if it is not our turn by @until.
 */
int ipcuckoo_lock_turn(struct semaphore *turn, unsigned long until)
{
	if (!is_limit(until))
		return down_killable(turn);
	if (!down_timeout(turn, ipcuckoo_lock_left(until)))
		return 0;
	return fatal_signal_pending(current) ? -EINTR : -EAGAIN;
}

/**
 * ipcuckoo_lock_names() - lock the names of a namespace
 * @pernet:	namespace
 * @until:	from ipcuckoo_lock_limit()
 *
 * Context: process context.
 * Return: 0, -EINTR or -EAGAIN.
 */
int ipcuckoo_lock_names(struct ipcuckoo_net *pernet, unsigned long until)
{
	int err = ipcuckoo_lock_turn(&pernet->names_turn, until);

	if (!err)
		mutex_lock(&pernet->names);
	return err;
}

/**
 * ipcuckoo_lock_names_anyway() - lock the names of a namespace, whatever happens
 * @pernet:	namespace
 *
 * Context: process context, but no request: a work item, or the end of the namespace.
 */
void ipcuckoo_lock_names_anyway(struct ipcuckoo_net *pernet)
{
	down(&pernet->names_turn);
	mutex_lock(&pernet->names);
}

/**
 * ipcuckoo_unlock_names() - unlock the names of a namespace
 * @pernet:	namespace
 */
void ipcuckoo_unlock_names(struct ipcuckoo_net *pernet)
{
	mutex_unlock(&pernet->names);
	up(&pernet->names_turn);
}

static void claim(struct ipcuckoo_set *set, enum ipcuckoo_claim by)
{
	WRITE_ONCE(set->claim[by], (jiffies + CLAIM_TIME) ?: 1);
}

static void disclaim(struct ipcuckoo_set *set, enum ipcuckoo_claim by)
{
	WRITE_ONCE(set->claim[by], 0);
	wake_up_all(&set->pernet->claims);
}

/* Is a set claimed by @by, or by those that come after it in the enum? Return: until when; or 0. */
static unsigned long claimed(const struct ipcuckoo_set *set, enum ipcuckoo_claim by)
{
	unsigned long until;

	for (; by < IPCUCKOO_CLAIMS; by++) {
		until = READ_ONCE(set->claim[by]);
		if (until && time_before(jiffies, until))
			return until;
	}
	return 0;
}

/* Wait until the claim that a set has now, @seen, has ended. */
static int stand_back(const struct ipcuckoo_set *set, enum ipcuckoo_claim by, unsigned long seen,
		      unsigned long until)
{
	unsigned long end = is_limit(until) && time_before(until, seen) ? until : seen;

	wait_event_killable_timeout(set->pernet->claims, claimed(set, by) != seen,
				    ipcuckoo_lock_left(end));
	if (fatal_signal_pending(current))
		return -EINTR;
	return ipcuckoo_lock_expired(until) && claimed(set, by) == seen ? -EAGAIN : 0;
}

/* Wait for the turn of a set. A request claims the set meanwhile. */
static int wait_turn(struct ipcuckoo_set *set, unsigned long until)
{
	int err;

	if (!down_trylock(&set->turn))
		return 0;
	if (is_limit(until))
		claim(set, IPCUCKOO_CLAIM_REQUEST);
	err = ipcuckoo_lock_turn(&set->turn, until);
	if (!err && is_limit(until))
		disclaim(set, IPCUCKOO_CLAIM_REQUEST);
	return err;
}

/* The last step of locking the contents. A packet that is changing them has to end first. Later
 * ones leave their changes to this writer, or to the work item that comes after it (ipset/apply.c).
 */
static void keep_packets_out(struct ipcuckoo_entries *e)
{
	spin_lock_bh(&e->packets);
	e->locked = true;
	spin_unlock_bh(&e->packets);
}

static void let_packets_in(struct ipcuckoo_entries *e)
{
	spin_lock_bh(&e->packets);
	e->locked = false;
	spin_unlock_bh(&e->packets);
}

/**
 * ipcuckoo_lock_contents() - lock the contents of a set, even if it was destroyed
 * @set:	set; the caller has a reference
 * @until:	from ipcuckoo_lock_limit(), IPCUCKOO_FOREVER or IPCUCKOO_LAST
 *
 * Stands back once, except with IPCUCKOO_FOREVER, which is for those who hold the contents for a
 * short time.
 *
 * Context: process context.
 * Return: 0, -EINTR or -EAGAIN.
 */
int ipcuckoo_lock_contents(struct ipcuckoo_set *set, unsigned long until)
{
	const enum ipcuckoo_claim by = until == IPCUCKOO_LAST ? IPCUCKOO_CLAIM_REQUEST :
								IPCUCKOO_CLAIM_COMMIT;
	bool insists = until == IPCUCKOO_FOREVER;
	unsigned long seen;
	int err;

	for (;;) {
		seen = insists ? 0 : claimed(set, by);
		if (seen) {
			err = stand_back(set, by, seen, until);
			if (err)
				return err;
			insists = true;
		}
		err = wait_turn(set, until);
		if (err)
			return err;
		if (insists || !claimed(set, by))
			break;
		/* The claim has come while we waited. */
		up(&set->turn);
	}
	mutex_lock(&set->entries.mutex);
	keep_packets_out(&set->entries);
	return 0;
}

/**
 * ipcuckoo_lock_claimed() - lock the contents of a set that the caller has claimed
 * @set:	set
 * @until:	from ipcuckoo_lock_limit()
 *
 * The caller may have locked the contents of other sets. As after mutex_trylock(), lockdep does
 * not look for a deadlock: the caller tells it what it holds (commit_sets.c).
 *
 * Context: process context; the names are locked.
 * Return: 0, -EINTR or -EAGAIN.
 */
int ipcuckoo_lock_claimed(struct ipcuckoo_set *set, unsigned long until)
{
	int err = ipcuckoo_lock_turn(&set->turn, until);

	lockdep_assert_held(&set->pernet->names);
	if (err)
		return err;
	WARN_ON(!mutex_trylock(&set->entries.mutex));
	keep_packets_out(&set->entries);
	return 0;
}

/**
 * ipcuckoo_lock_contents_anyway() - lock the contents of a set, whatever happens
 * @set:	set; the caller has a reference
 *
 * Context: process context, but no request: a work item, or the end of the namespace; or a set
 * that nobody else knows.
 */
void ipcuckoo_lock_contents_anyway(struct ipcuckoo_set *set)
{
	down(&set->turn);
	mutex_lock(&set->entries.mutex);
	keep_packets_out(&set->entries);
}

/**
 * ipcuckoo_unlock_contents() - unlock the contents of a set
 * @set:	set
 */
void ipcuckoo_unlock_contents(struct ipcuckoo_set *set)
{
	let_packets_in(&set->entries);
	mutex_unlock(&set->entries.mutex);
	up(&set->turn);
}

/**
 * ipcuckoo_lock_init() - initialise the locks of a new namespace
 * @pernet:	namespace, zeroed
 */
void ipcuckoo_lock_init(struct ipcuckoo_net *pernet)
{
	sema_init(&pernet->names_turn, 1);
	mutex_init(&pernet->names);
	mutex_init(&pernet->mutex);
	init_waitqueue_head(&pernet->claims);
}

/**
 * ipcuckoo_lock_wanted() - does a request or a commit wait for the contents of a set?
 * @set:	set, whose contents the caller has locked
 *
 * A writer that could go on for long asks this between two changes, and unlocks the contents if so.
 *
 * Context: any.
 */
bool ipcuckoo_lock_wanted(const struct ipcuckoo_set *set)
{
	return claimed(set, IPCUCKOO_CLAIM_REQUEST);
}

/**
 * ipcuckoo_claim() - claim a set for a commit
 * @set:	set; the names are locked
 */
void ipcuckoo_claim(struct ipcuckoo_set *set)
{
	claim(set, IPCUCKOO_CLAIM_COMMIT);
}

/**
 * ipcuckoo_disclaim() - give up the claim of a commit
 * @set:	set; the names are locked
 */
void ipcuckoo_disclaim(struct ipcuckoo_set *set)
{
	disclaim(set, IPCUCKOO_CLAIM_COMMIT);
}
