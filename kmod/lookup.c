// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Look-ups
 *
 * What a packet runs. The hint of the address's family says whether a short
 * prefix covers it, whether there are hosts near it, and which lengths of
 * prefixes; hosts and prefixes are then probed in their tables. A set that never
 * had a prefix has no hint. An approximate set has no tables either; its filter
 * is looked for where there is no table, so that exact sets do not pay for it.
 *
 * Where entries can end or be exceptions, being there does not mean matching:
 * the longest entry that covers the address and has not ended decides. Such sets
 * are asked in that order, and the marks that spare the others a probe do not
 * count. They take the slow way from the first remainder that matches; misses
 * without a prefix near them never get there.
 *
 * One answer
 * ----------
 *
 * A look-up that probes hint, prefixes and hosts must answer for one moment.
 * Add a /20, then delete a /24 inside it: whoever asks for an address in the
 * /24 must be told yes at all times. A reader that read the hint before the
 * /20 was marked and the /24 after it was deleted would say no. Hence the
 * sequence is sampled before anything else, every deletion moves it first, and
 * a no counts only if it stood still. The version pointer is read after the
 * sample as well: who misses the step of a deletion in a table that two
 * versions share must not miss what was added to the newer version before it.
 */
#include "entries.h"

/* Look-ups that a busy writer may spoil before the reader takes the lock. A
 * writer flat out spoils 4 % of them, and eight in a row, 0.04^8, never.
 */
#define RETRIES	8

static bool probe32(const struct ipcuckoo_table *t, u32 key)
{
	return t && ipcuckoo_table_probe32(t, key);
}

static bool probe128(const struct ipcuckoo_table *t,
		     const struct ipcuckoo_key *key)
{
	return t && ipcuckoo_table_probe128(t, key);
}

/* Where there is no table of hosts there may be a filter. */
static bool probe_host4(const struct ipcuckoo_version *v, u32 addr)
{
	const struct ipcuckoo_table *t = v->table[IPCUCKOO_HOSTS4];
	struct ipcuckoo_key key;

	if (likely(t))
		return ipcuckoo_table_probe32(t, addr);
	if (!v->filter)
		return false;
	key = ipcuckoo_filter_key4(addr);
	return ipcuckoo_filter_probe(v->filter, &key);
}

static bool probe_host6(const struct ipcuckoo_version *v,
			const struct ipcuckoo_key *addr)
{
	const struct ipcuckoo_table *t = v->table[IPCUCKOO_HOSTS6];

	if (likely(t))
		return ipcuckoo_table_probe128(t, addr);
	return v->filter && ipcuckoo_filter_probe(v->filter, addr);
}

/* What the longest entry says. */
enum decision {
	UNDECIDED,
	MATCH,
	EXCEPTION,
};

/**
 * struct valued - what a look-up needs to decide, and how it did
 * @now:	the time
 * @record:	that of the entry that decided, if any
 */
struct valued {
	u32 now;
	struct ipcuckoo_record *record;
};

/* The clock is read before the tables: what has ended by then was replaced by
 * nothing, for whatever was added while it still matched is seen.
 */
static enum decision decide(const struct ipcuckoo_table *t,
			    const struct ipcuckoo_key *key, struct valued *by)
{
	struct ipcuckoo_value value;

	if (!t || !ipcuckoo_table_fetch(t, key, &value) ||
	    ipcuckoo_expired(value.expires, by->now))
		return UNDECIDED;
	by->record = value.record;
	return value.nomatch ? EXCEPTION : MATCH;
}

/* Prefixes of the lengths first + n, for each bit n of @lens, longest first. */
static enum decision decide_lens(const struct ipcuckoo_table *t,
				 const struct ipcuckoo_key *addr, bool v6, u64 lens,
				 unsigned int first, struct valued *by)
{
	enum decision found = UNDECIDED;
	struct ipcuckoo_key code;
	unsigned int n;

	while (lens && !found) {
		n = fls64(lens) - 1;
		lens ^= BIT_ULL(n);
		code = ipcuckoo_entry_code(addr, v6, first + n);
		found = decide(t, &code, by);
	}
	return found;
}

/* A word that says no more than "covered" leaves every length up to its own. */
static u64 short_lens(u32 word, unsigned int stride)
{
	u64 lens = word & ~IPCUCKOO_HINT_FLAGS;

	return word & IPCUCKOO_HINT_COVER ? lens | (BIT_ULL(stride + 1) - 1) : lens;
}

static enum decision decide4(const struct ipcuckoo_version *v,
			     const struct ipcuckoo_key *addr, struct valued *by)
{
	const struct ipcuckoo_hint *h = v->hint[0];
	enum decision found = decide(v->table[IPCUCKOO_HOSTS4], addr, by);

	if (found || !h)
		return found;
	return decide_lens(v->table[IPCUCKOO_NETS4], addr, false,
			   short_lens(ipcuckoo_hint_top(h, addr->lo << 32), h->stride),
			   0, by);
}

static enum decision decide6(const struct ipcuckoo_version *v,
			     const struct ipcuckoo_key *addr, struct valued *by)
{
	const struct ipcuckoo_table *nets = v->table[IPCUCKOO_NETS6];
	enum decision found = decide(v->table[IPCUCKOO_HOSTS6], addr, by);
	const struct ipcuckoo_hint *h = v->hint[1];
	u32 top, word[IPCUCKOO_HINT_LEVELS];
	unsigned int level = 0;

	if (found || !h)
		return found;
	top = ipcuckoo_hint_top(h, addr->hi);
	while (level < IPCUCKOO_HINT_LEVELS &&
	       (level ? word[level - 1] : top) & IPCUCKOO_HINT_DEEPER) {
		word[level] = ipcuckoo_hint_deep(h, level, addr);
		level++;
	}
	while (level-- && !found)
		found = decide_lens(nets, addr, true,
				    ipcuckoo_hint_lens(word[level], level),
				    ipcuckoo_hint_level[level] + 1, by);
	if (found)
		return found;
	return decide_lens(nets, addr, true,
			   short_lens(top & ~IPCUCKOO_HINT_DEEPER, h->stride), 0, by);
}

static bool valued_match4(const struct ipcuckoo_version *v,
			  const struct ipcuckoo_key *addr, struct valued *by)
{
	by->now = ipcuckoo_now();
	return decide4(v, addr, by) == MATCH;
}

static bool valued_match6(const struct ipcuckoo_version *v,
			  const struct ipcuckoo_key *addr, struct valued *by)
{
	by->now = ipcuckoo_now();
	return decide6(v, addr, by) == MATCH;
}

/* Entries of IPv4 are longer than any IPv6 prefix that covers mapped addresses. */
static bool valued_match_mapped(const struct ipcuckoo_version *v,
				const struct ipcuckoo_key *addr, struct valued *by)
{
	const struct ipcuckoo_key addr4 = { .lo = (u32)addr->lo };

	by->now = ipcuckoo_now();
	return (decide4(v, &addr4, by) ?: decide6(v, addr, by)) == MATCH;
}

/* A mark may be newer than the version it is read through, whose table may
 * still be missing; the probes look.
 */
static bool version_match4(const struct ipcuckoo_version *v,
			   const struct ipcuckoo_key *host, struct valued *by)
{
	const struct ipcuckoo_hint *h = v->hint[0];
	u32 addr = host->lo;
	unsigned int len;
	u32 lens, word;

	if (v->valued)
		return valued_match4(v, host, by);
	if (!h)
		return probe_host4(v, addr);
	word = ipcuckoo_hint_top(h, (u64)addr << 32);
	if (word & IPCUCKOO_HINT_COVER)
		return true;
	if (word & IPCUCKOO_HINT_HOSTS && probe_host4(v, addr))
		return true;
	for (lens = word & ~IPCUCKOO_HINT_FLAGS; lens; lens &= lens - 1) {
		len = __ffs(lens);
		if (probe32(v->table[IPCUCKOO_NETS4], ipcuckoo_code4(addr, len)))
			return true;
	}
	return false;
}

/* Probe for prefixes of the lengths first + n, for each bit n of @lens. */
static bool match_lens6(const struct ipcuckoo_version *v,
			const struct ipcuckoo_key *addr, u32 lens,
			unsigned int first)
{
	struct ipcuckoo_key code;

	for (; lens; lens &= lens - 1) {
		code = ipcuckoo_code6(addr, first + __ffs(lens));
		if (probe128(v->table[IPCUCKOO_NETS6], &code))
			return true;
	}
	return false;
}

static bool version_match6(const struct ipcuckoo_version *v,
			   const struct ipcuckoo_key *addr, struct valued *by)
{
	const struct ipcuckoo_hint *h = v->hint[1];
	unsigned int level;
	u32 word;

	if (v->valued)
		return valued_match6(v, addr, by);
	if (!h)
		return probe_host6(v, addr);
	word = ipcuckoo_hint_top(h, addr->hi);
	if (word & IPCUCKOO_HINT_COVER)
		return true;
	if (word & IPCUCKOO_HINT_HOSTS && probe_host6(v, addr))
		return true;
	if (match_lens6(v, addr, word & ~IPCUCKOO_HINT_FLAGS &
			~IPCUCKOO_HINT_DEEPER, 0))
		return true;
	for (level = 0; word & IPCUCKOO_HINT_DEEPER &&
	     level < IPCUCKOO_HINT_LEVELS; level++) {
		word = ipcuckoo_hint_deep(h, level, addr);
		if (match_lens6(v, addr, ipcuckoo_hint_lens(word, level),
				ipcuckoo_hint_level[level] + 1))
			return true;
	}
	return false;
}

static bool version_match_mapped(const struct ipcuckoo_version *v,
				 const struct ipcuckoo_key *addr, struct valued *by)
{
	const struct ipcuckoo_key addr4 = { .lo = (u32)addr->lo };

	if (v->valued)
		return valued_match_mapped(v, addr, by);
	return version_match4(v, &addr4, by) || version_match6(v, addr, by);
}

typedef bool (*match_fn)(const struct ipcuckoo_version *v,
			 const struct ipcuckoo_key *addr, struct valued *by);

static u32 sample(const struct ipcuckoo_entries *e)
{
	/* LMM(look-up:A), pairs with LMM(bump:A) */
	return smp_load_acquire(&e->guard.seq);
}

/* The sequence stood still since it was sampled. */
static bool undisturbed(const struct ipcuckoo_entries *e, u32 seq)
{
	smp_rmb();	/* LMM(look-up:B, match:A), pairs with LMM(bump:C) */
	return likely(READ_ONCE(e->guard.seq) == seq);
}

/* An answer counts only if the sequence stood still since before it was sought.
 * That goes for a match as well: key or rest may have been put together from
 * two that used the slot one after the other.
 */
static noinline bool look_up_by(struct ipcuckoo_entries *e,
				const struct ipcuckoo_key *addr, match_fn match,
				struct valued *by)
{
	bool found;
	u32 seq;
	int i;

	for (i = 0; i < RETRIES; i++) {
		seq = sample(e);
		found = match(rcu_dereference(e->version), addr, by);
		if (undisturbed(e, seq))
			return found;
		atomic64_inc(&e->retries);
		cpu_relax();
	}
	spin_lock_bh(&e->guard.lock);
	found = match(rcu_dereference(e->version), addr, by);
	e->fallbacks++;
	spin_unlock_bh(&e->guard.lock);
	return found;
}

static noinline bool look_up(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr, match_fn match)
{
	struct valued by;

	return look_up_by(e, addr, match, &by);
}

/* What follows keeps out of the way of packets that are nobody's: these need
 * neither a frame nor a register saved.
 */
static noinline bool look_up4(struct ipcuckoo_entries *e, u32 addr)
{
	const struct ipcuckoo_key key = { .lo = addr };

	return look_up(e, &key, version_match4);
}

static noinline bool confirm4(struct ipcuckoo_entries *e, u32 addr, u32 seq,
			      const struct ipcuckoo_table *t,
			      struct ipcuckoo_place p)
{
	if (!t->with && ipcuckoo_table_confirm(t, p, NULL) && undisturbed(e, seq))
		return true;
	return look_up4(e, addr);
}

static noinline bool confirm6(struct ipcuckoo_entries *e,
			      const struct ipcuckoo_key *addr, u32 seq,
			      const struct ipcuckoo_table *t,
			      struct ipcuckoo_place p)
{
	if (!t->with && ipcuckoo_table_confirm(t, p, addr) && undisturbed(e, seq))
		return true;
	return look_up(e, addr, version_match6);
}

/* What the hint says of an address. */
static u32 hint_word(const struct ipcuckoo_hint *h, u64 hi)
{
	return h ? ipcuckoo_hint_top(h, hi) : IPCUCKOO_HINT_HOSTS;
}

/**
 * ipcuckoo_entries_match4() - is an IPv4 address in the set?
 * @e:		contents
 * @addr:	address, host byte order
 *
 * Most packets come from near no prefix, and neither bucket has the remainder.
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: the answer as of some moment during the call.
 */
bool ipcuckoo_entries_match4(struct ipcuckoo_entries *e, u32 addr)
{
	u32 seq = sample(e);
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	const struct ipcuckoo_table *t = v->table[IPCUCKOO_HOSTS4];
	u32 word = hint_word(v->hint[0], (u64)addr << 32);
	struct ipcuckoo_place p;

	if (word & ~IPCUCKOO_HINT_HOSTS)
		return look_up4(e, addr);
	if (word && likely(t)) {
		p = ipcuckoo_table_place32(t, addr);
		if (ipcuckoo_table_suspect(t, &p))
			return confirm4(e, addr, seq, t, p);
	} else if (word && v->filter) {
		return look_up4(e, addr);
	}
	return undisturbed(e, seq) ? false : look_up4(e, addr);
}

/**
 * ipcuckoo_entries_match6() - is an IPv6 address in the set?
 * @e:		contents
 * @addr:	address
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: the answer as of some moment during the call.
 */
bool ipcuckoo_entries_match6(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr)
{
	u32 seq = sample(e);
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	const struct ipcuckoo_table *t = v->table[IPCUCKOO_HOSTS6];
	u32 word = hint_word(v->hint[1], addr->hi);
	struct ipcuckoo_place p;

	if (word & ~IPCUCKOO_HINT_HOSTS)
		return look_up(e, addr, version_match6);
	if (word && likely(t)) {
		p = ipcuckoo_table_place128(t, addr);
		if (ipcuckoo_table_suspect(t, &p))
			return confirm6(e, addr, seq, t, p);
	} else if (word && v->filter) {
		return look_up(e, addr, version_match6);
	}
	return undisturbed(e, seq) ? false : look_up(e, addr, version_match6);
}

/**
 * ipcuckoo_entries_match_mapped() - is either form of an address in the set?
 * @e:		contents
 * @addr:	IPv4-mapped IPv6 address
 *
 * An IPv4 entry may have it, or an IPv6 prefix: one answer for both.
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: the answer as of some moment during the call.
 */
bool ipcuckoo_entries_match_mapped(struct ipcuckoo_entries *e,
				   const struct ipcuckoo_key *addr)
{
	return look_up(e, addr, version_match_mapped);
}

/**
 * ipcuckoo_entries_record() - the record of the entry that an address matches
 * @e:		contents that have records
 * @addr:	address
 * @v6:		it is of IPv6
 * @mapped:	it is IPv4-mapped, and an IPv4 entry may have it
 * @record:	set to the record, good until rcu_read_unlock()
 *
 * An answer of its own, as of some moment during this call.
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: false if nothing matches.
 */
bool ipcuckoo_entries_record(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr, bool v6, bool mapped,
			     struct ipcuckoo_record **record)
{
	struct valued by = {};
	bool found;

	found = look_up_by(e, addr, mapped ? valued_match_mapped :
				    v6 ? valued_match6 : valued_match4, &by);
	*record = found ? by.record : NULL;
	return found;
}
