/* SPDX-License-Identifier: GPL-2.0-only */
/* Formats attachments as options of attach and as JSON. */
#ifndef IPCUCKOO_TOOL_ATTACHMENT_H
#define IPCUCKOO_TOOL_ATTACHMENT_H

#include <json-c/json.h>

#include "cli/tool.h"
#include "nl/attachment.h"

#define VERDICT_TEXT_SIZE	40
#define ATTACHMENT_TEXT_SIZE	(384 + PORTS_TEXT_SIZE)
#define ONLY_TEXT_SIZE		(32 + PORTS_TEXT_SIZE)
#define STATE_TEXT_SIZE		80

bool is_active(const struct nl_attachment *attachment);
/* Whether two attachments are at the same place. 0 means the default, in requests and in the answers of
 * old modules.
 */
bool same_place(const struct nl_attachment *a, const struct nl_attachment *b);
/* Whether two names are of one device, which may have alternative names. */
bool same_device(const char *a, const char *b);
/* Whether an attachment acts only on some of the packets from or to the addresses of its set */
bool is_limited(const struct nl_attachment *attachment);
/* Whether two attachments act on the same ones of these packets. */
bool same_limits(const struct nl_attachment *a, const struct nl_attachment *b);
/* Whether @a acts on all packets on which @b acts. */
bool covers_limits(const struct nl_attachment *a, const struct nl_attachment *b);
/* Which ones that are: "new proto tcp dport 22"; "" if it is all. */
const char *only_text(const struct nl_attachment *attachment, char text[ONLY_TEXT_SIZE]);
/* Whether the attachment counts packets: all but those with the verdict prefetch do. */
bool counts_packets(const struct nl_attachment *attachment);
/* "active", "no device", "no hook: Cannot allocate memory" */
const char *state_text(const struct nl_attachment *attachment,
		       char text[STATE_TEXT_SIZE]);
/* "ip", "ingress", "xdp" */
const char *place_text(const struct nl_attachment *attachment);
/* "mark 0x1/0xff" */
const char *verdict_text(const struct nl_attachment *attachment,
			 char text[VERDICT_TEXT_SIZE]);
/* "src drop order 300 priority -450 dev eth0": the arguments of attach after the name. What a name of a
 * device has and a line of restore cannot have, such as quotes, is written as /x22: no name has a slash.
 */
const char *attachment_text(const struct nl_attachment *attachment,
			    char text[ATTACHMENT_TEXT_SIZE]);
struct json_object *json_attachment(const struct nl_attachment *attachment);

#endif /* IPCUCKOO_TOOL_ATTACHMENT_H */
