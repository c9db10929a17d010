// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: /proc/net/ipcuckoo_lab
 *
 * Measures look-ups in the network namespace in which the file is opened. Commands, one in a write:
 *
 *	traffic NAME 4|6 PATH		read addresses, in network byte order
 *	run PART SUBJECT NAME serial|overlapped|once START MICROSECONDS
 *
 * "run" looks up the addresses of NAME in turn, beginning with number START: first for a quarter of
 * the time to warm up, then until the time is over; with "once", each address once. Reading the file returns the result of the last
 * run:
 *
 *	LOOKUPS MATCHES PICOSECONDS
 *
 * Only look-ups are timed: chunk by chunk, with bottom halves off as in the path of a packet;
 * between chunks, the scheduler may run. PICOSECONDS is the time of a look-up in the median chunk:
 * few chunks are interrupted by the host.
 */
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>

#include "lab.h"
#include "net.h"
#include "set.h"

/* Refuse longer runs. */
#define MICROSECONDS_MAX	(10 * USEC_PER_SEC)

/* A run ends early after this number of chunks. */
#define CHUNKS_MAX		(1 << 18)

#define CALIBRATE_NS		(20 * NSEC_PER_MSEC)

/* A run has at least this number of chunks, however little time it gets. */
#define CHUNKS_MIN		32

static DEFINE_MUTEX(mutex);
static u32 *times, chunks;
static u64 matches;

/* The areas of "lines"
 *
 * There is one area for each size, from its first use until the module is unloaded: the time to
 * read it depends on the location of its pages, which must not differ between rounds, as that of
 * the tables does not. A set does not change while "lines" is measured beside it, so there are at
 * most as many areas as sets.
 *
 * Only a command adds an area, with the mutex held, and uses it before it releases the mutex.
 * lab_exit() frees the areas, after the files are removed from all namespaces and no command can be
 * running.
 */
struct lab_area {
	struct list_head list;
	size_t size;
	void *data;
};

static LIST_HEAD(areas);

static size_t version_size(const struct ipcuckoo_version *v)
{
	size_t size = 0;
	int i;

	for (i = 0; i < IPCUCKOO_KINDS; i++)
		size += v->table[i] ? v->table[i]->area[0].size : 0;
	for (i = 0; i < 2; i++)
		size += v->hint[i] ? v->hint[i]->area[0].size : 0;
	return size;
}

/* Size of the memory that a look-up in our set of this namespace may read: slots and hints. */
static size_t footprint(struct net *net)
{
	struct ipcuckoo_set *set = ipcuckoo_set_get(ipcuckoo_net(net), LAB_SET);
	size_t size;

	if (!set)
		return 0;
	rcu_read_lock();
	size = version_size(rcu_dereference(set->entries.version));
	rcu_read_unlock();
	ipcuckoo_set_put(set);
	return size;
}

static struct lab_area *find_area(size_t size)
{
	struct lab_area *area;

	lockdep_assert_held(&mutex);
	list_for_each_entry(area, &areas, list)
		if (area->size == size)
			return area;
	return NULL;
}

static struct lab_area *add_area(size_t size)
{
	struct lab_area *area = kmalloc(sizeof(*area), GFP_KERNEL);

	if (!area)
		return NULL;
	area->size = size;
	area->data = vzalloc(size);
	if (!area->data) {
		kfree(area);
		return NULL;
	}
	list_add(&area->list, &areas);
	return area;
}

static void free_areas(void)
{
	struct lab_area *area, *next;

	list_for_each_entry_safe(area, next, &areas, list) {
		vfree(area->data);
		kfree(area);
	}
}

/* If there is nothing to read, there is no area. */
static int get_area(struct lab_run *run)
{
	size_t size = footprint(run->net);
	struct lab_area *area;

	if (!size)
		return 0;
	area = find_area(size) ?: add_area(size);
	if (!area)
		return -ENOMEM;
	run->area = area->data;
	run->lines = size / 64;
	return 0;
}

/* Runs */

/* The cycle counter of the processor; User Mode Linux reads its clock in steps of 256 ns. No access
 * moves across it in either direction.
 */
static u64 cycles(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

/* Number of cycles in CALIBRATE_NS, and the cost of reading the counter */
static u64 rate, overhead;

static void calibrate(void)
{
	u64 c = cycles(), begin = ktime_get_ns(), ns;
	int i;

	do {
		ns = ktime_get_ns() - begin;
		rate = cycles() - c;
	} while (ns < CALIBRATE_NS);
	rate = div64_u64(rate * CALIBRATE_NS, ns);
	overhead = U64_MAX;
	for (i = 0; i < 1000; i++) {
		c = cycles();
		overhead = min(overhead, cycles() - c);
	}
}

static u64 timed_chunk(const struct lab_subject *s, const struct lab_run *run, u32 *hits)
{
	u64 begin, end;

	local_bh_disable();
	rcu_read_lock();
	if (s->before)
		s->before(run);
	begin = cycles();
	*hits = s->chunk(run);
	end = cycles();
	rcu_read_unlock();
	local_bh_enable();
	return end - begin - min(overhead, end - begin);
}

static void repeat(const struct lab_subject *s, struct lab_run *run, u64 limit)
{
	u64 passed = 0;
	u32 hits;

	chunks = 0;
	matches = 0;
	while (chunks < CHUNKS_MAX && (run->once ? run->at < run->traffic->count :
				       passed < limit || chunks < CHUNKS_MIN)) {
		times[chunks] = min_t(u64, timed_chunk(s, run, &hits), U32_MAX);
		passed += times[chunks++];
		matches += hits;
		run->at += LAB_CHUNK;
		cond_resched();
	}
}

static int compare(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static const struct lab_subject *find_subject(const char *part, const char *name)
{
	const struct lab_subject *s = !strcmp(part, "hook") ? lab_hook :
				      !strcmp(part, "change") ? lab_change : lab_bare;

	for (; s->part; s++)
		if (!strcmp(s->part, part) && !strcmp(s->name, name))
			return s;
	return NULL;
}

static int measure(struct net *net, const char *part, const char *subject, const char *name,
		   const char *order, u32 start, u64 us)
{
	struct lab_run run = {
		.net = net,
		.serial = !strcmp(order, "serial"),
		.once = !strcmp(order, "once"),
	};
	const struct lab_subject *s = find_subject(part, subject);
	u64 limit;
	int err;

	run.traffic = lab_traffic_find(name);
	if (!s || !run.traffic || us > MICROSECONDS_MAX)
		return -EINVAL;
	err = strcmp(subject, "lines") ? 0 : get_area(&run);
	if (!err)
		err = s->begin(&run);
	if (err)
		return err;
	run.at = start - start % LAB_CHUNK;
	limit = div64_u64(us * NSEC_PER_USEC * rate, CALIBRATE_NS);
	if (!run.once)
		repeat(s, &run, limit / 4);
	repeat(s, &run, limit);
	s->end();
	sort(times, chunks, sizeof(*times), compare, NULL);
	return 0;
}

/* Commands */

static int command_run(struct net *net, const char *line)
{
	char part[8], subject[16], name[32], order[16];
	unsigned int start;
	u64 us;

	if (sscanf(line, "%7s %15s %31s %15s %u %llu", part, subject, name, order, &start,
		   &us) != 6)
		return -EINVAL;
	if (strcmp(order, "serial") && strcmp(order, "overlapped") && strcmp(order, "once"))
		return -EINVAL;
	return measure(net, part, subject, name, order, start, us);
}

static int command_traffic(const char *line)
{
	char name[32], path[256];
	int family;

	if (sscanf(line, "%31s %d %255s", name, &family, path) != 3 ||
	    (family != 4 && family != 6))
		return -EINVAL;
	return lab_traffic_read(name, family, path);
}

static int lab_write(struct file *file, char *buf, size_t size)
{
	struct net *net = ((struct seq_file *)file->private_data)->private;
	int err = -EINVAL;

	mutex_lock(&mutex);
	chunks = 0;
	if (!strncmp(buf, "run ", 4))
		err = command_run(net, buf + 4);
	else if (!strncmp(buf, "traffic ", 8))
		err = command_traffic(buf + 8);
	mutex_unlock(&mutex);
	return err;
}

static int lab_show(struct seq_file *m, void *v)
{
	mutex_lock(&mutex);
	seq_printf(m, "%u %llu %llu\n", chunks * LAB_CHUNK, matches,
		   chunks ? div64_u64((u64)times[chunks / 2] * (CALIBRATE_NS / LAB_CHUNK) * 1000,
				      rate) : 0);
	mutex_unlock(&mutex);
	return 0;
}

static int __net_init lab_net_init(struct net *net)
{
	return proc_create_net_single_write("ipcuckoo_lab", 0600, net->proc_net, lab_show,
					    lab_write, NULL) ? 0 : -ENOMEM;
}

static void __net_exit lab_net_exit(struct net *net)
{
	remove_proc_entry("ipcuckoo_lab", net->proc_net);
}

static struct pernet_operations net_ops = {
	.init = lab_net_init,
	.exit = lab_net_exit,
};

static int __init lab_init(void)
{
	int err;

	times = vmalloc_array(CHUNKS_MAX, sizeof(*times));
	if (!times)
		return -ENOMEM;
	calibrate();
	err = register_pernet_subsys(&net_ops);
	if (err)
		vfree(times);
	return err;
}

static void __exit lab_exit(void)
{
	unregister_pernet_subsys(&net_ops);
	lab_traffic_exit();
	free_areas();
	vfree(times);
}

module_init(lab_init);
module_exit(lab_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Measures look-ups of ipcuckoo, ipset and nftables");
