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
 * the namespace cuts its referrals off, and the last rule frees what is left. Who releases a rule
 * first counts itself in ipcuckoo_net.referring, under the spinlock under which referrals are cut
 * off: so the end of the namespace waits until nobody who releases a rule uses it any more.
 */
#include <linux/atomic.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>

#include "net.h"
#include "referral.h"
#include "set.h"

/* Protects ipcuckoo_referral.pernet of all namespaces. */
static DEFINE_SPINLOCK(lock);

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

static int check(struct ipcuckoo_net *pernet, const struct ipcuckoo_set *set, u8 family,
		 bool approximate)
{
	if (!set || pernet->destroying)
		return -ENOENT;
	if (set->ipset)
		return -EREMOTE;
	/* No packet of the rule would match; with "!" in the rule, each would. */
	if (!(set->family & family))
		return -EAFNOSUPPORT;
	return ipcuckoo_entries_approximate(&set->entries) && !approximate ? -EOPNOTSUPP : 0;
}

/**
 * ipcuckoo_referral_get() - let a rule refer to a set
 * @pernet:	namespace
 * @name:	the set's name
 * @family:	IPCUCKOO_FAMILY_INET or IPCUCKOO_FAMILY_INET6: what the packets of the rule are
 * @approximate: the rule may use a set that also matches some non-members
 *
 * Context: process context; takes the namespace's mutex.
 * Return: the set's referral, to be given to ipcuckoo_referral_put(); or ERR_PTR(-ENOENT) if there
 * is no such set, or all sets are being destroyed; -EREMOTE if it is one of ip_set;
 * -EAFNOSUPPORT if it has no addresses of this family (sets that are swapped have the same one);
 * -EOPNOTSUPP if it is approximate and @approximate is false; -ENOMEM.
 */
struct ipcuckoo_referral *ipcuckoo_referral_get(struct ipcuckoo_net *pernet, const char *name,
						u8 family, bool approximate)
{
	struct ipcuckoo_referral *referral;
	struct ipcuckoo_set *set;
	int err;

	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, name);
	err = check(pernet, set, family, approximate) ?: make(pernet, set);
	if (!err)
		WRITE_ONCE(set->rules, atomic_inc_return(&set->referral->rules));
	referral = err ? ERR_PTR(err) : set->referral;
	mutex_unlock(&pernet->mutex);
	return referral;
}

/* Separate a referral from its set. The mutex of their namespace is held. */
static void cut(struct ipcuckoo_referral *referral, struct ipcuckoo_set *set)
{
	WRITE_ONCE(set->referral, NULL);
	WRITE_ONCE(set->rules, 0);
	set->pernet->referrals--;
	spin_lock(&lock);
	referral->pernet = NULL;
	spin_unlock(&lock);
	rcu_assign_pointer(referral->set, NULL);
}

/* One rule less refers to a set. Return: whether it was the last one. */
static bool drop(struct ipcuckoo_referral *referral, struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;
	bool last;

	mutex_lock(&pernet->mutex);
	/* NULL if the namespace has begun to end. */
	set = rcu_dereference_protected(referral->set, lockdep_is_held(&pernet->mutex));
	last = atomic_dec_and_test(&referral->rules);
	if (set && last)
		cut(referral, set);
	else if (set)
		WRITE_ONCE(set->rules, atomic_read(&referral->rules));
	mutex_unlock(&pernet->mutex);
	return last;
}

/* Let the namespace of a referral stay until release_net(). Return: NULL if it has ended. */
static struct ipcuckoo_net *hold_net(struct ipcuckoo_referral *referral)
{
	struct ipcuckoo_net *pernet;

	spin_lock(&lock);
	pernet = referral->pernet;
	if (pernet)
		atomic_inc(&pernet->referring);
	spin_unlock(&lock);
	return pernet;
}

static void release_net(struct ipcuckoo_net *pernet)
{
	if (atomic_dec_and_test(&pernet->referring))
		wake_up_var(&pernet->referring);
}

/**
 * ipcuckoo_referral_put() - a rule that refers to a set is released
 * @referral:	from ipcuckoo_referral_get(); no packet runs the rule any more
 *
 * Context: process context; takes the namespace's mutex, if the namespace still has its data.
 */
void ipcuckoo_referral_put(struct ipcuckoo_referral *referral)
{
	struct ipcuckoo_net *pernet = hold_net(referral);
	bool last;

	if (pernet) {
		last = drop(referral, pernet);
		release_net(pernet);
	} else {
		last = atomic_dec_and_test(&referral->rules);
	}
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

	mutex_lock(&pernet->mutex);
	for (node = rb_first(&pernet->sets); node; node = rb_next(node)) {
		set = rb_entry(node, struct ipcuckoo_set, node);
		if (set->referral)
			cut(set->referral, set);
	}
	WARN_ON(pernet->referrals);
	mutex_unlock(&pernet->mutex);
	wait_var_event(&pernet->referring, !atomic_read(&pernet->referring));
}
