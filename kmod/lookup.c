// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Look-ups
 *
 * This is the code that a packet runs. The hint of the address's family says whether a
 * short prefix covers the address, whether the set has hosts near it, and which prefix
 * lengths it has there. The look-up then probes the tables of hosts and of prefixes. A set
 * that never had a prefix has no hint. An approximate set has a filter instead of tables;
 * the look-up tests for the filter only if it finds no table, so that exact sets do not
 * pay for that test.
 *
 * In most sets an address matches if any entry covers it. If entries have timeouts,
 * or are exceptions (nomatch), the longest entry that covers the address and has
 * not expired decides: longest-prefix match, "lpm" in the names below. An lpm
 * look-up probes for the host, and then for the prefix lengths of the hint, longest
 * first. The COVER flag of the hint is no answer then, because the short prefix may have
 * expired or be an exception. An lpm look-up starts only when a probe has found a remainder
 * that matches, or the hint has marks of prefixes: most misses do not need it.
 *
 * Consistency
 * -----------
 *
 * A look-up reads the hint and several tables, but its answer must be right for one
 * moment. Say that a writer adds a /20 and then deletes a /24 inside it. An address
 * in the /24 matches at all times. A reader that read the hint before the /20 was
 * added, and the table after the /24 was deleted, would find neither. So a reader
 * samples the sequence number of the set before anything else, a writer bumps it
 * before every deletion, and a miss counts only if the number is still the same.
 * The reader loads the version pointer after the sample, because two versions can
 * share a table: a reader that sees a deletion in that table, but not the bump
 * before it, must not miss what was added to the newer version earlier.
 */
#include "lookup.h"

/* The maximum number of lockless attempts. If a writer disturbs all of them, the reader takes
 * the lock. A writer that never pauses disturbs 4 % of all look-ups. Eight disturbed attempts in
 * a row, with a probability of 0.04^8, do not happen in practice.
 */
#define RETRIES	8

/* In a large table, a look-up that finds an IPv6 host waits for two cache misses, one after the
 * other: first it reads the slot, then the key. If it prefetches the keys of both buckets before it
 * reads the slots, it waits for one. But a look-up that finds nothing has then fetched the keys in
 * vain. Among a million hosts, prefetching saves a match 45 ns and costs a miss 30
 * (selftests/bench/versus). So look-ups prefetch while most of them find a slot: each processor
 * adds 1 to ipcuckoo_recent_hits if a slot has the remainder of the host, and subtracts 1 if none
 * has, within 0 to HITS_MAX, and prefetches while the number is at least IPCUCKOO_HITS_MANY.
 *
 * Look-ups in sets with records do likewise, for both families: they prefetch the deadlines and the
 * pointers to records of both buckets (selftests/bench/dropin --counters).
 */
#define HITS_MAX	8

DEFINE_PER_CPU(int, ipcuckoo_recent_hits);

/* Among entries of several lengths, a look-up probes for each length that the hint names, until
 * one matches. But the packets of an attack may all come from one address, or from one prefix. So
 * each processor remembers, for each family, the address that it last found in this way, and the
 * length of the entry. The look-up of an address that the same entry covers probes for that
 * length first, which takes half the time at most: it need not know which other lengths there are.
 * If the set does not have the entry, for instance because another set was looked up before, this
 * costs a probe that finds nothing.
 *
 * The other set may be one of another network namespace. So whoever measures the time of look-ups,
 * to some nanoseconds and on the same processor, can tell whether the last packet that matched
 * there came from a prefix that he asks for. The caches of the processor tell him as much about
 * the tables themselves. A secret of each set, which would have to be mixed into the address of
 * each look-up, would hide only the former.
 */

/**
 * struct last_entry - an entry that matched
 * @hi:		the first 64 bits of the address that it matched, an IPv4 address at the top
 * @shift:	how many of the last bits of @hi the entry leaves open
 * @len:	its length
 */
struct last_entry {
	u64 hi;
	u8 shift;
	u8 len;
};

/* At first, these are the hosts 0.0.0.0 and ::, whether a set has them or not. */
static DEFINE_PER_CPU(struct last_entry, last_entry[2]) = { { .len = 32 }, { .len = 128 } };

/* Look-ups that interrupt each other, or move to another processor here, may mix two entries up.
 * Then the next look-up only takes longer, so nothing disables interrupts or preemption for this.
 * But the length is read only once: codes are made of the length that was compared.
 */
static __always_inline void remember(bool v6, u64 hi, unsigned int len)
{
	struct last_entry *last = raw_cpu_ptr(&last_entry[v6]);

	WRITE_ONCE(last->hi, hi);
	WRITE_ONCE(last->shift, len < 64 ? 64 - len : 0);
	WRITE_ONCE(last->len, len);
}

/* Does the entry that matched last cover an address? Only its first 64 bits are compared. */
static __always_inline bool in_last_entry(bool v6, const struct ipcuckoo_key *addr)
{
	const struct last_entry *last = raw_cpu_ptr(&last_entry[v6]);
	u64 hi = v6 ? addr->hi : addr->lo << 32;

	return !((hi ^ READ_ONCE(last->hi)) >> READ_ONCE(last->shift));
}

static __always_inline unsigned int last_len(bool v6)
{
	return READ_ONCE(raw_cpu_ptr(&last_entry[v6])->len);
}

/* Probe for a host: in the table of hosts, or in the filter that an approximate set has
 * instead.
 */
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

/**
 * struct lpm - a longest-prefix match
 * @now:	the second since boot in which it began
 * @decision:	set to what the longest entry decides
 * @record:	set to the record of the entry that decided, if that has one
 */
struct lpm {
	u32 now;
	enum ipcuckoo_decision decision;
	struct ipcuckoo_record *record;
};

/* Probe for one entry that covers the address. The callers read the clock (by->now) before
 * the tables. If the entry has expired by then, anything that was added while it was still
 * valid is already visible to this look-up. So no packet slips through between an entry
 * that expires and another one that was added before that.
 */
static enum ipcuckoo_decision decide(const struct ipcuckoo_table *t,
				     const struct ipcuckoo_key *key, struct lpm *by)
{
	struct ipcuckoo_value value;

	if (!t || !ipcuckoo_table_fetch(t, key, &value) ||
	    ipcuckoo_expired(value.expires, by->now))
		return IPCUCKOO_UNDECIDED;
	by->record = value.record;
	return value.nomatch ? IPCUCKOO_EXCEPTION : IPCUCKOO_MATCH;
}

/* Probe for the prefixes of the lengths first + n, for each bit n of @lens, longest first. */
static enum ipcuckoo_decision decide_lens(const struct ipcuckoo_table *t,
					  const struct ipcuckoo_key *addr, bool v6,
					  u64 lens, unsigned int first, struct lpm *by)
{
	enum ipcuckoo_decision found = IPCUCKOO_UNDECIDED;
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

/* The lengths of short prefixes to probe. A word with COVER does not say which of them
 * exist: any length up to the stride is possible.
 */
static u64 short_lens(u32 word, unsigned int stride)
{
	u64 lens = word & ~IPCUCKOO_HINT_FLAGS;

	return word & IPCUCKOO_HINT_COVER ? lens | (BIT_ULL(stride + 1) - 1) : lens;
}

static enum ipcuckoo_decision decide4(const struct ipcuckoo_version *v,
				      const struct ipcuckoo_key *addr, struct lpm *by)
{
	const struct ipcuckoo_hint *h = v->hint[0];
	enum ipcuckoo_decision found = decide(v->table[IPCUCKOO_HOSTS4], addr, by);

	if (found || !h)
		return found;
	return decide_lens(v->table[IPCUCKOO_NETS4], addr, false,
			   short_lens(ipcuckoo_hint_top4(h, addr->lo),
				      ipcuckoo_hint_stride(h, ipcuckoo_entry_top(addr, false).hi)),
			   0, by);
}

static enum ipcuckoo_decision decide6(const struct ipcuckoo_version *v,
				      const struct ipcuckoo_key *addr, struct lpm *by)
{
	const struct ipcuckoo_table *nets = v->table[IPCUCKOO_NETS6];
	enum ipcuckoo_decision found = decide(v->table[IPCUCKOO_HOSTS6], addr, by);
	const struct ipcuckoo_hint *h = v->hint[1];
	u32 top, word[IPCUCKOO_HINT_LEVELS];
	unsigned int level = 0;

	if (found || !h)
		return found;
	top = ipcuckoo_hint_top6(h, addr->hi);
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

static bool lpm_match4(const struct ipcuckoo_version *v,
		       const struct ipcuckoo_key *addr, struct lpm *by)
{
	by->now = ipcuckoo_now();
	by->decision = decide4(v, addr, by);
	return by->decision == IPCUCKOO_MATCH;
}

static bool lpm_match6(const struct ipcuckoo_version *v,
		       const struct ipcuckoo_key *addr, struct lpm *by)
{
	by->now = ipcuckoo_now();
	by->decision = decide6(v, addr, by);
	return by->decision == IPCUCKOO_MATCH;
}

/* An IPv4 entry counts as longer than any IPv6 prefix that covers IPv4-mapped addresses. */
static bool lpm_match_mapped(const struct ipcuckoo_version *v,
			     const struct ipcuckoo_key *addr, struct lpm *by)
{
	const struct ipcuckoo_key addr4 = { .lo = (u32)addr->lo };

	by->now = ipcuckoo_now();
	by->decision = decide4(v, &addr4, by) ?: decide6(v, addr, by);
	return by->decision == IPCUCKOO_MATCH;
}

/* Probe for prefixes of two lengths, which can be the same. The processor cannot predict which of
 * the lengths under an address matches. One branch for two probes is mispredicted less often than
 * two branches. The caller begins with the longest lengths, because real lists have more of these.
 * Return: the length that matches, or 0.
 */
static __always_inline unsigned int probe_two4(const struct ipcuckoo_table *t, u32 addr,
					       unsigned int one, unsigned int two)
{
	struct ipcuckoo_location p[2];
	u64 slot, second;

	if (!t)
		return 0;
	if (unlikely(t->narrow)) {
		if (ipcuckoo_table_probe_narrow(t, ipcuckoo_code4(addr, one)))
			return one;
		return ipcuckoo_table_probe_narrow(t, ipcuckoo_code4(addr, two)) ? two : 0;
	}
	p[0] = ipcuckoo_table_locate_wide(t, ipcuckoo_code4(addr, one));
	p[1] = ipcuckoo_table_locate_wide(t, ipcuckoo_code4(addr, two));
	if (!ipcuckoo_table_first_of_two(t, p, &slot, &second))
		return 0;
	if (likely(ipcuckoo_table_rest(t, slot) == ipcuckoo_choose(p[0].rest, p[1].rest, second)))
		return ipcuckoo_choose(one, two, second);
	/* The slot is another key's, with the same remainder. This is rare: try both in full. */
	if (ipcuckoo_table_first(t, &p[0], &slot) && ipcuckoo_table_confirm(t, p[0], NULL, &slot))
		return one;
	if (ipcuckoo_table_first(t, &p[1], &slot) && ipcuckoo_table_confirm(t, p[1], NULL, &slot))
		return two;
	return 0;
}

static __always_inline bool probe_net4(const struct ipcuckoo_table *t, u32 addr, unsigned int len)
{
	return t && ipcuckoo_table_probe32(t, ipcuckoo_code4(addr, len));
}

/* Versions share hints. A hint may have marks of entries that were added after @v was
 * replaced, in tables that @v does not have: each function that probes a table tests for NULL.
 */
static bool version_match4(const struct ipcuckoo_version *v,
			   const struct ipcuckoo_key *host, struct lpm *by)
{
	const struct ipcuckoo_hint *h = v->hint[0];
	u32 addr = host->lo, lens, word;
	unsigned int one, two;

	if (v->lpm)
		return lpm_match4(v, host, by);
	if (!h)
		return probe_host4(v, addr);
	word = ipcuckoo_hint_top4(h, addr);
	if (word & IPCUCKOO_HINT_COVER)
		return true;
	if (word & IPCUCKOO_HINT_HOSTS && probe_host4(v, addr)) {
		remember(false, host->lo << 32, 32);
		return true;
	}
	lens = word & ~IPCUCKOO_HINT_FLAGS;
	if (!lens)
		return false;
	/* If all prefixes have one length, the probe does not wait for the word. */
	one = READ_ONCE(h->only);
	if (one) {
		if (!probe_net4(v->table[IPCUCKOO_NETS4], addr, one))
			return false;
		remember(false, host->lo << 32, one);
		return true;
	}
	while (lens) {
		/* The two longest lengths. If only one is left, which is the lowest, it is both. */
		one = __fls(lens);
		two = __fls((lens ^ BIT(one)) | (lens & -lens));
		lens &= ~(BIT(one) | BIT(two));
		one = probe_two4(v->table[IPCUCKOO_NETS4], addr, one, two);
		if (one) {
			remember(false, host->lo << 32, one);
			return true;
		}
	}
	return false;
}

/* Probe for prefixes of the lengths first + n, for each bit n of @lens, longest first. As the hint
 * says that the length exists, the prefix is likely there: so prefetch its key with its slot.
 */
static bool match_lens6(const struct ipcuckoo_version *v,
			const struct ipcuckoo_key *addr, u64 lens,
			unsigned int first)
{
	const struct ipcuckoo_table *t = v->table[IPCUCKOO_NETS6];
	struct ipcuckoo_location p;
	struct ipcuckoo_key code;
	unsigned int n;
	u64 slot;

	if (!t)
		return false;
	for (; lens; lens ^= BIT_ULL(n)) {
		n = fls64(lens) - 1;
		code = ipcuckoo_code6(addr, first + n);
		p = ipcuckoo_table_locate128(t, &code);
		ipcuckoo_table_prefetch_keys(t, &p);
		if (ipcuckoo_table_first(t, &p, &slot) &&
		    ipcuckoo_table_confirm(t, p, &code, &slot)) {
			remember(true, addr->hi, first + n);
			return true;
		}
	}
	return false;
}

static bool version_match6(const struct ipcuckoo_version *v,
			   const struct ipcuckoo_key *addr, struct lpm *by)
{
	const struct ipcuckoo_hint *h = v->hint[1];
	unsigned int level, only;
	u32 word;

	if (v->lpm)
		return lpm_match6(v, addr, by);
	if (!h)
		return probe_host6(v, addr);
	word = ipcuckoo_hint_top6(h, addr->hi);
	if (word & IPCUCKOO_HINT_COVER)
		return true;
	if (word & IPCUCKOO_HINT_HOSTS && probe_host6(v, addr)) {
		remember(true, addr->hi, 128);
		return true;
	}
	if (!(word & ~IPCUCKOO_HINT_FLAGS))
		return false;
	only = READ_ONCE(h->only);
	if (only)
		return match_lens6(v, addr, 1, only);
	if (match_lens6(v, addr, ipcuckoo_hint_together(h, addr, &word), 0))
		return true;
	for (level = IPCUCKOO_HINT_TOGETHER; word & IPCUCKOO_HINT_DEEPER &&
	     level < IPCUCKOO_HINT_LEVELS; level++) {
		word = ipcuckoo_hint_deep(h, level, addr);
		if (match_lens6(v, addr, ipcuckoo_hint_lens(word, level),
				ipcuckoo_hint_level[level] + 1))
			return true;
	}
	return false;
}

static bool version_match_mapped(const struct ipcuckoo_version *v,
				 const struct ipcuckoo_key *addr, struct lpm *by)
{
	const struct ipcuckoo_key addr4 = { .lo = (u32)addr->lo };

	if (v->lpm)
		return lpm_match_mapped(v, addr, by);
	return version_match4(v, &addr4, by) || version_match6(v, addr, by);
}

typedef bool (*version_match_fn)(const struct ipcuckoo_version *v,
				 const struct ipcuckoo_key *addr, struct lpm *by);

static u32 sample(const struct ipcuckoo_entries *e)
{
	/* LMM(look-up:A), pairs with LMM(bump:A) */
	return smp_load_acquire(&e->guard.seq);
}

/* Has no writer bumped the sequence number since it was sampled? */
static bool undisturbed(const struct ipcuckoo_entries *e, u32 seq)
{
	smp_rmb();	/* LMM(look-up:B, match:A), pairs with LMM(bump:C) */
	return likely(READ_ONCE(e->guard.seq) == seq);
}

/* Look up with @match, and again if a writer bumped the sequence number meanwhile. A match
 * needs that check as well as a miss: if an entry was deleted and another one took its slot,
 * the reader may have compared with parts of both. After RETRIES attempts look up under the
 * lock, which keeps writers from moving and deleting entries. A longest-prefix match stores
 * in @by what decided. Return: whether the address matches.
 */
static noinline bool look_up_by(struct ipcuckoo_entries *e,
				const struct ipcuckoo_key *addr, version_match_fn match,
				struct lpm *by)
{
	bool found;
	u32 seq;
	int i;

	for (i = 0; i < RETRIES; i++) {
		seq = sample(e);
		by->decision = IPCUCKOO_UNDECIDED;
		found = match(rcu_dereference(e->version), addr, by);
		if (undisturbed(e, seq))
			return found;
		atomic64_inc(&e->retries);
		cpu_relax();
	}
	spin_lock_bh(&e->guard.lock);
	by->decision = IPCUCKOO_UNDECIDED;
	found = match(rcu_dereference(e->version), addr, by);
	e->fallbacks++;
	spin_unlock_bh(&e->guard.lock);
	return found;
}

static noinline bool look_up(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr, version_match_fn match)
{
	struct lpm by;

	return look_up_by(e, addr, match, &by);
}

/**
 * enum outlook - what the hint and the slots of a host say about an address
 * @NOTHING:	no entry covers it, if no writer disturbed the look-up
 * @HOST:	a slot has the remainder of the host; no other entry can cover the address
 * @PREFIX:	all prefixes that are longer than the stride of the hint have one length, and
 *		only one of these can cover the address. If that is an IPv4 address from
 *		IPCUCKOO_HINT_HIGH on, a shorter prefix can cover it, too
 * @LAST:	any entry may cover it, and the one that matched last does, if the set has it
 * @NARROW:	only the host can cover the address; its table is narrow, and was not read
 * @ANYTHING:	any entry may cover it, or a fingerprint may match
 */
enum outlook {
	NOTHING,
	HOST,
	PREFIX,
	LAST,
	NARROW,
	ANYTHING,
};

/* The first part of a look-up, which suffices for most packets. For HOST, @slot is set to the
 * number of the slot, and @rest to the rest of the host, if it is an IPv4 address. With @ahead,
 * prefetch keys and records. @v6 is a constant in all callers, and @ahead in most, so that the
 * compiler makes special code for each of them.
 */
static __always_inline enum outlook outlook(const struct ipcuckoo_version *v,
					    const struct ipcuckoo_key *addr, bool v6, bool ahead,
					    u64 *slot, u32 *rest)
{
	const struct ipcuckoo_table *t = v->table[v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4];
	const struct ipcuckoo_hint *h = v->hint[v6];
	/* Without a hint the set has hosts only. */
	u32 cell = IPCUCKOO_HINT_HOSTS;
	struct ipcuckoo_location p;

	if (h)
		cell = v6 ? ipcuckoo_hint_cell6(h, addr->hi) : ipcuckoo_hint_cell4(h, addr->lo);
	if (cell & ~IPCUCKOO_HINT_HOSTS) {
		if (!(cell & IPCUCKOO_HINT_FLAGS) && READ_ONCE(h->only))
			return PREFIX;
		return !(cell & IPCUCKOO_HINT_COVER) && in_last_entry(v6, addr) ? LAST : ANYTHING;
	}
	if (!cell)
		return NOTHING;
	if (unlikely(!t))
		return v->filter ? ANYTHING : NOTHING;
	if (!v6 && unlikely(t->narrow))
		return NARROW;
	p = v6 ? ipcuckoo_table_locate128(t, addr) : ipcuckoo_table_locate_wide(t, addr->lo);
	if (ahead && v6)
		ipcuckoo_table_prefetch_keys(t, &p);
	if (ahead && t->exts & IPCUCKOO_EXT_RECORDS)
		ipcuckoo_table_prefetch_values(t, &p);
	*rest = p.rest;
	return ipcuckoo_table_first(t, &p, slot) ? HOST : NOTHING;
}

/* Does the slot that outlook() has found hold the host? */
static __always_inline bool is_host(const struct ipcuckoo_table *t, u64 slot, u32 rest,
				    const struct ipcuckoo_key *key, bool v6)
{
	return v6 ? ipcuckoo_table_same_key(t, slot, key) : ipcuckoo_table_rest(t, slot) == rest;
}

/* Decide by the entry of a host for which the outlook was HOST. Unlike decide(), this reads the
 * clock after the table. So an entry that was valid when the table was read may seem to have
 * expired, and the caller looks up again. @record may be NULL. Return: IPCUCKOO_UNDECIDED if the
 * caller has to look up again, for this or another reason.
 */
static __always_inline enum ipcuckoo_decision
decide_host(struct ipcuckoo_entries *e, u32 seq, const struct ipcuckoo_table *t, u64 slot, u32 rest,
	    const struct ipcuckoo_key *key, bool v6, struct ipcuckoo_record **record)
{
	struct ipcuckoo_value value;

	if (!is_host(t, slot, rest, key, v6))
		return IPCUCKOO_UNDECIDED;
	value = ipcuckoo_table_value(t, slot);
	if ((value.expires && ipcuckoo_expired(value.expires, ipcuckoo_now())) ||
	    !undisturbed(e, seq))
		return IPCUCKOO_UNDECIDED;
	if (record)
		*record = value.record;
	return value.nomatch ? IPCUCKOO_EXCEPTION : IPCUCKOO_MATCH;
}

/* Packets call ipcuckoo_entries_match4() and ipcuckoo_entries_match6(). Each of these two looks for
 * the host itself. What it cannot decide, it leaves to one of the functions from here on, which are
 * not inlined, and which it calls last, with a jump. So these functions do not make it save
 * registers, or use the stack, for packets that it decides itself.
 */
static noinline bool look_up4(struct ipcuckoo_entries *e, u32 addr)
{
	const struct ipcuckoo_key key = { .lo = addr };

	return look_up(e, &key, version_match4);
}

static noinline bool look_up6(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr)
{
	return look_up(e, addr, version_match6);
}

/* Look up a host for which the outlook was HOST, in a table with extensions. */
static noinline bool look_at_value4(struct ipcuckoo_entries *e, u32 addr, u32 seq,
				    const struct ipcuckoo_table *t, u64 slot, u32 rest)
{
	const struct ipcuckoo_key key = { .lo = addr };

	return decide_host(e, seq, t, slot, rest, &key, false, NULL) == IPCUCKOO_MATCH ||
	       look_up4(e, addr);
}

static noinline bool look_at_value6(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr,
				    u32 seq, const struct ipcuckoo_table *t, u64 slot)
{
	return decide_host(e, seq, t, slot, 0, addr, true, NULL) == IPCUCKOO_MATCH ||
	       look_up6(e, addr);
}

/* Look an address up for which the outlook was NARROW. */
static noinline bool look_in_narrow4(struct ipcuckoo_entries *e, u32 addr, u32 seq,
				     const struct ipcuckoo_table *t)
{
	struct ipcuckoo_location p = ipcuckoo_table_locate_narrow(t, addr);
	bool found;
	u64 slot;

	found = ipcuckoo_table_first_narrow(t, &p, &slot);
	if ((!found || ipcuckoo_table_rest(t, slot) == p.rest) && undisturbed(e, seq))
		return found;
	return look_up4(e, addr);
}

/* Look the address up in the version that the caller has loaded already. */
static noinline bool look_further4(struct ipcuckoo_entries *e, u32 addr, u32 seq,
				   const struct ipcuckoo_version *v)
{
	const struct ipcuckoo_key key = { .lo = addr };
	struct lpm by;
	bool found = version_match4(v, &key, &by);

	return undisturbed(e, seq) ? found : look_up4(e, addr);
}

static noinline bool look_further6(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr,
				   u32 seq, const struct ipcuckoo_version *v)
{
	struct lpm by;
	bool found = version_match6(v, addr, &by);

	return undisturbed(e, seq) ? found : look_up6(e, addr);
}

/* Probe for an entry by its code, and only for this one. This calls no function, so that registers
 * are saved once at most; @kind is a constant in all callers. Return: true if @found says whether
 * the entry is there; false if look_further4() or look_further6() has to find out.
 */
static __always_inline bool probe_code(const struct ipcuckoo_version *v, enum ipcuckoo_kind kind,
				       const struct ipcuckoo_key *code, bool *found)
{
	const struct ipcuckoo_table *t = v->table[kind];
	struct ipcuckoo_location p;
	u64 slot;

	if (v->lpm || !t)
		return false;
	if (ipcuckoo_kind_keyed(kind)) {
		p = ipcuckoo_table_locate128(t, code);
		ipcuckoo_table_prefetch_keys(t, &p);
		*found = ipcuckoo_table_first(t, &p, &slot);
		return !*found || ipcuckoo_table_same_key(t, slot, code);
	}
	if (t->narrow)
		return false;
	p = ipcuckoo_table_locate_wide(t, code->lo);
	*found = ipcuckoo_table_first(t, &p, &slot);
	return !*found || ipcuckoo_table_rest(t, slot) == p.rest;
}

static __always_inline bool probe_prefix(const struct ipcuckoo_version *v,
					 const struct ipcuckoo_key *addr, bool v6,
					 unsigned int len, bool *found)
{
	const struct ipcuckoo_key code = v6 ? ipcuckoo_code6(addr, len) :
				(struct ipcuckoo_key){ .lo = ipcuckoo_code4(addr->lo, len) };

	return v6 ? probe_code(v, IPCUCKOO_NETS6, &code, found) :
		    probe_code(v, IPCUCKOO_NETS4, &code, found);
}

/* Look an address up for which the outlook was PREFIX, which is common: many lists have prefixes
 * of one length. The writer may have set the hint's @only to 0 in the meantime.
 */
static noinline bool look_for_prefix4(struct ipcuckoo_entries *e, u32 addr, u32 seq,
				      const struct ipcuckoo_version *v)
{
	const struct ipcuckoo_key key = { .lo = addr };
	unsigned int only = READ_ONCE(v->hint[0]->only);
	bool found;

	return only && addr < IPCUCKOO_HINT_HIGH && probe_prefix(v, &key, false, only, &found) &&
	       undisturbed(e, seq) ? found : look_further4(e, addr, seq, v);
}

static noinline bool look_for_prefix6(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr,
				      u32 seq, const struct ipcuckoo_version *v)
{
	unsigned int only = READ_ONCE(v->hint[1]->only);
	bool found;

	return only && probe_prefix(v, addr, true, only, &found) && undisturbed(e, seq) ?
	       found : look_further6(e, addr, seq, v);
}

/* Look an address up for which the outlook was LAST. That the entry is not there is no answer:
 * another one may cover the address.
 */
static noinline bool look_for_last4(struct ipcuckoo_entries *e, u32 addr, u32 seq,
				    const struct ipcuckoo_version *v)
{
	const struct ipcuckoo_key key = { .lo = addr };
	unsigned int len = last_len(false);
	bool sure, found;

	sure = len == 32 ? probe_code(v, IPCUCKOO_HOSTS4, &key, &found) :
			   probe_prefix(v, &key, false, len, &found);
	return (sure && found && undisturbed(e, seq)) || look_further4(e, addr, seq, v);
}

static noinline bool look_for_last6(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr,
				    u32 seq, const struct ipcuckoo_version *v)
{
	unsigned int len = last_len(true);
	bool sure, found;

	sure = len == 128 ? probe_code(v, IPCUCKOO_HOSTS6, addr, &found) :
			    probe_prefix(v, addr, true, len, &found);
	return (sure && found && undisturbed(e, seq)) || look_further6(e, addr, seq, v);
}

/**
 * ipcuckoo_entries_match4() - is an IPv4 address in the set?
 * @e:		contents
 * @addr:	address, host byte order
 *
 * For most packets the hint has no marks of prefixes near the address, and neither of the
 * two buckets has its remainder.
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: the answer as of some moment during the call.
 */
bool ipcuckoo_entries_match4(struct ipcuckoo_entries *e, u32 addr)
{
	u32 seq = sample(e);
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	const struct ipcuckoo_key key = { .lo = addr };
	const struct ipcuckoo_table *t;
	u64 slot;
	u32 rest;

	switch (outlook(v, &key, false, false, &slot, &rest)) {
	case NOTHING:
		return undisturbed(e, seq) ? false : look_up4(e, addr);
	case HOST:
		t = v->table[IPCUCKOO_HOSTS4];
		if (unlikely(t->exts))
			return look_at_value4(e, addr, seq, t, slot, rest);
		if (is_host(t, slot, rest, &key, false) && undisturbed(e, seq))
			return true;
		return look_up4(e, addr);
	case PREFIX:
		return look_for_prefix4(e, addr, seq, v);
	case LAST:
		return look_for_last4(e, addr, seq, v);
	case NARROW:
		return look_in_narrow4(e, addr, seq, v->table[IPCUCKOO_HOSTS4]);
	default:
		return look_further4(e, addr, seq, v);
	}
}

/* For ipcuckoo_lookups_match(): see HITS_MAX. */
static __always_inline void count_outlook(enum outlook first)
{
	/* Look-ups that interrupt each other may count below 0. */
	if (first == NOTHING && this_cpu_read(ipcuckoo_recent_hits) > 0)
		this_cpu_dec(ipcuckoo_recent_hits);
	if (first == HOST && this_cpu_read(ipcuckoo_recent_hits) < HITS_MAX)
		this_cpu_inc(ipcuckoo_recent_hits);
}

static __always_inline bool match6(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr,
				   bool keys)
{
	u32 seq = sample(e);
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	const struct ipcuckoo_table *t;
	u64 slot;
	u32 rest;

	switch (outlook(v, addr, true, keys, &slot, &rest)) {
	case NOTHING:
		count_outlook(NOTHING);
		return undisturbed(e, seq) ? false : look_up6(e, addr);
	case HOST:
		t = v->table[IPCUCKOO_HOSTS6];
		count_outlook(HOST);
		if (unlikely(t->exts))
			return look_at_value6(e, addr, seq, t, slot);
		if (is_host(t, slot, rest, addr, true) && undisturbed(e, seq))
			return true;
		return look_up6(e, addr);
	case PREFIX:
		return look_for_prefix6(e, addr, seq, v);
	case LAST:
		return look_for_last6(e, addr, seq, v);
	default:
		return look_further6(e, addr, seq, v);
	}
}

/* Not inlined, so that look-ups that do not prefetch save fewer registers. */
static noinline bool match6_with_keys(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr)
{
	return match6(e, addr, true);
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
	return ipcuckoo_lookups_match() ? match6_with_keys(e, addr) : match6(e, addr, false);
}

/**
 * ipcuckoo_entries_match_mapped() - is an IPv4-mapped IPv6 address in the set?
 * @e:		contents
 * @addr:	IPv4-mapped IPv6 address
 *
 * An IPv4 entry may cover it, or an IPv6 prefix. Both are looked up at one moment.
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: the answer as of some moment during the call.
 */
bool ipcuckoo_entries_match_mapped(struct ipcuckoo_entries *e,
				   const struct ipcuckoo_key *addr)
{
	return look_up(e, addr, version_match_mapped);
}

/* Not inlined, like look_up4(). */
static noinline enum ipcuckoo_decision
decide_any(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr, bool v6, bool mapped,
	   struct ipcuckoo_record **record)
{
	struct lpm by = {};
	bool found;

	if (!record) {
		found = look_up_by(e, addr, mapped ? version_match_mapped :
				   v6 ? version_match6 : version_match4, &by);
		return found ? IPCUCKOO_MATCH : by.decision;
	}
	look_up_by(e, addr, mapped ? lpm_match_mapped : v6 ? lpm_match6 : lpm_match4, &by);
	if (by.decision)
		*record = by.record;
	return by.decision;
}

/**
 * ipcuckoo_entries_decide() - what does the entry decide that covers an address?
 * @e:		contents
 * @addr:	address
 * @v6:		it is an IPv6 address
 * @mapped:	it is IPv4-mapped, and an IPv4 entry may cover it
 * @record:	if an entry decides, set to its record, which is valid until rcu_read_unlock(), or
 *		to NULL if it has none. The caller passes NULL if the set has no records
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: the decision of the longest entry that covers the address. Without @record, and
 * without exceptions and timeouts in the set, any entry decides.
 */
enum ipcuckoo_decision
ipcuckoo_entries_decide(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr, bool v6,
			bool mapped, struct ipcuckoo_record **record)
{
	u32 seq = sample(e);
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	enum ipcuckoo_decision decision;
	enum outlook first;
	bool ahead;
	u64 slot;
	u32 rest;

	if (unlikely(mapped))
		return decide_any(e, addr, v6, mapped, record);
	ahead = record && ipcuckoo_lookups_match();
	first = v6 ? outlook(v, addr, true, ahead, &slot, &rest) :
		     outlook(v, addr, false, ahead, &slot, &rest);
	if (record)
		count_outlook(first);
	if (first == NOTHING && undisturbed(e, seq))
		return IPCUCKOO_UNDECIDED;
	if (first == HOST) {
		decision = decide_host(e, seq, v->table[v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4],
				       slot, rest, addr, v6, record);
		if (decision)
			return decision;
	}
	return decide_any(e, addr, v6, mapped, record);
}

/**
 * ipcuckoo_entries_fetch_from() - is this entry in a version of exact contents?
 * @v:		version
 * @entry:	entry, host bits zero
 * @now:	the second since boot, read before the tables: see decide(). If a look-up asks for
 *		several entries, it is the same for all of them
 * @value:	set to its value; the record in it is valid until rcu_read_unlock()
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: false if the entry is not there, or has expired. The answer is valid only if no entry
 * was moved or deleted meanwhile, which the caller checks.
 */
bool ipcuckoo_entries_fetch_from(const struct ipcuckoo_version *v,
				 const struct ipcuckoo_entry *entry, u32 now,
				 struct ipcuckoo_value *value)
{
	const struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);
	const struct ipcuckoo_table *t = v->table[ipcuckoo_entry_kind(entry)];

	return t && ipcuckoo_table_fetch(t, &key, value) &&
	       !ipcuckoo_expired(value->expires, now);
}

/**
 * ipcuckoo_entries_fetch() - is this entry in the contents?
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @value:	set to its value; the record in it is valid until rcu_read_unlock()
 *
 * Like ipcuckoo_entries_get(), but not only for the writer.
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: false if the entry is not there, or has expired, as of some moment during the call.
 */
bool ipcuckoo_entries_fetch(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			    struct ipcuckoo_value *value)
{
	u32 seq, now;
	bool found;
	int i;

	for (i = 0; i < RETRIES; i++) {
		seq = sample(e);
		now = ipcuckoo_now();
		found = ipcuckoo_entries_fetch_from(rcu_dereference(e->version), entry, now,
						    value);
		if (undisturbed(e, seq))
			return found;
		cpu_relax();
	}
	spin_lock_bh(&e->guard.lock);
	now = ipcuckoo_now();
	found = ipcuckoo_entries_fetch_from(rcu_dereference(e->version), entry, now, value);
	spin_unlock_bh(&e->guard.lock);
	return found;
}

/**
 * ipcuckoo_entries_expires() - is an entry in the contents that expires in this second?
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @now:	the second
 * @expires:	that in which it expires; 0: it never expires
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: false if it is not there, is an exception or expires in another second; or if a writer
 * has disturbed the look-up.
 */
bool ipcuckoo_entries_expires(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			      u32 now, u32 expires)
{
	struct ipcuckoo_value value;
	u32 seq = sample(e);

	return ipcuckoo_entries_fetch_from(rcu_dereference(e->version), entry, now, &value) &&
	       undisturbed(e, seq) && !value.nomatch && value.expires == expires;
}
