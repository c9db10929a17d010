// SPDX-License-Identifier: GPL-2.0-only
/*
 * See uapi/ipcuckoo.h for the protocol.
 *
 * There is one request at a time. The kernel processes a message inside sendmsg(), so to
 * send the next message before reading the answer would gain nothing, and would make it
 * harder to tell which message failed.
 */
#include <stdlib.h>
#include <time.h>

#include "lib/monotonic.h"
#include "nl/request.h"

/* Some kernel headers are older than these constants; their values are ABI. */
#ifndef NLM_F_CAPPED
#define NLM_F_CAPPED		0x100
#endif
#ifndef NLM_F_ACK_TLVS
#define NLM_F_ACK_TLVS		0x200
#endif

int nl_fail(struct nl *nl, int code)
{
	memset(&nl->error, 0, sizeof(nl->error));
	nl->error.code = code;
	return code;
}

/* Fill in @attrs, the attributes by type. Unknown attributes are skipped. */
void nl_index(const struct nlmsghdr *nlh, const struct nlattr **attrs)
{
	const struct nlattr *attr;
	uint16_t type;

	memset(attrs, 0, (IPCUCKOO_A_MAX + 1) * sizeof(*attrs));
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		type = mnl_attr_get_type(attr);
		if (type <= IPCUCKOO_A_MAX)
			attrs[type] = attr;
	}
}

/* A number of 1, 2, 4 or 8 bytes; 0 if the attribute is missing. */
uint64_t nl_uint(const struct nlattr **attrs, int type)
{
	const struct nlattr *attr = attrs[type];

	if (!attr)
		return 0;
	switch (mnl_attr_get_payload_len(attr)) {
	case 1:
		return mnl_attr_get_u8(attr);
	case 2:
		return mnl_attr_get_u16(attr);
	case 4:
		return mnl_attr_get_u32(attr);
	case 8:
		return mnl_attr_get_u64(attr);
	}
	return 0;
}

void nl_string(const struct nlattr **attrs, int type, char *to,
	       size_t size)
{
	const struct nlattr *attr = attrs[type];
	size_t len;

	to[0] = '\0';
	if (!attr)
		return;
	len = strnlen(mnl_attr_get_payload(attr),
		      mnl_attr_get_payload_len(attr));
	if (len >= size)
		len = size - 1;
	memcpy(to, mnl_attr_get_payload(attr), len);
	to[len] = '\0';
}

struct nlmsghdr *nl_start(struct nl *nl, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(nl->request);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = nl->family;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++nl->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = IPCUCKOO_FAMILY_VERSION;
	return nlh;
}

struct nlmsghdr *nl_start_for_set(struct nl *nl, uint8_t cmd,
				  const char *set, uint32_t flags)
{
	struct nlmsghdr *nlh = nl_start(nl, cmd, NLM_F_ACK);

	if (set)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	else
		flags |= IPCUCKOO_F_ALL;
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	return nlh;
}

struct nlmsghdr *nl_start_for_shadow(struct nl *nl, uint8_t cmd,
				     uint32_t shadow, uint32_t flags)
{
	struct nlmsghdr *nlh = nl_start(nl, cmd, NLM_F_ACK);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	return nlh;
}

/* The type of the attribute at this address, among @attr and those after it; 0 if there
 * is none. The attributes of a commit are nested.
 */
static int attribute_at(const struct nlattr *attr, size_t len, const char *at)
{
	int type = 0;

	for (; mnl_attr_ok(attr, len) && !type;
	     len -= MNL_ALIGN(attr->nla_len), attr = mnl_attr_next(attr)) {
		if ((const char *)attr == at)
			type = mnl_attr_get_type(attr);
		else if (attr->nla_type & NLA_F_NESTED)
			type = attribute_at(mnl_attr_get_payload(attr),
					    mnl_attr_get_payload_len(attr), at);
	}
	return type;
}

/* The type of the attribute at this offset of the request. */
static int attribute_of(const struct nl *nl, uint32_t offset)
{
	size_t header = MNL_NLMSG_HDRLEN + GENL_HDRLEN;

	return attribute_at(mnl_nlmsg_get_payload_offset(nl->message, GENL_HDRLEN),
			    nl->message->nlmsg_len - header,
			    (const char *)nl->message + offset);
}

static bool is_commit(const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);

	return genl->cmd == IPCUCKOO_CMD_COMMIT;
}

/* Read the extended acknowledgment: a message, the wrong attribute, and, in the cookie,
 * the index of the wrong entry, or of the wrong request of a commit.
 */
static void read_ack_attrs(struct nl *nl, const struct nlattr *attr, size_t len)
{
	struct nl_error *error = &nl->error;
	bool has_index = false;
	uint32_t index = 0;
	size_t size;

	for (; mnl_attr_ok(attr, len);
	     len -= MNL_ALIGN(attr->nla_len), attr = mnl_attr_next(attr)) {
		size = mnl_attr_get_payload_len(attr);
		switch (mnl_attr_get_type(attr)) {
		case NLMSGERR_ATTR_MSG:
			if (size >= sizeof(error->message))
				size = sizeof(error->message) - 1;
			memcpy(error->message, mnl_attr_get_payload(attr),
			       size);
			error->message[size] = '\0';
			break;
		case NLMSGERR_ATTR_OFFS:
			if (size == sizeof(uint32_t))
				error->attribute = attribute_of(nl,
								mnl_attr_get_u32(attr));
			break;
		case NLMSGERR_ATTR_COOKIE:
			has_index = size >= sizeof(index);
			if (has_index)
				memcpy(&index, mnl_attr_get_payload(attr),
				       sizeof(index));
			break;
		}
	}
	if (has_index && is_commit(nl->message)) {
		error->has_change = true;
		error->change = index;
	} else if (has_index && error->attribute >= IPCUCKOO_A_HOSTS4 &&
		   error->attribute <= IPCUCKOO_A_NETS6) {
		error->has_entry = true;
		error->entry.kind = error->attribute - IPCUCKOO_A_HOSTS4;
		error->entry.index = nl->sent.at[error->entry.kind] + index;
	}
}

/* Read the end of an answer: the errno, a copy of the request (unless it is capped), and
 * attributes.
 */
static int read_ack(struct nl *nl, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *ack = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh), skip = sizeof(*ack);

	if (len < sizeof(*ack))
		return nl_fail(nl, -EBADMSG);
	if (!ack->error)
		return 0;
	nl_fail(nl, ack->error);
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += MNL_ALIGN(ack->msg.nlmsg_len) - sizeof(ack->msg);
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS && len > skip)
		read_ack_attrs(nl, (const void *)((const char *)ack + skip),
			       len - skip);
	return ack->error;
}

/* Read the end of a dump: an errno, and attributes if it is not 0. */
static int read_done(struct nl *nl, const struct nlmsghdr *nlh)
{
	const int *code = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh);

	if (len < sizeof(*code) || *code >= 0)
		return 0;
	nl_fail(nl, *code);
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS && len > sizeof(*code))
		read_ack_attrs(nl, (const void *)(code + 1),
			       len - sizeof(*code));
	return nl->error.code;
}

/*
 * Read one message of an answer. Return: 1 if it was the last message; *result is then
 * the result of the request. Else 0.
 */
static int read_message(struct nl *nl, const struct nlmsghdr *nlh,
			nl_answer_fn *answer, void *data, int *result)
{
	const struct nlattr *attrs[IPCUCKOO_A_MAX + 1];
	int err;

	if (nlh->nlmsg_seq != nl->seq ||
	    nlh->nlmsg_pid != mnl_socket_get_portid(nl->socket))
		return 0;
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		nl->interrupted = true;
	switch (nlh->nlmsg_type) {
	case NLMSG_ERROR:
		err = read_ack(nl, nlh);
		*result = *result ? *result : err;
		return 1;
	case NLMSG_DONE:
		err = read_done(nl, nlh);
		*result = *result ? *result : err;
		return 1;
	}
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE || !answer || *result)
		return 0;
	nl_index(nlh, attrs);
	err = answer(attrs, data);
	if (err)
		*result = nl_fail(nl, err);
	return 0;
}

/* Send a request once, and read its complete answer. */
static int talk_once(struct nl *nl, const struct nlmsghdr *nlh, nl_answer_fn *answer,
		     void *data)
{
	int len, result = 0;

	nl_fail(nl, 0);
	nl->interrupted = false;
	nl->message = nlh;
	if (mnl_socket_sendto(nl->socket, nlh, nlh->nlmsg_len) < 0)
		return nl_fail(nl, -errno);
	for (;;) {
		len = mnl_socket_recvfrom(nl->socket, nl->answer,
					  sizeof(nl->answer));
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return nl_fail(nl, -errno);
		for (nlh = (const struct nlmsghdr *)nl->answer;
		     mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len))
			if (read_message(nl, nlh, answer, data, &result))
				return result;
	}
}

/* The kernel returns EAGAIN if others keep a set busy, or while it loads a module that an attachment
 * needs. For how long a request is sent again then, and after which pause.
 */
#define AGAIN_SECONDS	30
#define AGAIN_PAUSE_MS	20

int nl_ask(struct nl *nl, const struct nlmsghdr *nlh, nl_answer_fn *answer, void *data)
{
	const struct timespec pause = { .tv_nsec = AGAIN_PAUSE_MS * 1000000 };
	const double end = monotonic_seconds() + AGAIN_SECONDS;
	int err;

	do {
		err = talk_once(nl, nlh, answer, data);
	} while (err == -EAGAIN && monotonic_seconds() < end && !nanosleep(&pause, NULL));
	return err;
}

int nl_talk(struct nl *nl, nl_answer_fn *answer, void *data)
{
	if (nl->commit.open)
		return nl_commit_append(nl);
	return nl_ask(nl, (const struct nlmsghdr *)nl->request, answer, data);
}

/* Read a dump once, of everything if @set and @shadow are not given. */
static int dump_once(struct nl *nl, uint8_t cmd, const char *set, uint32_t shadow,
		     nl_answer_fn *answer, void *data)
{
	struct nlmsghdr *nlh = nl_start(nl, cmd, NLM_F_DUMP);

	if (set)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	if (shadow)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	return nl_talk(nl, answer, data);
}

/* Read a dump, and again if something has changed meanwhile. */
static int dump(struct nl *nl, uint8_t cmd, const char *set, int attempts,
		void (*forget)(void *data), nl_answer_fn *answer, void *data)
{
	int err;

	do {
		forget(data);
		err = dump_once(nl, cmd, set, 0, answer, data);
	} while (!err && nl->interrupted && --attempts);
	return err ? err : nl->interrupted;
}

/*
 * Read a dump: of one set, or of everything if @set is NULL. If the kernel says that
 * something changed during the dump, @forget empties @data, and the dump is read again.
 * Return: 0, 1 if something changed in every attempt, or a negative errno.
 */
int nl_dump(struct nl *nl, uint8_t cmd, const char *set,
	    void (*forget)(void *data), nl_answer_fn *answer, void *data)
{
	return dump(nl, cmd, set, NL_ATTEMPTS, forget, answer, data);
}

int nl_read_shadow(const struct nlattr **attrs, void *data)
{
	*(uint32_t *)data = nl_uint(attrs, IPCUCKOO_A_SHADOW);
	return 0;
}

/*
 * Read the entries of a set. If the set changes in each of two attempts, the kernel copies its entries to
 * a shadow, in one moment, and the copy is read.
 * Return: 0; a negative errno; or 1 if the kernel cannot copy the set, for want of memory for instance, or
 * because it is older than this tool: then the entries are those of different moments.
 */
int nl_dump_entries(struct nl *nl, const char *set,
		    void (*forget)(void *data), nl_answer_fn *answer, void *data)
{
	int err = dump(nl, IPCUCKOO_CMD_ENTRY_GET, set, 2, forget, answer, data);
	struct nl_error error;
	uint32_t shadow = 0;

	if (err <= 0)
		return err;
	nl_start_for_set(nl, IPCUCKOO_CMD_SHADOW_NEW, set, IPCUCKOO_F_APPEND);
	if (nl_talk(nl, nl_read_shadow, &shadow))
		return 1;
	forget(data);
	err = dump_once(nl, IPCUCKOO_CMD_ENTRY_GET, NULL, shadow, answer, data);
	error = nl->error;
	nl_start_for_shadow(nl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	nl_talk(nl, NULL, NULL);
	nl->error = error;
	return err == -EINVAL ? nl_dump(nl, IPCUCKOO_CMD_ENTRY_GET, set, forget, answer, data) : err;
}

/* An array of the objects of a dump. */
struct gathered {
	char *data;
	size_t size;
	size_t count;
	size_t room;
	nl_answer_fn *read;
};

static int gather(const struct nlattr **attrs, void *data)
{
	struct gathered *all = data;
	char *more;

	if (all->count == all->room) {
		all->room = all->room ? 2 * all->room : 16;
		more = realloc(all->data, all->room * all->size);
		if (!more)
			return -ENOMEM;
		all->data = more;
	}
	return all->read(attrs, all->data + all->size * all->count++);
}

static void forget_gathered(void *data)
{
	((struct gathered *)data)->count = 0;
}

void *nl_gather(struct nl *nl, uint8_t cmd, nl_answer_fn *read, size_t size,
		size_t *count, int *err)
{
	struct gathered all = { .size = size, .read = read };

	*count = 0;
	*err = nl_dump(nl, cmd, NULL, forget_gathered, gather, &all);
	if (*err < 0) {
		free(all.data);
		return NULL;
	}
	*count = all.count;
	return all.data;
}

int nl_read_change(const struct nlattr **attrs, void *data)
{
	struct nl_change *change = data;

	change->entries = nl_uint(attrs, IPCUCKOO_A_ENTRIES);
	change->changed = nl_uint(attrs, IPCUCKOO_A_CHANGED);
	change->unchanged = nl_uint(attrs, IPCUCKOO_A_UNCHANGED);
	return 0;
}
