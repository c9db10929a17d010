// SPDX-License-Identifier: GPL-2.0
/*
 * A record of the tracepoint has the names of set and device in arrays of fixed size. Bytes behind
 * a name must be zero: otherwise they are remains of an earlier record, which a reader of the raw
 * records sees.
 *
 * perf makes all records of a processor in the same memory. So the test lets a packet match while
 * set and device have the longest possible names, renames both, and lets another packet match. It
 * reads the raw records.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>

#include "device.h"
#include "fixture.h"
#include "probe.h"

#define EVENT		"events/ipcuckoo/ipcuckoo_match/"

/* A packet from this machine to itself passes two hooks: when it is sent, and when it arrives. */
enum { HOOKS = 2, PAGES = 8 };

/**
 * struct field - an array of characters in a record
 * @what:	its name
 * @offset:	where it begins
 * @size:	its size
 */
struct field {
	const char *what;
	unsigned int offset;
	unsigned int size;
};

static struct field set_field = { "set" }, dev_field = { "dev" };
static struct mnl_socket *rtnl;
static struct perf_event_mmap_page *ring;

static FILE *open_event(const char *file)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), TRACING EVENT "%s", file);
	f = fopen(path, "re");
	if (!f)
		err(2, "%s", path);
	return f;
}

/* Read from the description of the tracepoint where a field is. */
static void find_field(struct field *field)
{
	char line[256], text[64];
	FILE *f = open_event("format");
	const char *found;

	snprintf(text, sizeof(text), "field:char %s[", field->what);
	while (!field->size && fgets(line, sizeof(line), f)) {
		found = strstr(line, text);
		if (found && sscanf(strchr(found, ';'), "; offset:%u; size:%u", &field->offset,
				    &field->size) != 2)
			errx(2, "format: %s", line);
	}
	fclose(f);
	if (!field->size)
		errx(2, "the tracepoint has no field %s", field->what);
}

/* Trace the events of the last processor, and run only there. Returns false if this kernel has no
 * perf.
 */
static bool trace_begin(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
	};
	int cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1, fd;
	FILE *f = open_event("id");
	cpu_set_t set;

	if (fscanf(f, "%llu", &attr.config) != 1)
		errx(2, "the number of the tracepoint");
	fclose(f);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "sched_setaffinity");
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == ENOSYS)
		return false;
	if (fd < 0)
		err(2, "perf");
	ring = mmap(NULL, (PAGES + 1) * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		err(2, "the records");
	close(fd);
	return true;
}

/* Expect that the array has this name, and zeros behind it. */
static void check_field(const struct field *field, const char *record, const char *name)
{
	const char *data = record + field->offset;
	unsigned int i, rest = 0;

	expect(!strncmp(data, name, field->size), "%s is %.*s, not %s", field->what,
	       (int)field->size, data, name);
	for (i = strlen(name); i < field->size; i++)
		rest += !!data[i];
	expect_equal(rest, 0, "bytes behind the name of %s that are not zero", field->what);
	if (rest)
		printf("# behind it: %.*s\n", (int)(field->size - strlen(name) - 1),
		       data + strlen(name) + 1);
}

/* Check the records that were made since the last call. The ring is far larger than these. */
static void check_records(const char *set, const char *dev)
{
	const char *data = (const char *)ring + getpagesize();
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	const struct perf_event_header *header;
	unsigned int count = 0;

	for (; ring->data_tail < head; ring->data_tail += header->size) {
		header = (const void *)(data + ring->data_tail);
		if (header->type != PERF_RECORD_SAMPLE)
			continue;
		/* Behind the header is the size of the record, in 32 bits. */
		check_field(&set_field, (const char *)(header + 1) + 4, set);
		check_field(&dev_field, (const char *)(header + 1) + 4, dev);
		count++;
	}
	expect_equal(count, HOOKS, "records");
	expect(head < (uint64_t)PAGES * getpagesize(), "the ring has wrapped");
}

/* Let a packet of loopback match, and wait until it has arrived. */
static void send_one(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd pfd = { fd, POLLIN, 0 };
	socklen_t size = sizeof(to);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, size) ||
	    getsockname(fd, (struct sockaddr *)&to, &size))
		err(2, "a socket");
	expect(sendto(fd, "", 1, 0, (struct sockaddr *)&to, size) == 1, "a packet is sent");
	expect(poll(&pfd, 1, 20000) == 1, "it arrives");
	close(fd);
}

static void rename_device(const char *name, const char *to)
{
	device_down(rtnl, name);
	expect_equal(device_rename(rtnl, name, to), 0, "the device is renamed");
	expect_equal(device_up(rtnl, to), 0, "it is up");
}

/* A name of the maximum length for an array of @size bytes. */
static const char *longest(char *name, unsigned int size)
{
	memset(name, 'n', size - 1);
	name[size - 1] = '\0';
	return name;
}

static void make_set(const char *name)
{
	struct nlmsghdr *nlh;
	struct answer answer;

	expect_equal(set_new(cl, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "set");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, name, INADDR_LOOPBACK, 1), 0,
		     "entry");
	nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);
	put_rule(nlh, name, IPCUCKOO_DIR_DST, IPCUCKOO_VERDICT_COUNT);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_LOOPBACK);
	expect_equal(client_ask(cl, &answer), 0, "attached");
}

static void test_names(void)
{
	char set[IPCUCKOO_NAME_SIZE], dev[IFNAMSIZ];

	longest(set, sizeof(set));
	longest(dev, sizeof(dev));
	make_set(set);
	rename_device("lo", dev);
	send_one();
	check_records(set, dev);
	ktap_case("the longest names are traced");

	expect_equal(two_names(cl, IPCUCKOO_CMD_SET_RENAME, set, "s"), 0, "SET_RENAME");
	rename_device(dev, "lo");
	send_one();
	check_records("s", "lo");
	ktap_case("behind shorter names of the same set and device are zeros");

	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	make_set("t");
	send_one();
	check_records("t", "lo");
	ktap_case("behind the name of a new set, too");
}

int main(void)
{
	ktap_begin("trace-names");
	if (!probe_begin())
		return ktap_skip_all("this kernel has no trace events");
	if (unshare(CLONE_NEWNET))
		err(2, "a namespace");
	module_load("");
	cl = client_open_or_die();
	rtnl = device_socket();
	find_field(&set_field);
	find_field(&dev_field);
	if (trace_begin()) {
		test_names();
		munmap(ring, (PAGES + 1) * getpagesize());
	} else {
		ktap_skip("names", "this kernel has no perf");
	}
	mnl_socket_close(rtnl);
	return fixture_end();
}
