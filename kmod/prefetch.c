// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Prefetching
 *
 * In a set of millions of entries, a look-up waits for memory most of the time. The kernel receives
 * packets in batches, and each batch passes one hook before it comes to the next one: drivers run
 * their XDP program for several frames before the kernel sees the first packet, and a list of
 * packets passes ingress before it comes to PRE_ROUTING. So an attachment with the verdict prefetch
 * at the earlier hook begins to fetch what the look-ups at the later one will read, and the
 * processor waits for the memory of all packets of a batch at once.
 *
 * What is fetched is a guess: nothing depends on it, so there is no check of the sequence number.
 */
#include <linux/prefetch.h>

#include "lookup.h"
#include "prefetch.h"

/* The next three are inlined in any case: where prefetch() is __builtin_prefetch(), GCC takes a
 * function that does nothing else for one without effect, and drops the calls.
 */
static __always_inline void prefetch_slots(const struct ipcuckoo_table *t,
					   const struct ipcuckoo_location *p)
{
	prefetch(&t->words[p->bucket[0]]);
	prefetch(&t->words[p->bucket[1]]);
}

static __always_inline void prefetch32(const struct ipcuckoo_table *t, u32 key)
{
	const struct ipcuckoo_location p = ipcuckoo_table_locate32(t, key);

	prefetch_slots(t, &p);
}

static __always_inline void prefetch128(const struct ipcuckoo_table *t,
					const struct ipcuckoo_key *key, bool keys)
{
	const struct ipcuckoo_location p = ipcuckoo_table_locate128(t, key);

	prefetch_slots(t, &p);
	if (keys)
		ipcuckoo_table_prefetch_keys(t, &p);
}

/**
 * ipcuckoo_prefetch4() - prefetch what a look-up of an IPv4 address will read
 * @e:		contents
 * @addr:	address, host byte order
 *
 * Of prefixes with several lengths, only the hint is fetched: without having read it, one cannot
 * know which lengths the look-up will probe. The entry that matched last is in the caches anyway.
 *
 * Context: softirq or process context, under rcu_read_lock().
 */
void ipcuckoo_prefetch4(const struct ipcuckoo_entries *e, u32 addr)
{
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	const struct ipcuckoo_table *hosts = v->table[IPCUCKOO_HOSTS4];
	const struct ipcuckoo_table *nets = v->table[IPCUCKOO_NETS4];
	const struct ipcuckoo_hint *h = v->hint[0];
	struct ipcuckoo_key key;
	unsigned int only;

	if (h) {
		prefetch(ipcuckoo_hint_cell_at4(h, addr));
		only = READ_ONCE(h->only);
		if (nets && only)
			prefetch32(nets, ipcuckoo_code4(addr, only));
	}
	if (hosts) {
		prefetch32(hosts, addr);
	} else if (v->filter) {
		key = ipcuckoo_filter_key4(addr);
		ipcuckoo_filter_prefetch(v->filter, &key);
	}
}

/**
 * ipcuckoo_prefetch6() - prefetch what a look-up of an IPv6 address will read
 * @e:		contents
 * @addr:	address
 *
 * As ipcuckoo_prefetch4(). If the address is IPv4-mapped, IPv4 entries that may match it are not
 * fetched, because such packets are rare. Keys are fetched when look-ups fetch them, too.
 *
 * Context: softirq or process context, under rcu_read_lock().
 */
void ipcuckoo_prefetch6(const struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr)
{
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	const struct ipcuckoo_table *hosts = v->table[IPCUCKOO_HOSTS6];
	const struct ipcuckoo_table *nets = v->table[IPCUCKOO_NETS6];
	const struct ipcuckoo_hint *h = v->hint[1];
	struct ipcuckoo_key code;
	unsigned int only;

	if (h) {
		prefetch(ipcuckoo_hint_cell_at6(h, addr->hi));
		only = READ_ONCE(h->only);
		if (nets && only) {
			code = ipcuckoo_code6(addr, only);
			prefetch128(nets, &code, true);
		}
	}
	if (hosts)
		prefetch128(hosts, addr, ipcuckoo_lookups_match());
	else if (v->filter)
		ipcuckoo_filter_prefetch(v->filter, addr);
}
