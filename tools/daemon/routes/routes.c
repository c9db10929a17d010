// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follows routes of a routing table into a set: what a routing daemon such as BIRD or FRR has put
 * there, because a peer has announced it as a blackhole (RFC 7999).
 *
 * A route that is withdrawn is an explicit deletion, as is a routing daemon that removes its routes
 * when it ends. Only `hold` delays it. What is no deletion: a table that cannot be read, messages
 * that were lost, a route that is missing in an answer which may not be exact. In these cases the
 * table is read again, and entries go when an exact answer does not have them.
 *
 * The table is read when the daemon starts, then changes are followed. It is read again when
 * messages were lost, when a message does not say which route has gone, and from time to time. The
 * differences are applied, not the whole, unless there are many.
 */
#include <json-c/json.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "cli/output.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/routes/destination.h"
#include "daemon/routes/iproute.h"
#include "daemon/routes/routes.h"
#include "daemon/routes/rtnetlink.h"

/* The table is not read more often than this, in milliseconds, whatever happens. */
#define READ_MS		1000
/* After a failure or an inexact answer, it is read again after so many seconds at most. */
#define AGAIN_MOST	60
/* After so many inexact answers in a row, a warning says what that means. */
#define INEXACT_MOST	5
/* What is held until the table has been read exactly */
#define UNTIL_EXACT	UINT32_MAX

/**
 * struct routes_source - routes of a table
 *
 * Read from the configuration:
 * @table_name:	the table, a number or a name
 * @family:	the families
 * @types:	types of routes, as words
 * @protocol_name: who has added the routes, a number or a name; NULL: anybody
 * @rules:	which destinations the set may have
 * @hold:	seconds for which an entry stays after its last route was withdrawn
 * @every:	seconds after which the table is read again, whatever has happened
 *
 * The rest:
 * @table:	number of the table
 * @type_mask:	types of routes: 1 << RTN_*
 * @protocol:	number of the protocol; 0: any
 * @rt:		the connection; NULL: there is none
 * @fib:	the routes that are in force
 * @reading:	the table is being read
 * @fresh:	while it is: what has been read
 * @touched:	destinations whose routes have changed in this turn of the event loop
 * @read_again:	the table has to be read again
 * @too_many:	there are more routes than are kept
 * @no_memory:	there was no memory for a route
 * @due:	reads the table
 * @read_at:	when it was read last, in milliseconds
 * @attempts:	failures and inexact answers since the last exact one
 * @inexact:	inexact answers since the last exact one
 * @holding:	removes entries that were held
 * @hold_runs:	@holding runs
 * @left_out:	number of routes that the warning speaks of
 * @unsure:	it says that the table is never read exactly
 * @reads, @losses: how often the table was read, and messages were lost
 */
struct routes_source {
	struct source source;
	char *table_name;
	int family;
	char **types;
	char *protocol_name;
	struct destination_rules rules;
	uint64_t hold;
	uint64_t every;

	uint32_t table;
	uint32_t type_mask;
	uint32_t protocol;
	struct rtnetlink *rt;
	struct fib fib;
	bool reading;
	struct fib fresh;
	struct packed touched;
	bool read_again;
	bool too_many;
	bool no_memory;
	struct timer due;
	uint64_t read_at;
	unsigned int attempts;
	unsigned int inexact;
	struct timer holding;
	bool hold_runs;
	size_t left_out;
	bool unsure;
	uint64_t reads;
	uint64_t losses;
};

static const struct meaning route_types[] = {
	{ "blackhole", RTN_BLACKHOLE },
	{ "unreachable", RTN_UNREACHABLE },
	{ "prohibit", RTN_PROHIBIT },
	{ NULL, 0 }
};

#define FIELD(name)	.offset = offsetof(struct routes_source, name)

static const struct config_key routes_keys[] = {
	{ "table", KEY_TEXT, FIELD(table_name), .needed = "table = 100" },
	{ "family", KEY_WORD, FIELD(family), .preset = "any", .words = value_families },
	{ "types", KEY_LIST, FIELD(types), .preset = "blackhole" },
	{ "protocol", KEY_TEXT, FIELD(protocol_name) },
	{ "min-length", KEY_NUMBER, FIELD(rules.min_length), .preset = "8", .most = 32 },
	{ "min-length6", KEY_NUMBER, FIELD(rules.min_length6), .preset = "16", .most = 128 },
	{ "max-entries", KEY_NUMBER, FIELD(rules.max_entries), .preset = "1000000", .least = 1,
	  .most = 1u << 28 },
	{ "hold", KEY_TIME, FIELD(hold), .preset = "0s", .most = 7 * 86400 },
	{ "every", KEY_TIME, FIELD(every), .preset = "1h", .least = 1, .most = 366 * 86400 },
	{ NULL }
};

static void read_table(struct routes_source *routes);

static struct routes_source *routes_of(struct source *source)
{
	return (struct routes_source *)source;
}

static void check_routes(struct source *source, struct section *section)
{
	struct routes_source *routes = routes_of(source);
	const struct meaning *type;
	size_t i;

	if (routes->table_name && !iproute_table(routes->table_name, &routes->table))
		section_fault(section, "table",
			      "\"%.64s\" is neither a number from 1 on nor a name in /etc/iproute2/rt_tables",
			      routes->table_name);
	if (routes->protocol_name && !iproute_protocol(routes->protocol_name, &routes->protocol))
		section_fault(section, "protocol",
			      "\"%.64s\" is neither a number from 1 to 255 nor a name in /etc/iproute2/rt_protos",
			      routes->protocol_name);
	for (i = 0; routes->types && routes->types[i]; i++) {
		for (type = route_types; type->word; type++)
			if (!strcmp(type->word, routes->types[i]))
				break;
		if (type->word)
			routes->type_mask |= 1u << type->value;
		else
			section_fault(section, "types",
				      "\"%.64s\" is none of the types that drop packets: blackhole, unreachable, prohibit",
				      routes->types[i]);
	}
	if (source->timeout)
		section_fault(section, "timeout",
			      "routes have no time limit, and an entry would expire while its route is there; leave this out");
}

/* --- what goes wrong --- */

static uint32_t now_boot(void)
{
	return clock_ms(CLOCK_BOOTTIME) / 1000;
}

static void on_due(void *data)
{
	read_table(data);
}

static void schedule(struct routes_source *routes, uint64_t ms)
{
	timer_start(routes->source.daemon->event, &routes->due, ms, on_due, routes);
}

static void read_soon(struct routes_source *routes)
{
	uint64_t age = clock_ms(CLOCK_BOOTTIME) - routes->read_at;

	schedule(routes, age < READ_MS ? READ_MS - age : 0);
}

static void disconnect(struct routes_source *routes)
{
	rtnetlink_close(routes->rt);
	routes->rt = NULL;
	routes->reading = false;
	fib_free(&routes->fresh);
	packed_free(&routes->touched);
}

static void give_up(struct routes_source *routes, const char *why)
{
	disconnect(routes);
	source_fail(&routes->source,
		    "the routing table %s cannot be followed: %s; it is tried again, at least every %d seconds",
		    routes->table_name, why, AGAIN_MOST);
	schedule(routes, backoff_ms(++routes->attempts, 1, AGAIN_MOST));
}

/* The most routes that are kept in memory */
static uint64_t routes_most(const struct routes_source *routes)
{
	return routes->rules.max_entries * ROUTES_FOLD + ROUTES_MORE;
}

/* There are more entries than the set may have, or more routes than are kept. */
static void refuse(struct routes_source *routes)
{
	bool entries = !routes->too_many;

	disconnect(routes);
	source_refuse(&routes->source,
		      "the routing table %s has more than %llu %s; if that is right, raise max-entries",
		      routes->table_name, entries ?
		      (unsigned long long)routes->rules.max_entries :
		      (unsigned long long)routes_most(routes),
		      entries ? "entries for the set" : "routes, more than are kept in memory");
	schedule(routes, AGAIN_MOST * 1000);
}

static const char *why_refused(const struct routes_source *routes, const struct fib_route *route)
{
	if (destination_is_too_short(&routes->rules, route->kind, route->entry))
		return "would block too much; if that is meant, lower min-length or min-length6";
	return "has too many hosts for a set of the type hash:ip; a set of the type hash:net takes it";
}

/* Routes that are left out are an error of whoever announces them, or of the configuration. */
static char *text_left_out(const struct routes_source *routes)
{
	char text[ADDRESS_TEXT_SIZE];
	const struct fib_route *route;
	size_t at = 0;

	do
		route = fib_next(&routes->fib, &at);
	while (!(route->flags & FIB_REFUSED));
	*entry_format(text, route->kind, route->entry) = '\0';
	return need_text("routes left out: %zu, such as %s, which %s", routes->left_out, text,
			 why_refused(routes, route));
}

static char *text_unsure(const struct routes_source *routes)
{
	return need_text("the routing table %s changes each time while it is read, so entries stay whose routes have gone without a message; let the routing daemon put the blackholes into a table of their own",
			 routes->table_name);
}

/* Show what is wrong with the table, though it was read. */
static void update_warning(struct routes_source *routes)
{
	bool unsure = routes->inexact >= INEXACT_MOST, was_unsure = routes->unsure;
	struct source *source = &routes->source;
	char *left_out = NULL, *inexact = NULL;
	size_t before = routes->left_out;

	if (routes->fib.refused == before && unsure == was_unsure)
		return;
	routes->left_out = routes->fib.refused;
	routes->unsure = unsure;
	if (routes->left_out)
		left_out = text_left_out(routes);
	if (unsure)
		inexact = text_unsure(routes);
	source_set_warning(source, left_out && inexact ? need_text("%s; %s", left_out, inexact) :
				   left_out ? need_copy(left_out) :
				   inexact ? need_copy(inexact) : NULL);
	if (routes->left_out > before) {
		source->refusals += routes->left_out - before;
		log_error("[routes %s] %s", source->name, left_out);
	}
	if (unsure && !was_unsure)
		log_warning("[routes %s] %s", source->name, inexact);
	free(left_out);
	free(inexact);
}

/* --- changes of the set --- */

static void do_changes(struct routes_source *routes, const struct changes *changes)
{
	if (source_change(&routes->source, changes->at, changes->count, false))
		give_up(routes, "out of memory");
}

/* Make the contents what the routes say. @read: they were read just now */
static void apply_all(struct routes_source *routes, bool read)
{
	struct changes *changes = need_zeros(sizeof(*changes));
	struct source *source = &routes->source;
	size_t before = contents_count(&source->contents);
	struct contents contents = { 0 };
	struct packed want = { 0 };
	int err = destination_collect(&routes->rules, &routes->fib, &want);

	if (!err)
		destination_compare(&want, &source->contents, changes);
	if (err == -EFBIG) {
		refuse(routes);
	} else if (err) {
		give_up(routes, "out of memory");
	} else if (!source->delivered || changes->count > CHANGES_MOST) {
		contents_take(&contents, &want);
		log_info("[routes %s] has %zu entries now, and had %zu before", source->name,
			 contents_count(&contents), before);
		source_deliver(source, &contents);
	} else if (changes->count) {
		do_changes(routes, changes);
	} else if (read) {
		source_confirm(source);
	}
	packed_free(&want);
	free(changes);
}

/* What has changed in this turn */
static void apply_touched(struct routes_source *routes)
{
	const struct contents *have = &routes->source.contents;
	struct changes *changes;
	int err;

	if (!packed_count(&routes->touched))
		return;
	changes = need_zeros(sizeof(*changes));
	err = destination_compare_some(&routes->rules, &routes->touched, &routes->fib, have,
				       changes);
	packed_clear(&routes->touched);
	/* The number of entries is checked in apply_all(). */
	if (err || changes->count > CHANGES_MOST ||
	    contents_count(have) + changes->count > routes->rules.max_entries)
		apply_all(routes, false);
	else if (changes->count)
		do_changes(routes, changes);
	free(changes);
}

static void touch(struct routes_source *routes, const struct fib_route *route)
{
	if (packed_add(&routes->touched, route->kind, route->entry))
		routes->no_memory = true;
}

/* --- entries that are held --- */

static void run_hold(struct routes_source *routes);

/* The time of some entries is over. */
static void on_hold(void *data)
{
	struct routes_source *routes = data;
	const struct fib_route *next;
	uint32_t now = now_boot();
	struct fib_route route;
	size_t at = 0;

	routes->hold_runs = false;
	/* They may have been announced again, which is not known before the table was read. */
	if (!routes->rt || routes->reading || routes->read_again)
		return;
	while ((next = fib_next(&routes->fib, &at))) {
		route = *next;
		if (!(route.flags & FIB_HELD) || route.priority > now)
			continue;
		touch(routes, &route);
		fib_del(&routes->fib, &route);
		at--;
	}
	apply_touched(routes);
	run_hold(routes);
}

/* Begin to wait for the first entry whose time will be over. */
static void run_hold(struct routes_source *routes)
{
	uint32_t now = now_boot(), first = UNTIL_EXACT;
	const struct fib_route *route;
	size_t at = 0;

	if (routes->hold_runs || !routes->fib.held)
		return;
	while ((route = fib_next(&routes->fib, &at)))
		if (route->flags & FIB_HELD && route->priority < first)
			first = route->priority;
	if (first == UNTIL_EXACT)
		return;
	routes->hold_runs = true;
	timer_start(routes->source.daemon->event, &routes->holding,
		    first > now ? (first - now) * 1000ull : 0, on_hold, routes);
}

static void add_held(struct routes_source *routes, struct fib *fib, enum entry_kind kind,
		     const uint8_t *entry, uint32_t until)
{
	struct fib_route held = { .kind = kind, .priority = until, .flags = FIB_HELD };

	memcpy(held.entry, entry, entry_size[kind]);
	if (fib_add(fib, &held))
		routes->no_memory = true;
}

static void del_held(struct fib *fib, const struct fib_route *route)
{
	struct fib_route held = { .kind = route->kind, .flags = FIB_HELD };

	memcpy(held.entry, route->entry, entry_size[route->kind]);
	fib_del(fib, &held);
}

/* Hold the entries that the table does not have any more: until their time is over, or if it is not
 * known exactly what it has, until that is known.
 */
static void hold_missing(struct routes_source *routes, bool exact)
{
	struct contents_cursor cursor = { 0 };
	bool covering = routes->rules.hosts_only;
	uint32_t now = now_boot(), until;
	struct member member;

	while (contents_next(&routes->source.contents, &cursor, &member)) {
		if (fib_wants(&routes->fresh, member.kind, member.entry, covering) ||
		    destination_is_refused(&routes->rules, member.kind, member.entry))
			continue;
		until = exact ? fib_held_until(&routes->fib, member.kind, member.entry, covering) :
				UNTIL_EXACT;
		if (!until || (exact && until == UNTIL_EXACT))
			until = now + routes->hold;
		if (until > now)
			add_held(routes, &routes->fresh, member.kind, member.entry, until);
	}
}

/* --- the table --- */

static bool is_followed(const struct routes_source *routes, const struct rtnetlink_route *route)
{
	return routes->type_mask & 1u << route->type &&
	       (!routes->protocol || route->protocol == routes->protocol);
}

/* Whether another route is followed that has the same destination, metric and TOS */
static bool has_rival(const struct fib *fib, const struct fib_route *route)
{
	const struct fib_route *other;
	size_t at = 0;

	while ((other = fib_find(fib, route->kind, route->entry, &at)))
		if (!(other->flags & FIB_HELD) && other->id != route->id &&
		    other->priority == route->priority && other->tos == route->tos)
			return true;
	return false;
}

static void add_route(struct routes_source *routes, struct fib *fib, struct fib_route *route)
{
	if (destination_is_refused(&routes->rules, route->kind, route->entry))
		route->flags |= FIB_REFUSED;
	if (fib->held)
		del_held(fib, route);
	if (fib_add(fib, route))
		routes->no_memory = true;
	if (fib->used - fib->held > routes_most(routes))
		routes->too_many = true;
}

static void del_route(struct routes_source *routes, struct fib *fib, struct fib_route *route)
{
	size_t at = 0;

	if (!fib_del(fib, route)) {
		/* While the table is read, it may come later, or have gone before. */
		routes->read_again |= !routes->reading;
		return;
	}
	if (routes->hold && !routes->reading && !fib_find(fib, route->kind, route->entry, &at) &&
	    !destination_is_refused(&routes->rules, route->kind, route->entry))
		add_held(routes, fib, route->kind, route->entry, now_boot() + routes->hold);
}

static void on_route(void *owner, const struct rtnetlink_route *message,
		     enum rtnetlink_event event)
{
	struct routes_source *routes = owner;
	struct fib *fib = routes->reading ? &routes->fresh : &routes->fib;
	struct fib_route route = message->route;

	if (routes->too_many)
		return;
	/* The kernel does not say which route was replaced: it may be one that we follow, or one
	 * that we do not. It stays until the table has been read.
	 */
	if (event == RTNETLINK_REPLACING && has_rival(fib, &route))
		routes->read_again = true;
	if (!is_followed(routes, message))
		return;
	if (event == RTNETLINK_DELETED)
		del_route(routes, fib, &route);
	else
		add_route(routes, fib, &route);
	if (!routes->reading)
		touch(routes, &route);
}

static void on_nexthop(void *owner)
{
	struct routes_source *routes = owner;

	routes->read_again |= routes->fib.nexthops || routes->fresh.nexthops;
}

/* The table has been read: what was read is in force now. */
static void adopt(struct routes_source *routes, bool exact)
{
	hold_missing(routes, exact);
	fib_free(&routes->fib);
	routes->fib = routes->fresh;
	memset(&routes->fresh, 0, sizeof(routes->fresh));
	routes->reading = false;
	routes->reads++;
	routes->attempts = exact ? 0 : routes->attempts + 1;
	routes->inexact = exact ? 0 : routes->inexact + 1;
	if (exact) {
		schedule(routes, routes->every * 1000);
	} else {
		schedule(routes, backoff_ms(routes->attempts, READ_MS / 1000, AGAIN_MOST));
		routes->read_again = false;
	}
	apply_all(routes, true);
}

static void on_turn(void *owner, enum rtnetlink_turn turn, const char *why)
{
	struct routes_source *routes = owner;

	if (routes->no_memory) {
		give_up(routes, "out of memory");
		return;
	}
	if (routes->too_many) {
		refuse(routes);
		return;
	}
	if (turn == RTNETLINK_READ || turn == RTNETLINK_INEXACT)
		adopt(routes, turn == RTNETLINK_READ);
	else if (!routes->reading)
		apply_touched(routes);
	update_warning(routes);
	if (turn == RTNETLINK_FAILED) {
		give_up(routes, why);
	} else if (turn == RTNETLINK_LOST) {
		routes->losses++;
		log_info("[routes %s] routes have changed faster than they could be followed: the routing table is read again",
			 routes->source.name);
		disconnect(routes);
		read_soon(routes);
	} else if (routes->rt && !routes->reading) {
		/* After an inexact answer, a time is set already. */
		if (routes->read_again && !routes->attempts)
			read_soon(routes);
		run_hold(routes);
	}
}

static void read_table(struct routes_source *routes)
{
	const struct rtnetlink_user user = {
		.owner = routes, .table = routes->table, .protocol = routes->protocol,
		.family = routes->family & routes->source.target->family,
		.route = on_route, .nexthop = on_nexthop, .turn = on_turn,
	};
	const char *why = NULL;

	timer_stop(&routes->due);
	routes->read_at = clock_ms(CLOCK_BOOTTIME);
	routes->read_again = false;
	routes->too_many = false;
	routes->no_memory = false;
	fib_free(&routes->fresh);
	if (!routes->rt)
		routes->rt = rtnetlink_open(routes->source.daemon->event, &user, &why);
	if (routes->rt)
		why = rtnetlink_read(routes->rt);
	routes->reading = !why;
	if (why)
		give_up(routes, why);
}

/* --- the kind --- */

static void start_routes(struct source *source)
{
	struct routes_source *routes = routes_of(source);

	source->interval = routes->every;
	routes->rules.hosts_only = source->target->type == IPCUCKOO_TYPE_HASH_IP;
	if (routes->family & source->target->family)
		schedule(routes, 0);
	else
		source_fail(source,
			    "the set %s takes no routes of this family; change family in one of the two sections",
			    source->target->name);
}

static void stop_routes(struct source *source)
{
	struct routes_source *routes = routes_of(source);

	disconnect(routes);
	timer_stop(&routes->due);
	timer_stop(&routes->holding);
	routes->hold_runs = false;
}

/* How long entries are held yet */
static void inherit_routes(struct source *source, struct source *old)
{
	struct routes_source *routes = routes_of(source), *before = routes_of(old);

	routes->fib = before->fib;
	memset(&before->fib, 0, sizeof(before->fib));
}

static void free_routes(struct source *source)
{
	fib_free(&routes_of(source)->fib);
}

static void show_routes(const struct source *source, struct json_object *object)
{
	const struct routes_source *routes = (const struct routes_source *)source;
	const struct fib *fib = &routes->fib;

	json_add_int(object, "table", routes->table);
	json_add_int(object, "routes", fib->used - fib->held - fib->refused);
	json_add_int(object, "held", fib->held);
	json_add_int(object, "left_out", fib->refused);
	json_add_int(object, "reads", routes->reads);
	json_add_int(object, "losses", routes->losses);
}

static char *do_command(struct source *source, const char *command, bool *done)
{
	struct routes_source *routes = routes_of(source);

	*done = !strcmp(command, "refresh");
	if (!*done)
		return need_text("routes %s: nothing waits to be accepted", source->name);
	stop_routes(source);
	start_routes(source);
	routes->attempts = 0;
	return need_text("routes %s: the routing table is read again; ipcuckood status shows the result",
			 source->name);
}

const struct source_kind routes_kind = {
	.word = "routes",
	.limits = true,
	.size = sizeof(struct routes_source),
	.keys = routes_keys,
	.check = check_routes,
	.start = start_routes,
	.stop = stop_routes,
	.show = show_routes,
	.command = do_command,
	.inherit = inherit_routes,
	.free = free_routes,
};
