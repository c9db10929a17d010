// SPDX-License-Identifier: GPL-2.0-only
#include "attachment.h"
#include "output.h"
#include "tool.h"

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

bool is_ingress(const struct nl_attachment *attachment)
{
	return attachment->place == IPCUCKOO_PLACE_INGRESS;
}

const char *attachment_text(const struct nl_attachment *attachment,
			    char text[ATTACHMENT_TEXT_SIZE])
{
	char verdict[VERDICT_TEXT_SIZE];

	snprintf(text, ATTACHMENT_TEXT_SIZE, "%s %s order %d priority %d%s%s%s%s",
		 meaning_word(direction_words, attachment->direction),
		 verdict_text(attachment, verdict), attachment->order,
		 attachment->priority,
		 is_ingress(attachment) ? " ingress" : "",
		 attachment->dev[0] ? " dev " : "", attachment->dev,
		 attachment->flags & IPCUCKOO_F_LOOPBACK ? " loopback" : "");
	return text;
}

struct json_object *json_attachment(const struct nl_attachment *attachment)
{
	struct json_object *object = json_object_new_object();

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
	json_add_string(object, "place", is_ingress(attachment) ? "ingress" : "ip");
	json_add_int(object, "priority", attachment->priority);
	if (attachment->dev[0])
		json_add_string(object, "dev", attachment->dev);
	json_add_bool(object, "loopback",
		      attachment->flags & IPCUCKOO_F_LOOPBACK);
	json_add_uint(object, "packets", attachment->packets);
	json_add_uint(object, "bytes", attachment->bytes);
	return object;
}
