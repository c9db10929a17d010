// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the limits of a network namespace for each kind of object, that the last object works like
 * the first one, and that a process can be killed in the middle of requests.
 */
#include <signal.h>
#include <time.h>

#include "fixture.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int numbered_set(int n, uint8_t cmd)
{
	char name[32];

	snprintf(name, sizeof(name), "n%d", n);
	return cmd == IPCUCKOO_CMD_SET_NEW ?
	       set_new(cl, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET) :
	       set_request(cl, cmd, name);
}

static void test_sets(void)
{
	struct piece type = U8(TYPE, IPCUCKOO_TYPE_HASH_IP), family = U8(FAMILY, 1);
	struct answer answer;
	int i, error = 0;

	for (i = 0; i < IPCUCKOO_SETS_MAX && !error; i++)
		error = numbered_set(i, IPCUCKOO_CMD_SET_NEW);
	expect_equal(error, 0, "set %d", i);
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), IPCUCKOO_SETS_MAX, "sets");
	expect_equal(ask(&answer, IPCUCKOO_CMD_SET_NEW, "more", type, family), -E2BIG,
		     "one more");
	expect(strstr(answer.message, "65535 sets"), "the message: %s", answer.message);
	expect_equal(ask(&answer, IPCUCKOO_CMD_SET_NEW, "n7", type, family), -EEXIST,
		     "a set that exists");
	expect_equal(numbered_set(7, IPCUCKOO_CMD_SET_DEL), 0, "delete a set");
	expect_equal(set_new(cl, "more", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0,
		     "create another one");
	ktap_case("as many sets as the manual says, and no more");
}

/* Requests that are answered only if they fail. As many are sent in one sendmsg() as fit. */
struct packer {
	char *data;
	size_t size;
	size_t used;
};

static void pack(struct packer *p, const struct nlmsghdr *nlh)
{
	if (p->used + nlh->nlmsg_len > p->size)
		errx(2, "the requests do not fit");
	memcpy(p->data + p->used, nlh, nlh->nlmsg_len);
	p->used += MNL_ALIGN(nlh->nlmsg_len);
}

static void pack_shadow_new(struct packer *p, const char *set, uint32_t capacity)
{
	struct nlmsghdr *nlh = client_begin_as(cl, cl->family, IPCUCKOO_CMD_SHADOW_NEW, 0);
	static const uint16_t kinds[] = {
		IPCUCKOO_A_CAPACITY_HOSTS4, IPCUCKOO_A_CAPACITY_HOSTS6,
		IPCUCKOO_A_CAPACITY_NETS4, IPCUCKOO_A_CAPACITY_NETS6,
	};
	unsigned int i;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	for (i = 0; capacity && i < 4; i++)
		mnl_attr_put_u32(nlh, kinds[i], capacity);
	pack(p, nlh);
}

static void test_shadows(void)
{
	struct answer answer;
	uint32_t first, id = 0;
	double begin;
	int i;

	make_sets();
	first = shadow_new(cl, "hosts", 0);
	for (i = 1; i < IPCUCKOO_SHADOWS_MAX; i++) {
		id = shadow_new(cl, "hosts", 0);
		if (!id)
			break;
	}
	expect_equal(i, IPCUCKOO_SHADOWS_MAX, "shadows");
	expect_equal(ask(&answer, IPCUCKOO_CMD_SHADOW_NEW, "hosts", NONE, NONE), -E2BIG,
		     "one more");
	expect(strstr(answer.message, "65535 shadows"), "the message: %s", answer.message);
	begin = now();
	for (i = 0; i < 1000; i++) {
		expect_equal(shadow_hosts(cl, first, i, 1), 0, "the first shadow is found");
		expect_equal(shadow_hosts(cl, id, i, 1), 0, "the last shadow is found");
	}
	printf("# %.1f us to find one of %d\n", (now() - begin) * 1e6 / 2000,
	       IPCUCKOO_SHADOWS_MAX);
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, first, 0), 0, "committed");
	expect(shadow_new(cl, "hosts", 0), "after deleting a shadow, one can be created");
	client_close(cl);
	cl = client_open_room(8192);
	expect(shadow_new(cl, "hosts", 0), "after closing the socket, others can be created");
	ktap_case("as many shadows as uapi/ipcuckoo.h says, and no more");
}

static int attach_order(struct answer *answer, const char *set, int32_t order, uint32_t flags)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_SRC);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, IPCUCKOO_VERDICT_COUNT);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_ORDER, order);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	return client_ask(cl, answer);
}

static void test_attachments(void)
{
	struct answer answer;
	int i, error = 0;
	char name[32];

	make_sets();
	everything(cl, IPCUCKOO_CMD_DETACH);
	for (i = 0; i < IPCUCKOO_ATTACHMENTS_MAX && !error; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		error = set_new(cl, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
		if (!error)
			error = attach_order(&answer, name, i, 0);
	}
	expect_equal(error, 0, "attachment %d: %s", i, answer.message);
	expect_equal(attach_order(&answer, "hosts", 0, 0), -E2BIG, "one more");
	expect(strstr(answer.message, "1024 attachments"), "the message: %s", answer.message);
	expect_equal(attach_order(&answer, "hosts", 0, IPCUCKOO_F_REPLACE), -E2BIG,
		     "one more with REPLACE, which replaces none");
	expect_equal(attach_order(&answer, "n7", 5000, IPCUCKOO_F_REPLACE), 0,
		     "one with REPLACE that replaces another");
	expect_equal(attach_order(&answer, "n7", 5000, IPCUCKOO_F_REPLACE), 0,
		     "the same again");
	expect_equal(figure(cl, NULL, IPCUCKOO_A_ATTACHMENTS), IPCUCKOO_ATTACHMENTS_MAX,
		     "attachments");
	ktap_case("as many attachments as the manual says, and REPLACE at that many");
}

/* Read all answers that are there. Returns how many requests were refused with EAGAIN. */
static unsigned int count_refused(void)
{
	const struct nlmsghdr *nlh;
	const struct nlmsgerr *ack;
	unsigned int refused = 0;
	int left;

	while (client_wait(cl, 0)) {
		left = recv(mnl_socket_get_fd(cl->nl), cl->in, cl->room, 0);
		for (nlh = (void *)cl->in; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			ack = mnl_nlmsg_get_payload(nlh);
			refused += nlh->nlmsg_type == NLMSG_ERROR && ack->error == -EAGAIN;
		}
	}
	return refused;
}

/* 2,000 requests, each for tables of more than a hundred MiB. Generic netlink handles all requests of
 * one sendmsg() under a lock for which the machine may wait, so those that come late are refused.
 */
static void test_one_sendmsg(void)
{
	struct packer p = { .size = 200000 };
	uint32_t id = shadow_new(cl, "any", 0);
	int size = 400000, room = 4 << 20, i;
	double seconds, one = now();
	struct nlmsghdr *nlh;

	p.data = malloc(p.size);
	if (setsockopt(mnl_socket_get_fd(cl->nl), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(mnl_socket_get_fd(cl->nl), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		err(2, "buffers");
	pack_shadow_new(&p, "any", UINT32_MAX);
	client_send(cl, p.data, p.used);
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, ++id, 0);
	one = now() - one;
	count_refused();
	p.used = 0;
	for (i = 0; i < 2000; i++) {
		pack_shadow_new(&p, "any", UINT32_MAX);
		nlh = client_begin_as(cl, cl->family, IPCUCKOO_CMD_SHADOW_DEL, 0);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, id + 1 + i);
		pack(&p, nlh);
	}
	seconds = now();
	expect_equal(client_send(cl, p.data, p.used), 0, "requests are sent");
	seconds = now() - seconds;
	/* On a busy machine the last request that begins takes longer. */
	expect(seconds < 1 + 3 * one, "it took %.1f s", seconds);
	printf("# one request takes %.3f s, as many as may begin %.3f s\n", one, seconds);
	expect(count_refused() > 1000, "most requests are refused with EAGAIN");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, id, 0), -ENOENT, "the socket can be used");
	free(p.data);
	ktap_case("2,000 pairs of SHADOW_NEW and SHADOW_DEL in one sendmsg(): late ones are refused");
}

int main(void)
{
	fixture_begin("netlink-limits");
	client_close(cl);
	if (!wait_until(!module_unload(), 20))
		errx(2, "the module cannot be unloaded");
	module_load("");
	cl = client_open_room(8192);
	test_sets();
	test_shadows();
	test_attachments();
	test_one_sendmsg();
	return fixture_end();
}
