// SPDX-License-Identifier: GPL-2.0
/*
 * Sends requests that uapi/ipcuckoo.h does not allow. Each must be answered with its errno, a
 * sentence, the attribute at fault and, if an entry is at fault, its index; and must change
 * nothing.
 */
#define _GNU_SOURCE
#include "fixture.h"

#define PIECES	7

/* A value for @at: the attribute is missing. No attribute has such a number. */
#define MISSING(attr)	(AT(attr) << 16)

/**
 * struct refused - a request, and the error that it must be answered with
 * @what:	description
 * @cmd:	command
 * @piece:	attributes
 * @error:	errno, or MALFORMED
 * @at:		the attribute at fault, or MISSING(): each request here has a wrong attribute or
 *		lacks one
 * @cookie:	1 + the index of the entry at fault, or 0
 */
struct refused {
	const char *what;
	uint8_t cmd;
	struct piece piece[PIECES];
	int error;
	int at;
	uint32_t cookie;
};

static const struct refused names[] = {
	{ "no name", CMD(SET_GET), {}, EINVAL, MISSING(SET) },
	{ "an empty name", CMD(SET_GET), { STR(SET, "") }, EINVAL, AT(SET) },
	{ "a name without any byte", CMD(SET_GET), { RAW(SET, "") }, MALFORMED, AT(SET) },
	{ "no NUL", CMD(SET_GET), { RAW(SET, "hosts") }, MALFORMED, AT(SET) },
	{ "32 letters", CMD(SET_GET), { STR(SET, "abcdefghijklmnopqrstuvwxyz012345") },
	  MALFORMED, AT(SET) },
	{ "300 bytes", CMD(SET_GET), { { AT(SET), 300, (const char[300]){ "x" } } },
	  MALFORMED, AT(SET) },
	{ "a slash", CMD(SET_NEW), { STR(SET, "a/b"), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ ".", CMD(SET_NEW), { STR(SET, "."), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "..", CMD(SET_NEW), { STR(SET, ".."), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "a quote", CMD(SET_NEW), { STR(SET, "a\"b"), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "DEL", CMD(SET_NEW), { STR(SET, "a\x7f"), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "a blank", CMD(SET_NEW), { STR(SET, "a b"), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "a newline", CMD(SET_NEW), { STR(SET, "a\n"), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "UTF-8", CMD(SET_NEW), { STR(SET, "\xc3\xa4"), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "control characters", CMD(SET_NEW), { STR(SET, "\x1b[31m"), U8(TYPE, 1), U8(FAMILY, 1) },
	  EINVAL, AT(SET) },
	{ "no such set", CMD(SET_GET), { STR(SET, "nothere") }, ENOENT, AT(SET) },
	{ "case matters", CMD(SET_GET), { STR(SET, "Hosts") }, ENOENT, AT(SET) },
};

static const struct refused sets[] = {
	{ "SET_NEW: no name", CMD(SET_NEW), { U8(TYPE, 1), U8(FAMILY, 1) }, EINVAL, MISSING(SET) },
	{ "SET_NEW: no type", CMD(SET_NEW), { STR(SET, "x"), U8(FAMILY, 1) }, EINVAL, MISSING(TYPE) },
	{ "SET_NEW: no family", CMD(SET_NEW), { STR(SET, "x"), U8(TYPE, 1) }, EINVAL, MISSING(FAMILY) },
	{ "SET_NEW: type 0", CMD(SET_NEW), { STR(SET, "x"), U8(TYPE, 0), U8(FAMILY, 1) },
	  MALFORMED, AT(TYPE) },
	{ "SET_NEW: type 4", CMD(SET_NEW), { STR(SET, "x"), U8(TYPE, 4), U8(FAMILY, 1) },
	  MALFORMED, AT(TYPE) },
	{ "SET_NEW: a filter with FORCEADD", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U32(FLAGS, IPCUCKOO_F_FORCEADD) },
	  EOPNOTSUPP, AT(FLAGS) },
	{ "SET_NEW: family 0", CMD(SET_NEW), { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 0) },
	  MALFORMED, AT(FAMILY) },
	{ "SET_NEW: family 4", CMD(SET_NEW), { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 4) },
	  MALFORMED, AT(FAMILY) },
	{ "SET_NEW: the type as u32", CMD(SET_NEW),
	  { STR(SET, "x"), U32(TYPE, 1), U8(FAMILY, 1) }, MALFORMED, AT(TYPE) },
	{ "SET_NEW: maxelem as u8", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U8(MAXELEM, 1) },
	  MALFORMED, AT(MAXELEM) },
	{ "SET_NEW: an unknown flag", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U32(FLAGS, 1 << 31) },
	  MALFORMED, AT(FLAGS) },
	{ "SET_NEW: a flag of other commands", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U32(FLAGS, IPCUCKOO_F_LOOPBACK) },
	  MALFORMED, AT(FLAGS) },
	{ "SET_NEW: flags as u8", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U8(FLAGS, 1) },
	  MALFORMED, AT(FLAGS) },
	{ "SET_NEW: an attribute of other commands", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U8(VERDICT, 1) },
	  MALFORMED, AT(VERDICT) },
	{ "SET_NEW: options of a set, and a shadow", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U32(SHADOW, 1) },
	  EINVAL, AT(TYPE) },
	{ "SET_NEW: no such shadow", CMD(SET_NEW),
	  { STR(SET, "x"), U32(SHADOW, 77) }, ENOENT, AT(SHADOW) },
	{ "SET_NEW: an unknown attribute", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), { 1000, 4, "abc" } },
	  MALFORMED, 1000 },
	{ "SET_NEW: attribute 0", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), { 0, 4, "abc" } }, MALFORMED, 0 },
	{ "SET_NEW: a nested attribute", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), { AT(FAMILY) | NLA_F_NESTED, 1, "\1" } },
	  MALFORMED, AT(FAMILY) },
	{ "SET_NEW: the same name", CMD(SET_NEW),
	  { STR(SET, "hosts"), U8(TYPE, 1), U8(FAMILY, 1) }, EEXIST, AT(SET) },
	{ "SET_NEW: the same name, another type", CMD(SET_NEW),
	  { STR(SET, "hosts"), U8(TYPE, 2), U8(FAMILY, 1), U32(FLAGS, IPCUCKOO_F_EXIST) },
	  EEXIST, AT(SET) },
	{ "SET_NEW: the same name, another family", CMD(SET_NEW),
	  { STR(SET, "hosts"), U8(TYPE, 1), U8(FAMILY, 3), U32(FLAGS, IPCUCKOO_F_EXIST) },
	  EEXIST, AT(SET) },
	{ "SET_NEW: a netmask for hash:net", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 2), U8(FAMILY, 1), U8(NETMASK, 24) }, EINVAL, AT(NETMASK) },
	{ "SET_NEW: a netmask in family any", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 3), U8(NETMASK, 24) }, EINVAL, AT(NETMASK) },
	{ "SET_NEW: a netmask of 0", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U8(NETMASK, 0) }, ERANGE, AT(NETMASK) },
	{ "SET_NEW: a netmask of 33", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U8(NETMASK, 33) }, ERANGE, AT(NETMASK) },
	{ "SET_NEW: a bitmask of zeros", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), RAW(BITMASK, "\0\0\0\0") }, ERANGE,
	  AT(BITMASK) },
	{ "SET_NEW: a bitmask of another family", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 2), RAW(BITMASK, "\377\0\0\0") }, ERANGE,
	  AT(BITMASK) },
	{ "SET_NEW: a bitmask too long", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 2), RAW(BITMASK, HOST6 "1") }, MALFORMED,
	  AT(BITMASK) },
	{ "SET_NEW: the same name, another mask", CMD(SET_NEW),
	  { STR(SET, "hosts"), U8(TYPE, 1), U8(FAMILY, 1), U8(NETMASK, 24) }, EEXIST, AT(SET) },
	{ "SET_NEW: a description with a new line", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), STR(DESCRIPTION, "a\nb") }, EINVAL,
	  AT(DESCRIPTION) },
	{ "SET_NEW: a description with a quote", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 2), U8(FAMILY, 1), STR(DESCRIPTION, "a \"b") }, EINVAL,
	  AT(DESCRIPTION) },
	{ "SET_NEW: a description with DEL", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), STR(DESCRIPTION, "\x7f") }, EINVAL,
	  AT(DESCRIPTION) },
	{ "SET_NEW: a description without NUL", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), RAW(DESCRIPTION, "a") }, MALFORMED,
	  AT(DESCRIPTION) },
	{ "SET_NEW: a description of 256 bytes", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1),
	    { AT(DESCRIPTION), 257, (const char[257]){ [0 ... 255] = 'x' } } }, MALFORMED,
	  AT(DESCRIPTION) },
	{ "SET_NEW: a shadow and a description", CMD(SET_NEW),
	  { STR(SET, "x"), U32(SHADOW, 77), STR(DESCRIPTION, "a") }, EINVAL, AT(DESCRIPTION) },
	{ "SHADOW_NEW: a description without CREATE", CMD(SHADOW_NEW),
	  { STR(SET, "hosts"), STR(DESCRIPTION, "a") }, EINVAL, AT(DESCRIPTION) },
	{ "SET_DEL: neither name nor ALL", CMD(SET_DEL), {}, EINVAL, MISSING(SET) },
	{ "SET_DEL: EXIST alone", CMD(SET_DEL), { U32(FLAGS, IPCUCKOO_F_EXIST) }, EINVAL, MISSING(SET) },
	{ "SET_DEL: name and ALL", CMD(SET_DEL),
	  { STR(SET, "hosts"), U32(FLAGS, IPCUCKOO_F_ALL) }, EINVAL, AT(SET) },
	{ "SET_DEL: no such set", CMD(SET_DEL), { STR(SET, "nothere") }, ENOENT, AT(SET) },
	{ "SET_DEL: attached", CMD(SET_DEL), { STR(SET, "any") }, EBUSY, AT(SET) },
	{ "SET_DEL: all, one is attached", CMD(SET_DEL), { U32(FLAGS, IPCUCKOO_F_ALL) },
	  EBUSY, AT(FLAGS) },
	{ "SET_DEL: an attribute of other commands", CMD(SET_DEL),
	  { STR(SET, "hosts"), U8(TYPE, 1) }, MALFORMED, AT(TYPE) },
	{ "SET_FLUSH: neither name nor ALL", CMD(SET_FLUSH), {}, EINVAL, MISSING(SET) },
	{ "SET_FLUSH: name and ALL", CMD(SET_FLUSH),
	  { STR(SET, "hosts"), U32(FLAGS, IPCUCKOO_F_ALL) }, EINVAL, AT(SET) },
	{ "SET_FLUSH: EXIST alone", CMD(SET_FLUSH), { U32(FLAGS, IPCUCKOO_F_EXIST) }, EINVAL,
	  MISSING(SET) },
	{ "SET_FLUSH: APPEND", CMD(SET_FLUSH),
	  { STR(SET, "hosts"), U32(FLAGS, IPCUCKOO_F_APPEND) }, MALFORMED, AT(FLAGS) },
	{ "SET_FLUSH: no such set", CMD(SET_FLUSH), { STR(SET, "nothere") }, ENOENT, AT(SET) },
	{ "SET_RENAME: no new name", CMD(SET_RENAME), { STR(SET, "hosts") }, EINVAL,
	  MISSING(SET_TO) },
	{ "SET_RENAME: no name", CMD(SET_RENAME), { STR(SET_TO, "x") }, EINVAL, MISSING(SET) },
	{ "SET_RENAME: a bad name", CMD(SET_RENAME), { STR(SET, "hosts"), STR(SET_TO, "a/b") },
	  EINVAL, AT(SET_TO) },
	{ "SET_RENAME: no such set", CMD(SET_RENAME), { STR(SET, "nothere"), STR(SET_TO, "x") },
	  ENOENT, AT(SET) },
	{ "SET_RENAME: an existing name", CMD(SET_RENAME), { STR(SET, "hosts"), STR(SET_TO, "any") },
	  EEXIST, AT(SET_TO) },
	{ "SET_RENAME: to itself", CMD(SET_RENAME), { STR(SET, "hosts"), STR(SET_TO, "hosts") },
	  EEXIST, AT(SET_TO) },
	{ "SET_RENAME: EXIST", CMD(SET_RENAME),
	  { STR(SET, "hosts"), STR(SET_TO, "x"), U32(FLAGS, IPCUCKOO_F_EXIST) }, MALFORMED,
	  AT(FLAGS) },
	{ "SET_SWAP: one name", CMD(SET_SWAP), { STR(SET, "hosts") }, EINVAL, MISSING(SET_TO) },
	{ "SET_SWAP: the first set does not exist", CMD(SET_SWAP),
	  { STR(SET, "nothere"), STR(SET_TO, "any") }, ENOENT, AT(SET) },
	{ "SET_SWAP: the second set does not exist", CMD(SET_SWAP),
	  { STR(SET, "any"), STR(SET_TO, "nothere") }, ENOENT, AT(SET_TO) },
	{ "SET_SWAP: other types", CMD(SET_SWAP), { STR(SET, "hosts"), STR(SET_TO, "any") },
	  EOPNOTSUPP, AT(SET_TO) },
	{ "SET_SWAP: other families", CMD(SET_SWAP), { STR(SET, "nets6"), STR(SET_TO, "any") },
	  EOPNOTSUPP, AT(SET_TO) },
	{ "SET_CHANGE: no limit", CMD(SET_CHANGE), { STR(SET, "hosts") }, EINVAL,
	  MISSING(MAXELEM) },
	{ "SET_CHANGE: no set", CMD(SET_CHANGE), { U32(MAXELEM, 1) }, EINVAL, MISSING(SET) },
	{ "SET_CHANGE: no such set", CMD(SET_CHANGE), { STR(SET, "nothere"), U32(MAXELEM, 1) },
	  ENOENT, AT(SET) },
	{ "SET_GET: an attribute of other commands", CMD(SET_GET),
	  { STR(SET, "hosts"), U32(FLAGS, 0) }, MALFORMED, AT(FLAGS) },
	{ "INFO: any attribute", CMD(INFO), { STR(SET, "hosts") }, MALFORMED, AT(SET) },
	{ "INFO: padding", CMD(INFO), { { AT(PAD), 0, "" } }, MALFORMED, AT(PAD) },
};

static const struct refused entries[] = {
	{ "ENTRY_ADD: no set", CMD(ENTRY_ADD), { RAW(HOSTS4, "\1\2\3\4") }, EINVAL, MISSING(SET) },
	{ "ENTRY_ADD: no entries", CMD(ENTRY_ADD), { STR(SET, "hosts") }, EINVAL, MISSING(HOSTS4) },
	{ "ENTRY_ADD: empty entries", CMD(ENTRY_ADD),
	  { STR(SET, "hosts"), RAW(HOSTS4, "") }, EINVAL, AT(HOSTS4) },
	{ "ENTRY_ADD: no such set", CMD(ENTRY_ADD),
	  { STR(SET, "nothere"), RAW(HOSTS4, "\1\2\3\4") }, ENOENT, AT(SET) },
	{ "ENTRY_ADD: hosts of 5 bytes", CMD(ENTRY_ADD),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\1\2\3\4\5") }, EINVAL, AT(HOSTS4) },
	{ "ENTRY_ADD: hosts of 3 bytes", CMD(ENTRY_ADD),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\1\2\3") }, EINVAL, AT(HOSTS4) },
	{ "ENTRY_ADD: IPv6 hosts of 15 bytes", CMD(ENTRY_ADD),
	  { STR(SET, "any"), { AT(HOSTS6), 15, HOST6 } }, EINVAL, AT(HOSTS6) },
	{ "ENTRY_ADD: prefixes of 4 bytes", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(NETS4, "\1\2\3\4") }, EINVAL, AT(NETS4) },
	{ "ENTRY_ADD: IPv6 prefixes of 16 bytes", CMD(ENTRY_ADD),
	  { STR(SET, "any"), { AT(NETS6), 16, HOST6 } }, EINVAL, AT(NETS6) },
	{ "ENTRY_ADD: valid hosts, and prefixes of a wrong size", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(HOSTS4, "\1\2\3\4"), RAW(NETS4, "\1\2\3\4") },
	  EINVAL, AT(NETS4) },
	{ "ENTRY_ADD: a prefix in hash:ip", CMD(ENTRY_ADD),
	  { STR(SET, "hosts"), RAW(NETS4, "\1\2\3\0\x18") }, EOPNOTSUPP, AT(NETS4), 1 },
	{ "ENTRY_ADD: IPv6 in inet", CMD(ENTRY_ADD),
	  { STR(SET, "hosts"), { AT(HOSTS6), 16, HOST6 } }, EAFNOSUPPORT, AT(HOSTS6), 1 },
	{ "ENTRY_ADD: IPv4 in inet6", CMD(ENTRY_ADD),
	  { STR(SET, "nets6"), RAW(HOSTS4, "\1\2\3\4") }, EAFNOSUPPORT, AT(HOSTS4), 1 },
	{ "ENTRY_ADD: IPv4-mapped in inet6", CMD(ENTRY_ADD),
	  { STR(SET, "nets6"), { AT(HOSTS6), 16, MAPPED } }, EINVAL, AT(HOSTS6), 1 },
	{ "ENTRY_ADD: IPv4-mapped prefix in inet6", CMD(ENTRY_ADD),
	  { STR(SET, "nets6"), { AT(NETS6), 17, MAPPED "\x80" } }, EINVAL, AT(NETS6), 1 },
	{ "ENTRY_ADD: all IPv4-mapped addresses", CMD(ENTRY_ADD),
	  { STR(SET, "any"), { AT(NETS6), 17, MAPPED_ALL "\x60" } }, EINVAL, AT(NETS6), 1 },
	{ "ENTRY_ADD: a prefix of 33 bits", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(NETS4, "\1\2\3\4\x21") }, EINVAL, AT(NETS4), 1 },
	{ "ENTRY_ADD: a prefix of 255 bits", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(NETS4, "\0\0\0\0\xff") }, EINVAL, AT(NETS4), 1 },
	{ "ENTRY_ADD: an IPv6 prefix of 129 bits", CMD(ENTRY_ADD),
	  { STR(SET, "any"), { AT(NETS6), 17, HOST6 "\x81" } }, EINVAL, AT(NETS6), 1 },
	{ "ENTRY_ADD: host bits", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(NETS4, "\1\2\3\4\x18") }, EINVAL, AT(NETS4), 1 },
	{ "ENTRY_ADD: host bits, /0", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(NETS4, "\x80\0\0\0\0") }, EINVAL, AT(NETS4), 1 },
	{ "ENTRY_ADD: host bits, IPv6", CMD(ENTRY_ADD),
	  { STR(SET, "any"), { AT(NETS6), 17, HOST6 "\x40" } }, EINVAL, AT(NETS6), 1 },
	{ "ENTRY_ADD: host bits, ::/0", CMD(ENTRY_ADD),
	  { STR(SET, "any"), { AT(NETS6), 17, HOST6 "\0" } }, EINVAL, AT(NETS6), 1 },
	{ "ENTRY_ADD: the third of three is invalid", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(NETS4, "\1\2\3\0\x18\1\3\3\0\x18\1\4\3\4\x18") },
	  EINVAL, AT(NETS4), 3 },
	{ "ENTRY_ADD: valid hosts, the second prefix is invalid", CMD(ENTRY_ADD),
	  { STR(SET, "any"), RAW(HOSTS4, "\1\2\3\4\1\2\3\5"),
	    RAW(NETS4, "\1\2\3\0\x18\1\3\3\1\x18") }, EINVAL, AT(NETS4), 2 },
	{ "ENTRY_ADD: a member", CMD(ENTRY_ADD),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\1\2\3\4\xc0\0\2\1") }, EEXIST, AT(HOSTS4), 2 },
	{ "ENTRY_ADD: ALL", CMD(ENTRY_ADD),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\1\2\3\4"), U32(FLAGS, IPCUCKOO_F_ALL) },
	  MALFORMED, AT(FLAGS) },
	{ "ENTRY_DEL: no set", CMD(ENTRY_DEL), { RAW(HOSTS4, "\1\2\3\4") }, EINVAL, MISSING(SET) },
	{ "ENTRY_DEL: no entries", CMD(ENTRY_DEL), { STR(SET, "hosts") }, EINVAL, MISSING(HOSTS4) },
	{ "ENTRY_DEL: a non-member", CMD(ENTRY_DEL),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\xc0\0\2\1\xc0\0\2\2") },
	  ENOENT, AT(HOSTS4), 2 },
	{ "ENTRY_DEL: a host that only a prefix covers", CMD(ENTRY_DEL),
	  { STR(SET, "any"), RAW(NETS4, "\x0a\1\0\0\x10") }, ENOENT, AT(NETS4), 1 },
	{ "ENTRY_DEL: IPv6 from inet", CMD(ENTRY_DEL),
	  { STR(SET, "hosts"), { AT(HOSTS6), 16, HOST6 } }, EAFNOSUPPORT, AT(HOSTS6), 1 },
	{ "ENTRY_TEST: no set", CMD(ENTRY_TEST), { RAW(HOSTS4, "\1\2\3\4") }, EINVAL, MISSING(SET) },
	{ "ENTRY_TEST: no entry", CMD(ENTRY_TEST), { STR(SET, "hosts") }, EINVAL, MISSING(HOSTS4) },
	{ "ENTRY_TEST: two entries", CMD(ENTRY_TEST),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\1\2\3\4\1\2\3\5") }, EINVAL, AT(HOSTS4), 2 },
	{ "ENTRY_TEST: two attributes", CMD(ENTRY_TEST),
	  { STR(SET, "any"), RAW(HOSTS4, "\1\2\3\4"), { AT(HOSTS6), 16, HOST6 } }, EINVAL, AT(HOSTS6), 1 },
	{ "ENTRY_TEST: IPv6 in inet", CMD(ENTRY_TEST),
	  { STR(SET, "hosts"), { AT(HOSTS6), 16, HOST6 } }, EAFNOSUPPORT, AT(HOSTS6), 1 },
	{ "ENTRY_TEST: a prefix of 33 bits", CMD(ENTRY_TEST),
	  { STR(SET, "any"), RAW(NETS4, "\1\2\3\4\x21") }, EINVAL, AT(NETS4), 1 },
	{ "ENTRY_TEST: flags", CMD(ENTRY_TEST),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\1\2\3\4"), U32(FLAGS, IPCUCKOO_F_EXIST) },
	  MALFORMED, AT(FLAGS) },
};

static const struct refused shadows[] = {
	{ "SHADOW_NEW: no set", CMD(SHADOW_NEW), {}, EINVAL, MISSING(SET) },
	{ "SHADOW_NEW: no such set", CMD(SHADOW_NEW), { STR(SET, "nothere") },
	  ENOENT, AT(SET) },
	{ "SHADOW_NEW: OVERRIDE", CMD(SHADOW_NEW),
	  { STR(SET, "hosts"), U32(FLAGS, IPCUCKOO_F_OVERRIDE) }, MALFORMED, AT(FLAGS) },
	{ "SHADOW_NEW: capacity as u8", CMD(SHADOW_NEW),
	  { STR(SET, "hosts"), U8(CAPACITY_HOSTS4, 1) }, MALFORMED, AT(CAPACITY_HOSTS4) },
	{ "SHADOW_ADD: no shadow", CMD(SHADOW_ADD), { RAW(HOSTS4, "\1\2\3\4") }, EINVAL, MISSING(SHADOW) },
	{ "SHADOW_ADD: a set instead", CMD(SHADOW_ADD),
	  { STR(SET, "hosts"), RAW(HOSTS4, "\1\2\3\4") }, MALFORMED, AT(SET) },
	{ "SHADOW_ADD: no entries", CMD(SHADOW_ADD), { U32(SHADOW, 1) }, EINVAL, MISSING(HOSTS4) },
	{ "SHADOW_ADD: no such shadow", CMD(SHADOW_ADD),
	  { U32(SHADOW, 0x7fffffff), RAW(HOSTS4, "\1\2\3\4") }, ENOENT, AT(SHADOW) },
	{ "SHADOW_ADD: shadow 0", CMD(SHADOW_ADD),
	  { U32(SHADOW, 0), RAW(HOSTS4, "\1\2\3\4") }, ENOENT, AT(SHADOW) },
	{ "SHADOW_REMOVE: no shadow", CMD(SHADOW_REMOVE), { RAW(HOSTS4, "\1\2\3\4") },
	  EINVAL, MISSING(SHADOW) },
	{ "SHADOW_REMOVE: no entries", CMD(SHADOW_REMOVE), { U32(SHADOW, 1) }, EINVAL, MISSING(HOSTS4) },
	{ "SHADOW_REMOVE: no such shadow", CMD(SHADOW_REMOVE),
	  { U32(SHADOW, 0x7fffffff), RAW(HOSTS4, "\1\2\3\4") }, ENOENT, AT(SHADOW) },
	{ "SHADOW_REMOVE: timeouts", CMD(SHADOW_REMOVE),
	  { U32(SHADOW, 1), RAW(TIMEOUTS, "\0\0\0\1") }, MALFORMED, AT(TIMEOUTS) },
	{ "SHADOW_COMMIT: no shadow", CMD(SHADOW_COMMIT), {}, EINVAL, MISSING(SHADOW) },
	{ "SHADOW_COMMIT: no such shadow", CMD(SHADOW_COMMIT), { U32(SHADOW, 0x7fffffff) },
	  ENOENT, AT(SHADOW) },
	{ "SHADOW_COMMIT: APPEND", CMD(SHADOW_COMMIT),
	  { U32(SHADOW, 1), U32(FLAGS, IPCUCKOO_F_APPEND) }, MALFORMED, AT(FLAGS) },
	{ "SHADOW_DEL: no shadow", CMD(SHADOW_DEL), {}, EINVAL, MISSING(SHADOW) },
	{ "SHADOW_DEL: no such shadow", CMD(SHADOW_DEL), { U32(SHADOW, 0x7fffffff) },
	  ENOENT, AT(SHADOW) },
	{ "SHADOW_DEL: the id as u8", CMD(SHADOW_DEL), { U8(SHADOW, 1) },
	  MALFORMED, AT(SHADOW) },
};

static const struct refused attachments[] = {
	{ "ATTACH: no set", CMD(ATTACH), { U8(DIRECTION, 1), U8(VERDICT, 1) }, EINVAL, MISSING(SET) },
	{ "ATTACH: no direction", CMD(ATTACH), { STR(SET, "hosts"), U8(VERDICT, 1) },
	  EINVAL, MISSING(DIRECTION) },
	{ "ATTACH: no verdict", CMD(ATTACH), { STR(SET, "hosts"), U8(DIRECTION, 1) },
	  EINVAL, MISSING(VERDICT) },
	{ "ATTACH: no such set", CMD(ATTACH),
	  { STR(SET, "nothere"), U8(DIRECTION, 1), U8(VERDICT, 1) }, ENOENT, AT(SET) },
	{ "ATTACH: direction 0", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 0), U8(VERDICT, 1) }, MALFORMED, AT(DIRECTION) },
	{ "ATTACH: direction 4", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 4), U8(VERDICT, 1) }, MALFORMED, AT(DIRECTION) },
	{ "ATTACH: verdict 0", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 0) }, MALFORMED, AT(VERDICT) },
	{ "ATTACH: verdict 6", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 6) }, MALFORMED, AT(VERDICT) },
	{ "ATTACH: prefetch without a place", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 5) }, EINVAL, AT(VERDICT) },
	{ "ATTACH: prefetch with a log", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 5), U8(PLACE, 3), STR(DEV, "eth0"),
	    U8(LOG, 1) }, EINVAL, AT(LOG) },
	{ "ATTACH: prefetch with ports", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 5), U8(PLACE, 3), STR(DEV, "eth0"),
	    U8(PROTOCOL, 6), RAW(PORTS, "\0\x16\0\x16") }, EINVAL, AT(PROTOCOL) },
	{ "ATTACH: prefetch with NEW", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 5), U8(PLACE, 3), STR(DEV, "eth0"),
	    U32(FLAGS, IPCUCKOO_F_NEW) }, EINVAL, AT(FLAGS) },
	{ "ATTACH: NEW at ingress", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PLACE, 2), STR(DEV, "eth0"),
	    U32(FLAGS, IPCUCKOO_F_NEW) }, EINVAL, AT(PLACE) },
	{ "ATTACH: NEW in XDP", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PLACE, 3), STR(DEV, "eth0"),
	    U32(FLAGS, IPCUCKOO_F_NEW) }, EINVAL, AT(PLACE) },
	{ "ATTACH: NEW at the priority of connection tracking", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U32(PRIORITY, -200),
	    U32(FLAGS, IPCUCKOO_F_NEW) }, EINVAL, AT(PRIORITY) },
	{ "ATTACH: ports without a protocol", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), RAW(PORTS, "\0\x16\0\x16") },
	  EINVAL, MISSING(PROTOCOL) },
	{ "ATTACH: a protocol without ports", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 6) },
	  EINVAL, MISSING(PORTS) },
	{ "ATTACH: ports of ICMP", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 1),
	    RAW(PORTS, "\0\x16\0\x16") }, EINVAL, AT(PROTOCOL) },
	{ "ATTACH: ports of protocol 0", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 0),
	    RAW(PORTS, "\0\x16\0\x16") }, EINVAL, AT(PROTOCOL) },
	{ "ATTACH: no ports", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 6), RAW(PORTS, "") },
	  EINVAL, AT(PORTS) },
	{ "ATTACH: half a range of ports", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 6),
	    RAW(PORTS, "\0\x16\0\x16\0\x19") }, EINVAL, AT(PORTS) },
	{ "ATTACH: a range of ports that ends before it begins", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 17),
	    RAW(PORTS, "\0\x16\0\x15") }, EINVAL, AT(PORTS) },
	{ "ATTACH: ports in descending order", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 17),
	    RAW(PORTS, "\0\x16\0\x16\0\1\0\1") }, EINVAL, AT(PORTS) },
	{ "ATTACH: ranges of ports with none between them", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 17),
	    RAW(PORTS, "\0\1\0\2\0\3\0\3") }, EINVAL, AT(PORTS) },
	{ "ATTACH: a port behind the last one", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 17),
	    RAW(PORTS, "\0\1\xff\xff\0\0\0\0") }, EINVAL, AT(PORTS) },
	{ "ATTACH: 16 ranges of ports", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U8(PROTOCOL, 132),
	    RAW(PORTS, "\0\1\0\1" "\0\3\0\3" "\0\5\0\5" "\0\7\0\7" "\0\x9\0\x9"
		"\0\xb\0\xb" "\0\xd\0\xd" "\0\xf\0\xf" "\0\x11\0\x11" "\0\x13\0\x13"
		"\0\x15\0\x15" "\0\x17\0\x17" "\0\x19\0\x19" "\0\x1b\0\x1b"
		"\0\x1d\0\x1d" "\0\x1f\0\x1f") }, EINVAL, AT(PORTS) },
	{ "ATTACH: mark without a mark", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 3) }, EINVAL, MISSING(MARK) },
	{ "ATTACH: a mark to drop", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U32(MARK, 1) }, EINVAL, AT(MARK) },
	{ "ATTACH: a mask to drop", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U32(MARK_MASK, 1) },
	  EINVAL, AT(MARK_MASK) },
	{ "ATTACH: a mark outside its mask", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 3), U32(MARK, 0x10),
	    U32(MARK_MASK, 0xf) }, EINVAL, AT(MARK) },
	{ "ATTACH: a device of 16 letters", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), STR(DEV, "abcdefghijklmnop") },
	  MALFORMED, AT(DEV) },
	{ "ATTACH: a device without NUL", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), RAW(DEV, "eth0") },
	  MALFORMED, AT(DEV) },
	{ "ATTACH: a device without a name", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), STR(DEV, "") },
	  EINVAL, AT(DEV) },
	{ "ATTACH: a device called a/b", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), STR(DEV, "a/b") },
	  EINVAL, AT(DEV) },
	{ "ATTACH: ALL", CMD(ATTACH),
	  { STR(SET, "hosts"), U8(DIRECTION, 1), U8(VERDICT, 1), U32(FLAGS, IPCUCKOO_F_ALL) },
	  MALFORMED, AT(FLAGS) },
	{ "ATTACH: attached in that way already", CMD(ATTACH),
	  { STR(SET, "any"), U8(DIRECTION, 2), U8(VERDICT, 4) }, EEXIST, AT(SET) },
	{ "ATTACH: attached in that way already, with another order", CMD(ATTACH),
	  { STR(SET, "any"), U8(DIRECTION, 2), U8(VERDICT, 4), U32(ORDER, 1) }, EEXIST, AT(ORDER) },
	{ "ATTACH: EXIST, but another order", CMD(ATTACH),
	  { STR(SET, "any"), U8(DIRECTION, 2), U8(VERDICT, 4), U32(ORDER, 1),
	    U32(FLAGS, IPCUCKOO_F_EXIST) }, EEXIST, AT(ORDER) },
	{ "DETACH: no attributes", CMD(DETACH), {}, EINVAL, MISSING(SET) },
	{ "DETACH: no such attachment", CMD(DETACH), { U32(ATTACHMENT, 0x7fffffff) },
	  ENOENT, AT(ATTACHMENT) },
	{ "DETACH: attachment 0", CMD(DETACH), { U32(ATTACHMENT, 0) }, EINVAL, AT(ATTACHMENT) },
	{ "DETACH: no such set", CMD(DETACH), { STR(SET, "nothere") }, ENOENT, AT(SET) },
	{ "DETACH: a set that is not attached", CMD(DETACH), { STR(SET, "hosts") }, ENOENT, AT(SET) },
	{ "DETACH: another direction", CMD(DETACH), { STR(SET, "any"), U8(DIRECTION, 1) },
	  ENOENT, AT(SET) },
	{ "DETACH: another verdict", CMD(DETACH), { STR(SET, "any"), U8(VERDICT, 1) }, ENOENT, AT(SET) },
	{ "DETACH: a device", CMD(DETACH), { STR(SET, "any"), STR(DEV, "lo") }, ENOENT, AT(SET) },
	{ "DETACH: NEW", CMD(DETACH), { STR(SET, "any"), U32(FLAGS, IPCUCKOO_F_NEW) },
	  ENOENT, AT(SET) },
	{ "DETACH: NEW alone", CMD(DETACH), { U32(FLAGS, IPCUCKOO_F_NEW) }, EINVAL, MISSING(SET) },
	{ "DETACH: ports", CMD(DETACH),
	  { STR(SET, "any"), U8(PROTOCOL, 6), RAW(PORTS, "\0\x16\0\x16") }, ENOENT, AT(SET) },
	{ "DETACH: ports alone", CMD(DETACH), { U8(PROTOCOL, 6), RAW(PORTS, "\0\x16\0\x16") },
	  EINVAL, MISSING(SET) },
	{ "DETACH: a number and ports", CMD(DETACH),
	  { U32(ATTACHMENT, 1), U8(PROTOCOL, 6), RAW(PORTS, "\0\x16\0\x16") },
	  EINVAL, AT(PROTOCOL) },
	{ "DETACH: a direction alone", CMD(DETACH), { U8(DIRECTION, 2) }, EINVAL, MISSING(SET) },
	{ "DETACH: ALL and a set", CMD(DETACH),
	  { STR(SET, "any"), U32(FLAGS, IPCUCKOO_F_ALL) }, EINVAL, AT(SET) },
	{ "DETACH: ALL and a direction", CMD(DETACH),
	  { U8(DIRECTION, 2), U32(FLAGS, IPCUCKOO_F_ALL) }, EINVAL, AT(DIRECTION) },
	{ "DETACH: a number and ALL", CMD(DETACH),
	  { U32(ATTACHMENT, 1), U32(FLAGS, IPCUCKOO_F_ALL) }, EINVAL, AT(FLAGS) },
	{ "DETACH: a number and a device", CMD(DETACH),
	  { U32(ATTACHMENT, 1), STR(DEV, "lo") }, EINVAL, AT(DEV) },
	{ "DETACH: a number and a set", CMD(DETACH),
	  { U32(ATTACHMENT, 1), STR(SET, "any") }, EINVAL, AT(SET) },
};

/* Two filters: "filter" has four entries, its limit; "multi" has 192.0.2.1 eight times. */
static const struct refused filters[] = {
	{ "SET_NEW: bits of hash:ip", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U8(BITS, 16) },
	  EINVAL, AT(BITS) },
	{ "SET_NEW: capacity of hash:net", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 2), U8(FAMILY, 1), U32(CAPACITY, 16) },
	  EINVAL, AT(CAPACITY) },
	{ "SET_NEW: MULTI of hash:ip", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 1), U8(FAMILY, 1), U32(FLAGS, IPCUCKOO_F_MULTI) },
	  EINVAL, AT(FLAGS) },
	{ "SET_NEW: a filter without bits", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U8(BITS, 0) }, EINVAL, AT(BITS) },
	{ "SET_NEW: 12 bits", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U8(BITS, 12) }, EINVAL, AT(BITS) },
	{ "SET_NEW: bits as u32", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U32(BITS, 8) }, MALFORMED, AT(BITS) },
	{ "SET_NEW: a filter without capacity", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U32(CAPACITY, 0) },
	  ERANGE, AT(CAPACITY) },
	{ "SET_NEW: a capacity out of range", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U32(CAPACITY, IPCUCKOO_CAPACITY_MAX + 1) },
	  ERANGE, AT(CAPACITY) },
	{ "SET_NEW: a maxelem that is out of range as a capacity", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U32(MAXELEM, IPCUCKOO_CAPACITY_MAX + 1) },
	  ERANGE, AT(MAXELEM) },
	{ "SET_NEW: a filter beyond the memory limit", CMD(SET_NEW),
	  { STR(SET, "x"), U8(TYPE, 3), U8(FAMILY, 1), U32(CAPACITY, IPCUCKOO_CAPACITY_MAX) },
	  EDQUOT, AT(CAPACITY) },
	{ "SET_NEW: the same name, other bits", CMD(SET_NEW),
	  { STR(SET, "filter"), U8(TYPE, 3), U8(FAMILY, 1), U8(BITS, 8),
	    U32(FLAGS, IPCUCKOO_F_EXIST) }, EEXIST, AT(SET) },
	{ "SET_NEW: the same name, an exact set", CMD(SET_NEW),
	  { STR(SET, "filter"), U8(TYPE, 1), U8(FAMILY, 1), U32(FLAGS, IPCUCKOO_F_EXIST) },
	  EEXIST, AT(SET) },
	{ "ENTRY_ADD: a prefix in filter:ip", CMD(ENTRY_ADD),
	  { STR(SET, "filter"), RAW(NETS4, "\1\2\3\0\x18") }, EOPNOTSUPP, AT(NETS4), 1 },
	{ "ENTRY_ADD: an address that matches already", CMD(ENTRY_ADD),
	  { STR(SET, "filter"), RAW(HOSTS4, "\xc0\0\2\2") }, EEXIST, AT(HOSTS4), 1 },
	{ "ENTRY_ADD: the filter is full", CMD(ENTRY_ADD),
	  { STR(SET, "filter"), RAW(HOSTS4, "\1\2\3\4") }, ENOSPC, AT(SET) },
	{ "ENTRY_ADD: the ninth copy, after another entry", CMD(ENTRY_ADD),
	  { STR(SET, "multi"), RAW(HOSTS4, "\1\2\3\4\xc0\0\2\1") }, EMLINK, AT(HOSTS4), 2 },
	{ "ENTRY_ADD: three entries, the filter is full", CMD(ENTRY_ADD),
	  { STR(SET, "multi"), RAW(HOSTS4, "\1\2\3\4\1\2\3\4\1\2\3\5") },
	  ENOSPC, AT(SET) },
	{ "ENTRY_DEL: a filter that is not multi", CMD(ENTRY_DEL),
	  { STR(SET, "filter"), RAW(HOSTS4, "\xc0\0\2\1") }, EOPNOTSUPP, AT(SET) },
	{ "ENTRY_DEL: a filter that is not multi, with EXIST", CMD(ENTRY_DEL),
	  { STR(SET, "filter"), RAW(HOSTS4, "\1\2\3\4"), U32(FLAGS, IPCUCKOO_F_EXIST) },
	  EOPNOTSUPP, AT(SET) },
	{ "ENTRY_DEL: a non-member", CMD(ENTRY_DEL),
	  { STR(SET, "multi"), RAW(HOSTS4, "\xc0\0\2\1\1\2\3\4") }, ENOENT, AT(HOSTS4), 2 },
	{ "ATTACH: drop with a filter", CMD(ATTACH),
	  { STR(SET, "filter"), U8(DIRECTION, 1), U8(VERDICT, 1) }, EOPNOTSUPP, AT(SET) },
	{ "ATTACH: accept with a filter", CMD(ATTACH),
	  { STR(SET, "multi"), U8(DIRECTION, 1), U8(VERDICT, 2) }, EOPNOTSUPP, AT(SET) },
	{ "DETACH: APPROXIMATE", CMD(DETACH),
	  { STR(SET, "any"), U32(FLAGS, IPCUCKOO_F_APPROXIMATE) }, MALFORMED, AT(FLAGS) },
};

static void make_filter(const char *name, uint32_t flags, uint32_t capacity)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_FILTER_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_BITS, 32);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, capacity);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	if (client_ask(cl, &answer))
		errx(1, "cannot create the set %s: %s", name, answer.message);
}

/* Add eight copies of 192.0.2.1, and test that there is room for 1.2.3.4: the set has few buckets,
 * so sometimes both addresses have the same two. Then try again.
 */
static void make_multi(void)
{
	int i;

	do {
		set_request(cl, IPCUCKOO_CMD_SET_DEL, "multi");
		make_filter("multi", IPCUCKOO_F_MULTI, 10);
		for (i = 0; i < 8; i++)
			if (hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "multi", 0xc0000201, 1))
				errx(1, "the multi filter cannot be filled");
	} while (hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "multi", 0x01020304, 1));
	if (hosts_request(cl, IPCUCKOO_CMD_ENTRY_DEL, "multi", 0x01020304, 1))
		errx(1, "nothing can be deleted from the multi filter");
}

static void make_filters(void)
{
	make_filter("filter", 0, 4);
	if (hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "filter", 0xc0000201, 4))
		errx(1, "the filter cannot be filled");
	make_multi();
}

static void try_refused(const struct refused *r)
{
	struct nlmsghdr *nlh = client_begin(cl, r->cmd);
	struct state before;
	struct answer answer;
	char out[1024];
	int i, at, missing;

	for (i = 0; i < PIECES && r->piece[i].data; i++)
		mnl_attr_put(nlh, r->piece[i].type, r->piece[i].size, r->piece[i].data);
	memcpy(out, nlh, nlh->nlmsg_len);
	before = get_state();
	memcpy(cl->out, out, ((struct nlmsghdr *)out)->nlmsg_len);
	((struct nlmsghdr *)cl->out)->nlmsg_seq = ++cl->seq;
	client_ask(cl, &answer);
	expect(error_is(answer.error, r->error), "%s: expected %s, got %d (%s)", r->what,
	       r->error == MALFORMED ? "EINVAL or ERANGE" : strerrorname_np(r->error),
	       answer.error, strerror(-answer.error));
	expect(*answer.message, "%s: a sentence in the acknowledgement", r->what);
	at = r->at >> 16 ? NO_ATTR : r->at & NLA_TYPE_MASK;
	missing = r->at >> 16 ? r->at >> 16 : NO_ATTR;
	expect_equal(answer.at, at, "%s: attribute at fault", r->what);
	expect_equal(answer.missing, missing, "%s: missing attribute", r->what);
	expect(answer.has_cookie == !!r->cookie, "%s: a cookie: expected %d, got %d", r->what,
	       !!r->cookie, answer.has_cookie);
	if (r->cookie && answer.has_cookie)
		expect_equal(answer.cookie, r->cookie - 1, "%s: cookie", r->what);
	expect(unchanged(&before), "%s: nothing has changed", r->what);
}

#define TRY_ALL(table, title) do {					\
	size_t try_i;							\
	for (try_i = 0; try_i < sizeof(table) / sizeof((table)[0]); try_i++) \
		try_refused(&(table)[try_i]);				\
	ktap_case("%s: %zu invalid requests are refused", title, try_i);	\
} while (0)

static void test_refused(void)
{
	make_sets();
	TRY_ALL(names, "names");
	TRY_ALL(sets, "sets");
	TRY_ALL(entries, "entries");
	TRY_ALL(shadows, "shadows");
	TRY_ALL(attachments, "attachments");
	make_filters();
	TRY_ALL(filters, "filters");
	expect_equal(figure(cl, "filter", IPCUCKOO_A_ENTRIES), 4, "entries of the filter");
	expect_equal(figure(cl, "multi", IPCUCKOO_A_ENTRIES), 8, "entries of multi");
	ktap_case("filters: the requests have not changed them");
}

int main(void)
{
	fixture_begin("netlink-refused");
	test_refused();
	return fixture_end();
}
