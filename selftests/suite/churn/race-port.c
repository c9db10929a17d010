// SPDX-License-Identifier: GPL-2.0
/*
 * When a socket is closed, another socket gets its netlink port at once. That socket must not see
 * the shadows of the first one, and must not lose its own when those are released.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "fixture.h"

#define PORT	0x12345678

static atomic_uint last_id;
static atomic_bool stop;
static uint16_t family;

/* Open a socket with this port as soon as the port is free. */
static struct client *open_port(void)
{
	struct client *c = calloc(1, sizeof(*c));
	int on = 1;

	c->room = 8192;
	c->family = family;
	c->nl = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	while (!stop && mnl_socket_bind(c->nl, 0, PORT))
		;
	mnl_socket_setsockopt(c->nl, NETLINK_EXT_ACK, &on, sizeof(on));
	return c;
}

/* Create a shadow with a socket of the port, and close the socket. */
static void *maker(void *unused)
{
	struct client *c;

	(void)unused;
	while (!stop) {
		c = open_port();
		if (!stop)
			last_id = shadow_new(c, "hosts", 0);
		client_close(c);
	}
	return NULL;
}

static void test_port(unsigned int seconds)
{
	unsigned long met = 0, lost = 0, tried = 0;
	double end = ktap_seconds() + seconds;
	pthread_t thread;
	struct client *c;
	uint32_t own;

	make_sets();
	family = cl->family;
	if (pthread_create(&thread, NULL, maker, NULL))
		errx(2, "a thread");
	for (; ktap_seconds() < end; tried++) {
		c = open_port();
		met += !shadow_hosts(c, last_id, 1, 1);
		own = shadow_new(c, "hosts", 0);
		sched_yield();
		lost += shadow_hosts(c, own, 1, 1) != 0;
		client_close(c);
	}
	stop = true;
	pthread_join(thread, NULL);
	printf("# %lu sockets with the same port\n", tried);
	expect(tried, "sockets with the same port were opened");
	expect_equal(met, 0, "shadows of a closed socket that another socket saw");
	expect_equal(lost, 0, "shadows that were released with another socket");
	ktap_case("a socket has only its own shadows, even if its port was used before");
}

int main(void)
{
	fixture_begin("race-port");
	test_port(ktap_option("SECONDS", 10));
	return fixture_end();
}
