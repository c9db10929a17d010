// SPDX-License-Identifier: GPL-2.0
/*
 * Sends packets while another thread commits changes of the set "live", which is attached with the
 * verdict drop. The commits replace it by a new set, flush and refill it, or rename it. Packets
 * from members must never pass, and packets from non-members must never be dropped. While commits
 * replace or refill the set, threads also look for it by its name, over netlink and in procfs: they
 * must always find it, with all its members.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "hostile.h"
#include "ktap.h"
#include "listen.h"
#include "traffic.h"
#include "workers.h"

#define FILE_OF_SET	"/proc/net/ipcuckoo/set/live"

/* The first addresses of three ranges: members, which send packets and are in the set all the time;
 * entries that a thread adds, which send none; and non-members, which send packets.
 */
#define MEMBER		0x7f010000
#define EXTRA		0x7f020000
#define NON_MEMBER	0x7f030000

/* Packets are sent in bursts. Commits that replace or refill the set also flush other sets, so that
 * they take longer.
 */
enum { MEMBERS = 100, BURST = 32, OTHER_SETS = 12 };

static uint64_t seed;

static uint32_t draw(struct worker *worker, uint32_t below)
{
	worker->random = worker->random * 1664525 + 1013904223;
	return (worker->random >> 8) % below;
}

/* Packets */

/* Called for each packet that arrives. */
static void check_source(void *data, const struct payload *payload)
{
	if (payload->from < NON_MEMBER)
		worker_report(data, "packet %u from a member, %#x, passed", payload->number,
			      payload->from);
}

static int attach_live(struct client *c)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_ATTACH);
	struct answer answer;

	put_rule(nlh, "live", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_DROP);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_LOOPBACK);
	return client_ask(c, &answer);
}

/* Packets arrive in the order in which they are sent, and the last one of each burst is from a
 * non-member. When it has arrived, all packets that have not were dropped.
 */
static void send_packets(struct worker *worker)
{
	static struct traffic traffic;
	bool non_member[BURST + 1];
	struct traffic *t = &traffic;
	uint32_t first;
	int i;

	traffic_pin();
	traffic_open(t);
	for (; !workers_stop; worker->done += BURST) {
		first = t->number;
		for (i = 0; i <= BURST; i++) {
			non_member[i] = i == BURST || draw(worker, 2);
			t->arrived[(first + i) % TRAFFIC_PACKETS] = false;
			traffic_send(t, non_member[i] ? NON_MEMBER + draw(worker, 250) :
							MEMBER + draw(worker, MEMBERS));
		}
		if (!traffic_receive(t, first + BURST, check_source, worker)) {
			worker_report(worker, "the last packet of a burst was dropped");
			break;
		}
		for (i = 0; i < BURST; i++)
			if (non_member[i] && !t->arrived[(first + i) % TRAFFIC_PACKETS])
				worker_report(worker, "packet %u from a non-member was dropped",
					      first + i);
	}
	traffic_close(t);
}

/* Attach the set while change_contents() replaces its contents. As soon as the kernel has answered,
 * the set must drop packets.
 */
static void attach_and_send(struct worker *worker)
{
	static struct traffic traffic;
	struct client *c = client_open_or_die();
	struct traffic *t = &traffic;
	int error, i;

	traffic_pin();
	traffic_open(t);
	for (; !workers_stop; worker->done++) {
		error = attach_live(c);
		for (i = 0; i < BURST; i++)
			traffic_send(t, MEMBER + draw(worker, MEMBERS));
		traffic_send(t, NON_MEMBER);
		if (!traffic_receive(t, t->number - 1, check_source, worker)) {
			worker_report(worker, "a packet from a non-member was dropped");
			break;
		}
		error = error ?: everything(c, IPCUCKOO_CMD_DETACH);
		if (error)
			worker_report(worker, "error %d", error);
	}
	traffic_close(t);
	client_close(c);
}

/* Commits */

static void put_flush_others(struct nlmsghdr *nlh)
{
	char name[16];
	int i;

	for (i = 0; i < OTHER_SETS; i++) {
		snprintf(name, sizeof(name), "other%d", i);
		put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, name, NULL, 0);
	}
}

/* In one commit, create a set with the same members, give it the name "live" by a swap, and destroy
 * the old set.
 */
static int swap_in(struct client *c)
{
	uint32_t shadow = shadow_create(c, IPCUCKOO_TYPE_HASH_IP);
	struct answer answer;
	struct nlmsghdr *nlh;

	if (shadow_hosts(c, shadow, MEMBER, MEMBERS))
		return -1;
	nlh = commit_begin(c);
	put_new_filled(nlh, "next", shadow);
	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "next", "live", 0);
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "next", NULL, 0);
	put_flush_others(nlh);
	return commit_ask(c, &answer);
}

/* Flush the set and replace its contents in one commit. No packet sees the set empty, because only
 * the last of several changes of a set's contents is made.
 */
static int flush_and_fill(struct client *c)
{
	uint32_t shadow = shadow_new(c, "live", 0);
	struct answer answer;
	struct nlmsghdr *nlh;

	if (shadow_hosts(c, shadow, MEMBER, MEMBERS))
		return -1;
	nlh = commit_begin(c);
	put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, "live", NULL, 0);
	put_flush_others(nlh);
	put_replace(nlh, shadow, IPCUCKOO_F_OVERRIDE);
	return commit_ask(c, &answer);
}

static void change_contents(struct worker *worker)
{
	struct client *c = client_open_or_die();
	int error;

	for (; !workers_stop; worker->done++) {
		error = draw(worker, 2) ? swap_in(c) : flush_and_fill(c);
		if (error)
			worker_report(worker, "error %d", error);
	}
	client_close(c);
}

/* Rename the set to "moved" and back, in two commits or in a single one. */
static void change_names(struct worker *worker)
{
	struct client *c = client_open_or_die();
	bool moved = false, both;
	struct answer answer;
	struct nlmsghdr *nlh;
	int error;

	for (; !workers_stop || moved; worker->done++) {
		both = !moved && draw(worker, 2);
		nlh = commit_begin(c);
		put_named(nlh, IPCUCKOO_CMD_SET_RENAME, moved ? "moved" : "live",
			  moved ? "live" : "moved", 0);
		if (both)
			put_named(nlh, IPCUCKOO_CMD_SET_RENAME, "moved", "live", 0);
		error = commit_ask(c, &answer);
		if (error)
			worker_report(worker, "error %d", error);
		moved ^= !both;
	}
	client_close(c);
}

/* Requests and files */

static void count_hosts(const struct answer *answer, void *data)
{
	const struct nlattr *hosts = answer->attr[IPCUCKOO_A_HOSTS4];

	*(unsigned int *)data += hosts ? mnl_attr_get_payload_len(hosts) / 4 : 0;
}

/* The first message of a dump has all members. After it, the dump may be interrupted or fail,
 * because commits replace the set.
 */
static void list_entries(struct worker *worker, struct client *c)
{
	unsigned int entries = 0;
	int error = dump_each(c, IPCUCKOO_CMD_ENTRY_GET, "live", count_hosts, &entries);

	if (entries < MEMBERS || (error && error != -EAGAIN && error != -ENOENT))
		worker_report(worker, "ENTRY_GET: %u entries, error %d", entries, error);
}

static void ask_for_set(struct worker *worker)
{
	struct client *c = client_open_or_die();
	struct answer answer;
	struct nlmsghdr *nlh;
	uint32_t shadow;

	for (; !workers_stop; worker->done++) {
		nlh = client_begin(c, IPCUCKOO_CMD_ENTRY_TEST);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "live");
		put_hosts4(nlh, MEMBER + draw(worker, MEMBERS), 1);
		if (client_ask(c, &answer))
			worker_report(worker, "ENTRY_TEST: error %d: %s", answer.error,
				      answer.message);
		else if (answer_number(&answer, IPCUCKOO_A_FOUND) != 1)
			worker_report(worker, "ENTRY_TEST: a member is not found");
		nlh = client_begin(c, IPCUCKOO_CMD_ENTRY_ADD);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "live");
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
		put_hosts4(nlh, EXTRA + draw(worker, 1000), 10);
		if (client_ask(c, &answer))
			worker_report(worker, "ENTRY_ADD: error %d: %s", answer.error,
				      answer.message);
		shadow = shadow_new(c, "live", IPCUCKOO_F_APPEND);
		if (!shadow)
			worker_report(worker, "SHADOW_NEW fails");
		shadow_request(c, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
		list_entries(worker, c);
	}
	client_close(c);
}

/* Returns the number of entries that the set's file shows, or -1 if the set was destroyed or has
 * another name by now.
 */
static int read_file(struct worker *worker)
{
	int fd = open(FILE_OF_SET, O_RDONLY | O_CLOEXEC);
	char text[400] = "", *entries;
	ssize_t size;

	if (fd < 0) {
		worker_report(worker, "open: error %d", errno);
		return -1;
	}
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0 && errno != ENOENT)
		worker_report(worker, "read: error %d", errno);
	close(fd);
	entries = strstr(text, "\nentries ");
	return size > 0 && entries && !strncmp(text, "name live\n", 10) ?
	       atoi(entries + 9) : -1;
}

/* The list must have the set, but never the name "next", which exists only within a commit. */
static void read_list(struct worker *worker)
{
	int fd = open("/proc/net/ipcuckoo/sets", O_RDONLY | O_CLOEXEC);
	char text[4000] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		worker_report(worker, "sets: error %d", errno);
	if (!strstr(text, "\nlive "))
		worker_report(worker, "live is not in the list");
	if (strstr(text, "\nnext "))
		worker_report(worker, "next, which exists only within a commit, is in the list");
	close(fd);
}

static void use_files(struct worker *worker)
{
	int entries;

	if (access("/proc/net/ipcuckoo", F_OK)) {
		worker->done = WORKERS_LEAST;
		return;
	}
	while (!workers_stop) {
		entries = read_file(worker);
		if (entries >= 0 && entries < MEMBERS)
			worker_report(worker, "the file shows %d entries", entries);
		worker->done += entries >= 0;
		read_list(worker);
	}
}

/* Cases */

/* Give each worker its own random numbers. $SEED repeats them. */
static void run(struct worker *workers, unsigned int count, double seconds)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		workers[i].random = seed += 7919;
	workers_run(workers, count, seconds);
}

static void test_contents(double seconds)
{
	struct worker workers[] = {
		{ .name = "packets", .run = send_packets },
		{ .name = "commits", .run = change_contents },
		{ .name = "requests", .run = ask_for_set },
		{ .name = "files read", .run = use_files },
	};

	run(workers, 4, seconds);
	ktap_case("packets, requests and files see all members while commits replace contents");
}

static void test_names(double seconds)
{
	struct worker workers[] = {
		{ .name = "packets", .run = send_packets },
		{ .name = "commits", .run = change_names },
	};

	run(workers, 2, seconds);
	ktap_case("a set drops the packets from its members only, while commits rename it");
}

static void test_attach(struct client *c, double seconds)
{
	struct worker workers[] = {
		{ .name = "attachments", .run = attach_and_send },
		{ .name = "commits", .run = change_contents },
	};

	everything(c, IPCUCKOO_CMD_DETACH);
	run(workers, 2, seconds);
	ktap_case("a set that is attached between commits drops packets from then on");
}

static void make_sets(struct client *c)
{
	char name[16];
	int i;

	for (i = 0; i < OTHER_SETS; i++) {
		snprintf(name, sizeof(name), "other%d", i);
		expect_equal(set_new(c, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0,
			     "%s", name);
	}
	expect_equal(set_new(c, "live", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "live");
	expect_equal(hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "live", MEMBER, MEMBERS), 0,
		     "members of live");
	expect_equal(attach_live(c), 0, "live is attached");
}

int main(void)
{
	double seconds = ktap_option("SECONDS", hostile_slow() ? 16 : 4);
	struct client *c;

	seed = ktap_begin("race-commits");
	hostile_loopback_up();
	module_load("");
	c = client_open_or_die();
	make_sets(c);
	test_contents(seconds / 2);
	test_names(seconds / 4);
	test_attach(c, seconds / 4);
	expect_equal(figure(c, NULL, IPCUCKOO_A_SETS), OTHER_SETS + 1, "sets at the end");
	hostile_end(c);
	return ktap_end();
}
