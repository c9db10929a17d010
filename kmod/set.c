// SPDX-License-Identifier: GPL-2.0-only
/* Sets: see set.h. */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "event.h"
#include "lock.h"
#include "lookup.h"
#include "net.h"
#include "rebuild.h"
#include "set.h"
#include "set_gc.h"
#include "trim.h"
#include "usage.h"

/**
 * ipcuckoo_set_name() - copy the name of a set, without a lock
 * @set:	set; the caller has a reference, or is under rcu_read_lock()
 * @name:	set to a name that the set had at one moment, padded with zeros
 *
 * Context: any but hard interrupts. Spins while ipcuckoo_names_change() copies a new name on
 * another CPU.
 */
void ipcuckoo_set_name(const struct ipcuckoo_set *set, char name[IPCUCKOO_NAME_SIZE])
{
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&set->name_seq);
		memcpy(name, set->name, IPCUCKOO_NAME_SIZE);
	} while (read_seqcount_retry(&set->name_seq, seq));
}

/**
 * ipcuckoo_set_find() - find a set by name
 * @pernet:	namespace, whose mutex is held
 * @name:	name
 *
 * Return: the set, without a reference, or NULL.
 */
struct ipcuckoo_set *ipcuckoo_set_find(struct ipcuckoo_net *pernet,
				       const char *name)
{
	struct rb_node *node = pernet->sets.rb_node;

	lockdep_assert_held(&pernet->mutex);
	while (node) {
		struct ipcuckoo_set *set = rb_entry(node, struct ipcuckoo_set,
						    node);
		int order = strcmp(name, set->name);

		if (!order)
			return set;
		node = order < 0 ? node->rb_left : node->rb_right;
	}
	return NULL;
}

/* Find the set with the first name that is greater than @name, in the order of strcmp(). */
static struct ipcuckoo_set *after(struct ipcuckoo_net *pernet, const char *name)
{
	struct rb_node *node = pernet->sets.rb_node;
	struct ipcuckoo_set *found = NULL;

	lockdep_assert_held(&pernet->mutex);
	while (node) {
		struct ipcuckoo_set *set = rb_entry(node, struct ipcuckoo_set,
						    node);

		if (strcmp(name, set->name) < 0) {
			found = set;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static struct ipcuckoo_set *hold(struct ipcuckoo_set *set)
{
	if (set)
		kref_get(&set->ref);
	return set;
}

/**
 * ipcuckoo_set_get() - find a set by name, and take a reference
 * @pernet:	namespace
 * @name:	name
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a set, to be released with ipcuckoo_set_put(), or NULL.
 */
struct ipcuckoo_set *ipcuckoo_set_get(struct ipcuckoo_net *pernet,
				      const char *name)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = hold(ipcuckoo_set_find(pernet, name));
	mutex_unlock(&pernet->mutex);
	return set;
}

/**
 * ipcuckoo_set_next() - find the set that follows a name, and take a reference
 * @pernet:	namespace
 * @name:	a name, of a set or not; "" to find the first set
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a set, to be released with ipcuckoo_set_put(), or NULL.
 */
struct ipcuckoo_set *ipcuckoo_set_next(struct ipcuckoo_net *pernet,
				       const char *name)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = hold(after(pernet, name));
	mutex_unlock(&pernet->mutex);
	return set;
}

/**
 * ipcuckoo_set_after() - find the set that follows another set by name, and take a reference
 * @pernet:	namespace
 * @set:	the other set, to which the caller has a reference; it may be destroyed, as
 *		only its name is used
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a set, to be released with ipcuckoo_set_put(), or NULL.
 */
struct ipcuckoo_set *ipcuckoo_set_after(struct ipcuckoo_net *pernet,
					const struct ipcuckoo_set *set)
{
	struct ipcuckoo_set *next;

	mutex_lock(&pernet->mutex);
	next = hold(after(pernet, set->name));
	mutex_unlock(&pernet->mutex);
	return next;
}

/* Memory for sets. kmalloc() would round the size of a set up to a power of two. */
static struct kmem_cache *cache;

/* Bytes of a set with these options, without its entries. */
static size_t set_size(const struct ipcuckoo_set_options *options)
{
	size_t description = options->description ? strlen(options->description) + 1 : 0;

	return kmem_cache_size(cache) + (description ? kmalloc_size_roundup(description) : 0);
}

static void set_free_rcu(struct rcu_head *rcu)
{
	struct ipcuckoo_set *set = container_of(rcu, struct ipcuckoo_set, rcu);
	struct ipcuckoo_mem *mem = set->entries.mem;
	size_t size = set_size(&set->options);

	kfree(set->description);
	kmem_cache_free(cache, set);
	ipcuckoo_mem_uncharge(mem, size);
	ipcuckoo_mem_release(mem, size);
}

static void set_free(struct kref *ref)
{
	struct ipcuckoo_set *set = container_of(ref, struct ipcuckoo_set, ref);

	ipcuckoo_entries_exit(&set->entries);
	ipcuckoo_mem_retire(set->entries.mem, set_size(&set->options));
	call_rcu(&set->rcu, set_free_rcu);
}

/**
 * ipcuckoo_set_put() - drop a reference to a set
 * @set:	set
 *
 * Dropping the last reference frees the set after a grace period.
 */
void ipcuckoo_set_put(struct ipcuckoo_set *set)
{
	kref_put(&set->ref, set_free);
}

/**
 * ipcuckoo_set_insert() - add a set to the tree of its namespace
 * @pernet:	namespace; its two mutexes are held
 * @set:	set; no set in the tree has its name
 */
void ipcuckoo_set_insert(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set)
{
	struct rb_node **link = &pernet->sets.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		if (strcmp(set->name, rb_entry(parent, struct ipcuckoo_set,
					       node)->name) < 0)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&set->node, parent, link);
	rb_insert_color(&set->node, &pernet->sets);
	WRITE_ONCE(pernet->sets_count, pernet->sets_count + 1);
	pernet->sets_seq++;
}

/**
 * ipcuckoo_set_erase() - remove a set from the tree of its namespace
 * @pernet:	namespace, whose mutexes are held
 * @set:	set
 */
void ipcuckoo_set_erase(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set)
{
	rb_erase(&set->node, &pernet->sets);
	RB_CLEAR_NODE(&set->node);
	WRITE_ONCE(pernet->sets_count, pernet->sets_count - 1);
	pernet->sets_seq++;
}

/* Where the generation of a new set begins: at the time since boot, in units of 32 ns. Each change
 * takes longer than that, so this is more than the generation of any older set.
 */
static u64 first_generation(void)
{
	return ktime_get_boottime_ns() >> 5;
}

/**
 * ipcuckoo_set_alloc() - allocate an empty set
 * @pernet:	namespace
 * @name:	a valid name
 * @options:	options of the set; its description is copied
 *
 * The set is not in the tree yet: see ipcuckoo_set_insert().
 *
 * Context: process context.
 * Return: a set, to be released with ipcuckoo_set_put(), or ERR_PTR(-ENOMEM, -EDQUOT
 * or -EINTR).
 */
struct ipcuckoo_set *ipcuckoo_set_alloc(struct ipcuckoo_net *pernet, const char *name,
					const struct ipcuckoo_set_options *options)
{
	size_t size = set_size(options);
	struct ipcuckoo_set *set;
	int err;

	err = ipcuckoo_net_need_wq(pernet);
	if (err)
		return ERR_PTR(err);
	if (!ipcuckoo_mem_charge(&pernet->mem, size))
		return ERR_PTR(ipcuckoo_mem_refusal());
	err = -ENOMEM;
	set = kmem_cache_zalloc(cache, GFP_KERNEL);
	if (!set)
		goto err_uncharge;
	seqcount_init(&set->name_seq);
	strscpy_pad(set->name, name, sizeof(set->name));
	set->options = *options;
	if (options->description) {
		set->description = kstrdup(options->description, GFP_KERNEL_ACCOUNT);
		if (!set->description)
			goto err_free;
	}
	set->pernet = pernet;
	sema_init(&set->turn, 1);
	ipcuckoo_set_gc_init(set);
	kref_init(&set->ref);
	RB_CLEAR_NODE(&set->node);
	err = ipcuckoo_entries_init(&set->entries, &pernet->mem, true);
	if (err)
		goto err_free;
	set->entries.shape = options->shape;
	set->entries.options = options->exts;
	set->entries.generation = first_generation();
	set->trim_seen = set->entries.generation;
	return set;

err_free:
	kfree(set->description);
	kmem_cache_free(cache, set);
err_uncharge:
	ipcuckoo_mem_uncharge(&pernet->mem, size);
	return ERR_PTR(err);
}

/**
 * ipcuckoo_set_reserve_filter() - allocate the filter of a new approximate set
 * @set:	set
 *
 * A filter never grows. It is allocated when the set is created, so that a lack of memory
 * fails the request which creates the set, and not the first addition.
 *
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_set_reserve_filter(struct ipcuckoo_set *set)
{
	static const u32 none[IPCUCKOO_KINDS];
	int err;

	ipcuckoo_lock_contents_anyway(set);
	err = ipcuckoo_entries_reserve(&set->entries, none);
	ipcuckoo_set_unlock(set);
	return err;
}

/**
 * ipcuckoo_set_lock() - become the writer of a set
 * @set:	set
 * @until:	from ipcuckoo_lock_limit(), IPCUCKOO_FOREVER or IPCUCKOO_LAST
 *
 * Context: process context; takes the set's mutex.
 * Return: 0, -ENOENT if the set was destroyed, -EINTR if a fatal signal came while the caller
 * waited for another writer, or -EAGAIN if it has waited until @until.
 */
int ipcuckoo_set_lock(struct ipcuckoo_set *set, unsigned long until)
{
	int err = ipcuckoo_lock_contents(set, until);

	if (!err && set->dead) {
		ipcuckoo_unlock_contents(set);
		err = -ENOENT;
	}
	return err;
}

/**
 * ipcuckoo_set_get_locked() - become the writer of the set that has a name
 * @pernet:	namespace
 * @name:	name
 * @until:	from ipcuckoo_lock_limit(), or IPCUCKOO_FOREVER
 *
 * After this has found the set, and before it has locked it, a commit may destroy the set or
 * give the name to another set. Then this looks for the name again. So the caller always gets
 * the set that has the name now, and no -ENOENT while one set after the other has it.
 *
 * Context: process context; takes the namespace's mutex, and the set's, which keeps the
 * name from changing.
 * Return: a set with a reference, locked; ERR_PTR(-ENOENT) if no set has the name, or
 * ERR_PTR(-EINTR or -EAGAIN).
 */
struct ipcuckoo_set *ipcuckoo_set_get_locked(struct ipcuckoo_net *pernet, const char *name,
					     unsigned long until)
{
	struct ipcuckoo_set *set;
	int err;

	while ((set = ipcuckoo_set_get(pernet, name))) {
		err = ipcuckoo_set_lock(set, until);
		if (!err && !strcmp(set->name, name)) {
			ipcuckoo_set_settle(set);
			return set;
		}
		if (!err)
			ipcuckoo_set_unlock(set);
		ipcuckoo_set_put(set);
		if (err && err != -ENOENT)
			return ERR_PTR(err);
	}
	return ERR_PTR(-ENOENT);
}

/**
 * ipcuckoo_set_next_locked() - lock the set that follows a name
 * @pernet:	namespace
 * @name:	the first set whose name is greater is returned; "" for the first set
 * @until:	from ipcuckoo_lock_limit(), or IPCUCKOO_FOREVER
 *
 * For lists. Like ipcuckoo_set_get_locked(), this looks again if a commit has changed names
 * before the set was locked. So a list never shows a name that no set has, and never leaves
 * out a name that a set had all the time.
 *
 * Context: process context; takes the namespace's mutex, and the set's.
 * Return: a set with a reference, locked, NULL, or ERR_PTR(-EINTR or -EAGAIN).
 */
struct ipcuckoo_set *ipcuckoo_set_next_locked(struct ipcuckoo_net *pernet, const char *name,
					      unsigned long until)
{
	struct ipcuckoo_set *set;
	bool is_next;
	int err;

	while ((set = ipcuckoo_set_next(pernet, name))) {
		err = ipcuckoo_lock_contents(set, until);
		if (!err) {
			mutex_lock(&pernet->mutex);
			is_next = after(pernet, name) == set;
			mutex_unlock(&pernet->mutex);
			if (is_next) {
				ipcuckoo_set_settle(set);
				return set;
			}
			ipcuckoo_unlock_contents(set);
		}
		ipcuckoo_set_put(set);
		if (err)
			return ERR_PTR(err);
	}
	return NULL;
}

/**
 * ipcuckoo_set_unlock() - stop being the writer of a set
 * @set:	set
 *
 * Queues gc for the nearest deadline, and trimming if a table has grown; frees the queue of
 * searches.
 */
void ipcuckoo_set_unlock(struct ipcuckoo_set *set)
{
	ipcuckoo_set_gc_schedule(set);
	if (set->entries.loose && !set->dead)
		queue_delayed_work(set->pernet->wq, &set->pernet->trim, IPCUCKOO_TRIM_PERIOD);
	ipcuckoo_rebuild_free_queue(&set->entries);
	ipcuckoo_unlock_contents(set);
}

/* Is this ::ffff:0:0/96, or an address or a prefix in it? */
static bool mapped(const struct ipcuckoo_entry *entry)
{
	return entry->v6 && entry->len >= 96 && ipcuckoo_key_mapped(&entry->addr);
}

static bool host_bits_zero(const struct ipcuckoo_entry *entry)
{
	unsigned int len = entry->len + (entry->v6 ? 0 : 96);

	if (len >= 64)
		return len == 128 || !(entry->addr.lo & ~0ULL >> (len - 64));
	return !entry->addr.lo && !(entry->addr.hi & ~0ULL >> len);
}

/**
 * ipcuckoo_set_normalize() - check an entry and bring it to the form the set stores
 * @set:	set
 * @entry:	entry; in family any an IPv4-mapped IPv6 entry becomes IPv4, and in a
 *		set with a mask the bits outside the mask become zero
 *
 * The result depends only on the entry and on properties of the set that never change. So
 * code that walks a batch a second time, after all its entries passed this check, calls
 * this again to bring them to that form, and ignores the return value.
 *
 * Return: 0 if the set can hold the entry; -EINVAL, -EAFNOSUPPORT or -EOPNOTSUPP as
 * uapi/ipcuckoo.h describes them.
 */
int ipcuckoo_set_normalize(const struct ipcuckoo_set *set,
			   struct ipcuckoo_entry *entry)
{
	if (entry->len > (entry->v6 ? 128 : 32) || !host_bits_zero(entry))
		return -EINVAL;
	if (mapped(entry) && !set->ipset) {
		if (set->family != IPCUCKOO_FAMILY_ANY)
			return set->family & IPCUCKOO_FAMILY_INET6 ?
			       -EINVAL : -EAFNOSUPPORT;
		/* Lists of IPv6 bogons have this prefix. They do not mean all of IPv4. */
		if (entry->len == 96)
			return -EINVAL;
		entry->v6 = false;
		entry->len -= 96;
		entry->addr.lo = (u32)entry->addr.lo;
	}
	if (!(set->family & (entry->v6 ? IPCUCKOO_FAMILY_INET6 :
					 IPCUCKOO_FAMILY_INET)))
		return -EAFNOSUPPORT;
	if (set->type != IPCUCKOO_TYPE_HASH_NET &&
	    entry->len != (entry->v6 ? 128 : 32))
		return -EOPNOTSUPP;
	if (set->mask.present)
		entry->addr = ipcuckoo_mask_key(&set->mask, &entry->addr);
	return 0;
}

/**
 * ipcuckoo_set_normalize_new() - check an entry to be added, and bring it to the set's form
 * @set:	set
 * @entry:	entry
 *
 * Does what ipcuckoo_set_normalize() does. If the set is one of ip_set, also refuses an entry that
 * ip_set would refuse: rules would not look for it, and ipset could not restore it. This is not for
 * requests of ipset, which can add 0.0.0.0 as a part of a range.
 *
 * Return: as ipcuckoo_set_normalize(); or -EADDRNOTAVAIL.
 */
int ipcuckoo_set_normalize_new(const struct ipcuckoo_set *set, struct ipcuckoo_entry *entry)
{
	int err = ipcuckoo_set_normalize(set, entry);

	if (err || !set->ipset)
		return err;
	if (set->type == IPCUCKOO_TYPE_HASH_NET ? entry->len : entry->addr.hi | entry->addr.lo)
		return 0;
	return -EADDRNOTAVAIL;
}

/**
 * ipcuckoo_set_deletes() - can entries be deleted from a set?
 * @set:	set
 *
 * A filter cannot tell two entries with the same fingerprint apart. Only a filter that
 * stores each addition (multi) can delete (filter.c).
 */
bool ipcuckoo_set_deletes(const struct ipcuckoo_set *set)
{
	return !ipcuckoo_entries_approximate(&set->entries) ||
	       set->entries.shape.multi;
}

/**
 * ipcuckoo_set_flush() - delete all entries of a set
 * @set:	set, locked
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_set_flush(struct ipcuckoo_set *set)
{
	int err = ipcuckoo_entries_flush(&set->entries);

	if (!err)
		ipcuckoo_event_set(set, set->name, IPCUCKOO_EVENT_SET_FLUSHED);
	return err;
}

/**
 * ipcuckoo_set_replace() - replace the contents of a set, in one step
 * @set:	set, locked
 * @scratch:	the new contents, locked; after this call the only thing to do with @scratch
 *		is ipcuckoo_entries_exit()
 *
 * Context: process context.
 */
void ipcuckoo_set_replace(struct ipcuckoo_set *set, struct ipcuckoo_entries *scratch)
{
	ipcuckoo_entries_replace(&set->entries, scratch);
	ipcuckoo_event_set(set, set->name, IPCUCKOO_EVENT_SET_REPLACED);
}

/**
 * ipcuckoo_set_limit() - how many entries may a set hold?
 * @set:	set; if it is not locked, the limit may change at any moment
 *
 * Return: the lower one of its maxelem and the capacity of its filter; 0: no limit.
 */
u32 ipcuckoo_set_limit(const struct ipcuckoo_set *set)
{
	return min_not_zero(READ_ONCE(set->maxelem), set->entries.shape.capacity);
}

/**
 * ipcuckoo_set_closed() - can no entries be added to a set?
 * @set:	set
 *
 * In sets of ip_set, the maxelem 0 means that, and not "no limit".
 */
bool ipcuckoo_set_closed(const struct ipcuckoo_set *set)
{
	return set->ipset && !READ_ONCE(set->maxelem);
}

/**
 * ipcuckoo_set_change() - change the limit of a set
 * @set:	set, locked
 * @maxelem:	entries it may hold; 0: no limit
 *
 * Return: 0, -ERANGE if the set has more than @maxelem entries, or -EREMOTE if it is one of ip_set
 * and @maxelem is 0.
 */
int ipcuckoo_set_change(struct ipcuckoo_set *set, u32 maxelem)
{
	if (!maxelem && set->ipset)
		return -EREMOTE;
	if (maxelem && ipcuckoo_usage_live(&set->entries) > maxelem)
		return -ERANGE;
	WRITE_ONCE(set->maxelem, maxelem);
	ipcuckoo_event_set(set, set->name, IPCUCKOO_EVENT_SET_CHANGED);
	return 0;
}

/**
 * ipcuckoo_set_memory() - how much memory does a set take?
 * @set:	set, locked
 *
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_set_memory(struct ipcuckoo_set *set)
{
	const struct ipcuckoo_lens *lens = set->entries.lens;

	return set_size(&set->options) + (lens ? kmalloc_size_roundup(sizeof(*lens)) : 0) +
	       ipcuckoo_usage_memory(&set->entries);
}

/**
 * ipcuckoo_set_hit() - count a packet for the entry that it matches
 * @set:	set whose entries have records
 * @addr:	address
 * @v6:		@addr is an IPv6 address
 * @bytes:	length of the packet
 * @mark:	set to the mark of the entry, see struct ipcuckoo_skbinfo
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: false if no entry matches.
 */
bool ipcuckoo_set_hit(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr,
		      bool v6, unsigned int bytes, u64 *mark)
{
	struct ipcuckoo_skbinfo *info;
	struct ipcuckoo_record *record;

	if (ipcuckoo_entries_decide(&set->entries, addr, v6,
				    ipcuckoo_set_mapped(set, addr, v6), &record) != IPCUCKOO_MATCH)
		return false;
	ipcuckoo_record_count(record, set->entries.options, 1, bytes);
	info = ipcuckoo_record_info(record, set->entries.options);
	*mark = info ? READ_ONCE(info->mark) : 0;
	return true;
}

/**
 * ipcuckoo_set_init() - prepare for making sets
 *
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_set_init(void)
{
	cache = kmem_cache_create(IPCUCKOO_NAME "_set", sizeof(struct ipcuckoo_set), 0,
				  SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT, NULL);
	return cache ? 0 : -ENOMEM;
}

/**
 * ipcuckoo_set_exit() - undo ipcuckoo_set_init()
 *
 * Context: when the module is unloaded, after a grace period without sets.
 */
void ipcuckoo_set_exit(void)
{
	kmem_cache_destroy(cache);
}
