// SPDX-License-Identifier: GPL-2.0
/*
 * Sends a commit with changes of every kind again and again. The first time, its first allocation
 * fails, then its second, and so on. This also makes the registration of netfilter hooks fail,
 * because it allocates memory. Each time, the kernel must either make all changes, or refuse the
 * commit and change nothing. After a refused commit, all sets, contents and attachments must be the
 * same as before, no event must have been sent, no memory must be lost, and it must still be
 * possible to commit the shadows.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "device.h"
#include "faults.h"
#include "fixture.h"
#include "listen.h"

/* A commit needs fewer allocations than this. If it does not, the test ends all the same. */
enum { ALLOCATIONS = 2000 };

#define DEVICE	"fault0"

static struct client *listener;
static struct mnl_socket *rtnl;

/**
 * struct snapshot - all sets, their contents, and all attachments, as text
 * @size:	length of @text
 * @text:	a line for each set, each attachment, and the contents of each set
 * @numbers:	add ids and priorities of attachments, which differ from commit to commit
 * @sum:	checksum of the entries of a set
 * @names:	the sets whose entries can be listed: filters cannot
 * @count:	number of @names
 */
struct snapshot {
	size_t size;
	char text[16384];
	bool numbers;
	uint64_t sum;
	char names[32][IPCUCKOO_NAME_SIZE];
	unsigned int count;
};

__attribute__((format(printf, 2, 3)))
static void append(struct snapshot *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	s->size += vsnprintf(s->text + s->size, sizeof(s->text) - s->size, format, args);
	va_end(args);
	if (s->size >= sizeof(s->text))
		errx(2, "no room for a snapshot");
}

static void append_set(const struct answer *answer, void *data)
{
	static const uint8_t attrs[] = {
		IPCUCKOO_A_TYPE, IPCUCKOO_A_FAMILY, IPCUCKOO_A_MAXELEM, IPCUCKOO_A_ENTRIES,
		IPCUCKOO_A_GENERATION, IPCUCKOO_A_ATTACHMENTS, IPCUCKOO_A_BITS,
	};
	struct snapshot *s = data;
	unsigned int i;

	append(s, "set %s", answer_string(answer, IPCUCKOO_A_SET));
	for (i = 0; i < sizeof(attrs); i++)
		append(s, " %lld", (long long)answer_number(answer, attrs[i]));
	append(s, "\n");
	if (answer_number(answer, IPCUCKOO_A_TYPE) != IPCUCKOO_TYPE_FILTER_IP && s->count < 32)
		snprintf(s->names[s->count++], IPCUCKOO_NAME_SIZE, "%s",
			 answer_string(answer, IPCUCKOO_A_SET));
}

static void append_attachment(const struct answer *answer, void *data)
{
	static const uint8_t attrs[] = {
		IPCUCKOO_A_DIRECTION, IPCUCKOO_A_VERDICT, IPCUCKOO_A_PLACE, IPCUCKOO_A_ORDER,
		IPCUCKOO_A_LOG, IPCUCKOO_A_STATE, IPCUCKOO_A_ERRNO,
	};
	struct snapshot *s = data;
	unsigned int i;

	append(s, "attachment %s %s", answer_string(answer, IPCUCKOO_A_SET),
	       answer_string(answer, IPCUCKOO_A_DEV));
	for (i = 0; i < sizeof(attrs); i++)
		append(s, " %lld", (long long)answer_number(answer, attrs[i]));
	if (s->numbers)
		append(s, " number %lld priority %lld",
		       (long long)answer_number(answer, IPCUCKOO_A_ATTACHMENT),
		       (long long)answer_number(answer, IPCUCKOO_A_PRIORITY));
	append(s, "\n");
}

/* Add up all entries, because the kernel lists them in any order. */
static void sum_entries(const struct answer *answer, void *data)
{
	const struct nlattr *hosts = answer->attr[IPCUCKOO_A_HOSTS4];
	struct snapshot *s = data;
	const uint32_t *at;
	unsigned int i;

	if (!hosts)
		return;
	at = mnl_attr_get_payload(hosts);
	for (i = 0; i < mnl_attr_get_payload_len(hosts) / 4; i++)
		s->sum += at[i] * 0x9e3779b97f4a7c15 ^ at[i] << 7;
}

static void take_snapshot(struct snapshot *s, bool numbers)
{
	unsigned int i;

	*s = (struct snapshot){ .numbers = numbers };
	expect_equal(dump_each(cl, IPCUCKOO_CMD_SET_GET, NULL, append_set, s), 0, "sets");
	expect_equal(dump_each(cl, IPCUCKOO_CMD_ATTACH_GET, NULL, append_attachment, s), 0,
		     "attachments");
	for (i = 0; i < s->count; i++) {
		s->sum = 0;
		expect_equal(dump_each(cl, IPCUCKOO_CMD_ENTRY_GET, s->names[i], sum_entries, s),
			     0, "entries of %s", s->names[i]);
		append(s, "entries of %s: %llx\n", s->names[i], (unsigned long long)s->sum);
	}
}

static bool same(const struct snapshot *a, const struct snapshot *b)
{
	return a->size == b->size && !memcmp(a->text, b->text, a->size);
}

static void show(const char *what, const struct snapshot *s)
{
	const char *line = s->text, *end;

	printf("# %s:\n", what);
	for (; (end = strchr(line, '\n')); line = end + 1)
		printf("#   %.*s\n", (int)(end - line), line);
}

/* Read all events. Returns how many there were. ENOBUFS, for lost events, counts as one. */
static unsigned int drain(void)
{
	struct answer event;
	unsigned int count = 0;

	while (listen_next(listener, &event))
		count++;
	return count;
}

/* A commit with changes of every kind */

static uint32_t new_shadow, live_shadow;

static void new_set(const char *name, uint32_t hosts)
{
	expect_equal(set_new(cl, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "%s",
		     name);
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, name, 0x0a000000, hosts), 0,
		     "%u hosts in %s", hosts, name);
}

/* Create the sets, attachments and shadows that put_all() names. */
static void make_objects(void)
{
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, new_shadow, 0);
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, live_shadow, 0);
	new_set("live", 100);
	new_set("old", 50);
	new_set("flushed", 60);
	new_set("filled", 70);
	new_set("moved", 80);
	expect_equal(attach(cl, "live", IPCUCKOO_DIR_BOTH, IPCUCKOO_VERDICT_DROP), 0, "attach");
	expect_equal(attach(cl, "moved", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_DROP), 0, "attach");
	new_shadow = shadow_create(cl, IPCUCKOO_TYPE_HASH_IP);
	expect_equal(shadow_hosts(cl, new_shadow, 0x0b000000, 3000), 0, "a new set's shadow");
	live_shadow = shadow_new(cl, "filled", 0);
	expect_equal(shadow_hosts(cl, live_shadow, 0x0c000000, 2000), 0, "a shadow of filled");
	drain();
}

static struct nlattr *begin_attach(struct nlmsghdr *nlh, const char *name)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_ATTACH);

	put_rule(nlh, name, IPCUCKOO_DIR_BOTH, IPCUCKOO_VERDICT_COUNT);
	return nest;
}

static void put_attach_at(struct nlmsghdr *nlh, const char *name, int32_t priority)
{
	struct nlattr *nest = begin_attach(nlh, name);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY, priority);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_LOG, IPCUCKOO_LOG_KERNEL);
	mnl_attr_nest_end(nlh, nest);
}

static void put_attach_ingress(struct nlmsghdr *nlh, const char *name, int32_t priority)
{
	struct nlattr *nest = begin_attach(nlh, name);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY, priority);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, IPCUCKOO_PLACE_INGRESS);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, DEVICE);
	mnl_attr_nest_end(nlh, nest);
}

static void put_filter(struct nlmsghdr *nlh)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SET_NEW);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "filter");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_FILTER_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, 5000);
	mnl_attr_nest_end(nlh, nest);
}

/* Append all changes. Sets are attached at priorities that no commit has used before, so that the
 * kernel must register hooks: a hook stays registered when its last attachment is detached.
 */
static void put_all(struct nlmsghdr *nlh)
{
	static int32_t priority;

	priority += 3;
	put_new_filled(nlh, "new", new_shadow);
	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "new", "live", 0);
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "new", NULL, 0);
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "old", NULL, 0);
	put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, "flushed", NULL, 0);
	put_replace(nlh, live_shadow, 0);
	put_named(nlh, IPCUCKOO_CMD_SET_RENAME, "moved", "renamed", 0);
	put_new(nlh, "empty", IPCUCKOO_TYPE_HASH_NET, 0);
	put_filter(nlh);
	put_attach_at(nlh, "renamed", priority);
	put_attach_at(nlh, "live", priority + 1);
	put_attach_ingress(nlh, "empty", priority + 2);
	put_attach(nlh, "filled", IPCUCKOO_VERDICT_DROP, 0);
}

/* Send a commit whose @n-th allocation fails; 0: none. @failed is set to whether it has failed. */
static int commit_armed(void (*put)(struct nlmsghdr *nlh), unsigned int n, bool *failed,
			struct answer *answer)
{
	struct nlmsghdr *nlh = commit_begin(cl);
	int error;

	put(nlh);
	mnl_attr_nest_end(nlh, commit_changes);
	arm(n);
	error = client_send(cl, nlh, nlh->nlmsg_len);
	*failed = disarm();
	*answer = (struct answer){ .error = error };
	return error ? error : client_read(cl, answer);
}

/* Expect that a commit that was refused has sent no events and has freed its memory. */
static void expect_no_effect(unsigned int n, uint64_t memory)
{
	expect_equal(drain(), 0, "allocation %u: events of a commit that was refused", n);
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) <= memory, 5),
	       "allocation %u: %lld bytes are lost", n,
	       (long long)(figure(cl, NULL, IPCUCKOO_A_MEMORY) - memory));
}

static void expect_same(const struct snapshot *want, const struct snapshot *got,
			const char *what, unsigned int n)
{
	if (expect(same(want, got), "allocation %u: %s", n, what))
		return;
	show("expected", want);
	show("got", got);
}

static void test_all(void)
{
	static struct snapshot before, done, after;
	unsigned int n, refused = 0, explained = 0;
	struct answer answer;
	bool failed = true;
	uint64_t memory;
	int error;

	make_objects();
	expect_equal(commit_armed(put_all, 0, &failed, &answer), 0, "no allocation fails: %s",
		     answer.message);
	take_snapshot(&done, false);
	make_objects();
	take_snapshot(&before, true);
	memory = figure(cl, NULL, IPCUCKOO_A_MEMORY);
	for (n = 1, failed = true; failed && n < ALLOCATIONS && !ktap_failing(); n++) {
		error = commit_armed(put_all, n, &failed, &answer);
		expect(!error || (failed && is_shortage(error)), "allocation %u: error %d", n,
		       error);
		take_snapshot(&after, true);
		if (error == -ENOMEM || (error && same(&before, &after))) {
			refused++;
			expect_same(&before, &after, "it is refused, and nothing has changed", n);
			expect_no_effect(n, memory);
			explained += error == -ENOMEM && *answer.message;
			expect(error != -ENOMEM || !explained || *answer.message,
			       "allocation %u: ENOMEM comes with a message", n);
			continue;
		}
		/* The commit was made. If there is an error, the answer or an event was lost. */
		take_snapshot(&after, false);
		expect_same(&done, &after, "all changes are made", n);
		make_objects();
		take_snapshot(&before, true);
		memory = figure(cl, NULL, IPCUCKOO_A_MEMORY);
	}
	printf("# %u allocations, refused %u times, %u times with a message\n", n - 1, refused,
	       explained);
	expect(refused > 20 && explained > 20, "many failures refuse the commit, with a message");
	ktap_case("whichever allocation of a commit fails, all changes are made, or none");
}

/* States of attachments */

struct state_of {
	const char *name;
	int state;
};

static void find_state(const struct answer *answer, void *data)
{
	struct state_of *of = data;

	if (!strcmp(answer_string(answer, IPCUCKOO_A_SET), of->name) &&
	    answer_number(answer, IPCUCKOO_A_VERDICT) == IPCUCKOO_VERDICT_DROP)
		of->state = answer_number(answer, IPCUCKOO_A_STATE);
}

/* Returns the state of the set's attachment with the verdict drop, or 0 if there is none. */
static int state_of(const char *name)
{
	struct state_of of = { .name = name };

	expect_equal(dump_each(cl, IPCUCKOO_CMD_ATTACH_GET, NULL, find_state, &of), 0, "list");
	return of.state;
}

/* Create the device, so that the module fails to register a hook for it. The device is created
 * again and again, and each time another allocation fails, until the one for the hook does. First,
 * try the numbers near the last one that did: the number varies, because now and then the kernel
 * allocates memory for its caches, too. The module tries to register the hook again after a second.
 */
static void create_without_hook(void)
{
	static int found;
	unsigned int tried;
	int nth;

	for (tried = 0; tried < 10 * ALLOCATIONS; tried++) {
		nth = found && tried < 200 ? found - 6 + (int)(rng() % 13) : 1 + (int)(tried % 400);
		device_del(rtnl, DEVICE);
		arm(nth > 0 ? nth : 1);
		device_new(rtnl, DEVICE, NULL);
		disarm();
		if (state_of("moved") != IPCUCKOO_STATE_NO_HOOK)
			continue;
		found = nth;
		return;
	}
	errx(2, "the hook of the device is always registered");
}

/* Append changes that register two hooks. The first is the hook that create_without_hook() made
 * fail. If the second one fails, the commit is refused, but the first hook stays registered: the
 * state of the old attachment changes although the commit fails.
 */
static void put_two_hooks(struct nlmsghdr *nlh)
{
	static int32_t priority = -5;

	priority -= 2;
	put_named(nlh, IPCUCKOO_CMD_SET_RENAME, "moved", "renamed", 0);
	put_attach_ingress(nlh, "renamed", 0);
	put_attach_at(nlh, "renamed", priority);
}

/* Read all events. STATE_CHANGED must have the name of the set at that time: "moved", and "renamed"
 * after SET_RENAMED. If an event was lost, any name is right, because SET_RENAMED may have been
 * lost. Returns the number of STATE_CHANGED.
 */
static unsigned int read_states(unsigned int n)
{
	const char *name = "moved";
	unsigned int count = 0;
	bool lost = false;
	struct answer event;
	int got;

	while ((got = listen_next(listener, &event))) {
		lost |= got < 0;
		if (got < 0)
			continue;
		if (answer_number(&event, IPCUCKOO_A_EVENT) == IPCUCKOO_EVENT_SET_RENAMED)
			name = "renamed";
		if (answer_number(&event, IPCUCKOO_A_EVENT) != IPCUCKOO_EVENT_STATE_CHANGED)
			continue;
		count++;
		expect(lost || !strcmp(answer_string(&event, IPCUCKOO_A_SET), name),
		       "allocation %u: the state of %s has changed, its name is %s", n,
		       answer_string(&event, IPCUCKOO_A_SET), name);
	}
	return count;
}

/* Create a set, and attach it at the ingress of a device that does not exist. */
static void begin_states(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;

	device_del(rtnl, DEVICE);
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	new_set("moved", 1);
	nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);
	put_rule(nlh, "moved", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_DROP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, IPCUCKOO_PLACE_INGRESS);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY, 0);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, DEVICE);
	expect_equal(client_ask(cl, &answer), 0, "at ingress: %s", answer.message);
}

static void test_states(void)
{
	unsigned int n, refused = 0, reported = 0;
	struct answer answer;
	bool failed = true;
	int error;

	begin_states();
	for (n = 1; failed && n < ALLOCATIONS && !ktap_failing(); n++) {
		if (state_of("moved") != IPCUCKOO_STATE_NO_HOOK)
			create_without_hook();
		drain();
		error = commit_armed(put_two_hooks, n, &failed, &answer);
		expect(!error || (failed && is_shortage(error)), "allocation %u: error %d", n,
		       error);
		if (state_of("moved")) {
			refused++;
			reported += read_states(n);
			continue;
		}
		expect(error != -ENOMEM, "allocation %u: ENOMEM, but the set is renamed", n);
		expect_equal(state_of("renamed"), IPCUCKOO_STATE_ACTIVE, "allocation %u: state", n);
		read_states(n);
		begin_states();
	}
	printf("# %u allocations, refused %u times, %u changes of state reported by these\n", n - 1,
	       refused, reported);
	expect(reported, "some refused commits register the missing hook");
	device_del(rtnl, DEVICE);
	everything(cl, IPCUCKOO_CMD_DETACH);
	ktap_case("a commit that fails registers a missing hook: the event has the set's old name");
}

int main(void)
{
	if (!faults_begin())
		return 4;
	fixture_begin("commit-faults");
	listener = listen_open();
	rtnl = device_socket();
	test_states();
	test_all();
	mnl_socket_close(rtnl);
	client_close(listener);
	return fixture_end();
}
