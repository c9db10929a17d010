// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
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

const char *state_text(const struct nl_attachment *attachment,
		       char text[STATE_TEXT_SIZE])
{
	if (is_active(attachment))
		return "active";
	if (attachment->state == IPCUCKOO_STATE_NO_DEVICE)
		return "no device";
	snprintf(text, STATE_TEXT_SIZE, "no hook: %s", strerror(attachment->missing));
	return text;
}

bool is_ingress(const struct nl_attachment *attachment)
{
	return attachment->place == IPCUCKOO_PLACE_INGRESS;
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
	char verdict[VERDICT_TEXT_SIZE], log[LOG_TEXT_SIZE];

	snprintf(text, ATTACHMENT_TEXT_SIZE, "%s %s order %d priority %d%s%s%s%s%s",
		 meaning_word(direction_words, attachment->direction),
		 verdict_text(attachment, verdict), attachment->order,
		 attachment->priority,
		 is_ingress(attachment) ? " ingress" : "",
		 attachment->dev[0] ? " dev " : "", attachment->dev,
		 attachment->flags & IPCUCKOO_F_LOOPBACK ? " loopback" : "",
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
	char state[STATE_TEXT_SIZE];

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
	if (attachment->log)
		json_object_object_add(object, "log", json_log(attachment));
	json_add_bool(object, "active", is_active(attachment));
	if (!is_active(attachment))
		json_add_string(object, "state", state_text(attachment, state));
	json_add_uint(object, "packets", attachment->packets);
	json_add_uint(object, "bytes", attachment->bytes);
	return object;
}

/* "src drop order 300 priority -450, dst count ...": the attachments of a set, or of all
 * sets, with their names, if @set is NULL. Return: an allocated string, or NULL.
 */
static char *attached_text(struct nl *nl, const char *set)
{
	struct nl_attachment *all = NULL;
	char text[ATTACHMENT_TEXT_SIZE], *all_text = NULL;
	size_t count = 0, size, i;
	FILE *to = open_memstream(&all_text, &size);

	if (!to)
		return NULL;
	nl_attachments(nl, &all, &count);
	for (i = 0; i < count; i++) {
		if (set && strcmp(all[i].set, set))
			continue;
		fprintf(to, "%s%s%s%s", ftell(to) ? ", " : "", set ? "" : all[i].set,
			set ? "" : " ", attachment_text(&all[i], text));
	}
	free(all);
	if (!fclose(to) && size)
		return all_text;
	free(all_text);
	return NULL;
}

int fail_attached(const struct tool *tool, const char *set)
{
	char *attached = attached_text(tool->nl, set);
	int status;

	status = fail(tool, STATUS_REFUSED,
		      "Set cannot be destroyed: it is in use by a kernel component (attached%s%s; ipcuckoo detach %s first)",
		      attached ? ": " : "", attached ? attached : "", set ? set : "--all");
	free(attached);
	return status;
}

int fail_attached_already(const struct tool *tool, const char *name,
			  bool other_order)
{
	if (other_order)
		return fail(tool, STATUS_REFUSED,
			    "Set %s is attached in that way already, with another order; detach it first",
			    name);
	return fail(tool, STATUS_REFUSED,
		    "Set %s is attached in that way already (-exist accepts that)",
		    name);
}

/**
 * attach_checked - attach a set, after the guard has allowed it
 * @tool:	the run
 * @name:	name of the set for messages
 * @attachment:	the attachment
 * @id:		set to the number of the attachment; 0 if the set is attached already,
 *		which is no error if the run has -exist
 *
 * Return: STATUS_OK, or another status after a message.
 */
int attach_checked(struct tool *tool, const char *name,
		   const struct nl_attachment *attachment, uint32_t *id)
{
	bool other_order;
	int err;

	err = nl_attach(tool->nl, attachment, id);
	if (!err)
		return STATUS_OK;
	if (err != -EEXIST)
		return fail_kernel(tool, attachment->set, "Set %s cannot be attached",
				   name);
	other_order = nl_error(tool->nl)->attribute == IPCUCKOO_A_ORDER;
	return tool->exist && !other_order ? STATUS_OK :
	       fail_attached_already(tool, name, other_order);
}
