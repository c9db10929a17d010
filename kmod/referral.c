// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Referrals
 *
 * A rule of iptables names a set. All rules that name the same set of a namespace share one
 * referral, which points to the set. So when two sets are swapped, two pointers change, however
 * many rules there are. The name of a set to which rules refer does not change, except by a swap,
 * and the set cannot be destroyed.
 *
 * The two directions of this relation are separate. ipcuckoo_set.referral is what writers read and
 * change, under ipcuckoo_net.mutex: a commit exchanges it when it applies a swap, and exchanges it
 * back if a later change of the commit fails. ipcuckoo_referral.set is what packets read: the
 * commit changes it only when nothing can fail any more, after the contents of sets have changed.
 *
 * A packet that has read the old pointer may look into the old set until its rcu_read_unlock(). So
 * a commit that has swapped sets waits for a grace period before it returns, as it does for sets
 * that are attached: then a request can destroy the old set. A set is freed after a grace period
 * anyway, and so are its tables.
 *
 * A rule may be released after the namespace's data of this module has ended, because the order in
 * which modules leave a namespace is the reverse of that in which they were loaded. So the end of
 * the namespace cuts its referrals off, and the last rule frees what is left. A static mutex keeps
 * both from happening at the same time: ipcuckoo_net.mutex cannot, because it ends, too.
 */
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "net.h"
#include "referral.h"
#include "set.h"

/* Protects ipcuckoo_referral.pernet and .rules. Taken before ipcuckoo_net.mutex. */
static DEFINE_MUTEX(lock);

/* The caller holds both mutexes. */
static void count(struct ipcuckoo_set *set, int more)
{
	set->referral->rules += more;
	WRITE_ONCE(set->rules, set->referral->rules);
}

/* Give a set a referral, if it has none. Return: 0 or -ENOMEM. */
static int make(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set)
{
	struct ipcuckoo_referral *referral;

	if (set->referral)
		return 0;
	referral = kzalloc(sizeof(*referral), GFP_KERNEL_ACCOUNT);
	if (!referral)
		return -ENOMEM;
	referral->pernet = pernet;
	rcu_assign_pointer(referral->set, set);
	WRITE_ONCE(set->referral, referral);
	pernet->referrals++;
	return 0;
}

static int check(struct ipcuckoo_net *pernet, const struct ipcuckoo_set *set, bool approximate)
{
	if (!set || pernet->destroying)
		return -ENOENT;
	if (set->ipset)
		return -EREMOTE;
	return ipcuckoo_entries_approximate(&set->entries) && !approximate ? -EOPNOTSUPP : 0;
}

/**
 * ipcuckoo_referral_get() - let a rule refer to a set
 * @pernet:	namespace
 * @name:	the set's name
 * @approximate: the rule may use a set that also matches some non-members
 *
 * Context: process context; takes the namespace's mutex.
 * Return: the set's referral, to be given to ipcuckoo_referral_put(); or ERR_PTR(-ENOENT) if there
 * is no such set, or all sets are being destroyed; -EREMOTE if it is one of ip_set; -EOPNOTSUPP if
 * it is approximate and @approximate is false; -ENOMEM.
 */
struct ipcuckoo_referral *ipcuckoo_referral_get(struct ipcuckoo_net *pernet, const char *name,
						bool approximate)
{
	struct ipcuckoo_referral *referral;
	struct ipcuckoo_set *set;
	int err;

	mutex_lock(&lock);
	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, name);
	err = check(pernet, set, approximate) ?: make(pernet, set);
	if (!err)
		count(set, 1);
	referral = err ? ERR_PTR(err) : set->referral;
	mutex_unlock(&pernet->mutex);
	mutex_unlock(&lock);
	return referral;
}

/* Separate a referral from its set. The caller holds both mutexes. */
static void cut(struct ipcuckoo_referral *referral, struct ipcuckoo_set *set)
{
	WRITE_ONCE(set->referral, NULL);
	WRITE_ONCE(set->rules, 0);
	referral->pernet->referrals--;
	referral->pernet = NULL;
	rcu_assign_pointer(referral->set, NULL);
}

/* One rule less refers to a set. */
static void drop(struct ipcuckoo_referral *referral)
{
	struct ipcuckoo_net *pernet = referral->pernet;
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = rcu_dereference_protected(referral->set, lockdep_is_held(&pernet->mutex));
	count(set, -1);
	if (!referral->rules)
		cut(referral, set);
	mutex_unlock(&pernet->mutex);
}

/**
 * ipcuckoo_referral_put() - a rule that refers to a set is released
 * @referral:	from ipcuckoo_referral_get(); no packet runs the rule any more
 *
 * Context: process context; takes the namespace's mutex, if the namespace still has its data.
 */
void ipcuckoo_referral_put(struct ipcuckoo_referral *referral)
{
	bool last;

	mutex_lock(&lock);
	if (referral->pernet)
		drop(referral);
	else
		referral->rules--;
	last = !referral->rules;
	mutex_unlock(&lock);
	/* Packets reach it only through rules, and none of these is left. */
	if (last)
		kfree(referral);
}

/**
 * ipcuckoo_referral_exchange() - let two sets exchange their rules
 * @a:		set; the mutex of its namespace is held
 * @b:		another set, of the same type and family
 *
 * Packets see no change before ipcuckoo_referral_publish(). A second call undoes the first.
 */
void ipcuckoo_referral_exchange(struct ipcuckoo_set *a, struct ipcuckoo_set *b)
{
	struct ipcuckoo_referral *referral = a->referral;
	unsigned int rules = a->rules;

	lockdep_assert_held(&a->pernet->mutex);
	WRITE_ONCE(a->referral, b->referral);
	WRITE_ONCE(b->referral, referral);
	WRITE_ONCE(a->rules, b->rules);
	WRITE_ONCE(b->rules, rules);
}

/**
 * ipcuckoo_referral_publish() - let packets look into the set that has a name now
 * @set:	set; the mutex of its namespace is held
 */
void ipcuckoo_referral_publish(struct ipcuckoo_set *set)
{
	lockdep_assert_held(&set->pernet->mutex);
	if (set->referral)
		rcu_assign_pointer(set->referral->set, set);
}

/**
 * ipcuckoo_referral_exit_net() - cut off the rules of a namespace that ends
 * @pernet:	namespace, before its sets are destroyed
 *
 * No process uses the namespace, so no rule is added. Netfilter has taken its hooks away before,
 * and a grace period has passed, so no packet runs a rule.
 */
void ipcuckoo_referral_exit_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;
	struct rb_node *node;

	mutex_lock(&lock);
	mutex_lock(&pernet->mutex);
	for (node = rb_first(&pernet->sets); node; node = rb_next(node)) {
		set = rb_entry(node, struct ipcuckoo_set, node);
		if (set->referral)
			cut(set->referral, set);
	}
	WARN_ON(pernet->referrals);
	mutex_unlock(&pernet->mutex);
	mutex_unlock(&lock);
}
