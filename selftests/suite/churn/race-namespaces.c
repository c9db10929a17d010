// SPDX-License-Identifier: GPL-2.0
/*
 * Creates namespaces that live for some tenths of a second, and kills them while they are in use.
 * In each of them, packets match in sets whose entries expire, at PRE_ROUTING and at the ingress of
 * devices that are renamed, get alternative names and move to other such namespaces; dumps are half
 * read, and shadows half filled. Another process keeps files and dumps of the namespaces open for
 * longer than they live. At the end all namespaces must be destroyed and the module unused.
 *
 * ROUNDS=n creates and kills n of them.
 */
#define _GNU_SOURCE
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "device.h"
#include "hostile.h"
#include "ktap.h"

/* How many namespaces exist at the same time. */
#define ALIVE		5

#define HOSTS		2000

/* How many files and dumps are kept open outside, and how many dumps in each namespace. */
#define KEPT		24
#define DUMPS		16

/* Time limits, in seconds, for an emulated machine with a kernel that checks itself. */
#define PATIENCE	120

/* Shared by all processes: who lives in which namespace, and counters of what was done. */
static struct shared {
	volatile pid_t pid[ALIVE];
	unsigned long lives;
	unsigned long packets;
	unsigned long moves;
	unsigned long names;
	unsigned long dumps;
	unsigned long errors;
} *shared;

static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

static void count(unsigned long *what)
{
	__atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

/* The process in a namespace */

struct life {
	struct client *c;
	struct mnl_socket *rtnl;
	struct client *dumps[DUMPS];
	int packets;
	int frames;
	uint32_t state;
};

/* The name of a device that another namespace may have moved here. */
static void draw_name(struct life *life, char *name)
{
	snprintf(name, IFNAMSIZ, "race%u", draw(&life->state, 6));
}

static void do_packets(struct life *life)
{
	hostile_send(life->packets, 20);
	count(&shared->packets);
}

/* Send frames. An IPv4 header without payload is enough for the ingress hook. */
static void do_frames(struct life *life)
{
	uint8_t frame[64] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 50,
			      [22] = 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	char name[IFNAMSIZ];
	int i;

	draw_name(life, name);
	to.sll_ifindex = if_nametoindex(name);
	for (i = 0; to.sll_ifindex && i < 20; i++)
		(void)!sendto(life->frames, frame, sizeof(frame), MSG_DONTWAIT,
			      (struct sockaddr *)&to, sizeof(to));
}

static void do_new(struct life *life)
{
	char name[IFNAMSIZ], peer[IFNAMSIZ];

	draw_name(life, name);
	draw_name(life, peer);
	if (!device_new(life->rtnl, name, peer)) {
		device_up(life->rtnl, name);
		device_up(life->rtnl, peer);
	}
}

static void do_move(struct life *life)
{
	pid_t to = shared->pid[draw(&life->state, ALIVE)];
	char name[IFNAMSIZ], other[IFNAMSIZ];

	draw_name(life, name);
	draw_name(life, other);
	if (to > 0 && !device_move(life->rtnl, name, to, other))
		count(&shared->moves);
	device_up(life->rtnl, name);
}

static void do_names(struct life *life)
{
	char name[IFNAMSIZ], other[IFNAMSIZ];
	int error;

	draw_name(life, name);
	draw_name(life, other);
	if (draw(&life->state, 2))
		error = device_rename(life->rtnl, name, other);
	else
		error = device_altname(life->rtnl, draw(&life->state, 2) ? RTM_NEWLINKPROP :
								     RTM_DELLINKPROP,
				       name, other);
	if (!error)
		count(&shared->names);
}

static void do_attach(struct life *life)
{
	char name[IFNAMSIZ];

	draw_name(life, name);
	if (draw(&life->state, 8))
		hostile_attach(life->c, "race", name, 1 + draw(&life->state, 2));
	else
		everything(life->c, IPCUCKOO_CMD_DETACH);
}

static void do_entries(struct life *life)
{
	uint32_t first = draw(&life->state, 1 << 24), shadow;

	hosts_request(life->c, IPCUCKOO_CMD_ENTRY_ADD, "race", first, 500);
	hosts_request(life->c, IPCUCKOO_CMD_ENTRY_DEL, "race", first, 250);
	shadow = shadow_new(life->c, "race", 0);
	shadow_hosts(life->c, shadow, first, 500);
	if (draw(&life->state, 2))
		shadow_request(life->c, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	set_new(life->c, "brief", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
	set_request(life->c, IPCUCKOO_CMD_SET_DEL, "brief");
}

static void do_dump(struct life *life)
{
	struct client **place = &life->dumps[draw(&life->state, DUMPS)];
	struct client *c = client_open();

	if (!c)
		return;
	c->room = 4096;
	hostile_half_dump(c, IPCUCKOO_CMD_ENTRY_GET, "race");
	count(&shared->dumps);
	if (*place)
		client_close(*place);
	*place = c;
}

/* Each process begins with this, so that it does everything once, however slow the machine is. */
static void once(struct life *life)
{
	char name[IFNAMSIZ];
	pid_t to = 0;
	int i;

	if (device_new(life->rtnl, "race0", "race1"))
		return;
	hostile_attach(life->c, "race", "race4", IPCUCKOO_PLACE_INGRESS);
	hostile_attach(life->c, "race", "race0", IPCUCKOO_PLACE_INGRESS);
	if (!device_altname(life->rtnl, RTM_NEWLINKPROP, "race1", "race4"))
		count(&shared->names);
	device_up(life->rtnl, "race1");
	for (i = 0; i < ALIVE && to <= 0; i++)
		if (shared->pid[i] != getpid())
			to = shared->pid[i];
	snprintf(name, sizeof(name), "moved%d", getpid());
	if (to > 0 && !device_move(life->rtnl, "race0", to, name))
		count(&shared->moves);
	do_dump(life);
	do_packets(life);
}

static void live(uint32_t seed)
{
	static void (* const acts[])(struct life *life) = {
		do_packets, do_frames, do_new, do_move, do_names, do_attach, do_entries,
		do_dump, do_packets, do_frames,
	};
	struct life life = { .state = seed };
	int i;

	if (unshare(CLONE_NEWNET) || hostile_loopback_up())
		err(1, "a namespace");
	life.c = client_open_or_die();
	life.rtnl = device_socket();
	life.packets = hostile_packets();
	life.frames = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (hostile_set(life.c, "race", HOSTS, 3) ||
	    hostile_attach(life.c, "race", NULL, IPCUCKOO_PLACE_IP))
		errx(1, "cannot create the sets");
	once(&life);
	count(&shared->lives);
	/* The number of rounds is limited in case the process is not killed. Without the pause,
	 * processes that hold RTNL most of the time keep a new process from starting for minutes,
	 * on a slow kernel with one processor.
	 */
	for (i = 0; i < 100000; i++) {
		acts[draw(&life.state, sizeof(acts) / sizeof(*acts))](&life);
		usleep(1000);
	}
}

/* The process outside */

static int kept[KEPT];

static void keep(int fd, uint32_t *state)
{
	int *place = &kept[draw(state, KEPT)];
	char buf[256];

	if (fd < 0)
		return;
	if (*place > 0)
		close(*place);
	*place = fd;
	/* Do not block: the dump may be over already, because its entries expire. */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)!read(fd, buf, sizeof(buf));
}

/* Open the files of a namespace, and begin a dump of its sets, from outside of it. */
static void keep_of(pid_t pid, uint32_t *state)
{
	static const char * const names[] = { "sets", "attachments", "set/race" };
	char path[64];
	unsigned int i;
	int home, there;
	struct client *c;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/net/ipcuckoo/%s", pid, names[i]);
		keep(open(path, O_RDONLY | O_CLOEXEC), state);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	there = open(path, O_RDONLY | O_CLOEXEC);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (there >= 0 && home >= 0 && !setns(there, CLONE_NEWNET)) {
		c = client_open();
		if (c) {
			hostile_half_dump(c, IPCUCKOO_CMD_ENTRY_GET, "race");
			keep(dup(mnl_socket_get_fd(c->nl)), state);
			client_close(c);
		}
		if (setns(home, CLONE_NEWNET))
			err(2, "home");
	}
	if (there >= 0)
		close(there);
	if (home >= 0)
		close(home);
}

static void begin_life(unsigned int i, uint32_t seed)
{
	pid_t pid = fork();

	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		live(seed);
		_exit(0);
	}
	shared->pid[i] = pid;
}

static void end_life(unsigned int i)
{
	pid_t pid = shared->pid[i];
	int status;

	if (pid <= 0)
		return;
	shared->pid[i] = 0;
	kill(pid, SIGKILL);
	expect_equal(waitpid(pid, &status, 0), pid, "the process has ended");
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it was killed: status %#x",
	       status);
}

static void lives(unsigned int rounds, uint32_t *state)
{
	unsigned long begun;
	unsigned int i;

	for (; rounds && !ktap_failing(); rounds--) {
		i = draw(state, ALIVE);
		if (shared->pid[i] > 0)
			keep_of(shared->pid[i], state);
		end_life(i);
		begun = shared->lives;
		begin_life(i, draw(state, 1 << 24));
		/* Kill it only when it has sets and packets. */
		expect(wait_until(shared->lives > begun, PATIENCE),
		       "the process has sets and packets");
		usleep(draw(state, 200) * 1000);
	}
	for (i = 0; i < ALIVE; i++)
		end_life(i);
}

int main(void)
{
	unsigned int rounds = ktap_option("ROUNDS", hostile_slow() ? 7 : 15), i;
	uint32_t state = ktap_begin("race-namespaces");
	int before;

	if (!has_procfs())
		return ktap_skip_all("no procfs");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		err(2, "shared memory");
	module_load("");
	before = hostile_references();
	lives(rounds, &state);
	printf("# %lu lives, %lu bursts of packets, %lu devices moved, %lu named, %lu dumps\n",
	       shared->lives, shared->packets, shared->moves, shared->names, shared->dumps);
	expect(shared->packets && shared->moves && shared->names && shared->dumps,
	       "each kind of use has occurred");
	ktap_case("%u namespaces lived and were killed", rounds);
	for (i = 0; i < KEPT; i++)
		if (kept[i] > 0)
			close(kept[i]);
	expect(wait_until(hostile_references() == before, PATIENCE),
	       "%d references to the module, %d before", hostile_references(), before);
	ktap_case("closing the last file drops the last reference to the module");
	expect(wait_until(!module_unload(), PATIENCE), "unloading the module");
	ktap_case("the module can be unloaded");
	return ktap_end();
}
