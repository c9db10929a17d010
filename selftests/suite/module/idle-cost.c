// SPDX-License-Identifier: GPL-2.0
/*
 * What the module costs those who do not use it.
 *
 * A network namespace in which it was never used must end without a wait of the module: the kernel
 * ends namespaces one after another, so each wait would delay all of them. Where it was used, the
 * module waits only until its own memory is freed, and never for the whole machine. Kprobes count
 * the waits, and show when the module's functions for the end of a namespace begin and return.
 *
 * A socket that listens for events in one namespace must not make requests in others slow. The
 * module learns that nobody listens in a namespace when it sends a message there, so a request
 * makes one message at most. A kprobe counts the messages that are made.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>

#include "fixture.h"
#include "listen.h"
#include "netns.h"
#include "probe.h"

enum {
	NAMESPACES = 20,
	/* How often the module may wait while a namespace ends in which it was used. */
	WAITS = 5,
	HOSTS4 = 12000,
	HOSTS6 = 4000,
	SMALL = 10,
};

/* Functions that wait: the first ones for all processors, the others in general. */
static struct {
	const char *name;
	bool machine;
	bool probed;
	unsigned int all;	/* calls in the trace */
	unsigned int ours;	/* those that the module has made */
} waits[] = {
	{ "rcu_barrier", true },
	{ "synchronize_rcu", true },
	{ "synchronize_rcu_expedited", true },
	{ "prepare_to_wait_event" },
	{ "wait_for_completion" },
	{ "schedule_timeout" },
};

#define FUNCTIONS	(sizeof(waits) / sizeof(waits[0]))

static bool probe_waits(void)
{
	unsigned int i;

	for (i = 0; i < FUNCTIONS; i++) {
		waits[i].probed = probe_add("p", waits[i].name, waits[i].name,
					    "COMM != \"rcu_preempt\"");
		if (!waits[i].probed && waits[i].machine)
			return false;
	}
	return probe_write("options/stacktrace", 0, "1") &&
	       probe_write("options/sym-offset", 0, "1") &&
	       probe_add("p", "enter", "ipcuckoo:net_pre_end", NULL) &&
	       probe_add("r", "leave", "ipcuckoo:net_pre_end", NULL) &&
	       probe_add("p", "enter2", "ipcuckoo:net_end_batch", NULL) &&
	       probe_add("r", "leave2", "ipcuckoo:net_end_batch", NULL) &&
	       probe_add("p", "ended", "ipcuckoo_names_exit_net", NULL) &&
	       probe_add("r", "cleaned", "cleanup_net", NULL);
}

static void unprobe(void)
{
	probe_write("options/stacktrace", 0, "0");
	probe_write("options/sym-offset", 0, "0");
	probe_end();
}

/* The function of a line of the trace that begins an event, or FUNCTIONS. */
static unsigned int function_of(const char *line)
{
	char word[64];
	unsigned int i;

	for (i = 0; i < FUNCTIONS; i++) {
		snprintf(word, sizeof(word), " %s: (", waits[i].name);
		if (strstr(line, word))
			break;
	}
	return i;
}

/* The number of the process in such a line: COMMAND-PID [CPU] ... */
static int pid_of(const char *line)
{
	const char *end = strstr(line, " [");

	while (end && end > line && end[-1] != '-')
		end--;
	return end ? atoi(end) : 0;
}

/* Count the calls of each function since the last probe_clear(). The module has called it if the
 * stack has a function of the module, or if the kernel's worker is between "enter" and "leave":
 * a function that ends with the call is not in the stack. One worker ends all namespaces.
 */
static void count_waits(void)
{
	unsigned int i, current = FUNCTIONS, kept, written;
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];
	int worker = 0;

	if (!f)
		err(2, "the trace");
	for (i = 0; i < FUNCTIONS; i++)
		waits[i].all = waits[i].ours = 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# entries-in-buffer/entries-written: %u/%u", &kept,
			   &written) == 2)
			expect_equal(kept, written, "events in the trace");
		if (strstr(line, ": (")) {
			current = function_of(line);
			if (strstr(line, " enter"))
				worker = pid_of(line);
			else if (strstr(line, " leave"))
				worker = 0;
			if (current == FUNCTIONS)
				continue;
			waits[current].all++;
			if (worker && pid_of(line) == worker) {
				waits[current].ours++;
				current = FUNCTIONS;
			}
		} else if (!strncmp(line, " => ", 4) && strstr(line, "[ipcuckoo]")) {
			if (current < FUNCTIONS)
				waits[current].ours++;
			current = FUNCTIONS;
		}
	}
	fclose(f);
}

/* How often the module has waited. */
static unsigned int ours(bool machine)
{
	unsigned int i, n = 0;

	for (i = 0; i < FUNCTIONS; i++)
		if (waits[i].machine == machine)
			n += waits[i].ours;
	return n;
}

static void print_waits(const char *what, double seconds)
{
	unsigned int i;

	printf("# %s, %.2f s; calls, and those by the module:", what, seconds);
	for (i = 0; i < FUNCTIONS; i++)
		if (waits[i].probed)
			printf(" %s %u %u", waits[i].name, waits[i].all, waits[i].ours);
	printf("\n");
}

/* Namespaces */

/* Use the module in the current namespace: entries with values, an attachment, and a shadow. */
static void use(void)
{
	struct client *c = client_open_or_die();

	if (set_new_options(c, "used", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET,
			    IPCUCKOO_O_COUNTERS) ||
	    hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "used", 0x0a000000, 1000) ||
	    attach(c, "used", IPCUCKOO_DIR_BOTH, IPCUCKOO_VERDICT_COUNT) ||
	    hosts_request(c, IPCUCKOO_CMD_ENTRY_DEL, "used", 0x0a000000, 500) ||
	    !shadow_new(c, "used", 0))
		_exit(1);
	client_close(c);
}

static int make_namespaces(bool used)
{
	int i;

	for (i = 0; i < NAMESPACES; i++) {
		if (unshare(CLONE_NEWNET))
			return 2;
		if (used)
			use();
	}
	return 0;
}

static int make_unused(void)
{
	return make_namespaces(false);
}

static int make_used(void)
{
	return make_namespaces(true);
}

/* Is the trace complete: has the kernel freed all namespaces after the module left the last one? */
static bool all_ended(void)
{
	FILE *f = fopen(TRACING "trace", "re");
	unsigned int ended = 0;
	bool cleaned = false;
	char line[512];

	if (!f)
		err(2, "the trace");
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, " ended: (")) {
			ended++;
			cleaned = false;
		} else if (strstr(line, " cleaned: (")) {
			cleaned = true;
		}
	}
	fclose(f);
	return ended == NAMESPACES && cleaned;
}

/* Create namespaces, end them, and count the module's waits meanwhile. */
static void end_namespaces(const char *what, int (*make)(void))
{
	double begin = ktap_seconds();

	probe_clear();
	in_child(what, make);
	expect(wait_until(all_ended(), 20), "%s: %u have ended", what, NAMESPACES);
	count_waits();
	print_waits(what, ktap_seconds() - begin);
	expect_equal(ours(true), 0, "%s: waits for the machine", what);
}

static void test_namespaces(void)
{
	/* A swap of an attached set waits for a grace period: is that wait found? */
	make_sets();
	expect_equal(set_new(cl, "other", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "set");
	expect_equal(attach(cl, "hosts", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_COUNT), 0, "attached");
	probe_clear();
	expect_equal(two_names(cl, IPCUCKOO_CMD_SET_SWAP, "hosts", "other"), 0, "SET_SWAP");
	count_waits();
	print_waits("a swap", 0);
	expect(ours(true), "the wait of a swap is counted");
	ktap_case("waits of the module are found in the trace");

	end_namespaces("namespaces never used", make_unused);
	expect_equal(ours(false), 0, "other waits");
	ktap_case("the module does not wait at the end of a namespace where it was not used");

	end_namespaces("namespaces used", make_used);
	expect(ours(false) <= WAITS * NAMESPACES, "%u other waits", ours(false));
	ktap_case("at the end of others it waits a few times, and not for the machine");
}

/* Events */

static bool probe_messages(void)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "cmd == %d && common_pid == %d", IPCUCKOO_CMD_EVENT,
		 getpid());
	return probe_add("p", "message", "genlmsg_put cmd=$arg6:u8", filter);
}

/* ENTRY_ADD or ENTRY_DEL of so many entries that their events do not fit into two messages. */
static int big_request(uint8_t cmd)
{
	static uint8_t data[HOSTS6 * IPCUCKOO_HOST6_SIZE];
	struct nlmsghdr *nlh = client_begin(cl, cmd);
	struct answer answer;
	uint32_t i;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "big");
	put_hosts4(nlh, 0x0a000000, HOSTS4);
	for (i = 0; i < HOSTS6; i++) {
		put_be32(data + IPCUCKOO_HOST6_SIZE * i, 0x20010db8);
		put_be32(data + IPCUCKOO_HOST6_SIZE * i + 12, i);
	}
	mnl_attr_put(nlh, IPCUCKOO_A_HOSTS6, sizeof(data), data);
	return client_ask(cl, &answer);
}

struct messages {
	unsigned int add, del, small;
};

/* How many messages each of the big requests makes, and the small ones together. */
static struct messages count_messages(void)
{
	struct messages made;
	unsigned int i;

	probe_clear();
	expect_equal(big_request(IPCUCKOO_CMD_ENTRY_ADD), 0, "many entries added");
	made.add = probe_count("message");
	probe_clear();
	expect_equal(big_request(IPCUCKOO_CMD_ENTRY_DEL), 0, "many entries deleted");
	made.del = probe_count("message");
	probe_clear();
	for (i = 0; i < SMALL; i++)
		expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "big", i, 1), 0, "added");
	made.small = probe_count("message");
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_FLUSH, "big"), 0, "flushed");
	printf("# messages: %u to add, %u to delete, %u for %u small requests\n", made.add,
	       made.del, made.small, SMALL);
	return made;
}

static void open_listener(void *data)
{
	*(struct client **)data = listen_open();
}

static void test_events(void)
{
	struct client *listener;
	struct messages made;
	struct answer answer;

	expect_equal(set_new(cl, "big", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_ANY), 0, "set");
	made = count_messages();
	expect_equal(made.add + made.del + made.small, 0, "messages");
	ktap_case("while nobody listens, no message is made");

	listener = listen_open();
	made = count_messages();
	expect(made.add > 2 && made.del > 2 && made.small == SMALL, "all changes are reported");
	client_close(listener);
	ktap_case("with a listener, the messages of all changes are made");

	netns_run(open_listener, &listener);
	made = count_messages();
	expect(made.add <= 1 && made.del <= 1 && made.small <= SMALL, "more messages");
	expect_equal(listen_next(listener, &answer), 0, "the listener's messages");
	client_close(listener);
	ktap_case("with a listener in another namespace, a request makes one message at most");
}

int main(void)
{
	ktap_begin("idle-cost");
	if (!probe_begin())
		return ktap_skip_all("this kernel has no kprobe events");
	module_load("");
	cl = client_open_or_die();
	if (!probe_waits())
		err(2, "kprobes");
	test_namespaces();
	unprobe();
	if (!probe_messages())
		err(2, "a kprobe");
	test_events();
	probe_end();
	return fixture_end();
}
