/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries: addresses and prefixes, and the codes under which tables store them. The code
 * of a host is its address. The code of a prefix is its address with one more bit set,
 * the one behind its last: so no two prefixes have the same code. It has 32 bits for IPv4
 * and 128 bits for IPv6.
 */
#ifndef _IPCUCKOO_ENTRY_H
#define _IPCUCKOO_ENTRY_H

#include "table.h"

/* The kinds of entries; each has its own table. Odd kinds have 128-bit keys. */
enum ipcuckoo_kind {
	IPCUCKOO_HOSTS4,
	IPCUCKOO_HOSTS6,
	IPCUCKOO_NETS4,
	IPCUCKOO_NETS6,
	IPCUCKOO_KINDS
};

/**
 * struct ipcuckoo_entry - an address or a prefix
 * @addr:	the address; an IPv4 address is the low 32 bits of addr.lo
 * @len:	length of the prefix, 32 or 128 for a host
 * @v6:		it is an IPv6 entry
 */
struct ipcuckoo_entry {
	struct ipcuckoo_key addr;
	u8 len;
	bool v6;
};

static inline bool ipcuckoo_kind_keyed(enum ipcuckoo_kind kind)
{
	return kind & 1;
}

static inline bool ipcuckoo_kind_is_nets(enum ipcuckoo_kind kind)
{
	return kind & 2;
}

/**
 * ipcuckoo_entry_kind() - the kind of an entry
 * @entry:	entry
 */
static inline enum ipcuckoo_kind
ipcuckoo_entry_kind(const struct ipcuckoo_entry *entry)
{
	if (entry->v6)
		return entry->len == 128 ? IPCUCKOO_HOSTS6 : IPCUCKOO_NETS6;
	return entry->len == 32 ? IPCUCKOO_HOSTS4 : IPCUCKOO_NETS4;
}

/**
 * ipcuckoo_prefix_mask() - the bits of an address that belong to a prefix
 * @len:	length of the prefix
 * @v6:		the address is an IPv6 address
 */
static inline struct ipcuckoo_key ipcuckoo_prefix_mask(unsigned int len, bool v6)
{
	if (!v6)
		return (struct ipcuckoo_key){ 0, (u32)(~0ULL << (32 - len)) };
	if (len > 64)
		return (struct ipcuckoo_key){ ~0ULL, ~0ULL << (128 - len) };
	return (struct ipcuckoo_key){ len ? ~0ULL << (64 - len) : 0, 0 };
}

/* The code of a prefix: its address with bit @last set, and the bits behind that cleared. -@last is
 * a mask of bit @last and all bits above it.
 */
static inline u32 ipcuckoo_code4(u32 addr, unsigned int len)
{
	u32 last = 1U << (31 - len);

	return (addr | last) & -last;
}

static inline struct ipcuckoo_key
ipcuckoo_code6(const struct ipcuckoo_key *addr, unsigned int len)
{
	u64 last;

	if (len < 64) {
		last = 1ULL << (63 - len);
		return (struct ipcuckoo_key){ .hi = (addr->hi | last) & -last };
	}
	last = 1ULL << (127 - len);
	return (struct ipcuckoo_key){ .hi = addr->hi, .lo = (addr->lo | last) & -last };
}

/**
 * ipcuckoo_entry_code() - the code of a host, or of a prefix of an address
 * @addr:	address
 * @v6:		it is an IPv6 address
 * @len:	length of the prefix, 32 or 128 for a host
 */
static inline struct ipcuckoo_key
ipcuckoo_entry_code(const struct ipcuckoo_key *addr, bool v6, unsigned int len)
{
	if (len == (v6 ? 128 : 32))
		return *addr;
	if (v6)
		return ipcuckoo_code6(addr, len);
	return (struct ipcuckoo_key){ .lo = ipcuckoo_code4(addr->lo, len) };
}

/**
 * ipcuckoo_entry_decode() - the entry with a code
 * @kind:	its kind
 * @code:	its code
 */
static inline struct ipcuckoo_entry
ipcuckoo_entry_decode(enum ipcuckoo_kind kind, const struct ipcuckoo_key *code)
{
	struct ipcuckoo_entry entry = {
		.addr = *code,
		.v6 = ipcuckoo_kind_keyed(kind),
		.len = ipcuckoo_kind_keyed(kind) ? 128 : 32,
	};

	if (!ipcuckoo_kind_is_nets(kind))
		return entry;
	if (code->lo) {
		entry.len -= 1 + __ffs64(code->lo);
		entry.addr.lo &= code->lo - 1;
	} else {
		entry.len -= 65 + __ffs64(code->hi);
		entry.addr.hi &= code->hi - 1;
	}
	return entry;
}

/* Is this an IPv4-mapped IPv6 address, ::ffff:a.b.c.d? */
static inline bool ipcuckoo_key_mapped(const struct ipcuckoo_key *addr)
{
	return !addr->hi && addr->lo >> 32 == 0xffff;
}

/* An address in the form that hints use: the first bit of the address is the highest bit. */
static inline struct ipcuckoo_key
ipcuckoo_entry_top(const struct ipcuckoo_key *addr, bool v6)
{
	return v6 ? *addr : (struct ipcuckoo_key){ .hi = addr->lo << 32 };
}

#endif /* _IPCUCKOO_ENTRY_H */
