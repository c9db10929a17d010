/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * ipcuckoo: the netlink protocol. This file is its manual.
 *
 * The generic netlink family "ipcuckoo", version 1, keeps named sets of IP
 * addresses and prefixes and attaches them to netfilter hooks. Everything is
 * per network namespace: a socket sees and changes the sets of the namespace
 * it was opened in. Every command, reads included, needs CAP_NET_ADMIN: in the
 * first user namespace, that of the machine's root; or, if the module was loaded
 * with userns=1, in the user namespace that owns the network namespace.
 *
 *
 * Objects
 * -------
 *
 * A *set* has a name, a type and a family. Types: hash:ip holds hosts,
 * hash:net holds hosts and prefixes. Both are exact: no stranger ever
 * matches. filter:ip holds hosts and is approximate. Families: inet, inet6,
 * and any, which holds both in one set. Names have 1 to 31 ASCII letters, digits
 * and punctuation characters other than '/' and '"'; "." and ".." are not names.
 *
 * An *approximate* set is a cuckoo filter: it keeps of each entry a fingerprint
 * of BITS bits (8, 16 or 32). Entries always match. A share of strangers
 * matches as well: exactly
 *
 *   8 * ENTRIES / SLOTS / (2^BITS - 1)
 *
 * of all addresses as long as no two entries have the same fingerprint in the
 * same place (which only MULTI allows, and which makes it less). The set has
 * room for CAPACITY entries from the beginning, and for no more; ENTRIES /
 * SLOTS is then IPCUCKOO_FILTER_LOAD at most, which makes the share 3.0 % with
 * 8 bits, 0.012 % with 16, 1.8e-9 with 32. Its entries cannot be listed. An
 * entry that matches already counts as one that is there, though it may be a
 * stranger, and is not stored; nothing can be deleted, for the fingerprint may
 * be another's. With MULTI additions are stored whether they match or not, up
 * to eight of one entry, and fewer where copies of others take their places:
 * CAPACITY is a promise for entries that differ. A deletion removes one copy.
 * Deleting what was never added may remove another entry's fingerprint: packets
 * then pass that should not.
 *
 * An *entry* is an address or a prefix. Entries travel packed, thousands to a
 * message, in up to four binary attributes, all in network byte order:
 *
 *   IPCUCKOO_A_HOSTS4   4 bytes each: an IPv4 address
 *   IPCUCKOO_A_HOSTS6  16 bytes each: an IPv6 address
 *   IPCUCKOO_A_NETS4    5 bytes each: an IPv4 address, one byte prefix length
 *   IPCUCKOO_A_NETS6   17 bytes each: an IPv6 address, one byte prefix length
 *
 * A prefix of full length (32, 128) is the host. Host bits of a prefix must
 * be zero. IPv4-mapped IPv6 addresses (::ffff:0:0/96) mean the IPv4 address
 * in family any and are refused in inet6; ::ffff:0:0/96 itself is refused
 * everywhere: all of IPv4 is 0.0.0.0/0. That, 0.0.0.0 and ::/0 are entries
 * like any other.
 *
 * An exact set made with OPTIONS keeps more for each entry, which travels in
 * attributes parallel to the packed entries: as many elements as there are
 * entries in the message, in the order HOSTS4, HOSTS6, NETS4, NETS6, in network
 * byte order.
 *
 *   IPCUCKOO_A_TIMEOUTS   4 bytes each: seconds after which the entry ends,
 *                         0: it stays. Without, all have the set's TIMEOUT
 *   IPCUCKOO_A_COUNTERS  16 bytes each: packets that matched it, bytes;
 *                         in requests IPCUCKOO_COUNTER_KEEP for either: it goes
 *                         on, or begins at 0
 *   IPCUCKOO_A_SKBINFOS  16 bytes each: mask and mark (4 bytes each) that
 *                         attachments with verdict mark set instead of their
 *                         own unless both are 0; priority (4), queue (2), which
 *                         nothing acts on yet, and 2 bytes of zero
 *   IPCUCKOO_A_COMMENTS   a NUL-terminated string each, 255 bytes at most
 *   IPCUCKOO_A_NOMATCHES  1 byte each: 1 makes the entry an *exception*. Only
 *                         for hash:net, and for that without an option
 *
 * The longest entry that covers an address decides: if it is an exception, the
 * address is not in the set. An entry that has ended decides nothing any more,
 * within a second after its time, is neither listed nor found, and can be
 * added as if it had never been. ENTRIES does not count it. Garbage collection
 * frees it some seconds later, and EXPIRED counts it then.
 *
 * An *attachment* makes a set act on packets: a direction (which address of
 * the packet is looked up), a verdict (what happens when it is in the set),
 * an order among the attachments, a place, a netfilter priority, and optionally
 * a device. At IPCUCKOO_PLACE_IP, attachments with direction src or both see
 * what comes in (PRE_ROUTING), those with dst or both see that and what the
 * machine itself sends (LOCAL_OUT). Packets from and to loopback devices pass
 * unseen unless IPCUCKOO_F_LOOPBACK is given.
 *
 * IPCUCKOO_PLACE_INGRESS is the ingress hook of one device, before conntrack,
 * the raw tables, defragmentation, bridges and routing, and whatever the
 * priority is. What the machine sends itself is not seen there. Of fragments
 * each is seen; so are packets for other machines, and those of VLANs on the
 * device, behind one tag. Headers were not checked: where there is no whole IP
 * header nothing matches. The bytes that are counted have the padding of short
 * frames in them. The device need not exist: the hook follows its name.
 *
 * Attachments of one place and one priority are one walk, in their order.
 * accept ends the walk, not those of later priorities.
 *
 * The memory limit of a network namespace counts all that requests make the kernel
 * hold: sets with their files, tables, hints, filters and what is kept for entries;
 * shadows; attachments with their counters and hooks. It counts memory until it is
 * freed, which is a moment after the last packet has left it.
 *
 * A *shadow* is a set's next contents, filled aside and swapped in by one
 * pointer. It belongs to the socket that made it and disappears with it.
 *
 *
 * Errors
 * ------
 *
 * Every error of ours carries an extended acknowledgment with a sentence, and
 * the offset of the attribute at fault, or the type of the one that is missing
 * (of several that would do, the first), where it is one's. (EPERM comes from
 * generic netlink, without a word.) When one entry of a packed
 * attribute is at fault the cookie of the acknowledgment holds its index in
 * that attribute (u32, host byte order). A request that fails changes nothing
 * that packets see; a shadow may have taken, or lost, the entries before the bad
 * one.
 * The codes:
 *
 *   EINVAL      malformed request, or an entry that is no valid address
 *   ERANGE      an attribute too long, or a number out of its range; SET_CHANGE:
 *               the set has more than MAXELEM entries
 *   ENOENT      no such set, attachment, shadow or (ENTRY_DEL, SHADOW_REMOVE)
 *               entry
 *   EEXIST      the set, attachment or (ENTRY_ADD) entry is already there,
 *               perhaps with another type, family or order
 *   EBUSY       SET_DEL: the set is attached
 *   EAFNOSUPPORT  the entry's family is not one the set holds
 *   EOPNOTSUPP  a prefix for a hash:ip or filter:ip set; something to keep that
 *               the set was not made for; SET_NEW: FORCEADD for filter:ip;
 *               ENTRY_GET: the set is approximate; ENTRY_DEL, SHADOW_REMOVE: it
 *               is, and not MULTI; ATTACH: it is, and APPROXIMATE is not given;
 *               SET_SWAP: types or families differ
 *   ENOSPC      the set is full (maxelem without FORCEADD, CAPACITY), or the
 *               table cannot take more
 *   EMLINK      copies, of the entry or of others, fill its places in a MULTI
 *               set
 *   EDQUOT      the namespace's memory limit would be passed
 *   ENOMEM      no memory
 *   ESTALE      SHADOW_COMMIT: the live set changed since SHADOW_NEW, or the
 *               shadow was swapped in already (SHADOW_ADD, SHADOW_REMOVE, too)
 *   E2BIG       SET_NEW, SHADOW_NEW, ATTACH: the namespace has
 *               IPCUCKOO_SETS_MAX sets, IPCUCKOO_SHADOWS_MAX shadows,
 *               IPCUCKOO_ATTACHMENTS_MAX attachments, or the kernel as many
 *               hooks as it takes
 *   ENODEV      ATTACH: the module is being unloaded
 *   EPROTONOSUPPORT  ATTACH: the kernel has no hooks at ingress
 *   ENOPROTOOPT  ATTACH: the kernel has no logger of that kind
 *   EAGAIN       ATTACH: the module of the logger is being loaded; ask again soon
 *   EPERM       no CAP_NET_ADMIN in the first user namespace (with userns=1: in
 *               that of the network namespace)
 *
 * A dump whose object changed while it was read carries NLM_F_DUMP_INTR in
 * its messages; the reader starts over.
 *
 *
 * Commands
 * --------
 *
 * IPCUCKOO_CMD_INFO (do)
 *   reply: VERSION, SETS, ATTACHMENTS, MEMORY, MEMORY_LIMIT
 *
 * IPCUCKOO_CMD_SET_NEW (do)
 *   SET, TYPE, FAMILY, [MAXELEM], [FLAGS: EXIST], [HASHSIZE], [BUCKETSIZE],
 *   [INITVAL]; exact types: [FLAGS: FORCEADD], [OPTIONS], and with O_TIMEOUT
 *   [TIMEOUT]; hash:ip: [NETMASK] or [BITMASK]; filter:ip: [BITS], [CAPACITY],
 *   [FLAGS: MULTI]
 *   With a mask only those bits of an address count: of entries that come, of
 *   addresses that are asked for, and of packets; the others are taken as 0.
 *   HASHSIZE, BUCKETSIZE and INITVAL are what sets of ipset are made with:
 *   nothing depends on them here, but SET_GET tells them. Without INITVAL it
 *   is a random number.
 *   With FORCEADD what is added to a set that has MAXELEM entries takes the place
 *   of others, no matter which, but not of what is added last.
 *   With EXIST a set of that name already there is success, if all but FORCEADD
 *   is the same; MAXELEM counts if it is given. CAPACITY is MAXELEM unless given,
 *   and without that IPCUCKOO_CAPACITY_DEFAULT.
 *
 * IPCUCKOO_CMD_SET_DEL (do)
 *   SET, or FLAGS: ALL. ALL destroys every set, or none if any is attached; it
 *   ends between two sets if the process is killed.
 *   With EXIST a set that is not there is success.
 *
 * IPCUCKOO_CMD_SET_GET (do: SET; dump: every set, by name)
 *   reply: SET, TYPE, FAMILY, MAXELEM, HASHSIZE, BUCKETSIZE, INITVAL,
 *   NETMASK or BITMASK (if any), ENTRIES, HOSTS, MEMORY, SLOTS,
 *   ATTACHMENTS, GENERATION, GROWTHS, REKEYS, DISPLACED, FALLBACKS, RETRIES,
 *   FAILED_FULL, FAILED_COPIES, FAILED_QUOTA, FAILED_MEMORY, FAILED_EXIST;
 *   OPTIONS if there are any, TIMEOUT and EXPIRED with O_TIMEOUT; FLAGS (FORCEADD,
 *   MULTI) if there are any; filter:ip: BITS, CAPACITY
 *
 * IPCUCKOO_CMD_SET_FLUSH (do)
 *   SET, or FLAGS: ALL. Removes the entries, each set's in one step; ALL ends
 *   between two sets if the process is killed.
 *   With EXIST a set that is not there is success.
 *
 * IPCUCKOO_CMD_ENTRY_ADD, IPCUCKOO_CMD_ENTRY_DEL (do)
 *   SET, entries, [FLAGS: EXIST]; ADD: [TIMEOUTS, COUNTERS, SKBINFOS, COMMENTS,
 *   NOMATCHES]
 *   With EXIST what is kept for an entry that is there becomes what the message
 *   says (nothing where it says nothing), but for counters that are not given.
 *   Without EXIST adding what is there (deleting what is not) is an error; an
 *   entry that is twice in one message is none, it is UNCHANGED once, and what
 *   is said of it last is kept.
 *   The message is applied whole or not at all; packets may see its entries
 *   appear one after another. reply: CHANGED, UNCHANGED
 *
 * IPCUCKOO_CMD_ENTRY_TEST (do)
 *   SET and one entry. A host is found if the set covers it; a prefix is
 *   found if that very prefix is an entry.
 *   reply: FOUND, and if 1: PREFIX_LEN of the entry that matched; if 0 for an
 *   exception: its PREFIX_LEN, and NOMATCHES; filter:ip: COPIES that there may be
 *   of it. FOUND then means maybe.
 *
 * IPCUCKOO_CMD_ENTRY_GET (dump)
 *   SET. reply: entries, in no particular order, many messages; with each, what
 *   is kept for its entries: seconds that are left, counters so far
 *
 * IPCUCKOO_CMD_SHADOW_NEW (do)
 *   SET, [FLAGS: APPEND], [CAPACITY_HOSTS4, CAPACITY_HOSTS6, CAPACITY_NETS4,
 *   CAPACITY_NETS6]
 *   The shadow starts empty, or with APPEND as a copy of the live contents.
 *   The capacities say how many entries are to come, so that the tables are
 *   made in the right size at once; they are hints, and count up to 16777216
 *   (HOSTS4) and 4194304 (the others). reply: SHADOW
 *
 * IPCUCKOO_CMD_SHADOW_ADD (do)
 *   SHADOW, entries, and what comes with them as in ENTRY_ADD. What is there
 *   already is counted, not an error; what is said of it last is kept.
 *   reply: CHANGED, UNCHANGED
 *
 * IPCUCKOO_CMD_SHADOW_REMOVE (do)
 *   SHADOW, entries, [FLAGS: EXIST]. Removes entries from the shadow. With EXIST
 *   those that are not in it, or not any more, are counted, not an error.
 *   reply: CHANGED, UNCHANGED
 *
 * IPCUCKOO_CMD_SHADOW_COMMIT (do)
 *   SHADOW, [FLAGS: OVERRIDE]. Swaps the shadow in, between one packet and
 *   the next. ESTALE if the live set changed since SHADOW_NEW, unless
 *   OVERRIDE is given (the changes are then lost); ESTALE with OVERRIDE as well
 *   if SET_SWAP gave the set another name. The shadow is gone afterwards,
 *   unless that fails. reply: ENTRIES in the set now, and the
 *   sums of CHANGED and UNCHANGED over its SHADOW_ADDs
 *
 * IPCUCKOO_CMD_SHADOW_DEL (do)
 *   SHADOW
 *
 * IPCUCKOO_CMD_ATTACH (do)
 *   SET, DIRECTION, VERDICT, [MARK, MARK_MASK], [ORDER], [DEV], [PLACE],
 *   [PRIORITY], [FLAGS: EXIST, REPLACE, LOOPBACK, APPROXIMATE]
 *   [LOG, [LOG_GROUP], [LOG_RATE], [LOG_EVERY]]
 *   PLACE is IP unless given; INGRESS needs DEV. PRIORITY is that of the module
 *   parameter unless given, and from -100000 to 100000.
 *   Attachments run by ascending ORDER, equal ones in the order they were
 *   made. Default: IPCUCKOO_ORDER_ACCEPT, _COUNT, _MARK or _DROP by verdict,
 *   so that accept sets come first. DEV may name a device that does not exist
 *   yet. An approximate set is attached with verdict drop or accept only if
 *   APPROXIMATE is given: strangers are dropped, or not looked at by the
 *   attachments behind it. EEXIST if the same set acts already with the same
 *   direction, verdict, mark, device, place, priority and loopback flag. With
 *   EXIST that is success, unless ORDER is given and is another. With REPLACE it
 *   takes the place of all attachments of the set with that direction, device
 *   and place; at each hook a packet meets what was, or what is then, and none
 *   slips through. Its counters begin at 0, but if it was there already and
 *   alone nothing changes. With LOG packets that match are logged: of the
 *   LOG_EVERY-th ones (1 unless given), counted on each CPU, up to LOG_RATE a
 *   second (IPCUCKOO_LOG_RATE_DEFAULT unless given; 0: all). ENOPROTOOPT if the
 *   kernel has no such logger. reply: ATTACHMENT
 *
 * IPCUCKOO_CMD_DETACH (do)
 *   One of: ATTACHMENT; SET and optionally what was attached: DIRECTION,
 *   VERDICT, MARK (and MARK_MASK), ORDER, DEV, PLACE, PRIORITY, FLAGS: LOOPBACK,
 *   each of which narrows the choice; FLAGS: ALL. With EXIST nothing to detach
 *   is success.
 *   Where others stay attached their shorter list takes memory: ENOMEM leaves
 *   all as they were. ALL needs none. reply: CHANGED
 *
 * IPCUCKOO_CMD_ATTACH_GET (dump: all, in the order they run)
 *   reply: ATTACHMENT, SET, DIRECTION, VERDICT, MARK and MARK_MASK (mark
 *   only), ORDER, PLACE, PRIORITY, DEV (if any), FLAGS, STATE, PACKETS, BYTES,
 *   and if there is one LOG, LOG_GROUP, LOG_RATE, LOG_EVERY
 *   STATE says whether it sees packets. NO_DEVICE: there is no device of the name
 *   DEV now; when one comes it is ACTIVE. NO_HOOK: a device came, or got the name,
 *   and the netfilter hook could not be registered, because of ERRNO. It is tried
 *   again, after a second, then after twice as long each time up to about a
 *   minute, and whenever anything is attached or detached, or a device changes.
 *   ATTACH itself fails if a hook that it needs cannot be registered.
 *
 * IPCUCKOO_CMD_SET_RENAME (do)
 *   SET, SET_TO: its new name, which no set may have. Attachments and shadows
 *   stay with the set.
 *
 * IPCUCKOO_CMD_SET_SWAP (do)
 *   SET, SET_TO: two sets of the same type and family take each other's place.
 *   Entries, limit and figures move; attachments stay with the name: a packet
 *   meets all of them with the contents from before, or with those from after.
 *   Once this is answered, no packet meets the former any more.
 *
 * IPCUCKOO_CMD_SET_CHANGE (do)
 *   SET, MAXELEM: the set's new limit, 0 for none
 *
 * Events
 * ------
 *
 * The multicast group IPCUCKOO_GROUP_EVENTS tells of every change. To join it
 * takes CAP_NET_ADMIN in the user namespace that owns the network namespace, for
 * the moment of joining only. Without userns=1 nothing is told in network
 * namespaces that another user namespace than the first owns. Messages are
 * IPCUCKOO_CMD_EVENT and have an EVENT:
 *
 *   SET_NEW, SET_DESTROYED, SET_FLUSHED, SET_CHANGED, SET_REPLACED (by
 *   SHADOW_COMMIT, or several lines written to procfs)
 *       SET, TYPE, FAMILY, MAXELEM, ENTRIES, GENERATION; as in SET_GET, where
 *       there are any: OPTIONS, TIMEOUT, EXPIRED, FLAGS, BITS, CAPACITY
 *   SET_RENAMED, SET_SWAPPED
 *       SET, SET_TO, as in the request
 *   ENTRIES_ADDED, ENTRIES_DELETED
 *       SET, ENTRIES, GENERATION, and the entries that one request added or
 *       deleted, packed as in requests, those that changed nothing left out.
 *       Deleted are also those that make room with FORCEADD, right behind.
 *       Many entries take several messages in a row.
 *   ENTRIES_EXPIRED
 *       likewise, of expired entries, when garbage collection frees them, which is
 *       some seconds later and moves no GENERATION. Not of those that were added
 *       again before, nor of those that a flush or a replacement left out
 *   ATTACHED, DETACHED
 *       what ATTACH_GET replies
 *   STATE_CHANGED
 *       likewise, of an attachment that is in another STATE than before, or whose
 *       ERRNO is another
 *
 * An event is sent after the change took effect. Those of one set's contents
 * come in the order of the changes, and so do those of attachments and of sets
 * that come and go. ENTRIES and GENERATION are those after the change, so that
 * who lists a set while he listens can tell which events the list has in it:
 * those with no larger GENERATION than SET_GET gives.
 *
 * Who reads too slowly, or for whom there is no memory, loses events, and reads
 * ENOBUFS from his socket once: what he knows is then to be read anew. Nobody
 * waits for him. What ends with its network namespace is not told.
 */
#ifndef _UAPI_IPCUCKOO_H
#define _UAPI_IPCUCKOO_H

#include <linux/types.h>

#define IPCUCKOO_FAMILY_NAME	"ipcuckoo"
#define IPCUCKOO_FAMILY_VERSION	1

/* The multicast group. */
#define IPCUCKOO_GROUP_EVENTS	"events"

/* Bytes of a set's name, the terminating NUL included; as ipset has it. */
#define IPCUCKOO_NAME_SIZE	32

/* What a network namespace may have. */
#define IPCUCKOO_SETS_MAX		65535
#define IPCUCKOO_SHADOWS_MAX		65535
#define IPCUCKOO_ATTACHMENTS_MAX	1024

/* Bytes of one packed entry. */
#define IPCUCKOO_HOST4_SIZE	4
#define IPCUCKOO_HOST6_SIZE	16
#define IPCUCKOO_NET4_SIZE	5
#define IPCUCKOO_NET6_SIZE	17

/* Bytes of what comes with one entry, and of the longest comment without its
 * NUL.
 */
#define IPCUCKOO_TIMEOUT_SIZE	4
#define IPCUCKOO_COUNTERS_SIZE	16
#define IPCUCKOO_SKBINFO_SIZE	16
#define IPCUCKOO_NOMATCH_SIZE	1
#define IPCUCKOO_COMMENT_MAX	255

/* A counter that a request does not give. */
#define IPCUCKOO_COUNTER_KEEP	(~0ULL)

/* The longest timeout, in seconds: 68 years. */
#define IPCUCKOO_TIMEOUT_MAX	2147483647

/* Filters: bits of a fingerprint and capacity unless said otherwise, the
 * largest capacity, and the load (in 1/1000) at capacity, at most.
 */
#define IPCUCKOO_BITS_DEFAULT		16
#define IPCUCKOO_CAPACITY_DEFAULT	65536
#define IPCUCKOO_CAPACITY_MAX		128000000
#define IPCUCKOO_FILTER_LOAD		955

/* What ipset gives a set that is made without HASHSIZE and BUCKETSIZE. */
#define IPCUCKOO_HASHSIZE_DEFAULT	1024
#define IPCUCKOO_BUCKETSIZE_DEFAULT	12

enum ipcuckoo_cmd {
	IPCUCKOO_CMD_INFO = 1,
	IPCUCKOO_CMD_SET_NEW,
	IPCUCKOO_CMD_SET_DEL,
	IPCUCKOO_CMD_SET_GET,
	IPCUCKOO_CMD_SET_FLUSH,
	IPCUCKOO_CMD_ENTRY_ADD,
	IPCUCKOO_CMD_ENTRY_DEL,
	IPCUCKOO_CMD_ENTRY_TEST,
	IPCUCKOO_CMD_ENTRY_GET,
	IPCUCKOO_CMD_SHADOW_NEW,
	IPCUCKOO_CMD_SHADOW_ADD,
	IPCUCKOO_CMD_SHADOW_COMMIT,
	IPCUCKOO_CMD_SHADOW_DEL,
	IPCUCKOO_CMD_ATTACH,
	IPCUCKOO_CMD_DETACH,
	IPCUCKOO_CMD_ATTACH_GET,
	IPCUCKOO_CMD_SET_RENAME,
	IPCUCKOO_CMD_SET_SWAP,
	IPCUCKOO_CMD_SET_CHANGE,
	IPCUCKOO_CMD_EVENT,		/* from the kernel only */
	IPCUCKOO_CMD_SHADOW_REMOVE,

	__IPCUCKOO_CMD_MAX
};

#define IPCUCKOO_CMD_MAX	(__IPCUCKOO_CMD_MAX - 1)

enum ipcuckoo_attr {
	IPCUCKOO_A_PAD = 1,
	IPCUCKOO_A_FLAGS,		/* u32, enum ipcuckoo_flag */

	IPCUCKOO_A_SET,			/* string, NUL-terminated */
	IPCUCKOO_A_TYPE,		/* u8, enum ipcuckoo_type */
	IPCUCKOO_A_FAMILY,		/* u8, enum ipcuckoo_family */
	IPCUCKOO_A_MAXELEM,		/* u32, entries; 0: no limit */

	IPCUCKOO_A_HOSTS4,		/* binary, packed entries */
	IPCUCKOO_A_HOSTS6,		/* binary, packed entries */
	IPCUCKOO_A_NETS4,		/* binary, packed entries */
	IPCUCKOO_A_NETS6,		/* binary, packed entries */

	IPCUCKOO_A_CHANGED,		/* u32, entries added or deleted */
	IPCUCKOO_A_UNCHANGED,		/* u32, already (or not) there */
	IPCUCKOO_A_FOUND,		/* u8, 0 or 1 */
	IPCUCKOO_A_PREFIX_LEN,		/* u8, bits */

	IPCUCKOO_A_SHADOW,		/* u32, id */
	IPCUCKOO_A_CAPACITY_HOSTS4,	/* u32, entries */
	IPCUCKOO_A_CAPACITY_HOSTS6,	/* u32, entries */
	IPCUCKOO_A_CAPACITY_NETS4,	/* u32, entries */
	IPCUCKOO_A_CAPACITY_NETS6,	/* u32, entries */

	IPCUCKOO_A_ATTACHMENT,		/* u32, id */
	IPCUCKOO_A_DIRECTION,		/* u8, enum ipcuckoo_direction */
	IPCUCKOO_A_VERDICT,		/* u8, enum ipcuckoo_verdict */
	IPCUCKOO_A_MARK,		/* u32, bits set */
	IPCUCKOO_A_MARK_MASK,		/* u32, bits replaced; default all */
	IPCUCKOO_A_ORDER,		/* s32 */
	IPCUCKOO_A_PRIORITY,		/* s32, of the netfilter hook */
	IPCUCKOO_A_DEV,			/* string, interface name */
	IPCUCKOO_A_PACKETS,		/* u64, that matched */
	IPCUCKOO_A_BYTES,		/* u64, that matched; from the IP header on */

	IPCUCKOO_A_ENTRIES,		/* u32; none that has expired */
	IPCUCKOO_A_HOSTS,		/* u32, of these: hosts */
	IPCUCKOO_A_MEMORY,		/* u64, bytes allocated; INFO: all that the limit counts */
	IPCUCKOO_A_SLOTS,		/* u64, places for entries in the tables */
	IPCUCKOO_A_ATTACHMENTS,		/* u32 */
	IPCUCKOO_A_GENERATION,		/* u64, moves with every change */
	IPCUCKOO_A_GROWTHS,		/* u32, tables built anew in another size */
	IPCUCKOO_A_REKEYS,		/* u32, tables built anew with another key */
	IPCUCKOO_A_DISPLACED,		/* u64, entries moved to their other bucket */
	IPCUCKOO_A_FALLBACKS,		/* u64, look-ups that took the lock */

	IPCUCKOO_A_VERSION,		/* string */
	IPCUCKOO_A_SETS,		/* u32 */
	IPCUCKOO_A_MEMORY_LIMIT,	/* u64, bytes; 0: no limit */

	IPCUCKOO_A_BITS,		/* u8, of a fingerprint */
	IPCUCKOO_A_CAPACITY,		/* u32, entries of a filter */
	IPCUCKOO_A_COPIES,		/* u32, of one entry, maybe */

	IPCUCKOO_A_SET_TO,		/* string, the other name of two */

	IPCUCKOO_A_EVENT,		/* u8, enum ipcuckoo_event */

	/* Requests to add that failed, by what they failed with. */
	IPCUCKOO_A_FAILED_FULL,		/* u64, ENOSPC */
	IPCUCKOO_A_FAILED_COPIES,	/* u64, EMLINK */
	IPCUCKOO_A_FAILED_QUOTA,	/* u64, EDQUOT */
	IPCUCKOO_A_FAILED_MEMORY,	/* u64, ENOMEM */
	IPCUCKOO_A_FAILED_EXIST,	/* u64, EEXIST */

	IPCUCKOO_A_OPTIONS,		/* u32, enum ipcuckoo_option */
	IPCUCKOO_A_TIMEOUT,		/* u32, seconds; 0: for ever */
	IPCUCKOO_A_TIMEOUTS,		/* binary, of each entry */
	IPCUCKOO_A_COUNTERS,		/* binary, of each entry */
	IPCUCKOO_A_SKBINFOS,		/* binary, of each entry */
	IPCUCKOO_A_COMMENTS,		/* binary, of each entry */
	IPCUCKOO_A_NOMATCHES,		/* binary, of each entry */
	IPCUCKOO_A_EXPIRED,		/* u64, entries that ended by themselves */

	IPCUCKOO_A_PLACE,		/* u8, enum ipcuckoo_attach_place */
	IPCUCKOO_A_LOG,			/* u8, enum ipcuckoo_log */
	IPCUCKOO_A_LOG_GROUP,		/* u16, of nflog */
	IPCUCKOO_A_LOG_RATE,		/* u32, messages a second; 0: all */
	IPCUCKOO_A_LOG_EVERY,		/* u32, which packets: every N-th */

	IPCUCKOO_A_HASHSIZE,		/* u32, only remembered */
	IPCUCKOO_A_BUCKETSIZE,		/* u8, only remembered */
	IPCUCKOO_A_INITVAL,		/* u32, only remembered */
	IPCUCKOO_A_NETMASK,		/* u8, leading bits that count */
	IPCUCKOO_A_BITMASK,		/* binary, an address: bits that count */

	IPCUCKOO_A_RETRIES,		/* u64, look-ups begun anew for a writer */

	IPCUCKOO_A_STATE,		/* u8, enum ipcuckoo_attachment_state */
	IPCUCKOO_A_ERRNO,		/* u32, why a hook is missing */

	__IPCUCKOO_A_MAX
};

#define IPCUCKOO_A_MAX		(__IPCUCKOO_A_MAX - 1)

enum ipcuckoo_flag {
	IPCUCKOO_F_EXIST	= 1 << 0,
	IPCUCKOO_F_ALL		= 1 << 1,
	IPCUCKOO_F_APPEND	= 1 << 2,
	IPCUCKOO_F_OVERRIDE	= 1 << 3,
	IPCUCKOO_F_LOOPBACK	= 1 << 4,
	IPCUCKOO_F_MULTI	= 1 << 5,
	IPCUCKOO_F_APPROXIMATE	= 1 << 6,
	IPCUCKOO_F_REPLACE	= 1 << 7,
	IPCUCKOO_F_FORCEADD	= 1 << 8,
};

enum ipcuckoo_type {
	IPCUCKOO_TYPE_HASH_IP	= 1,
	IPCUCKOO_TYPE_HASH_NET	= 2,
	IPCUCKOO_TYPE_FILTER_IP	= 3,
};

/* A mask: what a set keeps for each entry. */
enum ipcuckoo_option {
	IPCUCKOO_O_TIMEOUT	= 1 << 0,
	IPCUCKOO_O_COUNTERS	= 1 << 1,
	IPCUCKOO_O_COMMENT	= 1 << 2,
	IPCUCKOO_O_SKBINFO	= 1 << 3,
};

#define IPCUCKOO_O_ALL		((1 << 4) - 1)

/* A mask: any is both. */
enum ipcuckoo_family {
	IPCUCKOO_FAMILY_INET	= 1,
	IPCUCKOO_FAMILY_INET6	= 2,
	IPCUCKOO_FAMILY_ANY	= 3,
};

/* A mask: both is either. */
enum ipcuckoo_direction {
	IPCUCKOO_DIR_SRC	= 1,
	IPCUCKOO_DIR_DST	= 2,
	IPCUCKOO_DIR_BOTH	= 3,
};

/* Where samples of what matches go. */
enum ipcuckoo_log {
	IPCUCKOO_LOG_KERNEL	= 1,	/* the kernel log */
	IPCUCKOO_LOG_NFLOG	= 2,	/* nflog, to LOG_GROUP */
};

#define IPCUCKOO_LOG_RATE_DEFAULT	10

/* Where an attachment sees packets. */
enum ipcuckoo_attach_place {
	IPCUCKOO_PLACE_IP	= 1,	/* PRE_ROUTING and LOCAL_OUT */
	IPCUCKOO_PLACE_INGRESS	= 2,	/* ingress of a device */
};

/* Whether an attachment sees packets now. */
enum ipcuckoo_attachment_state {
	IPCUCKOO_STATE_ACTIVE	 = 1,	/* it does */
	IPCUCKOO_STATE_NO_DEVICE = 2,	/* there is no device of the name DEV */
	IPCUCKOO_STATE_NO_HOOK	 = 3,	/* a hook could not be registered: ERRNO */
};

enum ipcuckoo_verdict {
	IPCUCKOO_VERDICT_DROP	= 1,	/* drop the packet */
	IPCUCKOO_VERDICT_ACCEPT	= 2,	/* look no further; later chains still decide */
	IPCUCKOO_VERDICT_MARK	= 3,	/* mark = (mark & ~MARK_MASK) | MARK, go on */
	IPCUCKOO_VERDICT_COUNT	= 4,	/* count the packet, go on */
};

enum ipcuckoo_event {
	IPCUCKOO_EVENT_SET_NEW		= 1,
	IPCUCKOO_EVENT_SET_DESTROYED	= 2,
	IPCUCKOO_EVENT_SET_FLUSHED	= 3,
	IPCUCKOO_EVENT_SET_REPLACED	= 4,
	IPCUCKOO_EVENT_ENTRIES_ADDED	= 5,
	IPCUCKOO_EVENT_ENTRIES_DELETED	= 6,
	IPCUCKOO_EVENT_ATTACHED		= 7,
	IPCUCKOO_EVENT_DETACHED		= 8,
	IPCUCKOO_EVENT_SET_RENAMED	= 9,
	IPCUCKOO_EVENT_SET_SWAPPED	= 10,
	IPCUCKOO_EVENT_SET_CHANGED	= 11,
	IPCUCKOO_EVENT_ENTRIES_EXPIRED	= 12,
	IPCUCKOO_EVENT_STATE_CHANGED	= 13,
};

/* Default ORDER of an attachment, by verdict. */
enum ipcuckoo_order {
	IPCUCKOO_ORDER_ACCEPT	= 100,
	IPCUCKOO_ORDER_COUNT	= 200,
	IPCUCKOO_ORDER_MARK	= 200,
	IPCUCKOO_ORDER_DROP	= 300,
};

#endif /* _UAPI_IPCUCKOO_H */
