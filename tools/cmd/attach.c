// SPDX-License-Identifier: GPL-2.0-only
/* attach and detach. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cmd/attach.h"
#include "set/attachment.h"
#include "set/filter.h"
#include "set/guard.h"
#include "set/program.h"
#include "set/refusal.h"

/* Copy a name, and put bytes in the place of "/x22" and the like (see attachment_text()). @size: more
 * is cut off, and then the copy is as long as no name is
 */
static void read_dev(const char *from, char *to, size_t size)
{
	bool escaped;

	for (; *from && --size; from += escaped ? 4 : 1) {
		escaped = !strncmp(from, "/x", 2) && isxdigit((unsigned char)from[2]) &&
			  isxdigit((unsigned char)from[3]) && strncmp(from, "/x00", 4);
		*to++ = escaped ? (char)strtoul((char []) { from[2], from[3], 0 }, NULL, 16) : *from;
	}
	*to = '\0';
}

static int parse_dev(const struct tool *tool, const char *word,
		     struct nl_attachment *to)
{
	char dev[sizeof(to->dev) + 1];
	size_t len;

	read_dev(word, dev, sizeof(dev));
	len = strlen(dev);
	if (!len || len >= sizeof(to->dev) || strpbrk(dev, "/ \t\n:") ||
	    !strcmp(dev, ".") || !strcmp(dev, ".."))
		return fail(tool, STATUS_USAGE,
			    "\"%s\" is no name of a network device", word);
	strcpy(to->dev, dev);
	return STATUS_OK;
}

/* Parse "VALUE" or "VALUE/MASK". Without a mask, all bits of the mark are replaced. */
static int parse_mark(const struct tool *tool, char *word,
		      struct nl_attachment *to)
{
	const char *value = strsep(&word, "/");
	long long mark, mask = UINT32_MAX;
	int status;

	status = parse_number(tool, "mark", value, 0, UINT32_MAX, &mark);
	if (!status && word)
		status = parse_number(tool, "mask of the mark", word, 0,
				      UINT32_MAX, &mask);
	if (!status && mark & ~mask)
		return fail(tool, STATUS_USAGE,
			    "the mark 0x%llx has bits outside its mask 0x%llx",
			    mark, mask);
	to->mark = mark;
	to->mark_mask = mask;
	return status;
}

/* Check that name, direction and verdict are there, in this order, and show the command as it
 * would be right. A word that is none of them is refused later.
 */
static int check_order(const struct tool *tool, const struct words *words)
{
	const char *set = words->word[0], *first, *second;

	first = words->count > 1 ? words->word[1] : "";
	second = words->count > 2 ? words->word[2] : "";
	if (!*first)
		return fail(tool, STATUS_USAGE,
			    "direction: src, dst or both, and verdict: drop, accept, count, mark or prefetch, are missing, as in: ipcuckoo attach %s src drop",
			    set);
	if (find_meaning(direction_words, set) &&
	    find_meaning(verdict_words, first))
		return fail(tool, STATUS_USAGE,
			    "the name of the set comes first, as in: ipcuckoo attach %s %s %s",
			    *second ? second : "NAME", set, first);
	if (find_meaning(direction_words, set) &&
	    !find_meaning(direction_words, first) && find_meaning(verdict_words, second))
		return fail(tool, STATUS_USAGE,
			    "the name of the set comes first, as in: ipcuckoo attach %s %s %s",
			    first, set, second);
	if (find_meaning(verdict_words, first) &&
	    find_meaning(direction_words, second))
		return fail(tool, STATUS_USAGE,
			    "the direction comes before the verdict: ipcuckoo attach %s %s %s",
			    set, second, first);
	if (find_meaning(verdict_words, first))
		return fail(tool, STATUS_USAGE,
			    "direction: src, dst or both is missing before %s, as in: ipcuckoo attach %s src %s",
			    first, set, first);
	if (!*second && find_meaning(direction_words, first))
		return fail(tool, STATUS_USAGE,
			    "verdict: drop, accept, count, mark or prefetch is missing, as in: ipcuckoo attach %s %s drop",
			    set, first);
	return STATUS_OK;
}

/* Parse NAME src|dst|both drop|accept|count|prefetch|mark [VALUE[/MASK]] */
static int parse_action(const struct tool *tool, const struct words *words,
			struct nl_attachment *to)
{
	int direction, status, verdict, taken = 3;

	status = parse_name(tool, words->word[0]);
	if (!status)
		status = check_order(tool, words);
	if (!status)
		status = parse_meaning(tool, "unknown direction \"", "\"", direction_words,
				       words->word[1], &direction);
	if (!status)
		status = parse_meaning(tool, "unknown verdict \"", "\"", verdict_words,
				       words->count > 2 ? words->word[2] : "", &verdict);
	if (status)
		return status;
	strcpy(to->set, words->word[0]);
	to->direction = direction;
	to->verdict = verdict;
	if (verdict == IPCUCKOO_VERDICT_MARK) {
		if (words->count == taken)
			return fail(tool, STATUS_USAGE,
				    "mark needs a value, as in: mark 0x1/0xff");
		status = parse_mark(tool, words->word[taken++], to);
	}
	if (!status && words->count > taken)
		status = fail_unknown(tool, words->word[taken]);
	return status;
}

/* The options after the verdict. attach sets them; detach selects attachments by them. */
struct attach_options {
	const char *order;
	const char *priority;
	const char *dev;
	const char *proto;
	const char *dport;
	const char *group;
	const char *rate;
	const char *every;
	bool ingress;
	bool xdp;
	bool loopback;
	bool only_new;
	bool log;
};

#define ATTACH_KEYWORDS(options) \
	{ .word = "ingress", .flag = &(options).ingress }, \
	{ .word = "xdp", .flag = &(options).xdp }, \
	{ .word = "dev", .value = &(options).dev }, \
	{ .word = "order", .value = &(options).order }, \
	{ .word = "priority", .value = &(options).priority }, \
	{ .word = "loopback", .flag = &(options).loopback }, \
	{ .word = "new", .flag = &(options).only_new }, \
	{ .word = "proto", .value = &(options).proto }, \
	{ .word = "dport", .value = &(options).dport }, \
	{ .word = "log", .flag = &(options).log }, \
	{ .word = "nflog", .value = &(options).group }, \
	{ .word = "rate", .value = &(options).rate }, \
	{ .word = "every", .value = &(options).every }

static int parse_int32(const struct tool *tool, const char *what,
		       const char *word, long long most, bool *has, int32_t *to)
{
	long long number;
	int status;

	if (!word)
		return STATUS_OK;
	status = parse_number(tool, what, word, most == INT32_MAX ? INT32_MIN :
			      -most, most, &number);
	*to = number;
	*has = true;
	return status;
}

/* Parse log [nflog GROUP] [rate N[/s]] [every N] */
static int parse_log(const struct tool *tool,
		     const struct attach_options *options,
		     struct nl_attachment *to)
{
	long long group = 0, rate = IPCUCKOO_LOG_RATE_DEFAULT, every = 1;
	char number[32];
	int status = STATUS_OK;

	if (!options->log)
		return options->group || options->rate || options->every ?
		       fail(tool, STATUS_USAGE,
			    "nflog, rate and every go with log, as in: log rate 10/s") :
		       STATUS_OK;
	if (options->group)
		status = parse_number(tool, "group of nflog", options->group, 0,
				      UINT16_MAX, &group);
	if (!status && options->rate) {
		snprintf(number, sizeof(number), "%.*s",
			 (int)strlen(options->rate) -
			 (strlen(options->rate) > 2 &&
			  !strcmp(options->rate + strlen(options->rate) - 2,
				  "/s") ? 2 : 0), options->rate);
		status = parse_number(tool, "rate", number, 0, INT32_MAX, &rate);
	}
	if (!status && options->every)
		status = parse_number(tool, "number of packets", options->every,
				      1, UINT32_MAX, &every);
	to->log = options->group ? IPCUCKOO_LOG_NFLOG : IPCUCKOO_LOG_KERNEL;
	to->log_group = group;
	to->log_rate = rate;
	to->log_every = every;
	return status;
}

/* Parse proto tcp|udp|sctp dport PORTS */
static int parse_ports(const struct tool *tool, const struct attach_options *options,
		       struct ports *to)
{
	const char *bad;
	char *text;
	int status = STATUS_OK;

	if (!options->proto && !options->dport)
		return STATUS_OK;
	if (!options->proto || !options->dport)
		return fail(tool, STATUS_USAGE, "proto and dport go together, as in: proto tcp dport 22,80-90");
	to->protocol = ports_protocol(options->proto);
	if (!to->protocol)
		return fail(tool, STATUS_USAGE, "\"%s\" is no protocol that has ports: use tcp, udp or sctp",
			    options->proto);
	text = strdup(options->dport);
	if (!text)
		return fail_memory(tool);
	bad = ports_read(to, text);
	if (bad)
		status = fail(tool, STATUS_USAGE,
			      "\"%s\" is no port of %s: use a number up to 65535, a range such as 80-90, or the name of a service in /etc/services",
			      bad, options->proto);
	else if (!to->count)
		status = fail(tool, STATUS_USAGE,
			      "dport takes %d ports and ranges: attach the set once more with the others",
			      IPCUCKOO_PORTS_MAX);
	free(text);
	return status;
}

static int parse_options(const struct tool *tool,
			 const struct attach_options *options,
			 struct nl_attachment *to)
{
	int status;

	status = parse_int32(tool, "order", options->order, INT32_MAX,
			     &to->has_order, &to->order);
	if (!status)
		status = parse_int32(tool, "priority", options->priority, 100000,
				     &to->has_priority, &to->priority);
	if (!status && options->dev)
		status = parse_dev(tool, options->dev, to);
	if (!status)
		status = parse_ports(tool, options, &to->ports);
	if (!status)
		status = parse_log(tool, options, to);
	if (options->ingress && options->xdp && !status)
		status = fail(tool, STATUS_USAGE, "ingress and xdp are two places: give one of them");
	if (options->ingress)
		to->place = IPCUCKOO_PLACE_INGRESS;
	if (options->xdp)
		to->place = IPCUCKOO_PLACE_XDP;
	if (options->loopback)
		to->flags |= IPCUCKOO_F_LOOPBACK;
	if (options->only_new)
		to->flags |= IPCUCKOO_F_NEW;
	return status;
}

/* What happens to packets of non-members that match an approximate set. */
static const char *fate(const struct nl_attachment *attachment)
{
	switch (attachment->verdict) {
	case IPCUCKOO_VERDICT_DROP:
		return "dropped";
	case IPCUCKOO_VERDICT_ACCEPT:
		return "let past all that is attached behind it";
	case IPCUCKOO_VERDICT_MARK:
		return "marked";
	default:
		return "counted";
	}
}

/* Non-members are dropped or accepted only with --approximate. The kernel checks that,
 * too; the check here has the better message.
 */
int check_approximate(const struct tool *tool, const struct nl_set *set,
		      const struct nl_attachment *attachment)
{
	char now[RATE_TEXT_SIZE], full[RATE_TEXT_SIZE];

	if (!is_approximate(set) ||
	    attachment->flags & IPCUCKOO_F_APPROXIMATE ||
	    (attachment->verdict != IPCUCKOO_VERDICT_DROP &&
	     attachment->verdict != IPCUCKOO_VERDICT_ACCEPT))
		return STATUS_OK;
	/* A set that a previous line of restore creates has no slots yet. */
	if (!set->slots)
		return fail(tool, STATUS_REFUSED,
			    "Set %s cannot be attached: it is approximate, so that some non-members (addresses that are not in the set) would be %s, too (--approximate accepts that)",
			    set->name, fate(attachment));
	return fail(tool, STATUS_REFUSED,
		    "Set %s cannot be attached: it is approximate, so that %s of all non-members (addresses that are not in the set) now, %s when it is full, would be %s (--approximate accepts that)",
		    set->name, rate_text(filter_rate_now(set), now),
		    rate_text(filter_rate_full(set), full), fate(attachment));
}

static int print_attached(const struct tool *tool, const struct nl_set *set,
			  const struct nl_attachment *attachment, uint32_t id)
{
	bool absent = attachment->dev[0] && !if_nametoindex(attachment->dev);
	char now[RATE_TEXT_SIZE], full[RATE_TEXT_SIZE];
	struct json_object *object;

	/* At XDP, program_attach() has said more. */
	if (absent && attachment->place != IPCUCKOO_PLACE_XDP)
		warn(tool, "Warning: there is no device %s: the attachment sees packets as soon as there is one",
		     attachment->dev);

	if (!tool->json && !tool->quiet && is_approximate(set) &&
	    attachment->verdict != IPCUCKOO_VERDICT_PREFETCH)
		printf("Set %s is approximate: %s of all non-members (addresses that are not in the set) now, %s when it is full, are %s.\n",
		       set->name, rate_text(filter_rate_now(set), now),
		       rate_text(filter_rate_full(set), full),
		       fate(attachment));
	if (!tool->json)
		return STATUS_OK;
	object = json_object_new_object();
	json_add_string(object, "set", attachment->set);
	if (id)
		json_add_uint(object, "attachment", id);
	if (absent) {
		json_add_bool(object, "active", false);
		json_add_string(object, "state", "no device");
	}
	if (is_approximate(set)) {
		json_add_rate(object, "fppnow", filter_rate_now(set));
		json_add_rate(object, "fppfull", filter_rate_full(set));
	}
	json_print(object);
	return STATUS_OK;
}

/* Whether a set is attached with accept where it can let packets past another attachment. */
static bool is_accepted(const struct nl_attachment *all, size_t count, const char *set,
			const struct nl_attachment *drop)
{
	for (; count--; all++)
		if (all->verdict == IPCUCKOO_VERDICT_ACCEPT && !strcmp(all->set, set) &&
		    same_place(all, drop) && all->priority == drop->priority)
			return true;
	return false;
}

/* Whether accept comes before drop with new, but at another priority, so that it ends another chain. */
static bool is_in_vain(const struct nl_attachment *accept, const struct nl_attachment *drop)
{
	return accept->verdict == IPCUCKOO_VERDICT_ACCEPT &&
	       drop->verdict == IPCUCKOO_VERDICT_DROP && drop->flags & IPCUCKOO_F_NEW &&
	       same_place(accept, drop) && accept->direction & drop->direction &&
	       (!accept->dev[0] || !drop->dev[0] || same_device(accept->dev, drop->dev));
}

/* new changes the default priority, so that accept and drop can be in two chains unawares. */
static void warn_accept(const struct tool *tool, uint32_t id)
{
	const struct nl_attachment *one, *other, *accept, *drop;
	struct nl_attachment *all;
	size_t count;

	if (!id || nl_attachments(tool->nl, &all, &count) < 0)
		return;
	for (one = all; one < all + count && one->id != id; one++)
		;
	for (other = all; one < all + count && other < all + count; other++) {
		accept = one->verdict == IPCUCKOO_VERDICT_ACCEPT ? one : other;
		drop = accept == one ? other : one;
		if (!is_in_vain(accept, drop) || is_accepted(all, count, accept->set, drop))
			continue;
		warn(tool, "Warning: set %s is attached with drop and new at priority %d, where %s is not accepted: accept at priority %d ends the chain of that priority only; accept it there, too: ipcuckoo attach %s %s accept priority %d",
		     drop->set, drop->priority, accept->set, accept->priority, accept->set,
		     meaning_word(direction_words, accept->direction), drop->priority);
		break;
	}
	free(all);
}

static int check_xdp(const struct tool *tool, const struct nl_attachment *attachment)
{
	if (!attachment->dev[0])
		return fail(tool, STATUS_USAGE, "xdp is that of a device, as in: xdp dev eth0");
	if (attachment->has_priority)
		return fail(tool, STATUS_USAGE,
			    "xdp comes before netfilter, so it has no priority; order N says what runs first");
	if (attachment->verdict == IPCUCKOO_VERDICT_MARK)
		return fail(tool, STATUS_USAGE,
			    "packets have no mark in xdp: use ingress dev %s", attachment->dev);
	return STATUS_OK;
}

/* Connections are known behind connection tracking only. */
static int check_new(const struct tool *tool, const struct nl_attachment *attachment)
{
	if (!(attachment->flags & IPCUCKOO_F_NEW))
		return STATUS_OK;
	if (attachment->place > IPCUCKOO_PLACE_IP)
		return fail(tool, STATUS_USAGE,
			    "%s comes before connection tracking, so that nobody knows yet which connections are new: with new, leave %s out",
			    place_text(attachment), place_text(attachment));
	if (attachment->has_priority && attachment->priority < IPCUCKOO_PRIORITY_NEW)
		return fail(tool, STATUS_USAGE,
			    "new needs a priority above %d, at which connection tracking runs; without priority it is %d",
			    IPCUCKOO_PRIORITY_NEW - 1, IPCUCKOO_PRIORITY_NEW);
	return STATUS_OK;
}

/* prefetch comes before the place where packets are looked up in the set. */
static int check_prefetch(const struct tool *tool, const struct nl_attachment *attachment)
{
	if (attachment->verdict != IPCUCKOO_VERDICT_PREFETCH)
		return STATUS_OK;
	if (attachment->place <= IPCUCKOO_PLACE_IP)
		return fail(tool, STATUS_USAGE,
			    "prefetch is for a place before the one that looks packets up: use ingress dev %s or xdp dev %s",
			    attachment->dev[0] ? attachment->dev : "eth0",
			    attachment->dev[0] ? attachment->dev : "eth0");
	if (attachment->log)
		return fail(tool, STATUS_USAGE,
			    "prefetch looks nothing up, so there is nothing to log");
	if (is_limited(attachment))
		return fail(tool, STATUS_USAGE,
			    "prefetch is for all packets, so it takes neither new nor proto and dport");
	return STATUS_OK;
}

int parse_attach(const struct tool *tool, struct words *words,
		 struct nl_attachment *attachment)
{
	bool approximate = false, replace = false;
	struct attach_options options = { 0 };
	const struct keyword keywords[] = {
		ATTACH_KEYWORDS(options),
		{ .word = "--replace", .flag = &replace },
		{ .word = "--approximate", .flag = &approximate },
		{ .word = NULL }
	};
	int status;

	*attachment = (struct nl_attachment) { 0 };
	status = parse_words(tool, words, keywords, 1, INT_MAX);
	if (!status)
		status = parse_action(tool, words, attachment);
	if (!status)
		status = parse_options(tool, &options, attachment);
	if (!status && options.ingress && !options.dev)
		status = fail(tool, STATUS_USAGE,
			      "ingress is that of a device, as in: ingress dev eth0");
	if (!status && options.xdp)
		status = check_xdp(tool, attachment);
	if (!status)
		status = check_prefetch(tool, attachment);
	if (!status)
		status = check_new(tool, attachment);
	if (approximate)
		attachment->flags |= IPCUCKOO_F_APPROXIMATE;
	if (replace)
		attachment->flags |= IPCUCKOO_F_REPLACE;
	return status;
}

int run_attach(struct tool *tool, struct words *words)
{
	struct nl_attachment attachment;
	struct guard_attach made = { .attachment = &attachment, .line = tool };
	const struct guard_change change = { .attach = &made, .count = 1 };
	struct nl_set set;
	uint32_t id;
	int status;

	status = parse_attach(tool, words, &attachment);
	if (tool->exist)
		attachment.flags |= IPCUCKOO_F_EXIST;
	if (!status)
		status = find_set(tool, attachment.set, &set);
	if (!status)
		status = check_approximate(tool, &set, &attachment);
	strcpy(made.set.name, attachment.set);
	if (!status)
		status = guard(tool, &change);
	if (!status)
		status = program_attach(tool, &attachment);
	if (!status && nl_attach(tool->nl, &attachment, &id)) {
		status = fail_attach(tool, attachment.set);
		program_tidy(tool, &attachment, 1, false);
	}
	if (!status)
		status = program_confirm(tool, &attachment);
	program_unlock();
	if (status)
		return status;
	warn_accept(tool, id);
	return print_attached(tool, &set, &attachment, id);
}

static bool is_number(const char *word)
{
	return word && *word >= '0' && *word <= '9';
}

/* Parse NAME [src|dst|both] [drop|accept|count|prefetch|mark [VALUE[/MASK]]], or id N */
static int parse_detach(const struct tool *tool, const struct words *words,
			struct nl_attachment *from)
{
	const struct meaning *found;
	long long id;
	int i, status;

	if (!strcmp(words->word[0], "id") && words->count == 2 &&
	    is_number(words->word[1])) {
		status = parse_number(tool, "attachment", words->word[1], 1,
				      UINT32_MAX, &id);
		from->id = id;
		return status;
	}
	status = parse_name(tool, words->word[0]);
	if (status)
		return status;
	strcpy(from->set, words->word[0]);
	for (i = 1; i < words->count; i++) {
		if (from->verdict == IPCUCKOO_VERDICT_MARK &&
		    !from->has_mark && is_number(words->word[i])) {
			from->has_mark = true;
			status = parse_mark(tool, words->word[i], from);
			if (status)
				return status;
		} else if ((found = find_meaning(direction_words, words->word[i]))) {
			from->direction = found->value;
		} else if ((found = find_meaning(verdict_words, words->word[i]))) {
			from->verdict = found->value;
		} else {
			return fail_unknown(tool, words->word[i]);
		}
	}
	return STATUS_OK;
}

static int detach(struct tool *tool, const struct nl_attachment *from)
{
	struct nl_attachment *before;
	struct json_object *object;
	uint32_t detached;
	bool everywhere = !from->set[0] && !from->id;
	size_t count;
	int err;

	program_lock(tool);
	if (nl_attachments(tool->nl, &before, &count) < 0) {
		before = NULL;
		count = 0;
		everywhere = true;
	}
	err = nl_detach(tool->nl, from, &detached);
	if (!err)
		program_tidy(tool, before, count, everywhere);
	program_unlock();
	free(before);
	if (err == -ENOENT && from->id)
		return fail(tool, STATUS_REFUSED,
			    "there is no attachment %u; see ipcuckoo stats",
			    from->id);
	if (err)
		return fail_kernel(tool, from->set[0] ? from->set : NULL,
				   "%s%s cannot be detached",
				   from->set[0] ? "Set " : "The sets",
				   from->set);
	if (tool->json) {
		object = json_object_new_object();
		if (from->set[0])
			json_add_string(object, "set", from->set);
		json_add_uint(object, "detached", detached);
		json_print(object);
	}
	return STATUS_OK;
}

int run_detach(struct tool *tool, struct words *words)
{
	struct attach_options options = { 0 };
	bool all = false;
	const struct keyword keywords[] = {
		ATTACH_KEYWORDS(options),
		{ .word = "--all", .flag = &all },
		{ .word = NULL }
	};
	struct nl_attachment from = { 0 };
	const struct guard_change change = { .detach = &from };
	int status;

	status = parse_words(tool, words, keywords, 0, 4);
	if (status)
		return status;
	if (all ? words->count || options.dev : !words->count)
		return fail_usage(tool);
	if (!all)
		status = parse_detach(tool, words, &from);
	if (!status)
		status = parse_options(tool, &options, &from);
	if (!status)
		status = connect_module(tool);
	/* After detach --all, nothing drops. */
	if (!status && !all)
		status = guard(tool, &change);
	if (status)
		return status;
	if (tool->exist)
		from.flags |= IPCUCKOO_F_EXIST;
	return detach(tool, &from);
}
