// SPDX-License-Identifier: GPL-2.0
/*
 * Sends packets through the network of lib.sh, and compares the fate of each packet with what a
 * simple reference expects.
 *
 *   packets generate hosts|nets COUNT	print random entries
 *   packets same FILE FILE	do both lists have the same entries? Repetitions do not count.
 *   packets check PATH		send packets to random addresses; then check that the
 *				attachments have counted the same as the rules given with -r
 *   packets flow PATH		send packets until SIGTERM, while other programs change sets
 *
 * PATH consists of the sender and the receiver: cs (client to server, forwarded), sc (server to
 * client), cf and sf (client or server to the firewall itself), fc (from the firewall itself to
 * the client), ff (within the firewall, over lo; only UDP, because nothing answers it).
 * The address under test is the source of packets that enter the firewall, and the destination
 * of packets that leave it. The other address is a random one of a small network.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "frames.h"
#include "lists.h"

#define RULES_MAX	16
#define SOCKETS_MAX	3
#define REPORTED_MAX	10	/* how many wrong verdicts are printed */
#define BURST		32	/* how many packets are sent before packets are received */
#define UNDERWAY	256	/* how many packets may be sent and not yet received */
#define WINDOW		(1 << 16)	/* packets of flow whose fate is remembered */
#define POOL		8192	/* packets that flow sends again and again */

/* Addresses in the network of lib.sh, and the networks that it routes to client or server, which
 * do not answer for them: 203.0.113.0/24, 2001:db8:5::/64.
 */
#define FIREWALL4	((addr_t)0x0a000101)
#define FIREWALL6	((addr_t)0xfd000001 << 96 | 1)
#define FIREWALL4_S	((addr_t)0x0a000201)
#define FIREWALL6_S	((addr_t)0xfd000002 << 96 | 1)
#define OTHER4		((addr_t)0xcb007100)
#define OTHER6		((addr_t)0x20010db80005 << 80)

/* If nothing arrives for this long, no more packets are expected. */
#define GRACE_MS	50

enum {
	DIR_SRC = IPCUCKOO_DIR_SRC,
	DIR_DST = IPCUCKOO_DIR_DST,
};

enum verdict {
	DROP,
	ACCEPT,
	GO_ON,
};

/**
 * struct rule - an attachment in the reference
 * @dirs:	DIR_SRC, DIR_DST
 * @verdict:	verdict on packets that match
 * @loopback:	the rule applies to packets of loopback devices, too
 * @dev:	the rule applies only to packets of this device; empty: to all
 * @set:	attach this set in this way; empty if the caller has done so
 * @list:	contents of the set
 * @packets:	number of packets that match
 * @bytes:	number of their bytes
 */
struct rule {
	unsigned int dirs;
	enum verdict verdict;
	bool loopback;
	char dev[IFNAMSIZ];
	char set[IPCUCKOO_NAME_SIZE];
	struct list list[2];
	unsigned long packets;
	unsigned long bytes;
};

/**
 * struct fate - what happens to a packet
 * @frame:	the packet
 * @open:	this element of the array is in use
 * @pass:	the packet must arrive; otherwise it must not
 * @either:	the packet may arrive or not, because routing may drop it
 * @seen:	the packet has arrived
 */
struct fate {
	struct frame frame;
	bool open;
	bool pass;
	bool either;
	bool seen;
};

static struct rule rules[RULES_MAX];
static unsigned int rule_count;
static struct list non_members[2];

static const char *path;
static bool v6;
static bool martians;
/* How long to wait for packets to arrive, or to be counted */
static int patience_ms = 20000;
static uint32_t run_id;
static unsigned long wrong;
static unsigned long skipped;
static volatile sig_atomic_t stop;

/* Sockets */

static int sender;
static struct sockaddr_storage target;
static socklen_t target_size;
static int receiver[SOCKETS_MAX];
static unsigned int receivers;

static void enter(char ns)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/run/netns/%c", ns);
	fd = open(name, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(2, "%s", name);
	close(fd);
}

static int raw_socket(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_NONBLOCK, protocol), size = 32 << 20;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size,
				 sizeof(size)))
		err(2, "socket");
	return fd;
}

/* Receive packets on the only interface of a host. */
static void listen_frames(char ns, uint16_t protocol)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET, .sll_protocol = htons(protocol),
	};
	int fd;

	enter(ns);
	fd = raw_socket(AF_PACKET, SOCK_DGRAM, htons(protocol));
	addr.sll_ifindex = if_nametoindex("eth0");
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		err(2, "bind");
	receiver[receivers++] = fd;
}

/* Open the port to which the datagrams go, so that the firewall sends no ICMP error. */
static void take_udp(void)
{
	struct sockaddr_in6 addr6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(4789),
	};
	struct sockaddr_in addr4 = {
		.sin_family = AF_INET, .sin_port = htons(4789),
	};
	struct sockaddr *addr = (struct sockaddr *)&addr6;
	socklen_t size = sizeof(addr6);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	/* A kernel without IPv6 has no socket that receives both families. */
	if (fd < 0 && errno == EAFNOSUPPORT) {
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		addr = (struct sockaddr *)&addr4;
		size = sizeof(addr4);
	}
	if (fd < 0 || bind(fd, addr, size))
		err(2, "port 4789");
}

/* Receive packets that the firewall delivers locally. */
static void listen_local(void)
{
	static const int protocols[2][3] = {
		{ IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP },
		{ IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6 },
	};
	int i;

	enter('f');
	take_udp();
	for (i = 0; i < 3; i++)
		receiver[receivers++] = raw_socket(v6 ? AF_INET6 : AF_INET,
						   SOCK_RAW, protocols[v6][i]);
}

static void send_frames(char ns, uint8_t mac)
{
	struct sockaddr_ll *addr = (struct sockaddr_ll *)&target;

	enter(ns);
	sender = raw_socket(AF_PACKET, SOCK_DGRAM, 0);
	*addr = (struct sockaddr_ll){
		.sll_family = AF_PACKET, .sll_halen = 6,
		.sll_addr = { 2, 0, 0, 0, 0, mac },
		.sll_ifindex = if_nametoindex("eth0"),
		.sll_protocol = htons(v6 ? ETH_P_IPV6 : ETH_P_IP),
	};
	target_size = sizeof(*addr);
}

/* Send packets from the firewall itself: they pass LOCAL_OUT. */
static void send_local(void)
{
	int on = 1;

	enter('f');
	sender = raw_socket(v6 ? AF_INET6 : AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (v6 && setsockopt(sender, IPPROTO_IPV6, IPV6_HDRINCL, &on, sizeof(on)))
		err(2, "IPV6_HDRINCL");
}

static void open_sockets(void)
{
	if (path[0] == 'f')
		send_local();
	else
		send_frames(path[0], path[0] == 'c' ? 0x11 : 0x21);
	if (path[1] == 'f')
		listen_local();
	else
		listen_frames(path[1], v6 ? ETH_P_IPV6 : ETH_P_IP);
}

static void aim(const struct frame *f)
{
	if (path[0] != 'f')
		return;
	if (f->v6) {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&target;

		sin6->sin6_family = AF_INET6;
		addr_store(sin6->sin6_addr.s6_addr, f->dst, true);
		target_size = sizeof(*sin6);
	} else {
		struct sockaddr_in *sin = (struct sockaddr_in *)&target;

		sin->sin_family = AF_INET;
		addr_store((uint8_t *)&sin->sin_addr, f->dst, false);
		target_size = sizeof(*sin);
	}
}

/* Send a packet. If the firewall itself sends it and a rule drops it, sendto() fails with EPERM. */
static size_t transmit(const struct frame *f)
{
	uint8_t data[FRAME_SIZE];
	size_t size = frame_put(f, data);

	aim(f);
	while (sendto(sender, data, size, 0, (struct sockaddr *)&target,
		      target_size) < 0) {
		if (errno == EPERM && path[0] == 'f')
			break;
		if (errno != EAGAIN && errno != ENOBUFS)
			err(2, "send %s from %s to %s", kind_name[f->kind],
			    addr_text(f->src, v6), addr_text(f->dst, v6));
		usleep(1000);
	}
	return size;
}

/* The reference */

static bool rule_concerns(const struct rule *rule, bool out)
{
	bool lo = !strcmp(path, "ff");
	const char *dev = lo ? "lo" : out || path[0] == 'c' ? "c0" : "s0";

	if (lo && !rule->loopback)
		return false;
	if (out && !(rule->dirs & DIR_DST))
		return false;
	return !*rule->dev || !strcmp(rule->dev, dev);
}

static bool rule_matches(struct rule *rule, const struct frame *f)
{
	return (rule->dirs & DIR_SRC && list_has(&rule->list[v6], f->src)) ||
	       (rule->dirs & DIR_DST && list_has(&rule->list[v6], f->dst));
}

/* Do the rules of one hook let the packet pass? */
static bool walk(const struct frame *f, size_t size, bool out)
{
	struct rule *rule;

	for (rule = rules; rule < rules + rule_count; rule++) {
		if (!rule_concerns(rule, out) || !rule_matches(rule, f))
			continue;
		rule->packets++;
		rule->bytes += size;
		if (rule->verdict != GO_ON)
			return rule->verdict == ACCEPT;
	}
	return true;
}

static bool expected(const struct frame *f, size_t size)
{
	if (path[0] == 'f' && !walk(f, size, true))
		return false;
	return !strcmp(path, "fc") || walk(f, size, false);
}

/* Can a packet with this address pass the routing of the network? */
static bool routable(addr_t addr)
{
	if (v6)
		return addr >> 125 == 1 && addr >> 80 != OTHER6 >> 80;
	if (addr >> 24 == 0 || addr >> 24 == 127 || addr >> 29 == 7)
		return false;
	return addr >> 8 != 0x0a0001 && addr >> 8 != 0x0a0002 &&
	       addr >> 8 != OTHER4 >> 8;
}

/* Choosing packets */

static addr_t in_range(const struct range *r)
{
	addr_t span = r->last - r->first;

	switch (rng_below(4)) {
	case 0:
		return r->first;
	case 1:
		return r->last;
	}
	return span == addr_max(v6) ? rng_addr(v6) :
	       r->first + rng_addr(v6) % (span + 1);
}

static const struct range *any_range(void)
{
	const struct list *list = &rules[rng_below(rule_count)].list[v6];

	return list->count ? &list->entries[rng_below(list->count)] : NULL;
}

/* Draw an address. Without a list of non-members (-p), about a third each are in an entry, next
 * to an entry, and random. With it, half are of that list, and the others in an entry.
 */
static addr_t draw(void)
{
	const struct range *r = any_range();

	if (non_members[v6].count && rng_below(2))
		return in_range(&non_members[v6].entries[
				rng_below(non_members[v6].count)]);
	if (!r || (!non_members[v6].count && !rng_below(4)))
		return rng_addr(v6);
	if (non_members[v6].count)
		return in_range(r);
	switch (rng_below(6)) {
	case 0:
		return r->first - 1;
	case 1:
		return r->last + 1;
	case 2:
		return in_range(r) ^ (addr_t)1 << rng_below(addr_bits(v6));
	}
	return in_range(r);
}

static addr_t draw_subject(void)
{
	addr_t addr;

	for (;;) {
		addr = draw() & addr_max(v6);
		/* Few random addresses are in 2000::/3, as all public ones are. */
		if (v6 && !rng_below(4))
			addr = (addr & ~(addr_t)0 >> 3) | (addr_t)1 << 125;
		if (martians || routable(addr))
			return addr;
		skipped++;
	}
}

/* Draw the address that is not under test: one that is routed to the host at the other end, which
 * does not answer for it. If the firewall is at the other end, its address on the sender's link.
 */
static addr_t draw_other(void)
{
	bool own = path[0] == 'f' || path[1] == 'f';

	if (own && path[0] == 's')
		return v6 ? FIREWALL6_S : FIREWALL4_S;
	if (own)
		return v6 ? FIREWALL6 : FIREWALL4;
	return (v6 ? OTHER6 : OTHER4) | rng_below(256);
}

static struct frame draw_frame(const char *kinds)
{
	addr_t subject = draw_subject(), other = draw_other();
	bool in = !strcmp(path, "cs") || path[1] == 'f';
	struct frame f = {
		.v6 = v6, .run = run_id, .fill = rng_below(200),
		.src = in ? subject : other, .dst = in ? other : subject,
	};

	if (!strcmp(path, "ff")) {
		f.src = v6 ? 1 : 0x7f000000 | rng_below(1 << 24) | 1;
		f.dst = v6 ? 1 : 0x7f000000 | rng_below(1 << 24) | 1;
	}
	switch (kinds[rng_below(strlen(kinds))]) {
	case 't':
		f.kind = KIND_TCP;
		break;
	case 'u':
		f.kind = KIND_UDP;
		break;
	case 'i':
		f.kind = KIND_ICMP;
		break;
	case 'l':
		f.kind = KIND_LATER;
		break;
	default:
		f.kind = KIND_FIRST;
		break;
	}
	return f;
}

/* Receiving packets */

static void report_wrong(const struct fate *fate, const char *what)
{
	const struct frame *f = &fate->frame;

	if (wrong++ < REPORTED_MAX)
		printf("# wrong: packet %u, %s from %s to %s: %s\n", f->id,
		       kind_name[f->kind], addr_text(f->src, v6),
		       addr_text(f->dst, v6), what);
}

static void arrived(struct fate *fates, uint32_t count, uint32_t id)
{
	struct fate *fate = &fates[id % count];

	if (!fate->open || fate->frame.id != id) {
		printf("# wrong: packet %u arrived, but was not sent\n", id);
		wrong++;
	} else if (!fate->pass && !fate->either) {
		report_wrong(fate, "it passed, but should have been dropped");
	} else if (fate->seen) {
		report_wrong(fate, "it arrived twice");
	}
	fate->seen = true;
}

/* Receive all packets that have arrived. Returns how many of them are of this run. */
static unsigned int drain(struct fate *fates, uint32_t count)
{
	unsigned int i, n = 0;
	uint8_t data[4096];
	ssize_t size;
	uint32_t id;

	for (i = 0; i < receivers; i++) {
		while ((size = recv(receiver[i], data, sizeof(data), 0)) >= 0) {
			if (!frame_tag(data, size, run_id, &id))
				continue;
			arrived(fates, count, id);
			n++;
		}
	}
	return n;
}

/* Receive packets until at most UNDERWAY are missing. If more were underway, the kernel's queues
 * would overflow and drop some.
 */
static long drain_some(struct fate *fates, uint32_t count, long due)
{
	int waited = 0;

	due -= drain(fates, count);
	while (due > UNDERWAY && waited < patience_ms) {
		usleep(1000);
		waited++;
		due -= drain(fates, count);
	}
	/* Do not wait again for lost packets; they are reported later. */
	return due > UNDERWAY ? 0 : due;
}

/* Receive packets until @due have arrived and no more arrive for GRACE_MS. */
static void drain_rest(struct fate *fates, uint32_t count, long due)
{
	int waited = 0, quiet = 0;
	unsigned int n;

	while (quiet < GRACE_MS || (due > 0 && waited < patience_ms)) {
		n = drain(fates, count);
		due -= n;
		quiet = n ? 0 : quiet + 10;
		waited += 10;
		usleep(10000);
	}
}

/* Commands */

/* Read the counters of all attachments, in order: the last two columns. Returns the number of
 * attachments.
 */
static unsigned int read_counters(unsigned long counted[RULES_MAX][2])
{
	unsigned int n = 0;
	char line[512], *bytes, *packets;
	FILE *file;

	enter('f');
	file = fopen("/proc/thread-self/net/ipcuckoo/attachments", "r");
	while (file && n < RULES_MAX && fgets(line, sizeof(line), file)) {
		bytes = strrchr(line, ' ');
		if (*line == '#' || !bytes)
			continue;
		*bytes++ = '\0';
		packets = strrchr(line, ' ');
		counted[n][0] = strtoul(packets, NULL, 10);
		counted[n++][1] = strtoul(bytes, NULL, 10);
	}
	if (file)
		fclose(file);
	return n;
}

static bool counted_as(const unsigned long after[2], const unsigned long before[2],
		       const struct rule *rule)
{
	return after[0] - before[0] == rule->packets && after[1] - before[1] == rule->bytes;
}

/* Read the counters of the attachments once they have counted all packets, including those that do
 * not arrive: on a busy machine the last packets may still be underway. After patience_ms, returns
 * whatever they have counted.
 */
static unsigned int read_last_counters(unsigned long before[RULES_MAX][2],
				       unsigned long after[RULES_MAX][2])
{
	unsigned int i, n;
	int waited;

	for (waited = 0; ; waited += 10) {
		n = read_counters(after);
		for (i = 0; i < n && i < rule_count; i++)
			if (!counted_as(after[i], before[i], &rules[i]))
				break;
		if (i == n || i == rule_count || waited >= patience_ms)
			return n;
		usleep(10000);
	}
}

/* Check that each attachment has counted the same as its rule. */
static void check_counters(unsigned long before[RULES_MAX][2])
{
	unsigned long after[RULES_MAX][2];
	unsigned int i, n = read_last_counters(before, after);

	if (n != rule_count) {
		printf("# wrong: %u attachments, %u rules\n", n, rule_count);
		wrong++;
		return;
	}
	for (i = 0; i < n; i++) {
		if (counted_as(after[i], before[i], &rules[i]))
			continue;
		after[i][0] -= before[i][0];
		after[i][1] -= before[i][1];
		printf("# wrong: attachment %u in order: expected %lu packets, %lu bytes, counted %lu, %lu\n",
		       i + 1, rules[i].packets, rules[i].bytes, after[i][0], after[i][1]);
		wrong++;
	}
}

/* Draw one packet, or the two fragments of a datagram, in random order. */
static unsigned int draw_group(const char *kinds, struct fate *fates, uint32_t id)
{
	unsigned int later;

	fates[0].frame = draw_frame(kinds);
	/* Not 0: the kernel would assign another number to such a datagram. */
	fates[0].frame.id = id;
	fates[0].frame.datagram = id + 1;
	if (fates[0].frame.kind != KIND_FIRST)
		return 1;
	fates[1].frame = fates[0].frame;
	fates[1].frame.id++;
	later = rng_below(2);
	fates[later].frame.kind = KIND_LATER;
	return 2;
}

/* Must the packet arrive? The firewall reassembles datagrams to itself, and such a datagram ends in
 * the tag of its later fragment, so the first fragment does not arrive.
 */
static bool due(const struct fate *fate, bool pass)
{
	return pass && !(path[1] == 'f' && fate->frame.kind == KIND_FIRST);
}

static int check(const char *kinds, uint32_t count)
{
	unsigned long by_kind[KINDS] = {}, before[RULES_MAX][2], passes;
	uint32_t sent = 0, group, i;
	uint8_t data[FRAME_SIZE];
	struct fate *fates;
	long on_way = 0;
	size_t size;
	bool pass;

	fates = calloc(count + 2, sizeof(*fates));
	if (!fates)
		err(2, "calloc");
	read_counters(before);
	while (sent < count) {
		group = draw_group(kinds, &fates[sent], sent);
		for (i = sent; i < sent + group; i++) {
			fates[i].open = true;
			size = frame_put(&fates[i].frame, data);
			pass = expected(&fates[i].frame, size);
			fates[i].either = martians && pass &&
					  !routable(fates[i].frame.src);
			fates[i].pass = due(&fates[i], pass) && !fates[i].either;
			on_way += fates[i].pass;
			by_kind[fates[i].frame.kind]++;
			transmit(&fates[i].frame);
		}
		sent += group;
		if (sent % BURST < group)
			on_way = drain_some(fates, count + 2, on_way);
	}
	drain_rest(fates, count + 2, on_way);
	for (i = 0, passes = 0; i < sent; i++) {
		passes += fates[i].pass;
		if (fates[i].pass && !fates[i].seen)
			report_wrong(&fates[i], "it was dropped, but should have passed");
	}
	check_counters(before);
	printf("# %s IPv%d: %u packets:", path, v6 ? 6 : 4, sent);
	for (i = 0; i < KINDS; i++)
		printf(" %lu %s,", by_kind[i], kind_name[i]);
	printf(" %lu to arrive, %lu wrong\n", passes, wrong);
	return wrong ? 1 : 0;
}

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

/* Send packets whose verdict never changes, over and over again. A packet must arrive before
 * WINDOW more packets are sent, because its element of the array is used again then.
 */
static int flow(const char *kinds, unsigned int seconds)
{
	unsigned long sent = 0, passed = 0, dropped = 0;
	time_t end = time(NULL) + seconds;
	struct fate *fates, *fate;
	struct fate pool[2];
	struct frame *frames;
	bool *pass;
	long due = 0;
	uint32_t i;

	fates = calloc(WINDOW, sizeof(*fates));
	frames = calloc(POOL, sizeof(*frames));
	pass = calloc(POOL, sizeof(*pass));
	if (!fates || !frames || !pass)
		err(2, "calloc");
	for (i = 0; i < POOL; i++) {
		draw_group(kinds, pool, i);
		frames[i] = pool[0].frame;
		pass[i] = expected(&frames[i], 0);
	}
	printf("flowing\n");
	fflush(stdout);
	while (!stop && time(NULL) < end) {
		for (i = 0; i < BURST; i++, sent++) {
			fate = &fates[sent % WINDOW];
			if (fate->open && fate->pass && !fate->seen)
				report_wrong(fate, "it was dropped, but should have passed");
			*fate = (struct fate){
				.frame = frames[sent % POOL], .open = true,
				.pass = pass[sent % POOL],
			};
			fate->frame.id = sent;
			fate->frame.datagram = sent + 1;
			if (fate->pass)
				passed++;
			else
				dropped++;
			due += fate->pass;
			transmit(&fate->frame);
		}
		due = drain_some(fates, WINDOW, due);
	}
	drain_rest(fates, WINDOW, due);
	for (i = 0; i < WINDOW; i++)
		if (fates[i].open && fates[i].pass && !fates[i].seen)
			report_wrong(&fates[i], "it was dropped, but should have passed");
	printf("# %s IPv%d: %lu packets, %lu of non-members to pass, %lu of members to drop, %lu wrong\n",
	       path, v6 ? 6 : 4, sent, passed, dropped, wrong);
	return wrong || !passed || !dropped ? 1 : 0;
}

/* Maps each number to a different number, so that no address is generated twice. */
static uint32_t scramble(uint32_t x)
{
	x = (x ^ x >> 16) * 0x85ebca6b;
	x = (x ^ x >> 13) * 0xc2b2ae35;
	return x ^ x >> 16;
}

static int generate(const char *what, uint32_t count)
{
	uint32_t key = rng(), i, x;
	unsigned int len;
	addr_t addr;

	for (i = 0; i < count; i++) {
		x = scramble(i ^ key);
		addr = x;
		if (v6)
			addr = (addr_t)1 << 125 | (addr_t)x << 64 |
			       (addr_t)(rng() >> 4) << 48 | x;
		if (!strcmp(what, "hosts")) {
			puts(addr_text(addr, v6));
			continue;
		}
		len = v6 ? 16 + rng_below(113) : 8 + rng_below(25);
		addr &= ~host_mask(v6, len);
		printf("%s/%u\n", addr_text(addr, v6), len);
	}
	return fflush(stdout) ? 2 : 0;
}

/* Sort a list and remove repetitions, which public lists have. */
static void make_set(struct list *list)
{
	size_t i, kept = 0;

	qsort(list->entries, list->count, sizeof(struct range), range_order);
	for (i = 0; i < list->count; i++)
		if (!kept || range_order(&list->entries[kept - 1], &list->entries[i]))
			list->entries[kept++] = list->entries[i];
	list->count = kept;
}

static int same(const char *a, const char *b)
{
	struct list x[2] = {}, y[2] = {};
	size_t i;

	list_read(x, a);
	list_read(y, b);
	for (i = 0; i < 2; i++) {
		make_set(&x[i]);
		make_set(&y[i]);
		if (x[i].count != y[i].count)
			errx(1, "%zu entries of IPv%c in one list, %zu in the other",
			     x[i].count, "46"[i], y[i].count);
		if (x[i].count && memcmp(x[i].entries, y[i].entries,
					 x[i].count * sizeof(struct range)))
			errx(1, "same number of IPv%c entries, but different ones", "46"[i]);
	}
	printf("%zu\n", x[0].count + x[1].count);
	return 0;
}

/* Attach the set of this rule, as the only attachment. */
static void attach_rule(const struct rule *rule)
{
	static const uint8_t verdicts[] = {
		[DROP] = IPCUCKOO_VERDICT_DROP,
		[ACCEPT] = IPCUCKOO_VERDICT_ACCEPT,
		[GO_ON] = IPCUCKOO_VERDICT_COUNT,
	};
	struct nlmsghdr *nlh;
	struct answer answer;
	struct client *c;

	enter('f');
	c = client_open_or_die();
	everything(c, IPCUCKOO_CMD_DETACH);
	nlh = client_begin(c, IPCUCKOO_CMD_ATTACH);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, rule->set);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, rule->dirs);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, verdicts[rule->verdict]);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS,
			 rule->loopback ? IPCUCKOO_F_LOOPBACK : 0);
	if (client_ask(c, &answer))
		errx(2, "%s cannot be attached: %s", rule->set, answer.message);
	client_close(c);
}

/* DIRECTION,VERDICT,FILE[+FILE...][,dev=NAME][,loopback][,set=NAME] */
static void add_rule(char *text)
{
	struct rule *rule = &rules[rule_count++];
	char *dir = strsep(&text, ","), *verdict = strsep(&text, ",");
	char *files = strsep(&text, ","), *word;

	if (!files || rule_count == RULES_MAX)
		errx(2, "bad rule");
	rule->dirs = !strcmp(dir, "src") ? DIR_SRC : !strcmp(dir, "dst") ?
		     DIR_DST : DIR_SRC | DIR_DST;
	rule->verdict = !strcmp(verdict, "drop") ? DROP :
			!strcmp(verdict, "accept") ? ACCEPT : GO_ON;
	while ((word = strsep(&files, "+")))
		list_read(rule->list, word);
	while ((word = strsep(&text, ","))) {
		if (!strncmp(word, "dev=", 4))
			snprintf(rule->dev, sizeof(rule->dev), "%s", word + 4);
		else if (!strncmp(word, "set=", 4))
			snprintf(rule->set, sizeof(rule->set), "%s", word + 4);
		else
			rule->loopback = !strcmp(word, "loopback");
	}
	list_seal(&rule->list[0]);
	list_seal(&rule->list[1]);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "sched_setaffinity");
}

static void usage(void)
{
	fputs("usage: packets [-6] [-s SEED] generate hosts|nets COUNT\n"
	      "       packets same FILE FILE\n"
	      "       packets [-6] [-m] [-s SEED] [-n COUNT] [-k KINDS] [-r RULE]... [-w SECONDS]\n"
	      "               check PATH\n"
	      "       packets [-6] [-s SEED] [-c CPU] [-t SECONDS] [-k KINDS] [-r RULE]... [-p FILE] flow PATH\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	uint32_t count = 1000, seconds = 60;
	const char *kinds = "tuif";
	uint64_t seed = 1;
	int c;

	while ((c = getopt(argc, argv, "6ms:n:k:r:p:c:t:w:")) != -1) {
		switch (c) {
		case '6': v6 = true; break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'n': count = strtoul(optarg, NULL, 0); break;
		case 'k': kinds = optarg; break;
		case 'r': add_rule(optarg); break;
		case 'p': list_read(non_members, optarg); break;
		case 'm': martians = true; break;
		case 'c': pin(atoi(optarg)); break;
		case 't': seconds = atoi(optarg); break;
		case 'w': patience_ms = 1000 * atoi(optarg); break;
		default: usage();
		}
	}
	rng_seed(seed);
	if (optind + 3 == argc && !strcmp(argv[optind], "generate"))
		return generate(argv[optind + 1],
				strtoul(argv[optind + 2], NULL, 0));
	if (optind + 3 == argc && !strcmp(argv[optind], "same"))
		return same(argv[optind + 1], argv[optind + 2]);
	if (optind + 2 != argc)
		usage();
	path = argv[optind + 1];
	run_id = rng();
	signal(SIGTERM, on_signal);
	open_sockets();
	if (*rules[0].set)
		attach_rule(&rules[0]);
	if (!strcmp(argv[optind], "check"))
		return check(kinds, count);
	if (!strcmp(argv[optind], "flow"))
		return flow(kinds, seconds);
	usage();
}
