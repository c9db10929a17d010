// SPDX-License-Identifier: GPL-2.0
/*
 * How long can a packet wait for a writer? Three threads share a processor: one of high priority
 * sends packets, one of middle priority computes for seconds, and one of low priority changes the
 * set. The kernel runs the last one only while the others sleep, so it is often preempted in the
 * middle of a change. If it could be preempted while it holds something that a packet needs, the
 * packet would wait until the second thread pauses. A kernel with PREEMPT_RT preempts holders of
 * locks; there, the writer must inherit the priority of the packet that waits.
 *
 * Prints the longest time that it took to send a packet, with and without the writer.
 */
#define _GNU_SOURCE
#include "client.h"
#include "device.h"
#include "ktap.h"
#include "traffic.h"
#include "workers.h"

/* Seconds that the second thread computes before it pauses. A packet that waits for it takes
 * longer than BAR.
 */
#define BURST		2.0
#define PAUSE		0.1
#define BAR		1.0
#define SECONDS		8

#define HOSTS		2000

static double longest;

/* Run the calling thread on the last processor, with a priority of SCHED_FIFO, or 0 for none. */
static void run_at(int priority)
{
	const struct sched_param param = { .sched_priority = priority };
	int error;

	traffic_pin();
	error = pthread_setschedparam(pthread_self(), priority ? SCHED_FIFO : SCHED_OTHER, &param);
	if (error)
		errx(2, "priority %d: %s", priority, strerror(error));
}

static void send_packets(struct worker *worker)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	double begin, took;

	run_at(50);
	for (longest = 0; !workers_stop; worker->done++) {
		begin = ktap_seconds();
		worker_send(s);
		took = ktap_seconds() - begin;
		longest = took > longest ? took : longest;
		usleep(50);
	}
	close(s);
}

static void compute(struct worker *worker)
{
	double begin;

	run_at(10);
	for (; !workers_stop; worker->done++) {
		usleep(PAUSE * 1e6);
		for (begin = ktap_seconds(); ktap_seconds() - begin < BURST && !workers_stop; )
			;
	}
}

static void change(struct worker *worker)
{
	struct client *c = client_open_or_die();
	uint8_t cmd;
	int error;

	run_at(0);
	for (; !workers_stop; worker->done++) {
		cmd = worker->done % 2 ? IPCUCKOO_CMD_ENTRY_DEL : IPCUCKOO_CMD_ENTRY_ADD;
		error = hosts_request(c, cmd, "hosts", 1, HOSTS);
		if (error)
			worker_report(worker, "error %d", error);
	}
	client_close(c);
}

/* Attach a set to packets of this machine to itself. */
static int attach_loopback(struct client *c, const char *name)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_ATTACH);
	struct answer answer;

	put_rule(nlh, name, IPCUCKOO_DIR_DST, IPCUCKOO_VERDICT_COUNT);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_LOOPBACK);
	return client_ask(c, &answer);
}

/* Let threads of higher priority run for as long as they like. */
static void allow_priorities(void)
{
	FILE *f = fopen("/proc/sys/kernel/sched_rt_runtime_us", "w");

	if (!f || fputs("-1", f) < 0 || fclose(f))
		err(2, "sched_rt_runtime_us");
}

static void test(struct worker *workers, unsigned int count, const char *what)
{
	workers_run(workers, count, SECONDS);
	printf("# %s, a packet takes %.2f ms at most\n", what, longest * 1e3);
	expect(longest < BAR, "the longest took %.2f s", longest);
	ktap_case("%s, no packet waits for a thread of less priority", what);
}

int main(void)
{
	struct worker workers[] = {
		{ .name = "packets", .run = send_packets },
		{ .name = "pauses", .run = compute },
		{ .name = "changes", .run = change },
	};
	struct worker again[] = { workers[0], workers[1], workers[2] };
	struct client *c;

	ktap_begin("churn-priority");
	if (!has_procfs())
		return ktap_skip_all("no procfs");
	module_load("");
	if (device_up(device_socket(), "lo"))
		errx(2, "lo");
	allow_priorities();
	c = client_open_or_die();
	if (set_new(c, "hosts", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET) ||
	    attach_loopback(c, "hosts"))
		errx(2, "no set");
	test(workers, 2, "without a writer");
	test(again, 3, "with a writer");
	everything(c, IPCUCKOO_CMD_DETACH);
	client_close(c);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	ktap_case("the module can be unloaded");
	return ktap_end();
}
