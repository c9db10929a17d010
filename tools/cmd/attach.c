// SPDX-License-Identifier: GPL-2.0-only
/* attach and detach. */
#include <stdlib.h>

#include "cli/output.h"
#include "cmd/attach.h"
#include "set/attachment.h"
#include "set/filter.h"
#include "set/guard.h"
#include "set/program.h"
#include "set/refusal.h"

static int parse_dev(const struct tool *tool, const char *dev,
		     struct nl_attachment *to)
{
	size_t len = strlen(dev);

	if (!len || len >= sizeof(to->dev) || strpbrk(dev, "/ \t\n:") ||
	    !strcmp(dev, ".") || !strcmp(dev, ".."))
		return fail(tool, STATUS_USAGE,
			    "\"%s\" is no name of a network device", dev);
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

/* Parse NAME src|dst|both drop|accept|count|prefetch|mark [VALUE[/MASK]] */
static int parse_action(const struct tool *tool, const struct words *words,
			const struct keyword *keywords,
			struct nl_attachment *to)
{
	int direction, status, verdict;

	status = parse_name(tool, words->word[0]);
	if (!status)
		status = parse_meaning(tool, "unknown direction \"", "\"", direction_words,
				       words->word[1], &direction);
	if (!status)
		status = parse_meaning(tool, "unknown verdict \"", "\"", verdict_words,
				       words->word[2], &verdict);
	if (status)
		return status;
	strcpy(to->set, words->word[0]);
	to->direction = direction;
	to->verdict = verdict;
	if (verdict != IPCUCKOO_VERDICT_MARK)
		return words->count == 3 ? STATUS_OK :
		       fail_unknown(tool, keywords, words->word[3]);
	if (words->count == 3)
		return fail(tool, STATUS_USAGE,
			    "mark needs a value, as in: mark 0x1/0xff");
	return parse_mark(tool, words->word[3], to);
}

/* The options after the verdict. attach sets them; detach selects attachments by them. */
struct attach_options {
	const char *order;
	const char *priority;
	const char *dev;
	const char *group;
	const char *rate;
	const char *every;
	bool ingress;
	bool xdp;
	bool loopback;
	bool log;
};

#define ATTACH_KEYWORDS(options) \
	{ .word = "ingress", .flag = &(options).ingress }, \
	{ .word = "xdp", .flag = &(options).xdp }, \
	{ .word = "dev", .value = &(options).dev }, \
	{ .word = "order", .value = &(options).order }, \
	{ .word = "priority", .value = &(options).priority }, \
	{ .word = "loopback", .flag = &(options).loopback }, \
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
		status = parse_log(tool, options, to);
	if (options->ingress && options->xdp && !status)
		status = fail(tool, STATUS_USAGE, "ingress and xdp are two places: give one of them");
	if (options->ingress)
		to->place = IPCUCKOO_PLACE_INGRESS;
	if (options->xdp)
		to->place = IPCUCKOO_PLACE_XDP;
	if (options->loopback)
		to->flags |= IPCUCKOO_F_LOOPBACK;
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
	char now[RATE_TEXT_SIZE], full[RATE_TEXT_SIZE];
	struct json_object *object;

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
	if (is_approximate(set)) {
		json_add_rate(object, "fppnow", filter_rate_now(set));
		json_add_rate(object, "fppfull", filter_rate_full(set));
	}
	json_print(object);
	return STATUS_OK;
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
	status = parse_words(tool, words, keywords, 3, 4);
	if (!status)
		status = parse_action(tool, words, keywords, attachment);
	if (!status)
		status = parse_options(tool, &options, attachment);
	if (!status && options.ingress && !options.dev)
		status = fail(tool, STATUS_USAGE,
			      "ingress is that of a device, as in: ingress dev eth0");
	if (!status && options.xdp)
		status = check_xdp(tool, attachment);
	if (!status)
		status = check_prefetch(tool, attachment);
	if (approximate)
		attachment->flags |= IPCUCKOO_F_APPROXIMATE;
	if (replace)
		attachment->flags |= IPCUCKOO_F_REPLACE;
	return status;
}

int run_attach(struct tool *tool, struct words *words)
{
	struct nl_attachment attachment;
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
	if (!status)
		status = guard_attach(tool, &attachment, NULL, NULL);
	if (!status)
		status = program_attach(tool, &attachment);
	if (!status && nl_attach(tool->nl, &attachment, &id)) {
		status = fail_attach(tool, attachment.set);
		program_tidy(tool, &attachment, 1, false);
	}
	if (!status)
		status = program_confirm(tool, &attachment);
	program_unlock();
	return status ? status : print_attached(tool, &set, &attachment, id);
}

static bool find_meaning(const struct meaning *meanings, const char *word,
			 uint8_t *value)
{
	for (; meanings->word; meanings++) {
		if (!strcmp(meanings->word, word)) {
			*value = meanings->value;
			return true;
		}
	}
	return false;
}

static bool is_number(const char *word)
{
	return word && *word >= '0' && *word <= '9';
}

/* Parse NAME [src|dst|both] [drop|accept|count|prefetch|mark [VALUE[/MASK]]], or id N */
static int parse_detach(const struct tool *tool, const struct words *words,
			struct nl_attachment *from)
{
	static const struct keyword known[] = {
		{ .word = "src" }, { .word = "dst" }, { .word = "both" },
		{ .word = "drop" }, { .word = "accept" }, { .word = "count" },
		{ .word = "mark" }, { .word = "prefetch" },
		{ .word = "dev" }, { .word = "ingress" }, { .word = "xdp" },
		{ .word = "order" }, { .word = "priority" },
		{ .word = "loopback" }, { .word = NULL }
	};
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
		} else if (!find_meaning(direction_words, words->word[i],
					 &from->direction) &&
			   !find_meaning(verdict_words, words->word[i],
					 &from->verdict)) {
			return fail_unknown(tool, known, words->word[i]);
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
	if (status)
		return status;
	if (tool->exist)
		from.flags |= IPCUCKOO_F_EXIST;
	return detach(tool, &from);
}
