/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attachments as they are shown: as words of attach, and as JSON; and the words
 * of attach, which restore reads as well.
 */
#ifndef IPCUCKOO_TOOL_ATTACHMENT_H
#define IPCUCKOO_TOOL_ATTACHMENT_H

#include <json-c/json.h>

#include "cli/tool.h"
#include "nl/attachment.h"

#define VERDICT_TEXT_SIZE	40
#define ATTACHMENT_TEXT_SIZE	320
#define STATE_TEXT_SIZE		80

bool is_active(const struct nl_attachment *attachment);
/* "active", "no device", "no hook: Cannot allocate memory" */
const char *state_text(const struct nl_attachment *attachment,
		       char text[STATE_TEXT_SIZE]);
bool is_ingress(const struct nl_attachment *attachment);
/* "mark 0x1/0xff" */
const char *verdict_text(const struct nl_attachment *attachment,
			 char text[VERDICT_TEXT_SIZE]);
/* "src drop order 300 priority -450 dev eth0": what attach takes behind the name of the set */
const char *attachment_text(const struct nl_attachment *attachment,
			    char text[ATTACHMENT_TEXT_SIZE]);
struct json_object *json_attachment(const struct nl_attachment *attachment);

/* Say that a set, or with no name one of all, is attached, and as what. Return:
 * STATUS_REFUSED.
 */
int fail_attached(const struct tool *tool, const char *set);

/* @other_order: only the order is another. */
int fail_attached_already(const struct tool *tool, const char *name,
			  bool other_order);

/* NAME src|dst|both VERDICT, and what may stand behind it. */
int parse_attach(const struct tool *tool, struct words *words,
		 struct nl_attachment *attachment);
/* Whether strangers are to meet that, too. */
int check_approximate(const struct tool *tool, const struct nl_set *set,
		      const struct nl_attachment *attachment);
int attach_set(struct tool *tool, const struct nl_attachment *attachment,
	       struct nl_set *set, uint32_t *id);
int attach_checked(struct tool *tool, const char *name,
		   const struct nl_attachment *attachment, uint32_t *id);

#endif /* IPCUCKOO_TOOL_ATTACHMENT_H */
