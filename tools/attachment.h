/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attachments as they are shown: as words of attach, and as JSON.
 */
#ifndef IPCUCKOO_TOOL_ATTACHMENT_H
#define IPCUCKOO_TOOL_ATTACHMENT_H

#include <json-c/json.h>

#include "netlink.h"

#define VERDICT_TEXT_SIZE	40
#define ATTACHMENT_TEXT_SIZE	320

bool is_ingress(const struct nl_attachment *attachment);
/* "mark 0x1/0xff" */
const char *verdict_text(const struct nl_attachment *attachment,
			 char text[VERDICT_TEXT_SIZE]);
/* "src drop order 300 priority -450 dev eth0": what attach takes behind the name of the set */
const char *attachment_text(const struct nl_attachment *attachment,
			    char text[ATTACHMENT_TEXT_SIZE]);
struct json_object *json_attachment(const struct nl_attachment *attachment);

#endif /* IPCUCKOO_TOOL_ATTACHMENT_H */
