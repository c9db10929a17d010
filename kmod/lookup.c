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

/* A mark may be newer than the version it is read through, whose table may
 * still be missing; the probes look.
 */
static bool version_match4(const struct ipcuckoo_version *v,
			   const struct ipcuckoo_key *host)
{
	const struct ipcuckoo_hint *h = v->hint[0];
	u32 addr = host->lo;
	unsigned int len;
	u32 lens, word;

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
			   const struct ipcuckoo_key *addr)
{
	const struct ipcuckoo_hint *h = v->hint[1];
	unsigned int level;
	u32 word;

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
				 const struct ipcuckoo_key *addr)
{
	const struct ipcuckoo_key addr4 = { .lo = (u32)addr->lo };

	return version_match4(v, &addr4) || version_match6(v, addr);
}

typedef bool (*match_fn)(const struct ipcuckoo_version *v,
			 const struct ipcuckoo_key *addr);

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
static noinline bool look_up(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr, match_fn match)
{
	bool found;
	u32 seq;
	int i;

	for (i = 0; i < RETRIES; i++) {
		seq = sample(e);
		found = match(rcu_dereference(e->version), addr);
		if (undisturbed(e, seq))
			return found;
		cpu_relax();
	}
	spin_lock_bh(&e->guard.lock);
	found = match(rcu_dereference(e->version), addr);
	e->fallbacks++;
	spin_unlock_bh(&e->guard.lock);
	return found;
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
	if (ipcuckoo_table_confirm(t, p, NULL) && undisturbed(e, seq))
		return true;
	return look_up4(e, addr);
}

static noinline bool confirm6(struct ipcuckoo_entries *e,
			      const struct ipcuckoo_key *addr, u32 seq,
			      const struct ipcuckoo_table *t,
			      struct ipcuckoo_place p)
{
	if (ipcuckoo_table_confirm(t, p, addr) && undisturbed(e, seq))
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
