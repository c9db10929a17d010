// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/output.h"
#include "lib/escape.h"
#include "set/attachment.h"

const char *verdict_text(const struct nl_attachment *attachment,
			 char text[VERDICT_TEXT_SIZE])
{
	const char *word = meaning_word(verdict_words, attachment->verdict);

	if (attachment->verdict != IPCUCKOO_VERDICT_MARK)
		snprintf(text, VERDICT_TEXT_SIZE, "%s", word);
	else if (attachment->mark_mask == UINT32_MAX)
		snprintf(text, VERDICT_TEXT_SIZE, "%s 0x%x", word,
			 attachment->mark);
	else
		snprintf(text, VERDICT_TEXT_SIZE, "%s 0x%x/0x%x", word,
			 attachment->mark, attachment->mark_mask);
	return text;
}

/* Whether an attachment sees packets now. An old module does not send the state; it
 * registers all hooks, so all its attachments are active.
 */
bool is_active(const struct nl_attachment *attachment)
{
	return !attachment->state || attachment->state == IPCUCKOO_STATE_ACTIVE;
}

bool same_place(const struct nl_attachment *a, const struct nl_attachment *b)
{
	return a->place == b->place ||
	       (a->place <= IPCUCKOO_PLACE_IP && b->place <= IPCUCKOO_PLACE_IP);
}

bool same_device(const char *a, const char *b)
{
	unsigned int ifindex;

	if (!*a || !*b || !strcmp(a, b))
		return !strcmp(a, b);
	ifindex = if_nametoindex(a);
	return ifindex && ifindex == if_nametoindex(b);
}

bool is_limited(const struct nl_attachment *attachment)
{
	return attachment->ports.protocol || attachment->flags & IPCUCKOO_F_NEW;
}

bool same_limits(const struct nl_attachment *a, const struct nl_attachment *b)
{
	return ports_same(&a->ports, &b->ports) &&
	       (a->flags & IPCUCKOO_F_NEW) == (b->flags & IPCUCKOO_F_NEW);
}

bool covers_limits(const struct nl_attachment *a, const struct nl_attachment *b)
{
	return (!(a->flags & IPCUCKOO_F_NEW) || b->flags & IPCUCKOO_F_NEW) &&
	       (!a->ports.protocol || ports_include(&a->ports, &b->ports));
}

const char *only_text(const struct nl_attachment *attachment, char text[ONLY_TEXT_SIZE])
{
	char ports[PORTS_TEXT_SIZE];
	int len;

	len = snprintf(text, ONLY_TEXT_SIZE, "%s", attachment->flags & IPCUCKOO_F_NEW ? "new" : "");
	if (attachment->ports.protocol)
		snprintf(text + len, ONLY_TEXT_SIZE - len, "%sproto %s dport %s", len ? " " : "",
			 ports_protocol_text(attachment->ports.protocol),
			 ports_text(&attachment->ports, ports));
	return text;
}

bool counts_packets(const struct nl_attachment *attachment)
{
	return attachment->verdict != IPCUCKOO_VERDICT_PREFETCH;
}

const char *state_text(const struct nl_attachment *attachment,
		       char text[STATE_TEXT_SIZE])
{
	if (is_active(attachment))
		return "active";
	if (attachment->state == IPCUCKOO_STATE_NO_DEVICE)
		return "no device";
	if (attachment->state == IPCUCKOO_STATE_NO_PROGRAM)
		return "no program";
	snprintf(text, STATE_TEXT_SIZE, "no hook: %s", strerror(attachment->missing));
	return text;
}

const char *place_text(const struct nl_attachment *attachment)
{
	return attachment->place == IPCUCKOO_PLACE_XDP ? "xdp" :
	       attachment->place == IPCUCKOO_PLACE_INGRESS ? "ingress" : "ip";
}

#define LOG_TEXT_SIZE	80

static const char *log_text(const struct nl_attachment *attachment,
			    char text[LOG_TEXT_SIZE])
{
	char group[16] = "";

	if (!attachment->log)
		return "";
	if (attachment->log == IPCUCKOO_LOG_NFLOG)
		snprintf(group, sizeof(group), " nflog %u",
			 attachment->log_group);
	snprintf(text, LOG_TEXT_SIZE, " log%s rate %u/s every %u", group,
		 attachment->log_rate, attachment->log_every);
	return text;
}

const char *attachment_text(const struct nl_attachment *attachment,
			    char text[ATTACHMENT_TEXT_SIZE])
{
	char verdict[VERDICT_TEXT_SIZE], log[LOG_TEXT_SIZE], priority[32] = "";
	char dev[ESCAPED_SIZE(IFNAMSIZ)], only[ONLY_TEXT_SIZE];

	if (attachment->place != IPCUCKOO_PLACE_XDP)
		snprintf(priority, sizeof(priority), " priority %d", attachment->priority);
	snprintf(text, ATTACHMENT_TEXT_SIZE, "%s %s order %d%s%s%s%s%s%s%s%s%s",
		 meaning_word(direction_words, attachment->direction),
		 verdict_text(attachment, verdict), attachment->order, priority,
		 attachment->place > IPCUCKOO_PLACE_IP ? " " : "",
		 attachment->place > IPCUCKOO_PLACE_IP ? place_text(attachment) : "",
		 attachment->dev[0] ? " dev " : "",
		 escape_text(attachment->dev, "\"", "/x", dev),
		 attachment->flags & IPCUCKOO_F_LOOPBACK ? " loopback" : "",
		 is_limited(attachment) ? " " : "", only_text(attachment, only),
		 log_text(attachment, log));
	return text;
}

static struct json_object *json_log(const struct nl_attachment *attachment)
{
	struct json_object *object = json_object_new_object();

	if (attachment->log == IPCUCKOO_LOG_NFLOG)
		json_add_uint(object, "nflog", attachment->log_group);
	json_add_uint(object, "rate", attachment->log_rate);
	json_add_uint(object, "every", attachment->log_every);
	return object;
}

struct json_object *json_attachment(const struct nl_attachment *attachment)
{
	struct json_object *object = json_object_new_object();
	char state[STATE_TEXT_SIZE], ports[PORTS_TEXT_SIZE];

	json_add_uint(object, "id", attachment->id);
	json_add_string(object, "set", attachment->set);
	json_add_string(object, "direction",
			meaning_word(direction_words, attachment->direction));
	json_add_string(object, "verdict",
			meaning_word(verdict_words, attachment->verdict));
	if (attachment->verdict == IPCUCKOO_VERDICT_MARK) {
		json_add_uint(object, "mark", attachment->mark);
		json_add_uint(object, "mask", attachment->mark_mask);
	}
	json_add_int(object, "order", attachment->order);
	json_add_string(object, "place", place_text(attachment));
	json_add_int(object, "priority", attachment->priority);
	if (attachment->dev[0])
		json_add_string(object, "dev", attachment->dev);
	json_add_bool(object, "loopback",
		      attachment->flags & IPCUCKOO_F_LOOPBACK);
	json_add_bool(object, "new", attachment->flags & IPCUCKOO_F_NEW);
	if (attachment->ports.protocol) {
		json_add_string(object, "proto", ports_protocol_text(attachment->ports.protocol));
		json_add_string(object, "dport", ports_text(&attachment->ports, ports));
	}
	if (attachment->log)
		json_object_object_add(object, "log", json_log(attachment));
	json_add_bool(object, "active", is_active(attachment));
	if (!is_active(attachment))
		json_add_string(object, "state", state_text(attachment, state));
	if (counts_packets(attachment)) {
		json_add_uint(object, "packets", attachment->packets);
		json_add_uint(object, "bytes", attachment->bytes);
	}
	return object;
}
