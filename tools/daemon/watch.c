// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event of the module only says that it is time to look: the daemon does not read which entries have
 * changed, so that a lost event does no harm. The module sends no event if an entry only gets another
 * timeout or comment, or becomes an exception. Therefore the daemon also looks every few seconds, which
 * takes microseconds a set.
 */
#include <sys/epoll.h>
#include <sys/socket.h>

#include "daemon/base/timer.h"
#include "daemon/config.h"
#include "daemon/set/attachments.h"
#include "daemon/set/guard.h"
#include "daemon/set/kernel.h"
#include "daemon/set/source.h"
#include "daemon/watch.h"
#include "lib/monotonic.h"
#include "nl/event.h"

/* After an event: more of them may follow. */
#define EVENT_MS	200
/* While something is not as it should be, there are no events, or the module is missing */
#define SOON_MS		1000
#define IDLE_MS		3000

/* The addresses that the machine needs are looked at less often, as that takes a dozen system calls; with
 * IDLE_MS in addition, within ten seconds.
 */
#define ADDRESSES_SECONDS	6

/* The connection on which the events come, and what daemon->connections was when it was opened */
static struct nl *events;
static unsigned int connection;
static sd_event_source *io;
static struct timer timer;
/* ipcuckoo-upgrade was replacing the module when the daemon looked last. */
static bool upgraded;

static void stop_listening(void)
{
	io = sd_event_source_disable_unref(io);
	nl_close(events);
	events = NULL;
}

static void on_timer(void *data);

static int on_event(sd_event_source *source, int fd, uint32_t flags, void *data)
{
	struct daemon *daemon = data;

	(void)fd;
	(void)flags;
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	timer_start(daemon->event, &timer, EVENT_MS, on_timer, daemon);
	return 0;
}

/* Throw away the events that have come, and wake up at the next one. Return: whether events come at all.
 */
static bool listen_again(struct daemon *daemon)
{
	char byte;

	/* The number of the module's family changes when it is loaded again. */
	if (connection != daemon->connections)
		stop_listening();
	connection = daemon->connections;
	if (!events) {
		if (nl_open(&events, IPCUCKOO_FAMILY_NAME) || nl_listen(events) ||
		    sd_event_add_io(daemon->event, &io, nl_fd(events), EPOLLIN, on_event, daemon) < 0) {
			stop_listening();
			return false;
		}
	}
	while (recv(nl_fd(events), &byte, 1, MSG_DONTWAIT) >= 0 || errno == ENOBUFS)
		;
	return sd_event_source_set_enabled(io, SD_EVENT_ON) >= 0;
}

/* The guard of the sources has to know when the machine gets another address, gateway or resolver. */
static void look_at_addresses(struct daemon *daemon)
{
	const struct config *config = daemon->config;
	static double looked_at;
	double now = monotonic_seconds();
	size_t i;

	if (looked_at && now - looked_at < ADDRESSES_SECONDS)
		return;
	looked_at = now;
	if (!guard_look())
		return;
	for (i = 0; i < config->source_count; i++)
		source_follow(config->sources[i]);
}

static void on_timer(void *data)
{
	struct daemon *daemon = data;
	struct config *config = daemon->config;
	bool soon = !listen_again(daemon);
	size_t i;

	if (kernel_is_upgraded()) {
		upgraded = true;
		timer_start(daemon->event, &timer, SOON_MS, on_timer, daemon);
		return;
	}
	/* The sets of the new module have other generations, which is nobody's fault. */
	for (i = 0; upgraded && i < config->target_count; i++)
		target_apply(config->targets[i]);
	upgraded = false;
	look_at_addresses(daemon);
	for (i = 0; i < config->source_count; i++)
		if (config->sources[i]->kind->look)
			soon |= config->sources[i]->kind->look(config->sources[i]);
	/* A change from here on sends an event that has not been thrown away. */
	for (i = 0; i < config->target_count; i++)
		soon |= target_verify(config->targets[i]);
	soon |= attachments_keep(daemon, config->targets, config->target_count);
	soon |= !daemon->nl || connection != daemon->connections;
	timer_start(daemon->event, &timer, soon ? SOON_MS : IDLE_MS, on_timer, daemon);
}

void watch_start(struct daemon *daemon)
{
	if (daemon->config->target_count)
		on_timer(daemon);
}

void watch_stop(void)
{
	timer_stop(&timer);
	stop_listening();
}
