/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * ipcuckoo: the netlink protocol. This file is its manual.
 *
 * The generic netlink family "ipcuckoo", version 1, manages sets of IP
 * addresses and prefixes and attaches them to netfilter hooks.
 *
 * The text leaves out the prefixes of names: IPCUCKOO_A_ of attributes,
 * IPCUCKOO_CMD_ of commands, IPCUCKOO_F_ of flags, IPCUCKOO_EVENT_ of events,
 * IPCUCKOO_ of other constants.
 *
 * Everything belongs to a network namespace: a socket sees and changes the sets
 * of the namespace in which it was opened.
 *
 * Every command, reads included, needs CAP_NET_ADMIN in the initial user
 * namespace. If the module was loaded with userns=1, CAP_NET_ADMIN in the user
 * namespace that owns the network namespace is enough.
 *
 *
 * Objects
 * -------
 *
 * A *set* has a name, a type and a family, and holds entries.
 *
 *   name    1 to 31 ASCII letters, digits and punctuation characters except '/'
 *           and '"'; not "." or ".."
 *   type    hash:ip holds hosts. hash:net holds hosts and prefixes. Both are
 *           exact: an address that no entry covers never matches. filter:ip
 *           holds hosts and is approximate.
 *   family  inet: IPv4; inet6: IPv6; any: both in one set
 *
 * It can have a *description*, a text for people, up to DESCRIPTION_MAX bytes
 * without '"' and without control characters except tabs.
 *
 * An *entry* is a host or a prefix. Entries are packed: one attribute carries
 * thousands of them, one after the other, without padding between them. There
 * is an attribute for each kind. Numbers are in network byte order.
 *
 *   HOSTS4   4 bytes an entry: IPv4 address
 *   HOSTS6  16 bytes an entry: IPv6 address
 *   NETS4    5 bytes an entry: IPv4 address, 1 byte prefix length
 *   NETS6   17 bytes an entry: IPv6 address, 1 byte prefix length
 *
 * Below, "entries" stands for these four attributes; a request has at least one
 * entry. The bits of a prefix behind its length must be 0. A prefix of length
 * 32 (IPv4) or 128 (IPv6) is the host. 0.0.0.0, 0.0.0.0/0 and ::/0 are entries
 * like all others. An IPv4-mapped IPv6 address or prefix (in ::ffff:0:0/96)
 * means the IPv4 one in family any, and is refused in family inet6.
 * ::ffff:0:0/96 itself is refused in every family: write 0.0.0.0/0 for all of
 * IPv4.
 *
 * An *extension* is what a set stores with each entry. The OPTIONS of an exact
 * set say which ones it has. In messages, extensions are parallel to the
 * entries: element n of each attribute belongs to entry n, counted through
 * HOSTS4, HOSTS6, NETS4 and NETS6, in this order. There are as many elements as
 * entries in the message. Numbers are in network byte order.
 *
 *   TIMEOUTS    4 bytes an entry: seconds until the entry expires; 0: never
 *   COUNTERS   16 bytes an entry: packets and bytes (8 bytes each) that matched.
 *              In requests, COUNTER_KEEP leaves the counter of an entry of the
 *              set as it is, and starts that of a new entry at 0.
 *   SKBINFOS   16 bytes an entry: mask and mark (4 bytes each), priority (4),
 *              queue (2), 2 bytes of 0. If mask or mark is not 0, attachments
 *              with the verdict mark set this mark instead of their own.
 *              Priority and queue are stored and have no effect.
 *   COMMENTS   a NUL-terminated string an entry, up to COMMENT_MAX bytes
 *              without the NUL; empty: no comment
 *   NOMATCHES   1 byte an entry: 1 makes it an *exception*. For all hash:net
 *              sets; needs no option.
 *
 * Below, "extensions" stands for these five attributes. An attribute that a
 * request leaves out means: the TIMEOUT of the set, COUNTER_KEEP, no mark, no
 * comment, no exception. For example, 192.0.2.1 for 60 seconds and
 * 198.51.100.0/24 for ever are
 *
 *   HOSTS4    c0 00 02 01
 *   NETS4     c6 33 64 00 18
 *   TIMEOUTS  00 00 00 3c  00 00 00 00
 *
 * If several entries cover an address, the longest one decides. If it is an
 * exception, the address is not in the set.
 *
 * An entry *expires* within a second after its time. From then on it matches no
 * packet, is neither listed nor found, is not counted in ENTRIES, and can be
 * added as if it had never been there. Garbage collection removes it some
 * seconds later and counts it in EXPIRED.
 *
 * An *approximate* set is a cuckoo filter. It stores a fingerprint of BITS bits
 * (8, 16 or 32) for each entry. An entry always matches. A *non-member*, an
 * address that is not an entry, matches if it has the fingerprint of an entry.
 * The *false-positive rate* is the share of non-members that match:
 *
 *   8 * ENTRIES / SLOTS / (2^BITS - 1)
 *
 * This is exact as long as no fingerprint is stored twice in the same place.
 * With MULTI it can be, and the rate is lower then. The filter has room for
 * CAPACITY entries from the beginning, and never for more. ENTRIES / SLOTS is
 * at most FILTER_LOAD / 1000, which makes the rate 3.0 % with 8 bits, 0.012 %
 * with 16 bits and 1.8e-7 % with 32 bits.
 *
 * The entries of a filter cannot be listed. An address that matches already is
 * treated as an entry that exists, and is not stored again. Entries cannot be
 * deleted, because a fingerprint may belong to another entry. In a filter with
 * MULTI, every addition is stored, up to eight copies of one entry, and fewer if
 * copies of other entries take their slots: CAPACITY is guaranteed for different
 * entries only. A deletion removes one copy. To delete what was never added may
 * remove the fingerprint of another entry, whose packets then pass.
 *
 * An *attachment* makes a set act on packets. It has
 *
 *   a direction   which address of the packet is looked up: source, destination,
 *                 or either of them
 *   a verdict     what happens if the set contains it: drop, accept, mark, count;
 *                 or prefetch, which does not ask whether the set contains it
 *   a place       PLACE_IP, the netfilter hooks PRE_ROUTING and LOCAL_OUT, or
 *                 PLACE_INGRESS, the ingress hook of a device
 *   a priority    that of the netfilter hook
 *   an order      its position among the attachments of the same hook
 *   a device      optional: only packets of the device with this name
 *   ports         optional: only packets of one protocol to these ports
 *   NEW           optional: only packets that belong to no established connection
 *
 * At PLACE_IP, attachments with direction src or both see incoming packets
 * (PRE_ROUTING). Those with direction dst or both see incoming packets, and
 * packets that the machine itself sends (LOCAL_OUT). Packets of loopback devices
 * are exempt, except with the flag LOOPBACK.
 *
 * PLACE_INGRESS comes before the rest of netfilter: before connection tracking,
 * the raw tables, defragmentation, bridges and routing. It sees each fragment,
 * packets for other machines, and packets behind up to 16 VLAN tags; what has
 * more tags is dropped if any attachment there has the verdict drop. It
 * does not see what the machine itself sends. Headers have not been checked
 * there: a packet without a complete IP header matches nothing. Counted bytes
 * include the padding of short frames. The device need not exist: the attachment
 * follows its name.
 *
 * The attachments of one hook and one priority are a *chain*. A packet runs them
 * in ascending order. The verdict accept ends the chain, but not the chains of
 * later priorities.
 *
 * A *shadow* is the next contents of a set. A client fills it while packets
 * still see the current contents, and commits it: packets see all of the change
 * at once. A shadow belongs to the socket that created it, and is deleted when
 * the socket is closed.
 *
 * The *generation* of a set is a number that increases with each change of its
 * contents. A set that is created later begins above the numbers that the sets
 * before it have, so that a client which finds the number it knows under a name
 * finds the same contents of the same set.
 *
 * The *memory limit* of a network namespace covers all memory that requests make
 * the kernel allocate: sets with their files, tables, hints, filters and
 * extensions; shadows; attachments with their counters and hooks; the text of a
 * write to procfs while the write lasts. Memory counts until it is freed, which
 * is a moment after the last packet has stopped using it.
 *
 *
 * Errors
 * ------
 *
 * An error of this family comes with an extended acknowledgment: a sentence that
 * explains it, and the offset of the attribute at fault, or the type of the
 * attribute that is missing (if several would do, the first one), where it
 * concerns one. (EPERM comes from generic netlink, without a sentence.) If one
 * entry of a packed attribute is at fault, the cookie of the acknowledgment is
 * its index in this attribute (u32, host byte order).
 *
 * A request that fails changes nothing that packets see. SHADOW_ADD and
 * SHADOW_REMOVE may have changed the shadow up to the entry at fault.
 *
 *   EINVAL      the request is malformed, or an entry is not valid
 *   ERANGE      an attribute is too long, or a number out of range; SET_CHANGE:
 *               the set has more than MAXELEM entries
 *   ENOENT      there is no such set, attachment or shadow; ENTRY_DEL,
 *               SHADOW_REMOVE: no such entry
 *   EEXIST      there is such a set, attachment or (ENTRY_ADD) entry already;
 *               the set may have another type, family or other options, the
 *               attachment another order
 *   EBUSY       SET_DEL: the set is attached; SET_DEL, SET_RENAME: rules of iptables
 *               refer to the set; COMMIT: another request is using a shadow, or
 *               two changes name the same shadow
 *   EAFNOSUPPORT  the set does not hold entries of this family
 *   EADDRNOTAVAIL  ENTRY_ADD, SHADOW_ADD: the set is one of ip_set, which does not
 *               add such elements: 0.0.0.0 and :: to a hash:ip, prefixes of
 *               length 0 to a hash:net
 *   EOPNOTSUPP  a prefix for a hash:ip or filter:ip set; an extension that the
 *               set does not have; SET_NEW: OPTIONS or FORCEADD with filter:ip;
 *               ENTRY_GET: the set is approximate; ENTRY_DEL, SHADOW_REMOVE: the
 *               set is approximate without MULTI; ATTACH: the set is approximate
 *               and APPROXIMATE is missing; SET_SWAP: the sets differ in type or
 *               family; COMMIT: a command that cannot be a change
 *   ENOSPC      the set is full: it has MAXELEM entries and no FORCEADD, or
 *               CAPACITY entries, or its table has no room left
 *   EMLINK      a filter with MULTI has no slot for another copy of the entry
 *   EDQUOT      the request would exceed the memory limit of the namespace
 *   ENOMEM      the kernel has no memory
 *   ESTALE      SHADOW_COMMIT: the set has changed since SHADOW_NEW;
 *               SHADOW_COMMIT, SHADOW_ADD, SHADOW_REMOVE, ENTRY_GET: the shadow
 *               was committed already
 *   E2BIG       SET_NEW, SHADOW_NEW, ATTACH: the namespace has SETS_MAX sets,
 *               SHADOWS_MAX shadows, ATTACHMENTS_MAX attachments, or as many
 *               netfilter hooks as the kernel allows
 *   EREMOTE     SET_DEL, SET_RENAME, SET_SWAP, ATTACH: the set belongs to ip_set
 *               (the module ipcuckoo_ipset), which has created it; SET_CHANGE:
 *               likewise, and MAXELEM is 0
 *   EXDEV       COMMIT: one request would both swap a set in use (attached, or
 *               referred to by rules of iptables) and change its contents
 *   ENODEV      ATTACH: the module is being unloaded
 *   EPROTONOSUPPORT  ATTACH: the kernel has no ingress hooks, or no connection
 *               tracking
 *   ENOPROTOOPT  ATTACH: the kernel has no such logger
 *   EAGAIN      other requests, or writers of the files in /proc, keep a set, its
 *               shadow or the namespace busy for longer than a quarter of a
 *               second; or the requests before this one in the same sendmsg()
 *               have taken as long; ATTACH: the module of the logger, or that of
 *               connection tracking, is being loaded. Send the request again.
 *               With ALL, some sets may have been destroyed or flushed; otherwise
 *               nothing has changed
 *   EPERM       CAP_NET_ADMIN is missing (see the top)
 *
 * If an object changes while it is dumped, messages of the dump carry
 * NLM_F_DUMP_INTR. The reader should start the dump again.
 *
 *
 * Commands
 * --------
 *
 * Attributes in brackets are optional. FLAGS is followed by the flags that the
 * command accepts.
 *
 * IPCUCKOO_CMD_INFO (do): ask about the module and the namespace
 *
 *   reply: VERSION, SETS, ATTACHMENTS, MEMORY, MEMORY_LIMIT
 *
 * IPCUCKOO_CMD_SET_NEW (do): create an empty set
 *
 *   request: SET, TYPE, FAMILY, [MAXELEM], [DESCRIPTION], [FLAGS: EXIST]; exact
 *            types: [FLAGS: FORCEADD], [OPTIONS], with O_TIMEOUT [TIMEOUT];
 *            hash:ip: [NETMASK] or [BITMASK]; filter:ip: [BITS], [CAPACITY],
 *            [FLAGS: MULTI]; or SET and SHADOW
 *
 *   With SHADOW, the set has the contents of that shadow, and the options that
 *   the shadow was created with (SHADOW_NEW with CREATE).
 *
 *   MAXELEM limits the entries; 0 is no limit. Default: the module parameter
 *   maxelem. If a set with FORCEADD has MAXELEM entries, an entry that is added
 *   replaces another one, chosen at random, but never the one added last.
 *
 *   With O_TIMEOUT, entries expire TIMEOUT seconds after they are added, unless
 *   TIMEOUTS say otherwise; 0, the default, is never.
 *
 *   NETMASK and BITMASK are for the families inet and inet6. Only the bits of
 *   the mask count; the others are taken as 0 in entries, in addresses that are
 *   tested, and in packets.
 *
 *   CAPACITY is MAXELEM by default, and CAPACITY_DEFAULT if there is no limit.
 *   BITS is BITS_DEFAULT by default.
 *
 *   With EXIST, it is no error if a set of this name exists and was created in
 *   the same way. FORCEADD and DESCRIPTION are not compared, and MAXELEM only if
 *   the request has it; the set keeps its own.
 *
 * IPCUCKOO_CMD_SET_DEL (do): destroy a set, or all sets
 *
 *   request: SET, or FLAGS: ALL; [FLAGS: EXIST]
 *
 *   A set that is attached, or to which rules of iptables refer
 *   (uapi/xt_ipcuckoo.h), cannot be destroyed. ALL destroys every set, or none if
 *   any set cannot be destroyed. If the process is killed, or with EAGAIN, ALL stops
 *   between two sets. With EXIST, it is no error if there is no such set.
 *
 * IPCUCKOO_CMD_SET_GET (do: one set; dump: all sets, sorted by name)
 *
 *   request: SET (do only)
 *   reply: SET, SET_ID, TYPE, FAMILY, MAXELEM, NETMASK or BITMASK (if the set has
 *          one), ENTRIES, HOSTS, MEMORY, SLOTS, ATTACHMENTS, RULES, GENERATION,
 *          GROWTHS, REKEYS, DISPLACED, FALLBACKS, RETRIES, FAILED_FULL,
 *          FAILED_COPIES, FAILED_QUOTA, FAILED_MEMORY, FAILED_EXIST, FAILED_PENDING; OPTIONS if
 *          there are any;
 *          TIMEOUT and EXPIRED with O_TIMEOUT; FLAGS (FORCEADD, MULTI, IPSET) if
 *          there are any; DESCRIPTION if there is one; filter:ip: BITS, CAPACITY
 *
 *   SET_ID is the number by which BPF programs name the set: uapi/ipcuckoo_bpf.h
 *   says what becomes of it when sets are renamed, swapped and destroyed.
 *
 * IPCUCKOO_CMD_SET_FLUSH (do): delete all entries of a set, or of all sets
 *
 *   request: SET, or FLAGS: ALL; [FLAGS: EXIST]
 *
 *   The entries of each set are deleted in one step. If the process is killed, or
 *   with EAGAIN, ALL stops between two sets. With EXIST, it is no error if there is no such
 *   set.
 *
 * IPCUCKOO_CMD_ENTRY_ADD (do): add entries to a set
 *
 *   request: SET, entries, [extensions], [FLAGS: EXIST]
 *   reply: CHANGED, UNCHANGED
 *
 *   The request is applied whole or not at all. Packets may see its entries
 *   appear one after the other; to show them all at once, use a shadow.
 *
 *   An entry that is in the set already is an error. With EXIST it is not: the
 *   entry gets the extensions of the request instead of those it had, and counts
 *   as UNCHANGED. What the request leaves out has its default (see above), so
 *   counters go on.
 *
 *   An entry that is twice in the request is no error. It counts as UNCHANGED
 *   once, and gets the extensions that come last.
 *
 * IPCUCKOO_CMD_ENTRY_DEL (do): delete entries from a set
 *
 *   request: SET, entries, [FLAGS: EXIST]
 *   reply: CHANGED, UNCHANGED
 *
 *   The request is applied whole or not at all. An entry that is not in the set
 *   is an error; with EXIST it counts as UNCHANGED.
 *
 * IPCUCKOO_CMD_ENTRY_TEST (do): test one entry
 *
 *   request: SET, entries (exactly one)
 *   reply: FOUND; if an entry decided, PREFIX_LEN, its length, and its extensions,
 *          if the set has them: TIMEOUTS, COUNTERS, SKBINFOS, COMMENTS; if that
 *          entry is an exception, NOMATCHES; filter:ip: COPIES
 *
 *   A host is found if the set contains it: the longest entry that covers it is
 *   not an exception. A prefix is found if this very prefix is an entry, and not
 *   an exception. For filter:ip, FOUND means maybe, and COPIES says how often
 *   the entry may be stored.
 *
 * IPCUCKOO_CMD_ENTRY_GET (dump): list the entries of a set
 *
 *   request: SET, or SHADOW
 *   reply: entries, and the extensions that the set has
 *
 *   The entries come in many messages, in no particular order. TIMEOUTS are the
 *   seconds that are left, COUNTERS the present values.
 *
 *   If the set is changed meanwhile, a message has the flag NLM_F_DUMP_INTR, and the
 *   list may lack entries that are in the set all the time. A client that cannot wait
 *   until nobody changes the set makes a shadow with APPEND, which has the entries of one
 *   moment, lists this, and deletes it.
 *
 * IPCUCKOO_CMD_SHADOW_NEW (do): create a shadow of a set
 *
 *   request: SET, [FLAGS: APPEND], [CAPACITY_HOSTS4], [CAPACITY_HOSTS6],
 *            [CAPACITY_NETS4], [CAPACITY_NETS6]; with FLAGS: CREATE, the
 *            options of SET_NEW: TYPE, FAMILY, MAXELEM, DESCRIPTION, OPTIONS,
 *            TIMEOUT, NETMASK, BITMASK, BITS, CAPACITY, FLAGS: MULTI, FORCEADD
 *   reply: SHADOW
 *
 *   The shadow is empty; with APPEND it is a copy of the current contents. The
 *   capacities are hints: how many entries of each kind will be added, so that
 *   the tables have the right size at once. Values above 16777216 (HOSTS4) and
 *   4194304 (the others) count as these.
 *
 *   With CREATE, the shadow is that of a set which does not exist yet. SET_NEW
 *   with SHADOW creates the set; until then nobody finds it, and no name is
 *   taken.
 *
 * IPCUCKOO_CMD_SHADOW_ADD (do): add entries to a shadow
 *
 *   request: SHADOW, entries, [extensions]
 *   reply: CHANGED, UNCHANGED
 *
 *   As ENTRY_ADD with EXIST.
 *
 * IPCUCKOO_CMD_SHADOW_REMOVE (do): delete entries from a shadow
 *
 *   request: SHADOW, entries, [FLAGS: EXIST]
 *   reply: CHANGED, UNCHANGED
 *
 *   As ENTRY_DEL.
 *
 * IPCUCKOO_CMD_SHADOW_COMMIT (do): make a shadow the contents of its set
 *
 *   request: SHADOW, [FLAGS: OVERRIDE]
 *   reply: ENTRIES in the set now; CHANGED and UNCHANGED, summed up over the
 *          additions to the shadow
 *
 *   A packet sees either the old contents or the new ones. On success the shadow
 *   is deleted.
 *
 *   If the set has changed since SHADOW_NEW, the error is ESTALE. With OVERRIDE
 *   the shadow is committed all the same, and these changes are lost. If the set
 *   was swapped since SHADOW_NEW, the error is ESTALE in any case. What packets
 *   have changed in a set of ip_set counts only if SHADOW_NEW had APPEND.
 *
 * IPCUCKOO_CMD_SHADOW_DEL (do): delete a shadow
 *
 *   request: SHADOW
 *
 * IPCUCKOO_CMD_COMMIT (do): make several changes, all or none
 *
 *   request: CHANGES, [FLAGS: CHECK]
 *
 *   CHANGES is nested. Each attribute in it is one change: its type is the number
 *   of a command, and nested in it are the attributes of that command. These
 *   commands can be changes: SET_NEW, SET_DEL (without ALL), SET_RENAME,
 *   SET_SWAP, SET_FLUSH (without ALL), SHADOW_COMMIT, ATTACH (without REPLACE).
 *   A request may have several CHANGES, for an attribute has 64 KiB at most.
 *
 *   Each change applies to what the changes before it have left, as if they were
 *   requests of their own. If one of them fails, nothing has changed; the error
 *   and the sentence are those of its own request, and the cookie is the number
 *   of the change (u32), from 0. If the change lacks an attribute, the
 *   acknowledgment has the offset of the change, too.
 *
 *   If a set is attached before and after the request, the request cannot both
 *   swap it and change its contents: EXDEV.
 *
 *   Events come in the order of the changes, with the names that sets had at each
 *   of them; ENTRIES and GENERATION are those after the request. Of several
 *   changes of the contents of a set only the last is made.
 *
 *   Others see none of the changes before all are made. Packets see each set
 *   with its old or its new contents, and at each hook the attachments from
 *   before or after the request; a set that gets another set's name by SET_SWAP
 *   is seen with its new contents. Contents of several sets change one after the
 *   other, within microseconds.
 *
 *   With CHECK the kernel finds out whether the changes could be made, and makes
 *   none; shadows stay. It registers no netfilter hooks for that, so an error of
 *   these is not found out. While the request runs, it may allocate what the
 *   changes need, and log messages and tracepoints may show a name that a set
 *   would get.
 *
 * IPCUCKOO_CMD_ATTACH (do): attach a set
 *
 *   request: SET, DIRECTION, VERDICT, with verdict mark: MARK, [MARK_MASK];
 *            [ORDER], [DEV], [PLACE], [PRIORITY], [PROTOCOL and PORTS], [LOG], with
 *            LOG: [LOG_GROUP], [LOG_RATE], [LOG_EVERY];
 *            [FLAGS: EXIST, REPLACE, LOOPBACK, APPROXIMATE, NEW]
 *   reply: ATTACHMENT, the number of the attachment
 *
 *   PLACE is PLACE_IP by default; PLACE_INGRESS and PLACE_XDP need DEV. DEV may
 *   name a device that does not exist yet. PRIORITY is from -100000 to 100000;
 *   default: the module parameter priority; with NEW -199, unless that is larger.
 *
 *   An attachment at PLACE_XDP acts on packets while a BPF program at the device
 *   calls bpf_xdp_ipcuckoo_run() (uapi/ipcuckoo_bpf.h). The client attaches that
 *   program; this command does not. There is no PRIORITY, and no verdict mark.
 *
 *   The verdict prefetch is valid at PLACE_INGRESS and PLACE_XDP, without LOG. It
 *   looks nothing up and counts nothing: it lets the processor fetch what look-ups
 *   of the packet in this set will read. Packets come in batches, and each batch
 *   passes XDP, ingress and PLACE_IP one after the other. So attach the set with
 *   another verdict at a later place: its look-ups wait less for memory then.
 *   Tables of hosts, and of prefixes if all have one length, are fetched, and
 *   filters; of other prefixes only what says which lengths to look for, and of
 *   entries no timeouts and counters.
 *
 *   The verdict mark sets the bits MARK_MASK of the packet's mark to those of
 *   MARK. MARK_MASK is all bits by default; MARK must not have others.
 *
 *   PROTOCOL and PORTS are given together, and not with the verdict prefetch. The
 *   attachment then acts only on packets of PROTOCOL (IPPROTO_TCP, IPPROTO_UDP or
 *   IPPROTO_SCTP) whose destination port is in PORTS: up to PORTS_MAX ranges, each
 *   with its first and its last port, 2 bytes each in network byte order. They are
 *   in ascending order, and between two of them is a port that is in none. The
 *   header of the protocol may be behind extension headers of IPv6. A fragment
 *   other than the first has no ports, so the attachment does not act on it. If
 *   the first fragment of an IPv6 packet ends before the ports, an attachment with
 *   the verdict drop acts on it as if they were in PORTS, as hosts may reassemble
 *   the packet; one with another verdict does not act on it.
 *
 *   With NEW, the attachment does not act on packets of connections that connection
 *   tracking (nf_conntrack) knows as established, nor on those that are related to
 *   one. What it does not track, or finds invalid, counts as new. NEW is for
 *   PLACE_IP, with a PRIORITY above -200, and not for the verdict prefetch. The first
 *   such attachment switches connection tracking on in the network namespace; it
 *   stays on until the namespace ends or the module is unloaded.
 *
 *   Attachments run in ascending ORDER, those of the same order in the order in
 *   which they were made. Default: ORDER_PREFETCH, ORDER_ACCEPT, ORDER_COUNT,
 *   ORDER_MARK or ORDER_DROP, by verdict, so that prefetch comes first, and accept
 *   before what counts, marks or drops.
 *
 *   To attach an approximate set with verdict drop or accept, APPROXIMATE must
 *   be given: the client accepts that non-members are dropped, or are not seen
 *   by later attachments.
 *
 *   If the set is attached already with the same direction, verdict, mark,
 *   device, place, priority, LOOPBACK and NEW flags, protocol and ports, the error
 *   is EEXIST. With EXIST it is no error, unless the request has an ORDER that
 *   differs.
 *
 *   With REPLACE, the attachment replaces all attachments of the set with the
 *   same direction, device and place; one with the verdict prefetch replaces, and
 *   is replaced by, only one with the same verdict. At each hook, a packet sees
 *   the old attachments or the new one; none slips through between them. The
 *   counters of the new attachment begin at 0. If the only such attachment is the
 *   same as the new one, nothing changes.
 *
 *   With LOG, packets that match are logged: every LOG_EVERY-th packet, counted
 *   on each CPU (default: 1, all), and at most LOG_RATE a second (default:
 *   LOG_RATE_DEFAULT; 0: no limit).
 *
 * IPCUCKOO_CMD_DETACH (do): remove attachments
 *
 *   request: one of: ATTACHMENT; FLAGS: ALL; SET, with any of [DIRECTION],
 *            [VERDICT], [MARK], [MARK_MASK], [ORDER], [DEV], [PLACE],
 *            [PRIORITY], [PROTOCOL and PORTS], [FLAGS: LOOPBACK, NEW]; and
 *            [FLAGS: EXIST]
 *   reply: CHANGED, how many attachments were removed
 *
 *   With SET, all attachments of the set are removed that have the given
 *   attributes. With EXIST, it is no error if there are none.
 *
 *   If other attachments remain at a hook, the kernel has to allocate their new
 *   chain. If it cannot, the error is ENOMEM, and all attachments stay. ALL
 *   allocates nothing.
 *
 * IPCUCKOO_CMD_ATTACH_GET (dump): list all attachments, in ascending order
 *
 *   reply: ATTACHMENT, SET, DIRECTION, VERDICT, MARK and MARK_MASK (verdict mark
 *          only), ORDER, PLACE, PRIORITY, DEV (if any), FLAGS, STATE, ERRNO (if
 *          not 0), PACKETS, BYTES; PROTOCOL and PORTS (if any); if packets are
 *          logged LOG, LOG_GROUP, LOG_RATE, LOG_EVERY
 *
 *   STATE says whether the attachment sees packets. STATE_NO_DEVICE: there is no
 *   device of the name DEV; as soon as there is one, the attachment sees its
 *   packets. STATE_NO_HOOK: a device appeared or got this name, and the kernel
 *   could not register the netfilter hook, for the reason ERRNO. The module
 *   tries again: after a second, then after twice as long each time up to about
 *   a minute, and whenever something is attached or detached, or a device
 *   changes. ATTACH itself fails if a hook that it needs cannot be registered.
 *   STATE_NO_PROGRAM: PLACE_XDP, and the device has no program of XDP. An event
 *   reports when that changes, unless the device is down or the program was
 *   attached with a link of BPF. The module does not know what programs do:
 *   STATE_ACTIVE says only that there is a program.
 *
 * IPCUCKOO_CMD_SET_RENAME (do): give a set another name
 *
 *   request: SET, SET_TO
 *
 *   No set may have the name SET_TO. Attachments, shadows and the SET_ID stay with
 *   the set. A set to which rules of iptables refer keeps its name: the error is EBUSY.
 *
 * IPCUCKOO_CMD_SET_SWAP (do): exchange two sets
 *
 *   request: SET, SET_TO
 *
 *   The sets must have the same type and family. Contents, limit, options and
 *   statistics move; attachments stay with the names, and so do rules of
 *   iptables and the SET_IDs. At each hook, a packet sees the old contents in all attachments, or
 *   the new ones in all. When the kernel has answered, no packet sees the old
 *   ones any more.
 *
 * IPCUCKOO_CMD_SET_CHANGE (do): change the limit of a set
 *
 *   request: SET, MAXELEM
 *
 *   0 is no limit. Sets of ip_set need one.
 *
 *
 * Events
 * ------
 *
 * The multicast group GROUP_EVENTS reports every change. To join it, a socket
 * needs CAP_NET_ADMIN in the user namespace that owns the network namespace, at
 * the moment of joining only. Without userns=1, nothing is sent to network
 * namespaces that another user namespace than the initial one owns.
 *
 * Events are messages of the command IPCUCKOO_CMD_EVENT.
 *
 * All of them
 *   attributes: EVENT
 * SET_NEW, SET_DESTROYED, SET_FLUSHED, SET_CHANGED (another limit), SET_REPLACED
 * (by SHADOW_COMMIT, or by several lines written to the file in procfs)
 *   attributes: SET, TYPE, FAMILY, MAXELEM, ENTRIES, GENERATION; if the set has
 *               them: OPTIONS, TIMEOUT, EXPIRED, FLAGS, BITS, CAPACITY, NETMASK,
 *               BITMASK, DESCRIPTION
 *   A set of ip_set that is shown under its name only now may have entries
 *   already: ENTRIES of SET_NEW says how many. If ip_set has swapped sets, or
 *   renamed one to the former name of another, each is reported as SET_DESTROYED
 *   and then as SET_NEW. Nothing is sent about a set that is not shown, because
 *   another one has its name.
 * SET_RENAMED, SET_SWAPPED
 *   attributes: SET, SET_TO, as in the request
 * ENTRIES_ADDED, ENTRIES_UPDATED
 *   attributes: SET, ENTRIES, GENERATION, entries, and the extensions that the set has
 *   These are the entries that one request added, and those that existed and got
 *   the extensions of the request; in a set without extensions there are no
 *   updates. An entry that is twice in a request can be both. Many entries take
 *   several messages in a row. Version 1 of the family had neither extensions here
 *   nor updates.
 * ENTRIES_DELETED
 *   attributes: SET, ENTRIES, GENERATION, entries
 *   These are the entries that one request deleted. Entries that FORCEADD replaced
 *   are reported as deleted, beside the ones that were added.
 * ENTRIES_EXPIRED
 *   attributes: SET, ENTRIES, GENERATION, entries
 *   Sent when garbage collection removes expired entries, some seconds after
 *   they expired. This does not change GENERATION. Entries that were added again
 *   before are not reported, nor are those that were lost when the set was
 *   flushed or replaced.
 * ATTACHED, DETACHED, STATE_CHANGED (another STATE or ERRNO)
 *   attributes: those of the reply to ATTACH_GET
 *
 * An event is sent after the change has taken effect. Events about the contents
 * of one set are sent in the order of the changes. So are events about
 * attachments, and events about sets that are created and destroyed.
 *
 * ENTRIES and GENERATION are those after the change. A client that listens, and
 * then lists a set, can therefore tell which events the list includes: those
 * whose GENERATION is not larger than the one in the reply to SET_GET.
 *
 * If a client reads too slowly, or the kernel has no memory for a message, events
 * are lost, and the client's next read fails with ENOBUFS, once. The client must
 * then read everything again. The kernel never waits for a client. When a
 * network namespace ends, nothing is reported.
 */
#ifndef _UAPI_IPCUCKOO_H
#define _UAPI_IPCUCKOO_H

#include <linux/types.h>

#define IPCUCKOO_FAMILY_NAME	"ipcuckoo"
/* The same family of the module ipcuckoo_spare, which holds the sets of a machine while the
 * module ipcuckoo is replaced by a newer version: tools/ipcuckoo-upgrade.
 */
#define IPCUCKOO_SPARE_FAMILY_NAME	"ipcuckoo_spare"
#define IPCUCKOO_FAMILY_VERSION	2

/* The multicast group of events. */
#define IPCUCKOO_GROUP_EVENTS	"events"

/* Bytes of the name of a set with its NUL, as in ipset. */
#define IPCUCKOO_NAME_SIZE	32

/* The most that a network namespace can have. */
#define IPCUCKOO_SETS_MAX		65535
#define IPCUCKOO_SHADOWS_MAX		65535
#define IPCUCKOO_ATTACHMENTS_MAX	1024

/* Bytes of one packed entry. */
#define IPCUCKOO_HOST4_SIZE	4
#define IPCUCKOO_HOST6_SIZE	16
#define IPCUCKOO_NET4_SIZE	5
#define IPCUCKOO_NET6_SIZE	17

/* Bytes of the extensions of one entry, and of the longest comment without its
 * NUL.
 */
#define IPCUCKOO_TIMEOUT_SIZE	4
#define IPCUCKOO_COUNTERS_SIZE	16
#define IPCUCKOO_SKBINFO_SIZE	16
#define IPCUCKOO_NOMATCH_SIZE	1
#define IPCUCKOO_COMMENT_MAX	255

/* Bytes of the longest description of a set without its NUL. */
#define IPCUCKOO_DESCRIPTION_MAX	255

/* The most ranges of PORTS, and bytes of one. */
#define IPCUCKOO_PORTS_MAX	15
#define IPCUCKOO_PORTS_SIZE	4

/* In COUNTERS of a request: do not change this counter. */
#define IPCUCKOO_COUNTER_KEEP	(~0ULL)

/* The longest timeout, in seconds: 68 years. */
#define IPCUCKOO_TIMEOUT_MAX	2147483647

/* Filters: default bits of a fingerprint, default and largest capacity, and the
 * highest load factor, in 1/1000.
 */
#define IPCUCKOO_BITS_DEFAULT		16
#define IPCUCKOO_CAPACITY_DEFAULT	65536
#define IPCUCKOO_CAPACITY_MAX		128000000
#define IPCUCKOO_FILTER_LOAD		955

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
	IPCUCKOO_CMD_COMMIT,

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
	IPCUCKOO_A_UNCHANGED,		/* u32, entries already (or not) there */
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
	IPCUCKOO_A_MARK,		/* u32, what the bits become */
	IPCUCKOO_A_MARK_MASK,		/* u32, bits replaced; default: all */
	IPCUCKOO_A_ORDER,		/* s32 */
	IPCUCKOO_A_PRIORITY,		/* s32, of the netfilter hook */
	IPCUCKOO_A_DEV,			/* string, interface name */
	IPCUCKOO_A_PACKETS,		/* u64, packets that matched */
	IPCUCKOO_A_BYTES,		/* u64, of these, from the IP header on */

	IPCUCKOO_A_ENTRIES,		/* u32, entries that have not expired */
	IPCUCKOO_A_HOSTS,		/* u32, how many of the entries are hosts */
	IPCUCKOO_A_MEMORY,		/* u64, bytes; INFO: all that the limit covers */
	IPCUCKOO_A_SLOTS,		/* u64, places for entries in all tables */
	IPCUCKOO_A_ATTACHMENTS,		/* u32 */
	IPCUCKOO_A_GENERATION,		/* u64, increases with each change of the contents */
	IPCUCKOO_A_GROWTHS,		/* u32, tables replaced by one of another size */
	IPCUCKOO_A_REKEYS,		/* u32, tables replaced by one with another key */
	IPCUCKOO_A_DISPLACED,		/* u64, entries moved to their other bucket */
	IPCUCKOO_A_FALLBACKS,		/* u64, look-ups that took the lock */

	IPCUCKOO_A_VERSION,		/* string */
	IPCUCKOO_A_SETS,		/* u32 */
	IPCUCKOO_A_MEMORY_LIMIT,	/* u64, bytes; 0: no limit */

	IPCUCKOO_A_BITS,		/* u8, of a fingerprint: 8, 16 or 32 */
	IPCUCKOO_A_CAPACITY,		/* u32, entries that a filter has room for */
	IPCUCKOO_A_COPIES,		/* u32, how often an entry may be in a filter */

	IPCUCKOO_A_SET_TO,		/* string, the second name */

	IPCUCKOO_A_EVENT,		/* u8, enum ipcuckoo_event */

	/* Requests to add entries that failed, by error. */
	IPCUCKOO_A_FAILED_FULL,		/* u64, ENOSPC */
	IPCUCKOO_A_FAILED_COPIES,	/* u64, EMLINK */
	IPCUCKOO_A_FAILED_QUOTA,	/* u64, EDQUOT */
	IPCUCKOO_A_FAILED_MEMORY,	/* u64, ENOMEM */
	IPCUCKOO_A_FAILED_EXIST,	/* u64, EEXIST */

	IPCUCKOO_A_OPTIONS,		/* u32, enum ipcuckoo_option */
	IPCUCKOO_A_TIMEOUT,		/* u32, seconds, the default of entries; 0: never */
	IPCUCKOO_A_TIMEOUTS,		/* binary, an extension */
	IPCUCKOO_A_COUNTERS,		/* binary, an extension */
	IPCUCKOO_A_SKBINFOS,		/* binary, an extension */
	IPCUCKOO_A_COMMENTS,		/* binary, an extension */
	IPCUCKOO_A_NOMATCHES,		/* binary, an extension */
	IPCUCKOO_A_EXPIRED,		/* u64, expired entries that were removed */

	IPCUCKOO_A_PLACE,		/* u8, enum ipcuckoo_attach_place */
	IPCUCKOO_A_LOG,			/* u8, enum ipcuckoo_log */
	IPCUCKOO_A_LOG_GROUP,		/* u16, of nflog */
	IPCUCKOO_A_LOG_RATE,		/* u32, packets a second, at most; 0: no limit */
	IPCUCKOO_A_LOG_EVERY,		/* u32, log every N-th packet that matches */

	IPCUCKOO_A_NETMASK,		/* u8, leading bits that count */
	IPCUCKOO_A_BITMASK,		/* binary, an address whose 1 bits count */

	IPCUCKOO_A_RETRIES,		/* u64, look-ups started again because of a change */

	IPCUCKOO_A_STATE,		/* u8, enum ipcuckoo_attachment_state */
	IPCUCKOO_A_ERRNO,		/* u32, why there is no hook */

	IPCUCKOO_A_CHANGES,		/* nest, the changes of COMMIT */

	IPCUCKOO_A_DESCRIPTION,		/* string, what a set is for */

	IPCUCKOO_A_RULES,		/* u32, rules of iptables that refer to a set */

	IPCUCKOO_A_FAILED_PENDING,	/* u64, ENOBUFS: elements of a set of ip_set that packets
					 * could not add or delete, because too many such changes
					 * waited to be stored
					 */
	IPCUCKOO_A_SET_ID,		/* u32, by which BPF programs name a set; 0: it has none */

	IPCUCKOO_A_PROTOCOL,		/* u8, of packets to PORTS: IPPROTO_TCP and so on */
	IPCUCKOO_A_PORTS,		/* binary, ranges of destination ports */

	__IPCUCKOO_A_MAX
};

#define IPCUCKOO_A_MAX		(__IPCUCKOO_A_MAX - 1)

enum ipcuckoo_flag {
	IPCUCKOO_F_EXIST	= 1 << 0,	/* existing (or missing) is no error */
	IPCUCKOO_F_ALL		= 1 << 1,	/* all sets or attachments instead of one */
	IPCUCKOO_F_APPEND	= 1 << 2,	/* the shadow is a copy of the contents */
	IPCUCKOO_F_OVERRIDE	= 1 << 3,	/* commit although the set has changed */
	IPCUCKOO_F_LOOPBACK	= 1 << 4,	/* packets of loopback devices, too */
	IPCUCKOO_F_MULTI	= 1 << 5,	/* the filter stores every addition */
	IPCUCKOO_F_APPROXIMATE	= 1 << 6,	/* non-members may be dropped or accepted */
	IPCUCKOO_F_REPLACE	= 1 << 7,	/* replace other attachments */
	IPCUCKOO_F_FORCEADD	= 1 << 8,	/* in a full set, replace another entry */
	IPCUCKOO_F_CREATE	= 1 << 9,	/* the shadow is of a set that does not exist yet */
	IPCUCKOO_F_CHECK	= 1 << 10,	/* check the changes, and make none */
	IPCUCKOO_F_IPSET	= 1 << 11,	/* reply: ip_set has created the set */
	IPCUCKOO_F_NEW		= 1 << 12,	/* new connections only */
};

enum ipcuckoo_type {
	IPCUCKOO_TYPE_HASH_IP	= 1,
	IPCUCKOO_TYPE_HASH_NET	= 2,
	IPCUCKOO_TYPE_FILTER_IP	= 3,
};

/* A mask: the extensions of a set. */
enum ipcuckoo_option {
	IPCUCKOO_O_TIMEOUT	= 1 << 0,
	IPCUCKOO_O_COUNTERS	= 1 << 1,
	IPCUCKOO_O_COMMENT	= 1 << 2,
	IPCUCKOO_O_SKBINFO	= 1 << 3,
};

#define IPCUCKOO_O_ALL		((1 << 4) - 1)

/* A mask: any is inet and inet6. */
enum ipcuckoo_family {
	IPCUCKOO_FAMILY_INET	= 1,
	IPCUCKOO_FAMILY_INET6	= 2,
	IPCUCKOO_FAMILY_ANY	= 3,
};

/* A mask: both is src or dst, one that matches is enough. */
enum ipcuckoo_direction {
	IPCUCKOO_DIR_SRC	= 1,
	IPCUCKOO_DIR_DST	= 2,
	IPCUCKOO_DIR_BOTH	= 3,
};

/* Where packets that match are logged. */
enum ipcuckoo_log {
	IPCUCKOO_LOG_KERNEL	= 1,	/* to the kernel log */
	IPCUCKOO_LOG_NFLOG	= 2,	/* to the nflog group LOG_GROUP */
};

#define IPCUCKOO_LOG_RATE_DEFAULT	10

/* Where an attachment sees packets. */
enum ipcuckoo_attach_place {
	IPCUCKOO_PLACE_IP	= 1,	/* PRE_ROUTING and LOCAL_OUT */
	IPCUCKOO_PLACE_INGRESS	= 2,	/* the ingress hook of a device */
	IPCUCKOO_PLACE_XDP	= 3,	/* a BPF program at a device */
};

/* Whether an attachment sees packets now. */
enum ipcuckoo_attachment_state {
	IPCUCKOO_STATE_ACTIVE	 = 1,	/* yes */
	IPCUCKOO_STATE_NO_DEVICE = 2,	/* no: there is no device of the name DEV */
	IPCUCKOO_STATE_NO_HOOK	 = 3,	/* no: a hook could not be registered, see ERRNO */
	IPCUCKOO_STATE_NO_PROGRAM = 4,	/* no: there is no program of XDP at the device */
};

enum ipcuckoo_verdict {
	IPCUCKOO_VERDICT_DROP	= 1,	/* drop the packet */
	IPCUCKOO_VERDICT_ACCEPT	= 2,	/* end this chain, not later ones */
	IPCUCKOO_VERDICT_MARK	= 3,	/* mark = (mark & ~MARK_MASK) | MARK; go on */
	IPCUCKOO_VERDICT_COUNT	= 4,	/* count the packet; go on */
	IPCUCKOO_VERDICT_PREFETCH = 5,	/* prefetch what later look-ups read; go on */
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
	IPCUCKOO_EVENT_ENTRIES_UPDATED	= 14,
};

/* Default ORDER, by verdict. */
enum ipcuckoo_order {
	IPCUCKOO_ORDER_PREFETCH	= 0,
	IPCUCKOO_ORDER_ACCEPT	= 100,
	IPCUCKOO_ORDER_COUNT	= 200,
	IPCUCKOO_ORDER_MARK	= 200,
	IPCUCKOO_ORDER_DROP	= 300,
};

#endif /* _UAPI_IPCUCKOO_H */
