// SPDX-License-Identifier: GPL-2.0
/*
 * Sends packets of both families from the client to the server of lib.sh, until SIGTERM, while
 * other programs change sets. Packets from addresses in MEMBERS must never pass, packets from
 * addresses in NON-MEMBERS must never be dropped.
 *
 *   churn-flow [-c CPU] [-s SEED] [-p MICROSECONDS] MEMBERS[+FILE...] NON-MEMBERS[+FILE...]
 *
 * A batch of packets ends in a fence: a packet of each family that always passes. Packets keep
 * their order, so once the fence has arrived, all packets of the batch that pass have arrived. The next
 * batch begins MICROSECONDS later, 500 by default.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"
#include "lists.h"

#define BATCH		128
#define PATIENCE_MS	60000	/* how long to wait for a fence: the machine may be slow */
#define REPORTED_MAX	10

/* Addresses of lib.sh: networks that are routed to the server, which does not answer for them; and
 * the fences, in the client's own network.
 */
#define OTHER4		((addr_t)0xcb007100)
#define OTHER6		((addr_t)0x20010db80005 << 80)
#define FENCE4		((addr_t)0x0a000163)
#define FENCE6		((addr_t)0xfd000001 << 96 | 0x63)

/**
 * struct fate - what happens to a packet
 * @frame:	the packet
 * @pass:	the packet must arrive; otherwise it must not
 * @seen:	the packet has arrived
 */
struct fate {
	struct frame frame;
	bool pass;
	bool seen;
};

static struct list members[2], non_members[2];
static struct fate batch[BATCH + 2];
static uint32_t first;		/* number of the first packet of the batch */
static uint32_t run_id;
static unsigned long wrong, passed, dropped;
static int sender, receiver[2];
static int ifindex;
static volatile sig_atomic_t stop;

static void report_wrong(const struct frame *f, const char *what)
{
	if (wrong++ < REPORTED_MAX)
		printf("wrong: packet %u, %s from %s: %s\n", f->id,
		       kind_name[f->kind], addr_text(f->src, f->v6), what);
}

/* Sockets */

static void enter(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(2, "%s", path);
	close(fd);
}

static int packet_socket(int protocol)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET, .sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex("eth0"),
	};
	int size = 16 << 20;

	if (fd < 0 || !addr.sll_ifindex ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    (protocol && bind(fd, (struct sockaddr *)&addr, sizeof(addr))))
		err(2, "socket");
	return fd;
}

static void open_sockets(void)
{
	enter("/run/netns/s");
	receiver[0] = packet_socket(ETH_P_IP);
	receiver[1] = packet_socket(ETH_P_IPV6);
	enter("/run/netns/c");
	sender = packet_socket(0);
	ifindex = if_nametoindex("eth0");
}

static void transmit(const struct frame *f)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_halen = 6,
		.sll_addr = { 2, 0, 0, 0, 0, 0x11 }, .sll_ifindex = ifindex,
		.sll_protocol = htons(f->v6 ? ETH_P_IPV6 : ETH_P_IP),
	};
	uint8_t data[FRAME_SIZE];
	size_t size = frame_put(f, data);

	while (sendto(sender, data, size, 0, (struct sockaddr *)&to,
		      sizeof(to)) < 0) {
		if (errno != EAGAIN && errno != ENOBUFS)
			err(2, "send");
		usleep(1000);
	}
}

/* Choosing packets */

static addr_t draw(struct list lists[2], bool v6)
{
	const struct list *list = &lists[v6];
	const struct range *r = &list->entries[rng_below(list->count)];
	addr_t span = r->last - r->first;

	switch (rng_below(4)) {
	case 0:
		return r->first;
	case 1:
		return r->last;
	}
	return r->first + (span ? rng_addr(v6) % (span + 1) : 0);
}

static struct fate draw_fate(uint32_t id)
{
	bool v6 = rng_below(2), pass = rng_below(2);

	return (struct fate){
		.frame = {
			.v6 = v6, .kind = rng_below(KINDS), .run = run_id,
			.id = id, .datagram = id, .fill = rng_below(64),
			.src = draw(pass ? non_members : members, v6),
			.dst = (v6 ? OTHER6 : OTHER4) | rng_below(256),
		},
		.pass = pass,
	};
}

static struct fate fence(bool v6, uint32_t id)
{
	return (struct fate){
		.frame = {
			.v6 = v6, .kind = KIND_UDP, .run = run_id, .id = id,
			.src = v6 ? FENCE6 : FENCE4, .dst = v6 ? OTHER6 : OTHER4,
		},
		.pass = true,
	};
}

/* Receiving packets */

static void arrived(uint32_t id)
{
	struct fate *fate = &batch[id - first];

	if (id - first >= BATCH + 2) {
		printf("wrong: packet %u arrived, long after it was sent\n", id);
		wrong++;
		return;
	}
	if (!fate->pass)
		report_wrong(&fate->frame, "it passed, but should have been dropped");
	else if (fate->seen)
		report_wrong(&fate->frame, "it arrived twice");
	fate->seen = true;
}

static void drain(void)
{
	uint8_t data[4096];
	ssize_t size;
	uint32_t id;
	int v6;

	for (v6 = 0; v6 < 2; v6++)
		while ((size = recv(receiver[v6], data, sizeof(data), 0)) >= 0)
			if (frame_tag(data, size, run_id, &id))
				arrived(id);
}

static void await_fence(void)
{
	struct pollfd fds[2] = {
		{ .fd = receiver[0], .events = POLLIN },
		{ .fd = receiver[1], .events = POLLIN },
	};
	int waited;

	for (waited = 0; waited < PATIENCE_MS; waited += 100) {
		drain();
		if (batch[BATCH].seen && batch[BATCH + 1].seen)
			return;
		poll(fds, 2, 100);
	}
	errx(1, "wrong: a fence never arrived");
}

static void run_batch(void)
{
	struct fate *fate;
	uint32_t i;

	for (i = 0; i < BATCH; i++)
		batch[i] = draw_fate(first + i);
	batch[BATCH] = fence(false, first + BATCH);
	batch[BATCH + 1] = fence(true, first + BATCH + 1);
	for (i = 0; i < BATCH + 2; i++)
		transmit(&batch[i].frame);
	await_fence();
	for (fate = batch; fate < batch + BATCH; fate++) {
		if (fate->pass && !fate->seen)
			report_wrong(&fate->frame, "it was dropped, but should have passed");
		passed += fate->pass;
		dropped += !fate->pass;
	}
	first += BATCH + 2;
}

static void read_files(struct list lists[2], char *files, const char *what)
{
	char *file;

	while ((file = strsep(&files, "+")))
		list_read(lists, file);
	if (!lists[0].count || !lists[1].count)
		errx(2, "there are no %s of each family", what);
	list_seal(&lists[0]);
	list_seal(&lists[1]);
}

/* Check that no non-member is a member: that would look like a bug of the kernel. */
static void check_lists(void)
{
	size_t i;
	int v6;

	for (v6 = 0; v6 < 2; v6++)
		for (i = 0; i < non_members[v6].count; i++)
			if (list_has(&members[v6], non_members[v6].entries[i].first))
				errx(2, "%s is both a member and a non-member",
				     addr_text(non_members[v6].entries[i].first, v6));
}

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "sched_setaffinity");
}

int main(int argc, char **argv)
{
	unsigned int pause = 500;
	uint64_t seed = 1;
	int c;

	while ((c = getopt(argc, argv, "c:p:s:")) != -1) {
		switch (c) {
		case 'c': pin(atoi(optarg)); break;
		case 'p': pause = atoi(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	if (argc - optind != 2)
		errx(2, "usage: churn-flow [-c CPU] [-s SEED] [-p MICROSECONDS] MEMBERS NON-MEMBERS");
	rng_seed(seed);
	run_id = rng();
	read_files(members, argv[optind], "members");
	read_files(non_members, argv[optind + 1], "non-members");
	check_lists();
	signal(SIGTERM, on_signal);
	open_sockets();
	printf("flowing\n");
	fflush(stdout);
	while (!stop) {
		run_batch();
		/* Let other processes run on this processor. */
		usleep(pause);
	}
	printf("%lu packets: %lu of non-members to pass, %lu of members to drop, %lu wrong\n",
	       passed + dropped, passed, dropped, wrong);
	return wrong || !passed || !dropped ? 1 : 0;
}
