// SPDX-License-Identifier: GPL-2.0
/*
 * What attaching costs when there are many attachments, at each place: the 900th by the 10th. All of
 * a namespace waits for it, and at ingress and XDP everybody who waits for RTNL.
 */
#define _GNU_SOURCE
#include "fixture.h"
#include "device.h"

/* The best of NEAR attachments in ROUNDS rounds is compared, as this machine may not run meanwhile. */
enum { EARLY = 10, LATE = 900, NEAR = 20, TOTAL = LATE + NEAR / 2, DEVICES = TOTAL, ROUNDS = 5 };

#define BAR	3

/**
 * struct kind - a kind of attachments
 * @name:	what the case says of them
 * @set:	which set is attached. A device takes 1,024 hooks, and family any needs two of them
 * @place:	where they are
 * @devices:	each is at another device; else each has another priority, and if the place is at a
 *		device, all are at the same one
 */
struct kind {
	const char *name;
	const char *set;
	uint8_t place;
	bool devices;
};

static const struct kind kinds[] = {
	{ "of different priorities", "any", IPCUCKOO_PLACE_IP },
	{ "of different priorities, at ingress", "hosts", IPCUCKOO_PLACE_INGRESS },
	{ "at the ingress of different devices", "any", IPCUCKOO_PLACE_INGRESS, true },
	{ "at different devices in XDP", "any", IPCUCKOO_PLACE_XDP, true },
};

/* Attach once more. Return: 0 or an error; @seconds is set to how long it took. */
static int attach_next(const struct kind *kind, uint32_t number, double *seconds)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);
	struct answer answer;
	char dev[IFNAMSIZ];
	double begin;
	int error;

	put_rule(nlh, kind->set, IPCUCKOO_DIR_BOTH, IPCUCKOO_VERDICT_COUNT);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, kind->place);
	if (!kind->devices)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY, number);
	if (kind->place != IPCUCKOO_PLACE_IP) {
		snprintf(dev, sizeof(dev), "many%u", kind->devices ? number : 0);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, dev);
	}
	begin = ktap_seconds();
	error = client_ask(cl, &answer);
	*seconds = ktap_seconds() - begin;
	return error;
}

/* Is one of @best around the attachment with the number @middle? Then compare it with @seconds. */
static void keep_best(double *best, int middle, int number, double seconds)
{
	if (number >= middle - NEAR / 2 && number < middle + NEAR / 2 && seconds < *best)
		*best = seconds;
}

/**
 * struct costs - what attachments of a kind cost at best, in seconds
 * @early:	one of the first
 * @late:	one of the last
 * @all:	all together
 * @detached:	to detach all of them
 */
struct costs {
	double early;
	double late;
	double all;
	double detached;
};

/* Attach often, and detach all. Return: 0, or the error of the first attachment. */
static int attach_all(const struct kind *kind, struct costs *costs)
{
	double seconds, all = 0, begin;
	int i, error;

	for (i = 0; i < TOTAL; i++) {
		error = attach_next(kind, i, &seconds);
		if (!i && error)
			return error;
		expect_equal(error, 0, "attachment %d", i);
		all += seconds;
		keep_best(&costs->early, EARLY, i, seconds);
		keep_best(&costs->late, LATE, i, seconds);
	}
	begin = ktap_seconds();
	expect_equal(everything(cl, IPCUCKOO_CMD_DETACH), 0, "detaching all");
	seconds = ktap_seconds() - begin;
	costs->detached = seconds < costs->detached ? seconds : costs->detached;
	costs->all = all < costs->all ? all : costs->all;
	return 0;
}

static void test_kind(const struct kind *kind)
{
	struct costs costs = { 1e9, 1e9, 1e9, 1e9 };
	int round, error = 0;

	make_sets();
	for (round = 0; round < ROUNDS && !error; round++)
		error = attach_all(kind, &costs);
	if (error == -EOPNOTSUPP) {
		ktap_skip(kind->name, "this kernel has no hooks at ingress");
		return;
	}
	expect_equal(error, 0, "the first attachment");
	printf("# attachments %s: the %dth takes %.1f us, the %dth %.1f us; to detach all takes %.1f ms\n",
	       kind->name, EARLY, costs.early * 1e6, LATE, costs.late * 1e6, costs.detached * 1e3);
	expect(costs.late < BAR * costs.early, "the %dth takes %.1f us, the %dth %.1f us", LATE,
	       costs.late * 1e6, EARLY, costs.early * 1e6);
	expect(costs.detached < BAR * costs.all, "to detach all takes %.1f ms, to attach %.1f ms",
	       costs.detached * 1e3, costs.all * 1e3);
	ktap_case("attachments %s: the %dth costs at most %d times the %dth", kind->name, LATE, BAR,
		  EARLY);
}

int main(void)
{
	struct mnl_socket *nl;
	char name[IFNAMSIZ];
	unsigned int i;

	fixture_begin("attach-many");
	nl = device_socket();
	for (i = 0; i < DEVICES; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		expect_equal(device_new(nl, name, NULL), 0, "the device %s", name);
	}
	ktap_case("%d devices", DEVICES);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		test_kind(&kinds[i]);
	for (i = 0; i < DEVICES; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		expect_equal(device_del(nl, name), 0, "the end of %s", name);
	}
	mnl_socket_close(nl);
	return fixture_end();
}
