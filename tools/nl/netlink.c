// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink through libmnl. See uapi/ipcuckoo.h for the protocol.
 *
 * One request is under way at a time. The kernel works on a message within
 * the sendmsg() that brings it, so that sending the next one before reading
 * the answer would gain nothing, and would blur which of them failed.
 */
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "nl/netlink.h"

/* Names newer than some kernel headers; the values are ABI. */
#ifndef NLM_F_CAPPED
#define NLM_F_CAPPED		0x100
#endif
#ifndef NLM_F_ACK_TLVS
#define NLM_F_ACK_TLVS		0x200
#endif
#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK	12
#endif

/* Attribute lengths are u16, and the entries of a message share one budget. Fuzzers
 * have less, so that they take several.
 */
#ifndef ENTRIES_SIZE
#define ENTRIES_SIZE		65000
#endif
#define REQUEST_SIZE		(ENTRIES_SIZE + 1024)
#define ANSWER_SIZE		(64u << 10)
#define SOCKET_BUFFER		(1 << 20)
#define DUMP_ATTEMPTS		5

/**
 * struct nl - a connection to the module
 * @socket:	libmnl's
 * @family:	id of the generic netlink family
 * @group:	id of its group of events
 * @seq:	of the last request
 * @interrupted: a message of the last dump was marked so
 * @error:	of the last request
 * @sent:	where the entries of the last request began
 */
struct nl {
	struct mnl_socket *socket;
	uint16_t family;
	uint32_t group;
	uint32_t seq;
	bool interrupted;
	struct nl_error error;
	struct nl_cursor sent;
	char request[REQUEST_SIZE] __attribute__((aligned(8)));
	char answer[ANSWER_SIZE] __attribute__((aligned(8)));
};

typedef int answer_fn(const struct nlattr **attrs, void *data);

static int fail(struct nl *nl, int code)
{
	memset(&nl->error, 0, sizeof(nl->error));
	nl->error.code = code;
	return code;
}

const struct nl_error *nl_error(const struct nl *nl)
{
	return &nl->error;
}

void nl_set_error(struct nl *nl, const struct nl_error *error)
{
	nl->error = *error;
}

/* Attributes by type; what this tool does not know is passed over. */
static void index_attrs(const struct nlmsghdr *nlh, const struct nlattr **attrs)
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

/* A number of any width; 0 if it is not there. */
static uint64_t get_uint(const struct nlattr **attrs, int type)
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

static void get_string(const struct nlattr **attrs, int type, char *to,
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

static struct nlmsghdr *start(struct nl *nl, uint8_t cmd, uint16_t flags)
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

static struct nlmsghdr *start_for_set(struct nl *nl, uint8_t cmd,
				      const char *set, uint32_t flags)
{
	struct nlmsghdr *nlh = start(nl, cmd, NLM_F_ACK);

	if (set)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	else
		flags |= IPCUCKOO_F_ALL;
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	return nlh;
}

/* The attribute of the request at an offset that the kernel complained of. */
static int attribute_at(const struct nl *nl, uint32_t offset)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->request;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if ((const char *)attr - nl->request == offset)
			return mnl_attr_get_type(attr);
	return 0;
}

/* Extended acknowledgement: sentence, attribute, index of an entry. */
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
				error->attribute = attribute_at(nl,
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
	if (has_index && error->attribute >= IPCUCKOO_A_HOSTS4 &&
	    error->attribute <= IPCUCKOO_A_NETS6) {
		error->has_entry = true;
		error->entry.kind = error->attribute - IPCUCKOO_A_HOSTS4;
		error->entry.index = nl->sent.at[error->entry.kind] + index;
	}
}

/* The end of an answer: the errno, the request unless capped, attributes. */
static int read_ack(struct nl *nl, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *ack = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh), skip = sizeof(*ack);

	if (len < sizeof(*ack))
		return fail(nl, -EBADMSG);
	if (!ack->error)
		return 0;
	fail(nl, ack->error);
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += MNL_ALIGN(ack->msg.nlmsg_len) - sizeof(ack->msg);
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS && len > skip)
		read_ack_attrs(nl, (const void *)((const char *)ack + skip),
			       len - skip);
	return ack->error;
}

/* The end of a dump carries its errno, and attributes if there is one. */
static int read_done(struct nl *nl, const struct nlmsghdr *nlh)
{
	const int *code = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh);

	if (len < sizeof(*code) || *code >= 0)
		return 0;
	fail(nl, *code);
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS && len > sizeof(*code))
		read_ack_attrs(nl, (const void *)(code + 1),
			       len - sizeof(*code));
	return nl->error.code;
}

/*
 * One message of an answer. Return: 1 if it was the last one, with the
 * outcome in @result, else 0.
 */
static int read_message(struct nl *nl, const struct nlmsghdr *nlh,
			answer_fn *answer, void *data, int *result)
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
	index_attrs(nlh, attrs);
	err = answer(attrs, data);
	if (err)
		*result = fail(nl, err);
	return 0;
}

/* Send the request that has been built, and read all of its answer. */
static int talk(struct nl *nl, answer_fn *answer, void *data)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->request;
	int len, result = 0;

	fail(nl, 0);
	nl->interrupted = false;
	if (mnl_socket_sendto(nl->socket, nlh, nlh->nlmsg_len) < 0)
		return fail(nl, -errno);
	for (;;) {
		len = mnl_socket_recvfrom(nl->socket, nl->answer,
					  sizeof(nl->answer));
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return fail(nl, -errno);
		for (nlh = (const struct nlmsghdr *)nl->answer;
		     mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len))
			if (read_message(nl, nlh, answer, data, &result))
				return result;
	}
}

/*
 * Read a dump, of a set or with a NULL @set of all there is. If the kernel says
 * that something changed meanwhile, @forget empties @data, and the dump is read
 * again. Return: 0, 1 if something changed each time, or a negative errno.
 */
static int dump(struct nl *nl, uint8_t cmd, const char *set,
		void (*forget)(void *data), answer_fn *answer, void *data)
{
	struct nlmsghdr *nlh;
	int attempt, err = 0;

	for (attempt = 0; attempt < DUMP_ATTEMPTS; attempt++) {
		forget(data);
		nlh = start(nl, cmd, NLM_F_DUMP);
		if (set)
			mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
		err = talk(nl, answer, data);
		if (err || !nl->interrupted)
			break;
	}
	return err ? err : nl->interrupted;
}

/* A group of the family: its id, if it is the one of events. */
static uint32_t read_group(const struct nlattr *group)
{
	const struct nlattr *attr;
	const char *name = "";
	uint32_t id = 0;

	mnl_attr_for_each_nested(attr, group) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
			id = mnl_attr_get_u32(attr);
		else if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
			name = mnl_attr_get_str(attr);
	}
	return strcmp(name, IPCUCKOO_GROUP_EVENTS) ? 0 : id;
}

static int read_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr, *group;
	struct nl *nl = data;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			nl->family = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) != CTRL_ATTR_MCAST_GROUPS)
			continue;
		mnl_attr_for_each_nested(group, attr)
			nl->group = nl->group ? nl->group : read_group(group);
	}
	return MNL_CB_OK;
}

/* The controller's attributes are not ours: it is asked with libmnl's loop. */
static int find_family(struct nl *nl)
{
	unsigned int portid = mnl_socket_get_portid(nl->socket);
	struct nlmsghdr *nlh;
	int len;

	nl->family = GENL_ID_CTRL;
	nlh = start(nl, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, IPCUCKOO_FAMILY_NAME);
	if (mnl_socket_sendto(nl->socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	nl->family = 0;
	for (;;) {
		len = mnl_socket_recvfrom(nl->socket, nl->answer,
					  sizeof(nl->answer));
		if (len < 0)
			return -errno;
		len = mnl_cb_run(nl->answer, len, nl->seq, portid, read_family,
				 nl);
		if (len < 0)
			return errno == ENOENT ? -ENOPROTOOPT : -errno;
		if (len == MNL_CB_STOP)
			return nl->family ? 0 : -EBADMSG;
	}
}

/* Options an old kernel may lack are asked for and not insisted on. */
static void set_options(struct nl *nl)
{
	static const int options[] = {
		NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK
	};
	int fd = mnl_socket_get_fd(nl->socket), one = 1;
	int size = SOCKET_BUFFER;
	unsigned int i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		mnl_socket_setsockopt(nl->socket, options[i], &one,
				      sizeof(one));
	/* Forcing takes CAP_NET_ADMIN in the first namespace. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

int nl_open(struct nl **result)
{
	struct nl *nl = calloc(1, sizeof(*nl));
	int err;

	if (!nl)
		return -ENOMEM;
	nl->socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl->socket || mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID)) {
		err = -errno;
		goto err_close;
	}
	set_options(nl);
	err = find_family(nl);
	if (err)
		goto err_close;
	*result = nl;
	return 0;

err_close:
	nl_close(nl);
	return err;
}

void nl_close(struct nl *nl)
{
	if (!nl)
		return;
	if (nl->socket)
		mnl_socket_close(nl->socket);
	free(nl);
}

static int read_info(const struct nlattr **attrs, void *data)
{
	struct nl_info *info = data;

	get_string(attrs, IPCUCKOO_A_VERSION, info->version,
		   sizeof(info->version));
	info->sets = get_uint(attrs, IPCUCKOO_A_SETS);
	info->attachments = get_uint(attrs, IPCUCKOO_A_ATTACHMENTS);
	info->memory = get_uint(attrs, IPCUCKOO_A_MEMORY);
	info->memory_limit = get_uint(attrs, IPCUCKOO_A_MEMORY_LIMIT);
	return 0;
}

int nl_info(struct nl *nl, struct nl_info *info)
{
	memset(info, 0, sizeof(*info));
	start(nl, IPCUCKOO_CMD_INFO, NLM_F_ACK);
	return talk(nl, read_info, info);
}

int nl_set_new(struct nl *nl, const struct nl_set *set, bool has_maxelem,
	       uint32_t flags)
{
	struct nlmsghdr *nlh = start_for_set(nl, IPCUCKOO_CMD_SET_NEW,
					     set->name, flags | set->flags);

	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, set->type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, set->family);
	if (has_maxelem)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, set->maxelem);
	if (set->bits)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_BITS, set->bits);
	if (set->capacity)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, set->capacity);
	if (set->options)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, set->options);
	if (set->timeout)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_TIMEOUT, set->timeout);
	if (set->hashsize)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_HASHSIZE, set->hashsize);
	if (set->bucketsize)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_BUCKETSIZE, set->bucketsize);
	if (set->netmask)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_NETMASK, set->netmask);
	if (set->has_bitmask)
		mnl_attr_put(nlh, IPCUCKOO_A_BITMASK,
			     set->family == IPCUCKOO_FAMILY_INET6 ?
			     IPCUCKOO_HOST6_SIZE : IPCUCKOO_HOST4_SIZE,
			     set->bitmask);
	if (set->has_initval)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_INITVAL, set->initval);
	return talk(nl, NULL, NULL);
}

static void get_bitmask(const struct nlattr *attr, struct nl_set *set)
{
	size_t size = attr ? mnl_attr_get_payload_len(attr) : 0;

	set->has_bitmask = attr;
	memset(set->bitmask, 0, sizeof(set->bitmask));
	if (size <= sizeof(set->bitmask) && size)
		memcpy(set->bitmask, mnl_attr_get_payload(attr), size);
}

static int read_set(const struct nlattr **attrs, void *data)
{
	struct nl_set *set = data;
	int i;

	get_string(attrs, IPCUCKOO_A_SET, set->name, sizeof(set->name));
	set->type = get_uint(attrs, IPCUCKOO_A_TYPE);
	set->family = get_uint(attrs, IPCUCKOO_A_FAMILY);
	set->bits = get_uint(attrs, IPCUCKOO_A_BITS);
	set->flags = get_uint(attrs, IPCUCKOO_A_FLAGS);
	set->capacity = get_uint(attrs, IPCUCKOO_A_CAPACITY);
	set->hashsize = get_uint(attrs, IPCUCKOO_A_HASHSIZE);
	set->bucketsize = get_uint(attrs, IPCUCKOO_A_BUCKETSIZE);
	set->initval = get_uint(attrs, IPCUCKOO_A_INITVAL);
	set->has_initval = true;
	set->netmask = get_uint(attrs, IPCUCKOO_A_NETMASK);
	get_bitmask(attrs[IPCUCKOO_A_BITMASK], set);
	set->maxelem = get_uint(attrs, IPCUCKOO_A_MAXELEM);
	set->options = get_uint(attrs, IPCUCKOO_A_OPTIONS);
	set->timeout = get_uint(attrs, IPCUCKOO_A_TIMEOUT);
	set->expired = get_uint(attrs, IPCUCKOO_A_EXPIRED);
	set->entries = get_uint(attrs, IPCUCKOO_A_ENTRIES);
	set->hosts = get_uint(attrs, IPCUCKOO_A_HOSTS);
	set->memory = get_uint(attrs, IPCUCKOO_A_MEMORY);
	set->slots = get_uint(attrs, IPCUCKOO_A_SLOTS);
	set->attachments = get_uint(attrs, IPCUCKOO_A_ATTACHMENTS);
	set->generation = get_uint(attrs, IPCUCKOO_A_GENERATION);
	set->growths = get_uint(attrs, IPCUCKOO_A_GROWTHS);
	set->rekeys = get_uint(attrs, IPCUCKOO_A_REKEYS);
	set->displaced = get_uint(attrs, IPCUCKOO_A_DISPLACED);
	set->fallbacks = get_uint(attrs, IPCUCKOO_A_FALLBACKS);
	set->retries = get_uint(attrs, IPCUCKOO_A_RETRIES);
	for (i = 0; i < FAILURES; i++)
		set->failed[i] = get_uint(attrs, IPCUCKOO_A_FAILED_FULL + i);
	return 0;
}

int nl_set_get(struct nl *nl, const char *name, struct nl_set *set)
{
	memset(set, 0, sizeof(*set));
	start_for_set(nl, IPCUCKOO_CMD_SET_GET, name, 0);
	return talk(nl, read_set, set);
}

int nl_set_del(struct nl *nl, const char *name, uint32_t flags)
{
	start_for_set(nl, IPCUCKOO_CMD_SET_DEL, name, flags);
	return talk(nl, NULL, NULL);
}

int nl_set_flush(struct nl *nl, const char *name)
{
	start_for_set(nl, IPCUCKOO_CMD_SET_FLUSH, name, 0);
	return talk(nl, NULL, NULL);
}

static int request_two_sets(struct nl *nl, uint8_t cmd, const char *name,
			    const char *other)
{
	struct nlmsghdr *nlh = start_for_set(nl, cmd, name, 0);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, other);
	return talk(nl, NULL, NULL);
}

int nl_set_rename(struct nl *nl, const char *name, const char *to)
{
	return request_two_sets(nl, IPCUCKOO_CMD_SET_RENAME, name, to);
}

int nl_set_swap(struct nl *nl, const char *name, const char *other)
{
	return request_two_sets(nl, IPCUCKOO_CMD_SET_SWAP, name, other);
}

int nl_set_change(struct nl *nl, const char *name, uint32_t maxelem)
{
	struct nlmsghdr *nlh = start_for_set(nl, IPCUCKOO_CMD_SET_CHANGE, name, 0);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, maxelem);
	return talk(nl, NULL, NULL);
}

/* Objects of a dump, gathered in an array. */
struct gathered {
	char *data;
	size_t size;
	size_t count;
	size_t room;
	answer_fn *read;
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

static int dump_objects(struct nl *nl, uint8_t cmd, struct gathered *all)
{
	int err = dump(nl, cmd, NULL, forget_gathered, gather, all);

	if (err < 0) {
		free(all->data);
		all->data = NULL;
	}
	return err;
}

int nl_sets(struct nl *nl, struct nl_set **sets, size_t *count)
{
	struct gathered all = { .size = sizeof(**sets), .read = read_set };
	int err = dump_objects(nl, IPCUCKOO_CMD_SET_GET, &all);

	*sets = (struct nl_set *)all.data;
	*count = err < 0 ? 0 : all.count;
	return err;
}

static int read_attachment(const struct nlattr **attrs, void *data)
{
	struct nl_attachment *attachment = data;

	memset(attachment, 0, sizeof(*attachment));
	get_string(attrs, IPCUCKOO_A_SET, attachment->set,
		   sizeof(attachment->set));
	get_string(attrs, IPCUCKOO_A_DEV, attachment->dev,
		   sizeof(attachment->dev));
	attachment->id = get_uint(attrs, IPCUCKOO_A_ATTACHMENT);
	attachment->direction = get_uint(attrs, IPCUCKOO_A_DIRECTION);
	attachment->verdict = get_uint(attrs, IPCUCKOO_A_VERDICT);
	attachment->mark = get_uint(attrs, IPCUCKOO_A_MARK);
	attachment->mark_mask = get_uint(attrs, IPCUCKOO_A_MARK_MASK);
	attachment->has_order = attrs[IPCUCKOO_A_ORDER];
	attachment->order = get_uint(attrs, IPCUCKOO_A_ORDER);
	attachment->log = get_uint(attrs, IPCUCKOO_A_LOG);
	attachment->log_group = get_uint(attrs, IPCUCKOO_A_LOG_GROUP);
	attachment->log_rate = get_uint(attrs, IPCUCKOO_A_LOG_RATE);
	attachment->log_every = get_uint(attrs, IPCUCKOO_A_LOG_EVERY);
	attachment->place = get_uint(attrs, IPCUCKOO_A_PLACE);
	attachment->priority = get_uint(attrs, IPCUCKOO_A_PRIORITY);
	attachment->flags = get_uint(attrs, IPCUCKOO_A_FLAGS);
	attachment->state = get_uint(attrs, IPCUCKOO_A_STATE);
	attachment->missing = get_uint(attrs, IPCUCKOO_A_ERRNO);
	attachment->packets = get_uint(attrs, IPCUCKOO_A_PACKETS);
	attachment->bytes = get_uint(attrs, IPCUCKOO_A_BYTES);
	return 0;
}

int nl_attachments(struct nl *nl, struct nl_attachment **attachments,
		   size_t *count)
{
	struct gathered all = {
		.size = sizeof(**attachments), .read = read_attachment
	};
	int err = dump_objects(nl, IPCUCKOO_CMD_ATTACH_GET, &all);

	*attachments = (struct nl_attachment *)all.data;
	*count = err < 0 ? 0 : all.count;
	return err;
}

static int read_entries(const struct nlattr **attrs, void *data)
{
	struct packed *entries = data;
	struct entry_array *array;
	const struct nlattr *attr;
	size_t more;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		attr = attrs[IPCUCKOO_A_HOSTS4 + kind];
		if (!attr)
			continue;
		more = mnl_attr_get_payload_len(attr) / entry_size[kind];
		if (packed_grow(entries, kind, more))
			return -ENOMEM;
		array = &entries->kind[kind];
		memcpy(array->data + array->count * entry_size[kind],
		       mnl_attr_get_payload(attr), more * entry_size[kind]);
		array->count += more;
	}
	entries->kept |= attrs[IPCUCKOO_A_TIMEOUTS] || attrs[IPCUCKOO_A_COUNTERS] ||
			 attrs[IPCUCKOO_A_SKBINFOS] || attrs[IPCUCKOO_A_COMMENTS] ||
			 attrs[IPCUCKOO_A_NOMATCHES];
	return 0;
}

static void forget_entries(void *data)
{
	packed_clear(data);
}

int nl_entries(struct nl *nl, const char *set, struct packed *entries)
{
	return dump(nl, IPCUCKOO_CMD_ENTRY_GET, set, forget_entries, read_entries,
		    entries);
}

static int read_change(const struct nlattr **attrs, void *data)
{
	struct nl_change *change = data;

	change->entries = get_uint(attrs, IPCUCKOO_A_ENTRIES);
	change->changed = get_uint(attrs, IPCUCKOO_A_CHANGED);
	change->unchanged = get_uint(attrs, IPCUCKOO_A_UNCHANGED);
	return 0;
}

static struct nlmsghdr *start_for_shadow(struct nl *nl, uint8_t cmd,
					 uint32_t shadow, uint32_t flags)
{
	struct nlmsghdr *nlh = start(nl, cmd, NLM_F_ACK);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	return nlh;
}

/* Big-endian numbers without alignment. */
static uint64_t get_be(const uint8_t *p, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

static uint8_t *put_be(uint8_t *p, uint64_t n, unsigned int bytes)
{
	for (p += bytes; bytes--; n >>= 8)
		*--p = n;
	return p;
}

/* Strings behind one another, each terminated. */
struct strings {
	const char *next;
	const char *end;
};

/* The next one; NULL if it is empty, or there is none. */
static char *take_string(struct strings *strings)
{
	const char *text = strings->next;

	if (text == strings->end)
		return NULL;
	strings->next += strlen(text) + 1;
	return *text ? (char *)text : NULL;
}

/* Reads what is kept for the n-th entry of a message. Comments differ in length:
 * they are taken one after another.
 */
static struct entry_value read_value(const struct nlattr **attrs, size_t n,
				     struct strings *comments)
{
	const uint8_t *timeouts = NULL, *counters = NULL, *infos = NULL, *nomatches = NULL;
	struct entry_value value = { 0 };
	const struct {
		const uint8_t **data;
		int attr;
		size_t size;
	} arrays[] = {
		{ &timeouts, IPCUCKOO_A_TIMEOUTS, IPCUCKOO_TIMEOUT_SIZE },
		{ &counters, IPCUCKOO_A_COUNTERS, IPCUCKOO_COUNTERS_SIZE },
		{ &infos, IPCUCKOO_A_SKBINFOS, IPCUCKOO_SKBINFO_SIZE },
		{ &nomatches, IPCUCKOO_A_NOMATCHES, IPCUCKOO_NOMATCH_SIZE },
	};
	const struct nlattr *attr;
	unsigned int i;

	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		attr = attrs[arrays[i].attr];
		if (attr && mnl_attr_get_payload_len(attr) >= (n + 1) * arrays[i].size)
			*arrays[i].data = (const uint8_t *)mnl_attr_get_payload(attr) +
					  n * arrays[i].size;
	}
	if (timeouts)
		value.timeout = get_be(timeouts, 4);
	if (counters) {
		value.packets = get_be(counters, 8);
		value.bytes = get_be(counters + 8, 8);
	}
	if (infos) {
		value.mark = get_be(infos, 8);
		value.prio = get_be(infos + 8, 4);
		value.queue = get_be(infos + 12, 2);
	}
	value.nomatch = nomatches && *nomatches;
	value.comment = take_string(comments);
	return value;
}

/* The strings of an attribute: none if the last one lacks its end. */
static struct strings get_strings(const struct nlattr *attr)
{
	const char *text = attr ? mnl_attr_get_payload(attr) : NULL;
	size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

	if (!len || text[len - 1])
		return (struct strings){ NULL, NULL };
	return (struct strings){ text, text + len };
}

static int read_valued(const struct nlattr **attrs, void *data)
{
	struct strings comments = get_strings(attrs[IPCUCKOO_A_COMMENTS]);
	struct valued *entries = data;
	struct entry_value value;
	const struct nlattr *attr;
	const uint8_t *entry;
	size_t n = 0, i, count;
	int kind, err;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		attr = attrs[IPCUCKOO_A_HOSTS4 + kind];
		count = attr ? mnl_attr_get_payload_len(attr) / entry_size[kind] : 0;
		entry = attr ? mnl_attr_get_payload(attr) : NULL;
		for (i = 0; i < count; i++, n++, entry += entry_size[kind]) {
			value = read_value(attrs, n, &comments);
			err = valued_add(entries, kind, entry, &value);
			if (err)
				return err;
		}
	}
	return 0;
}

static void forget_valued(void *data)
{
	valued_free(data);
}

int nl_valued_entries(struct nl *nl, const char *set, struct valued *entries)
{
	int err = dump(nl, IPCUCKOO_CMD_ENTRY_GET, set, forget_valued, read_valued,
		       entries);

	if (err >= 0 && valued_sort(entries))
		return -ENOMEM;
	return err;
}

/* As much of it as a message has room for. */
static size_t valued_end(const struct valued *entries, size_t from)
{
	size_t heads = 10 * (MNL_ATTR_HDRLEN + MNL_ALIGNTO), size = heads;

	for (; from < entries->count; from++) {
		size += valued_size(&entries->at[from]);
		if (size > ENTRIES_SIZE)
			break;
	}
	return from;
}

bool nl_valued_fits(const struct valued *entries)
{
	return valued_end(entries, 0) == entries->count;
}

static uint8_t *put_value(uint8_t *to, const struct entry_value *value, int attr)
{
	const char *comment = value->comment ? value->comment : "";

	switch (attr) {
	case IPCUCKOO_A_TIMEOUTS:
		put_be(to, value->timeout, 4);
		return to + IPCUCKOO_TIMEOUT_SIZE;
	case IPCUCKOO_A_COUNTERS:
		put_be(to, value->packets, 8);
		put_be(to + 8, value->bytes, 8);
		return to + IPCUCKOO_COUNTERS_SIZE;
	case IPCUCKOO_A_SKBINFOS:
		put_be(to, value->mark, 8);
		put_be(to + 8, value->prio, 4);
		put_be(to + 12, value->queue, 2);
		put_be(to + 14, 0, 2);
		return to + IPCUCKOO_SKBINFO_SIZE;
	case IPCUCKOO_A_COMMENTS:
		return (uint8_t *)stpcpy((char *)to, comment) + 1;
	default:
		*to = value->nomatch;
		return to + IPCUCKOO_NOMATCH_SIZE;
	}
}

/*
 * One attribute, for the entries of each kind in turn, or with @kind those of
 * that kind themselves. The order is that of the protocol: by kind.
 */
static void put_valued(struct nlmsghdr *nlh, const struct valued *entries,
		       size_t from, size_t end, int type, int kind)
{
	struct nlattr *attr = mnl_nlmsg_get_payload_tail(nlh);
	uint8_t *to = mnl_attr_get_payload(attr);
	int k;
	size_t i;

	for (k = 0; k < ENTRY_KINDS; k++) {
		for (i = from; i < end; i++) {
			const struct valued_entry *at = &entries->at[i];

			if ((int)at->kind != k || (kind >= 0 && k != kind))
				continue;
			if (kind >= 0)
				to = (uint8_t *)memcpy(to, at->entry, entry_size[k]) +
				     entry_size[k];
			else
				to = put_value(to, &at->value, type);
		}
	}
	attr->nla_type = type;
	attr->nla_len = to - (uint8_t *)attr;
	if (attr->nla_len > MNL_ATTR_HDRLEN)
		nlh->nlmsg_len += MNL_ALIGN(attr->nla_len);
}

int nl_valued_add(struct nl *nl, const char *set, uint32_t shadow,
		  struct nl_valued *valued, uint32_t flags, struct nl_change *change)
{
	static const struct {
		int attr;
		uint32_t option;
	} kept[] = {
		{ IPCUCKOO_A_TIMEOUTS, IPCUCKOO_O_TIMEOUT },
		{ IPCUCKOO_A_COUNTERS, IPCUCKOO_O_COUNTERS },
		{ IPCUCKOO_A_SKBINFOS, IPCUCKOO_O_SKBINFO },
		{ IPCUCKOO_A_COMMENTS, IPCUCKOO_O_COMMENT },
		{ IPCUCKOO_A_NOMATCHES, NL_NOMATCH },
	};
	size_t end = valued_end(valued->entries, valued->from);
	struct nlmsghdr *nlh;
	unsigned int i;
	int kind, err;

	nlh = set ? start_for_set(nl, IPCUCKOO_CMD_ENTRY_ADD, set, flags) :
		    start_for_shadow(nl, IPCUCKOO_CMD_SHADOW_ADD, shadow, 0);
	memset(change, 0, sizeof(*change));
	memset(&nl->sent, 0, sizeof(nl->sent));
	for (kind = 0; kind < ENTRY_KINDS; kind++)
		put_valued(nlh, valued->entries, valued->from, end,
			   IPCUCKOO_A_HOSTS4 + kind, kind);
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (valued->options & kept[i].option)
			put_valued(nlh, valued->entries, valued->from, end,
				   kept[i].attr, -1);
	valued->from = end;
	err = talk(nl, read_change, change);
	return err ? err : end < valued->entries->count;
}

/* As many entries as a message takes. Return: 1 if some are left, else 0. */
static int put_entries(struct nl *nl, struct nlmsghdr *nlh,
		       const struct packed *entries, struct nl_cursor *cursor)
{
	size_t budget = ENTRIES_SIZE, count, size;
	const struct entry_array *array;
	int kind, left = 0;

	nl->sent = *cursor;
	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		array = &entries->kind[kind];
		size = entry_size[kind];
		count = array->count - cursor->at[kind];
		if (!count)
			continue;
		if (budget < MNL_ATTR_HDRLEN + MNL_ALIGN(size))
			return 1;
		if (count > (budget - MNL_ATTR_HDRLEN) / size) {
			count = (budget - MNL_ATTR_HDRLEN) / size;
			left = 1;
		}
		mnl_attr_put(nlh, IPCUCKOO_A_HOSTS4 + kind, count * size,
			     array->data + cursor->at[kind] * size);
		cursor->at[kind] += count;
		size = MNL_ATTR_HDRLEN + MNL_ALIGN(count * size);
		budget -= size < budget ? size : budget;
	}
	return left;
}

bool nl_fits(const struct packed *entries)
{
	size_t size = 0;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		if (entries->kind[kind].count)
			size += MNL_ATTR_HDRLEN +
				MNL_ALIGN(entries->kind[kind].count *
					  entry_size[kind]);
	return size <= ENTRIES_SIZE;
}

static int change_entries(struct nl *nl, uint8_t cmd, const char *set,
			  const struct packed *entries, uint32_t flags,
			  struct nl_change *change)
{
	struct nl_cursor cursor = { 0 };
	struct nlmsghdr *nlh = start_for_set(nl, cmd, set, flags);

	memset(change, 0, sizeof(*change));
	if (put_entries(nl, nlh, entries, &cursor))
		return fail(nl, -EMSGSIZE);
	return talk(nl, read_change, change);
}

int nl_entry_add(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change)
{
	return change_entries(nl, IPCUCKOO_CMD_ENTRY_ADD, set, entries, flags,
			      change);
}

int nl_entry_del(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change)
{
	return change_entries(nl, IPCUCKOO_CMD_ENTRY_DEL, set, entries, flags,
			      change);
}

static int read_test(const struct nlattr **attrs, void *data)
{
	struct nl_test *test = data;

	test->found = get_uint(attrs, IPCUCKOO_A_FOUND);
	test->nomatch = attrs[IPCUCKOO_A_NOMATCHES];
	test->copies = get_uint(attrs, IPCUCKOO_A_COPIES);
	test->prefix_len = get_uint(attrs, IPCUCKOO_A_PREFIX_LEN);
	return 0;
}

int nl_entry_test(struct nl *nl, const char *set, const struct packed *entry,
		  struct nl_test *test)
{
	struct nl_cursor cursor = { 0 };
	struct nlmsghdr *nlh = start_for_set(nl, IPCUCKOO_CMD_ENTRY_TEST, set,
					     0);

	memset(test, 0, sizeof(*test));
	put_entries(nl, nlh, entry, &cursor);
	return talk(nl, read_test, test);
}

static int read_shadow(const struct nlattr **attrs, void *data)
{
	*(uint32_t *)data = get_uint(attrs, IPCUCKOO_A_SHADOW);
	return 0;
}

int nl_shadow_new(struct nl *nl, const char *set, const struct packed *coming,
		  uint32_t flags, uint32_t *shadow)
{
	struct nlmsghdr *nlh = start_for_set(nl, IPCUCKOO_CMD_SHADOW_NEW, set,
					     flags);
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		if (coming->kind[kind].count)
			mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY_HOSTS4 + kind,
					 coming->kind[kind].count);
	*shadow = 0;
	return talk(nl, read_shadow, shadow);
}

static int change_shadow(struct nl *nl, uint8_t cmd, uint32_t shadow,
			 const struct packed *entries, struct nl_cursor *cursor,
			 uint32_t flags, struct nl_change *change)
{
	struct nlmsghdr *nlh = start_for_shadow(nl, cmd, shadow, flags);
	int err, left = put_entries(nl, nlh, entries, cursor);

	memset(change, 0, sizeof(*change));
	err = talk(nl, read_change, change);
	return err ? err : left;
}

int nl_shadow_add(struct nl *nl, uint32_t shadow,
		  const struct packed *entries, struct nl_cursor *cursor,
		  struct nl_change *change)
{
	return change_shadow(nl, IPCUCKOO_CMD_SHADOW_ADD, shadow, entries, cursor,
			     0, change);
}

int nl_shadow_remove(struct nl *nl, uint32_t shadow,
		     const struct packed *entries, struct nl_cursor *cursor,
		     uint32_t flags, struct nl_change *change)
{
	return change_shadow(nl, IPCUCKOO_CMD_SHADOW_REMOVE, shadow, entries,
			     cursor, flags, change);
}

int nl_shadow_commit(struct nl *nl, uint32_t shadow, uint32_t flags,
		     struct nl_change *change)
{
	start_for_shadow(nl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, flags);
	memset(change, 0, sizeof(*change));
	return talk(nl, read_change, change);
}

int nl_shadow_del(struct nl *nl, uint32_t shadow)
{
	start_for_shadow(nl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	return talk(nl, NULL, NULL);
}

static int read_attached(const struct nlattr **attrs, void *data)
{
	*(uint32_t *)data = get_uint(attrs, IPCUCKOO_A_ATTACHMENT);
	return 0;
}

static void put_log(struct nlmsghdr *nlh, const struct nl_attachment *attachment)
{
	if (!attachment->log)
		return;
	mnl_attr_put_u8(nlh, IPCUCKOO_A_LOG, attachment->log);
	if (attachment->log == IPCUCKOO_LOG_NFLOG)
		mnl_attr_put_u16(nlh, IPCUCKOO_A_LOG_GROUP,
				 attachment->log_group);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_LOG_RATE, attachment->log_rate);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_LOG_EVERY, attachment->log_every);
}

/* What is said of an attachment. */
static void put_rule(struct nlmsghdr *nlh, const struct nl_attachment *attachment,
		     bool mark)
{
	if (attachment->direction)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION,
				attachment->direction);
	if (attachment->verdict)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, attachment->verdict);
	if (mark) {
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK, attachment->mark);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK_MASK,
				 attachment->mark_mask);
	}
	if (attachment->has_order)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_ORDER, attachment->order);
	if (attachment->has_priority)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY,
				 attachment->priority);
	if (attachment->place)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, attachment->place);
	if (attachment->dev[0])
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, attachment->dev);
}

static int attach_once(struct nl *nl, const struct nl_attachment *attachment,
		       uint32_t *id)
{
	struct nlmsghdr *nlh = start_for_set(nl, IPCUCKOO_CMD_ATTACH,
					     attachment->set,
					     attachment->flags);

	put_rule(nlh, attachment, attachment->verdict == IPCUCKOO_VERDICT_MARK);
	put_log(nlh, attachment);
	*id = 0;
	return talk(nl, read_attached, id);
}

/* How long the kernel may take to load the module of a logger, and how often it
 * is asked.
 */
#define LOAD_SECONDS	30
#define LOAD_POLL_MS	20

int nl_attach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *id)
{
	const struct timespec pause = { .tv_nsec = LOAD_POLL_MS * 1000000 };
	int left = LOAD_SECONDS * 1000 / LOAD_POLL_MS, err;

	do {
		err = attach_once(nl, attachment, id);
	} while (err == -EAGAIN && left-- && !nanosleep(&pause, NULL));
	return err;
}

int nl_detach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *detached)
{
	struct nl_change change = { 0 };
	struct nlmsghdr *nlh;
	int err;

	if (attachment->id) {
		nlh = start(nl, IPCUCKOO_CMD_DETACH, NLM_F_ACK);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_ATTACHMENT, attachment->id);
		if (attachment->flags)
			mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS,
					 attachment->flags);
	} else {
		nlh = start_for_set(nl, IPCUCKOO_CMD_DETACH,
				    attachment->set[0] ? attachment->set : NULL,
				    attachment->flags);
	}
	put_rule(nlh, attachment, attachment->has_mark);
	err = talk(nl, read_change, &change);
	*detached = change.changed;
	return err;
}

int nl_listen(struct nl *nl)
{
	/* The controller's own group, which has its number: families that go. */
	uint32_t groups[] = { nl->group, GENL_ID_CTRL };
	unsigned int i;

	fail(nl, 0);
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (mnl_socket_setsockopt(nl->socket, NETLINK_ADD_MEMBERSHIP,
					  &groups[i], sizeof(groups[i])))
			return fail(nl, -errno);
	return 0;
}

int nl_fd(const struct nl *nl)
{
	return mnl_socket_get_fd(nl->socket);
}

static int read_event(const struct nlattr **attrs, struct nl_event *event)
{
	packed_clear(&event->entries);
	event->type = get_uint(attrs, IPCUCKOO_A_EVENT);
	read_set(attrs, &event->set);
	get_string(attrs, IPCUCKOO_A_SET_TO, event->to, sizeof(event->to));
	read_attachment(attrs, &event->attachment);
	return read_entries(attrs, &event->entries);
}

/* The controller says that our family is gone. */
static bool is_farewell(const struct nl *nl, const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (nlh->nlmsg_type != GENL_ID_CTRL || genl->cmd != CTRL_CMD_DELFAMILY)
		return false;
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			return mnl_attr_get_u16(attr) == nl->family;
	return false;
}

int nl_event(struct nl *nl, struct nl_event *event)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->answer;
	const struct nlattr *attrs[IPCUCKOO_A_MAX + 1];
	int len, err;

	fail(nl, 0);
	len = mnl_socket_recvfrom(nl->socket, nl->answer, sizeof(nl->answer));
	if (len < 0)
		return fail(nl, -errno);
	if (mnl_nlmsg_ok(nlh, len) && is_farewell(nl, nlh))
		return fail(nl, -ENODEV);
	if (!mnl_nlmsg_ok(nlh, len) || nlh->nlmsg_type != nl->family)
		return -EAGAIN;
	index_attrs(nlh, attrs);
	err = read_event(attrs, event);
	return err ? fail(nl, err) : 0;
}
