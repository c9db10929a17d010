// SPDX-License-Identifier: GPL-2.0
/*
 * Packets while commits run: of members of a set that drops none ever passes, of strangers none
 * is ever dropped, while commits replace the set by a new one, flush it and fill it again, or
 * rename it. Others ask for the set by its name, over netlink and in procfs: they always find
 * it, with all members.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "hostile.h"
#include "ktap.h"
#include "listen.h"
#include "traffic.h"
#include "workers.h"

#define FILE_OF_SET	"/proc/net/ipcuckoo/set/live"

/* Members are MEMBER and those behind it; what is added now and then is EXTRA and those behind
 * it. Strangers are STRANGER and those behind it.
 */
#define MEMBER		0x7f010000
#define EXTRA		0x7f020000
#define STRANGER	0x7f030000

enum { MEMBERS = 100, BURST = 32, BYSTANDERS = 12 };

static uint64_t seed;

static uint32_t draw(struct worker *worker, uint32_t below)
{
	worker->random = worker->random * 1664525 + 1013904223;
	return (worker->random >> 8) % below;
}

/* Packets */

/* Called for each packet that arrives. */
static void take(void *data, const struct mark *mark)
{
	if (mark->from < STRANGER)
		worker_report(data, "packet %u of a member, %#x, passed", mark->number, mark->from);
}

static int attach_live(struct client *c)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_ATTACH);
	struct answer answer;

	put_rule(nlh, "live", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_DROP);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_LOOPBACK);
	return client_ask(c, &answer);
}

/* When the last packet of a burst, which passes, has arrived, it is known what became of the
 * others.
 */
static void send_packets(struct worker *worker)
{
	static struct traffic traffic;
	bool stranger[BURST + 1];
	struct traffic *t = &traffic;
	uint32_t first;
	int i;

	pin();
	open_traffic(t);
	for (; !workers_stop; worker->done += BURST) {
		first = t->number;
		for (i = 0; i <= BURST; i++) {
			stranger[i] = i == BURST || draw(worker, 2);
			t->arrived[(first + i) % MARKS] = false;
			send_from(t, stranger[i] ? STRANGER + draw(worker, 250) :
						   MEMBER + draw(worker, MEMBERS));
		}
		if (!await(t, first + BURST, take, worker)) {
			worker_report(worker, "the last packet of a burst was dropped");
			break;
		}
		for (i = 0; i < BURST; i++)
			if (stranger[i] && !t->arrived[(first + i) % MARKS])
				worker_report(worker, "packet %u of a stranger was dropped",
					      first + i);
	}
	close_traffic(t);
}

/* The set is attached while its contents are about to be replaced: from then on it drops. */
static void attach_and_send(struct worker *worker)
{
	static struct traffic traffic;
	struct client *c = client_open_or_die();
	struct traffic *t = &traffic;
	int error, i;

	pin();
	open_traffic(t);
	for (; !workers_stop; worker->done++) {
		error = attach_live(c);
		for (i = 0; i < BURST; i++)
			send_from(t, MEMBER + draw(worker, MEMBERS));
		send_from(t, STRANGER);
		if (!await(t, t->number - 1, take, worker)) {
			worker_report(worker, "a packet of a stranger was dropped");
			break;
		}
		error = error ?: everything(c, IPCUCKOO_CMD_DETACH);
		if (error)
			worker_report(worker, "error %d", error);
	}
	close_traffic(t);
	client_close(c);
}

/* Commits */

static void put_bystanders(struct nlmsghdr *nlh)
{
	char name[16];
	int i;

	for (i = 0; i < BYSTANDERS; i++) {
		snprintf(name, sizeof(name), "other%d", i);
		put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, name, NULL, 0);
	}
}

/* A new set takes the place of the old one, which ends in the same commit. */
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
	put_bystanders(nlh);
	return commit_ask(c, &answer);
}

/* No packet sees it empty, for of two changes of contents only the last is made. */
static int flush_and_fill(struct client *c)
{
	uint32_t shadow = shadow_new(c, "live", 0);
	struct answer answer;
	struct nlmsghdr *nlh;

	if (shadow_hosts(c, shadow, MEMBER, MEMBERS))
		return -1;
	nlh = commit_begin(c);
	put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, "live", NULL, 0);
	put_bystanders(nlh);
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

/* Back and forth: in two commits, or in one, of which nobody sees the middle. */
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

/* Those who ask for it */

static void count_hosts(const struct answer *answer, void *data)
{
	const struct nlattr *hosts = answer->attr[IPCUCKOO_A_HOSTS4];

	*(unsigned int *)data += hosts ? mnl_attr_get_payload_len(hosts) / 4 : 0;
}

/* The first message of a dump has all members. It fails if the set is replaced later. */
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

/* Returns the number of entries of the set, if it still has the name when it is read. */
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

/* It lists the set, and never what it is called within a commit. */
static void read_list(struct worker *worker)
{
	int fd = open("/proc/net/ipcuckoo/sets", O_RDONLY | O_CLOEXEC);
	char text[4000] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		worker_report(worker, "sets: error %d", errno);
	if (!strstr(text, "\nlive "))
		worker_report(worker, "the list lacks a set");
	if (strstr(text, "\nnext "))
		worker_report(worker, "the list has a set that nobody may see");
	close(fd);
}

static void use_files(struct worker *worker)
{
	int entries;

	if (access("/proc/net/ipcuckoo", F_OK)) {
		worker->done = 1;
		return;
	}
	while (!workers_stop) {
		entries = read_file(worker);
		if (entries >= 0 && entries < MEMBERS)
			worker_report(worker, "%d entries", entries);
		worker->done += entries >= 0;
		read_list(worker);
	}
}

/* Cases */

/* Run the workers with random numbers that $SEED repeats. */
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
	ktap_case("contents are replaced: nobody sees a set without its members");
}

static void test_names(double seconds)
{
	struct worker workers[] = {
		{ .name = "packets", .run = send_packets },
		{ .name = "commits", .run = change_names },
	};

	run(workers, 2, seconds);
	ktap_case("the set is renamed: no packet sees it");
}

static void test_attach(struct client *c, double seconds)
{
	struct worker workers[] = {
		{ .name = "attached", .run = attach_and_send },
		{ .name = "commits", .run = change_contents },
	};

	everything(c, IPCUCKOO_CMD_DETACH);
	run(workers, 2, seconds);
	ktap_case("the set is attached between commits: from then on it drops");
}

static void make_sets(struct client *c)
{
	char name[16];
	int i;

	for (i = 0; i < BYSTANDERS; i++) {
		snprintf(name, sizeof(name), "other%d", i);
		expect_equal(set_new(c, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0,
			     "%s", name);
	}
	expect_equal(set_new(c, "live", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "live");
	expect_equal(hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "live", MEMBER, MEMBERS), 0,
		     "its members");
	expect_equal(attach_live(c), 0, "it is attached");
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
	expect_equal(figure(c, NULL, IPCUCKOO_A_SETS), BYSTANDERS + 1, "sets that are left");
	everything(c, IPCUCKOO_CMD_DETACH);
	everything(c, IPCUCKOO_CMD_SET_DEL);
	expect(wait_until(figure(c, NULL, IPCUCKOO_A_MEMORY) == 0, 10), "memory that is left");
	client_close(c);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	ktap_case("everything is given back");
	return ktap_end();
}
