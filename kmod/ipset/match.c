// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does an element match? See match.h.
 *
 * As long as no change by a packet is pending, an answer costs what it costs at our own hooks: one
 * look-up finds whether the address matches, by which entry, and its record. While changes are
 * pending, a host in hash:ip is looked for among them first. In hash:net the changes and the
 * contents are asked for each prefix length that any of them has, longest first.
 */
#include "../lookup.h"
#include "../usage.h"
#include "match.h"

/* Walks that changes have disturbed are repeated so many times; then the reader takes locks. */
#define RETRIES	8

/**
 * struct found - the entry that decides about an element
 * @decision:	what it decides; UNDECIDED if there is none
 * @len:	the length of its prefix, after a walk
 * @record:	its record, or NULL
 * @hits:	its counters, or NULL
 * @change:	the change whose counters these are, or NULL
 */
struct found {
	enum ipcuckoo_decision decision;
	u8 len;
	struct ipcuckoo_record *record;
	struct ipcuckoo_hits *hits;
	struct ipcuckoo_change *change;
};

static bool compare(u64 value, u64 with, u8 op)
{
	switch (op) {
	case IPSET_COUNTER_NONE:
		return true;
	case IPSET_COUNTER_EQ:
		return value == with;
	case IPSET_COUNTER_NE:
		return value != with;
	case IPSET_COUNTER_LT:
		return value < with;
	case IPSET_COUNTER_GT:
		return value > with;
	}
	return false;
}

/* Count a packet for the entry, and compare its counters if the rule says so. For "ipset test",
 * ext->packets is ULLONG_MAX, and nothing is counted.
 */
static bool count(struct ipcuckoo_hits *hits, const struct ip_set_ext *ext,
		  const struct ip_set_ext *mext, u32 flags)
{
	if (ext->packets != ULLONG_MAX && !(flags & IPSET_FLAG_SKIP_COUNTER_UPDATE))
		ipcuckoo_hits_add(hits, ext->packets, ext->bytes);
	return !(flags & IPSET_FLAG_MATCH_COUNTERS) ||
	       (compare(atomic64_read(&hits->packets), mext->packets, mext->packets_op) &&
		compare(atomic64_read(&hits->bytes), mext->bytes, mext->bytes_op));
}

static void get_info(const struct ipcuckoo_skbinfo *info, struct ip_set_skbinfo *to)
{
	u64 mark;

	if (!info)
		return;
	mark = READ_ONCE(info->mark);
	*to = (struct ip_set_skbinfo){
		.skbmark = (u32)mark,
		.skbmarkmask = mark >> 32,
		.skbprio = READ_ONCE(info->prio),
		.skbqueue = READ_ONCE(info->queue),
	};
}

/* A packet was counted for a change. If that was stored meanwhile, count it for the entry. */
static void pass_on(struct ipcuckoo_ipset *s, struct ipcuckoo_change *change)
{
	struct ipcuckoo_value value;
	u64 packets, bytes;

	smp_mb();	/* pairs with smp_mb() in take_late_hits() */
	if (likely(!READ_ONCE(change->stored)))
		return;
	ipcuckoo_pending_take_hits(change, &packets, &bytes);
	if (ipcuckoo_entries_fetch(&s->set->entries, &change->entry, &value))
		ipcuckoo_record_count(value.record, s->set->entries.options, packets,
				      bytes);
}

/* What the core of ip_set is told about an entry: 1, -ENOTEMPTY for an exception, 0 if the counters
 * of the entry do not match.
 */
static int answer(struct ipcuckoo_ipset *s, const struct found *found,
		  const struct ip_set_ext *ext, struct ip_set_ext *mext, u32 flags)
{
	bool counted;

	if (found->decision == IPCUCKOO_UNDECIDED)
		return 0;
	counted = !found->hits || count(found->hits, ext, mext, flags);
	if (found->change)
		pass_on(s, found->change);
	if (!counted)
		return 0;
	get_info(ipcuckoo_record_info(found->record, s->set->entries.options), &mext->skbinfo);
	return found->decision == IPCUCKOO_MATCH ? 1 : -ENOTEMPTY;
}

/* Find an entry among the changes, or else in the contents; @v is their version, or NULL for the
 * current one. Prefixes that cover the entry do not count. @now was read before anything else: an
 * entry that expires later is still in the set.
 */
static struct found find_exact(struct ipcuckoo_ipset *s, const struct ipcuckoo_version *v,
			       const struct ipcuckoo_entry *entry, u32 now)
{
	struct ipcuckoo_change *change = ipcuckoo_pending_find(&s->pending, entry);
	bool count = s->set->entries.options & IPCUCKOO_O_COUNTERS;
	struct ipcuckoo_value value;
	bool there;

	if (change) {
		if (!change->add || ipcuckoo_expired(change->expires, now))
			return (struct found){};
		return (struct found){
			.decision = IPCUCKOO_MATCH,
			.hits = count ? &change->hits : NULL,
			.change = count ? change : NULL,
		};
	}
	there = v ? ipcuckoo_entries_fetch_from(v, entry, now, &value) :
		    ipcuckoo_entries_fetch(&s->set->entries, entry, &value);
	if (!there)
		return (struct found){};
	return (struct found){
		.decision = value.nomatch ? IPCUCKOO_EXCEPTION : IPCUCKOO_MATCH,
		.record = value.record,
		.hits = ipcuckoo_record_hits(value.record, s->set->entries.options),
	};
}

/* Is there any prefix of this length, among the changes or in the contents? A change is counted in
 * the contents before it is removed from the changes: ipcuckoo_pending_has_len() is the first.
 */
static bool has_len(struct ipcuckoo_ipset *s, u8 len)
{
	return ipcuckoo_pending_has_len(&s->pending, len) ||
	       ipcuckoo_usage_with_len(&s->set->entries, len);
}

/* What a walk has begun with: it counts only if all of it but the time is the same at its end. */
struct moment {
	u32 pending;
	u32 contents;
	u32 now;
	const struct ipcuckoo_version *version;
};

/* Find the longest prefix that covers an address and is not longer than @len. */
static struct found walk_once(struct ipcuckoo_ipset *s, const struct moment *m,
			      const struct ipcuckoo_entry *host, u8 len)
{
	struct ipcuckoo_entry prefix = *host;
	struct found found = {};

	for (; len && !found.decision; len--) {
		if (!has_len(s, len))
			continue;
		ipcuckoo_ipset_cut(&prefix, len);
		found = find_exact(s, m->version, &prefix, m->now);
		found.len = len;
	}
	return found;
}

/* The clock is read once. Otherwise a walk could miss a host that is covered all the time: it finds
 * no longer prefix, then user space adds one, and then the shorter prefix expires that covered the
 * host until then.
 */
static struct moment begin(struct ipcuckoo_ipset *s)
{
	struct moment m;

	/* pairs with bump() in pending.c */
	m.pending = smp_load_acquire(&s->pending.seq);
	/* pairs with ipcuckoo_guard_bump() */
	m.contents = smp_load_acquire(&s->set->entries.guard.seq);
	m.now = ipcuckoo_now();
	m.version = rcu_dereference(s->set->entries.version);
	return m;
}

static bool undisturbed(struct ipcuckoo_ipset *s, const struct moment *m)
{
	/* Its barrier pairs with those of ipcuckoo_guard_bump(), too. */
	return ipcuckoo_pending_same(&s->pending, m->pending) && !(m->pending & 1) &&
	       READ_ONCE(s->set->entries.guard.seq) == m->contents &&
	       rcu_access_pointer(s->set->entries.version) == m->version;
}

/* A version that is replaced meanwhile is a moment of its own: with both locks, nothing changes in
 * the changes nor in the tables.
 */
static struct found walk(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *host, u8 len)
{
	struct found found;
	struct moment m;
	int i;

	for (i = 0; i < RETRIES; i++) {
		m = begin(s);
		found = walk_once(s, &m, host, len);
		if (undisturbed(s, &m))
			return found;
		cpu_relax();
	}
	spin_lock_bh(s->pending.lock);
	spin_lock_bh(&s->set->entries.guard.lock);
	m = begin(s);
	found = walk_once(s, &m, host, len);
	spin_unlock_bh(&s->set->entries.guard.lock);
	spin_unlock_bh(s->pending.lock);
	return found;
}

/* If the counters of a prefix do not match, a shorter one may. */
static int match_walking(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *host,
			 const struct ip_set_ext *ext, struct ip_set_ext *mext, u32 flags)
{
	struct found found = walk(s, host, host->len);
	int ret = answer(s, &found, ext, mext, flags);

	while (!ret && found.decision && found.len > 1) {
		found = walk(s, host, found.len - 1);
		ret = answer(s, &found, ext, mext, flags);
	}
	return ret;
}

/**
 * ipcuckoo_ipset_match_plain() - does an address match a set without records?
 * @s:		set, in which no change is pending
 * @addr:	address
 *
 * Context: any but hard interrupts, under rcu_read_lock().
 * Return: 1, 0, or -ENOTEMPTY if an exception decides.
 */
int ipcuckoo_ipset_match_plain(struct ipcuckoo_ipset *s, const struct ipcuckoo_key *addr)
{
	struct ipcuckoo_entries *e = &s->set->entries;

	if (!s->nets)
		return s->v6 ? ipcuckoo_entries_match6(e, addr) :
			       ipcuckoo_entries_match4(e, addr->lo);
	switch (ipcuckoo_entries_decide(e, addr, s->v6, false, NULL)) {
	case IPCUCKOO_MATCH:
		return 1;
	case IPCUCKOO_EXCEPTION:
		return -ENOTEMPTY;
	default:
		return 0;
	}
}

/* One look-up in the contents. */
static struct found find_contents(struct ipcuckoo_ipset *s, const struct ipcuckoo_key *addr)
{
	struct found found = {};

	found.decision = ipcuckoo_entries_decide(&s->set->entries, addr, s->v6, false,
						 s->records ? &found.record : NULL);
	found.hits = ipcuckoo_record_hits(found.record, s->set->entries.options);
	return found;
}

/* Find an entry, as of one moment. An entry that is found was in the set when it was read. One that
 * is not found may have been in the set all the time: after the changes were read, and before the
 * contents were, a packet has added it to the changes, and then user space has deleted it from the
 * contents, or it has expired there. The sequence number tells. A caller that holds the lock of the
 * changes has its answer at once, because nobody else changes the number.
 */
static struct found find_once(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry)
{
	struct found found;
	u32 seq;
	int i;

	for (i = 0; i < RETRIES; i++) {
		seq = smp_load_acquire(&s->pending.seq);	/* pairs with bump() in pending.c */
		found = find_exact(s, NULL, entry, ipcuckoo_now());
		if (found.decision || (ipcuckoo_pending_same(&s->pending, seq) && !(seq & 1)))
			return found;
		cpu_relax();
	}
	spin_lock_bh(s->pending.lock);
	found = find_exact(s, NULL, entry, ipcuckoo_now());
	spin_unlock_bh(s->pending.lock);
	return found;
}

/**
 * ipcuckoo_ipset_has() - is this element in the set?
 * @s:		set
 * @entry:	element; prefixes that cover it do not count
 *
 * Context: any but hard interrupts, under rcu_read_lock().
 */
bool ipcuckoo_ipset_has(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry)
{
	return find_once(s, entry).decision;
}

/**
 * ipcuckoo_ipset_match() - does an element match the set?
 * @s:		set
 * @entry:	a host; or a prefix, and then only an equal one matches
 * @ext:	the packet: what is counted for the entry
 * @mext:	what the rule says about counters; set to the skbinfo of the entry
 * @flags:	IPSET_FLAG_SKIP_COUNTER_UPDATE, IPSET_FLAG_MATCH_COUNTERS
 *
 * Context: any but hard interrupts, under rcu_read_lock().
 * Return: 1, 0, or -ENOTEMPTY if an exception decides.
 */
int ipcuckoo_ipset_match(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry,
			 const struct ip_set_ext *ext, struct ip_set_ext *mext, u32 flags)
{
	bool host = entry->len == ipcuckoo_ipset_host_len(s);
	bool walks = host && s->nets;
	struct found found;
	u32 seq;

	if (host && !(walks && flags & IPSET_FLAG_MATCH_COUNTERS) &&
	    ipcuckoo_pending_none(&s->pending, &seq)) {
		found = find_contents(s, &entry->addr);
		if (ipcuckoo_pending_same(&s->pending, seq))
			return answer(s, &found, ext, mext, flags);
	}
	if (walks)
		return match_walking(s, entry, ext, mext, flags);
	found = find_once(s, entry);
	return answer(s, &found, ext, mext, flags);
}
