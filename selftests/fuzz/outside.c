// SPDX-License-Identifier: GPL-2.0
/*
 * See outside.h. Answers made of an input are read from it as follows, so that
 * most of what is tried gets as far as the code that looks into attributes:
 *
 *   a byte, modulo 8: 0 acknowledgment, 1 end of a dump, 2 a message that is the
 *   last to be received at once, else one behind which others come; of the other
 *   bits 0x08 marks a dump as interrupted and 0x10 a length that lies;
 *   of 0 and 1 another byte: the errno;
 *   a byte: how many attributes follow, each a byte of type, one of length, then
 *   the payload; length 255 is two more bytes, the length, and one that fills it;
 *   type 255 puts the payload there without a header.
 */
#define FUZZ_INSIDE
#include <errno.h>
#include <linux/genetlink.h>
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../tools/cmd/commands.h"
#include "outside.h"

#define FAMILY_ID	0x20
#define GROUP_ID	7
#define PORT_ID		4711

/* The most words that a fuzzer gives. */
#define WORDS		8

struct outside outside;

/* The last request, its set and entry, until it is answered, and standard input. */
static struct {
	bool sent;
	uint8_t cmd;
	uint16_t type;
	uint16_t flags;
	uint32_t seq;
	char set[IPCUCKOO_NAME_SIZE];
	enum entry_kind kind;
	uint8_t last;
	FILE *input;
	bool ended;
	void *poisoned;
	size_t poisoned_size;
} now;

/* libjq keeps filters by pointers to the ends of their stacks, and its release 1.6 loses a text of some
 * documents and filters that are wrong.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libjq\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

void run_tool(const char *const *all)
{
	/* The words are moved as they are taken. */
	char *own[WORDS], *moved[WORDS];
	struct words words = { .word = moved };
	struct tool tool = { 0 };
	int i, count = 0;

	for (; all[count] && count < WORDS; count++)
		moved[count] = own[count] = strdup(all[count]);
	words.count = count;
	memset(&now, 0, sizeof(now));
	setenv("SSH_CONNECTION", "203.0.113.9 40000 198.51.100.1 22", 1);
	run_words(&tool, &words);
	nl_close(tool.nl);
	fflush(stdout);
	if (now.input)
		fclose(now.input);
	for (i = 0; i < count; i++)
		free(own[i]);
}

/* Files */

static FILE *contents(void)
{
	FILE *file = fmemopen((void *)outside.file, outside.file_size, "r");

	if (!file)
		abort();
	return file;
}

int outside_open(const char *path, int flags)
{
	int fd = memfd_create("list", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);

	(void)path;
	if (fd < 0 || write(fd, outside.file, outside.file_size) < 0 ||
	    lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

FILE *outside_fopen(const char *path, const char *mode)
{
	(void)path;
	(void)mode;
	return contents();
}

int outside_mkostemp(char *path, int flags)
{
	return outside_open(path, flags);
}

int outside_rename(const char *from, const char *to)
{
	(void)from;
	(void)to;
	return 0;
}

int outside_unlink(const char *path)
{
	(void)path;
	return 0;
}

FILE *outside_stdin(void)
{
	if (!now.input)
		now.input = contents();
	return now.input;
}

int outside_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	(void)fd;
	(void)address;
	(void)size;
	errno = ECONNREFUSED;
	return -1;
}

/* Something is always there to be read. */
int outside_poll(struct pollfd *polled, nfds_t count, int timeout)
{
	(void)count;
	(void)timeout;
	polled[0].revents = POLLIN;
	return 1;
}

int outside_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	(void)set;
	(void)old;
	return 0;
}

/* Names */

int outside_getaddrinfo(const char *name, const char *service,
			const struct addrinfo *hints, struct addrinfo **found)
{
	struct addrinfo numeric = *hints;
	bool v6 = hints->ai_family == AF_INET6;

	numeric.ai_flags |= AI_NUMERICHOST;
	if (name[0] != 'h')
		return EAI_NONAME;
	return getaddrinfo(v6 ? "2001:db8::7" : "192.0.2.7", service, &numeric, found);
}

int outside_getnameinfo(const struct sockaddr *address, socklen_t size, char *host,
			socklen_t host_size, char *service, socklen_t service_size,
			int flags)
{
	if (flags & NI_NUMERICHOST)
		return getnameinfo(address, size, host, host_size, service,
				   service_size, flags);
	snprintf(host, host_size, "host.example");
	return 0;
}

/* The socket */

struct mnl_socket *outside_socket_open(int bus, int flags)
{
	(void)flags;
	/* There are no routes. */
	if (bus != NETLINK_GENERIC)
		return NULL;
	return (struct mnl_socket *)&now;
}

int outside_socket_bind(struct mnl_socket *socket, unsigned int groups, pid_t pid)
{
	(void)socket;
	(void)groups;
	(void)pid;
	return 0;
}

static void unpoison(void)
{
	if (now.poisoned)
		ASAN_UNPOISON_MEMORY_REGION(now.poisoned, now.poisoned_size);
	now.poisoned = NULL;
}

int outside_socket_close(struct mnl_socket *socket)
{
	(void)socket;
	unpoison();
	return 0;
}

int outside_socket_fd(const struct mnl_socket *socket)
{
	(void)socket;
	return -1;
}

unsigned int outside_socket_portid(const struct mnl_socket *socket)
{
	(void)socket;
	return PORT_ID;
}

int outside_socket_option(const struct mnl_socket *socket, int option, void *value,
			  socklen_t size)
{
	(void)socket;
	(void)option;
	(void)value;
	(void)size;
	return 0;
}

/* The last byte of a prefix is its length. */
static void note_attr(const struct nlattr *attr)
{
	const char *payload = mnl_attr_get_payload(attr);
	int type = mnl_attr_get_type(attr);

	if (type == IPCUCKOO_A_SET)
		snprintf(now.set, sizeof(now.set), "%s", payload);
	if (type < IPCUCKOO_A_HOSTS4 || type > IPCUCKOO_A_NETS6)
		return;
	now.kind = type - IPCUCKOO_A_HOSTS4;
	now.last = payload[mnl_attr_get_payload_len(attr) - 1];
}

/* The attributes of a request must fill its message, and those of a nested attribute its
 * payload; if they do not, the fuzzer has found a fault of the tool.
 */
static void check_nested(const struct nlattr *nest)
{
	const struct nlattr *attr;
	const char *end = (const char *)nest + MNL_ALIGN(nest->nla_len);

	mnl_attr_for_each_nested(attr, nest)
		if (attr->nla_type & NLA_F_NESTED)
			check_nested(attr);
	if ((const char *)attr != end)
		abort();
}

static void check_request(const struct nlmsghdr *nlh, size_t size)
{
	const struct nlattr *attr;
	const char *end = (const char *)nlh + size;

	if (size < MNL_NLMSG_HDRLEN + GENL_HDRLEN || nlh->nlmsg_len != size)
		abort();
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		if (attr->nla_type & NLA_F_NESTED)
			check_nested(attr);
		else if (now.type == FAMILY_ID)
			note_attr(attr);
	}
	if ((const char *)attr != end)
		abort();
}

ssize_t outside_send(const struct mnl_socket *socket, const void *message, size_t size)
{
	const struct nlmsghdr *nlh = message;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);

	(void)socket;
	now.set[0] = '\0';
	now.sent = true;
	now.type = nlh->nlmsg_type;
	now.flags = nlh->nlmsg_flags;
	now.seq = nlh->nlmsg_seq;
	now.cmd = genl->cmd;
	check_request(nlh, size);
	return size;
}

/* Answers */

struct buffer {
	char *data;
	size_t size;
	size_t used;
};

static struct nlmsghdr *begin(struct buffer *b, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(b->data + b->used);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = now.seq;
	nlh->nlmsg_pid = PORT_ID;
	return nlh;
}

static void end(struct buffer *b, const struct nlmsghdr *nlh)
{
	b->used += MNL_ALIGN(nlh->nlmsg_len);
}

static struct nlmsghdr *begin_ours(struct buffer *b, uint16_t flags)
{
	struct nlmsghdr *nlh = begin(b, FAMILY_ID, flags);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = now.cmd;
	return nlh;
}

static struct nlmsghdr *begin_ack(struct buffer *b, int err)
{
	struct nlmsghdr *nlh = begin(b, NLMSG_ERROR, 0x300);	/* capped, TLVs */
	struct nlmsgerr *ack = mnl_nlmsg_put_extra_header(nlh, sizeof(*ack));

	ack->error = err;
	ack->msg.nlmsg_len = MNL_NLMSG_HDRLEN;
	return nlh;
}

static struct nlmsghdr *begin_done(struct buffer *b, int err)
{
	struct nlmsghdr *nlh = begin(b, NLMSG_DONE, 0x200);	/* TLVs */
	int *code = mnl_nlmsg_put_extra_header(nlh, sizeof(*code));

	*code = err;
	return nlh;
}

static void answer_family(struct buffer *b)
{
	struct nlmsghdr *nlh = begin(b, GENL_ID_CTRL, 0);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	struct nlattr *groups, *group;

	genl->cmd = CTRL_CMD_NEWFAMILY;
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, FAMILY_ID);
	groups = mnl_attr_nest_start(nlh, CTRL_ATTR_MCAST_GROUPS);
	group = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_u32(nlh, CTRL_ATTR_MCAST_GRP_ID, GROUP_ID);
	mnl_attr_put_strz(nlh, CTRL_ATTR_MCAST_GRP_NAME, IPCUCKOO_GROUP_EVENTS);
	mnl_attr_nest_end(nlh, group);
	mnl_attr_nest_end(nlh, groups);
	end(b, nlh);
	end(b, begin_ack(b, 0));
}

/* The kernel that does all that is asked for. Entries whose last byte is even are
 * there.
 */

static const struct has_set {
	const char *name;
	uint8_t type;
	uint8_t family;
	uint8_t netmask;
	uint8_t bits;
	uint32_t flags;
	uint32_t options;
	bool exceptions;
} sets[] = {
	{ "a", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET },
	{ "b", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY },
	{ "c", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET6, .netmask = 64 },
	{ "e", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY, .exceptions = true },
	{ "f", IPCUCKOO_TYPE_FILTER_IP, IPCUCKOO_FAMILY_INET, .bits = 8,
	  .flags = IPCUCKOO_F_MULTI },
	{ "n", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_INET },
	{ "o", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET, .flags = IPCUCKOO_F_FORCEADD,
	  .options = IPCUCKOO_O_ALL },
};

static void put_set(struct buffer *b, const struct has_set *set)
{
	struct nlmsghdr *nlh = begin_ours(b, NLM_F_MULTI);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set->name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, set->type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, set->family);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, 8);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_ENTRIES, 2);
	mnl_attr_put_u64(nlh, IPCUCKOO_A_SLOTS, 16);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_ATTACHMENTS, set->name[0] == 'b');
	if (set->netmask)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_NETMASK, set->netmask);
	if (set->bits) {
		mnl_attr_put_u8(nlh, IPCUCKOO_A_BITS, set->bits);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, 8);
	}
	if (set->flags) {
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, set->flags);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DESCRIPTION, "what <it> is for & why");
	}
	if (set->options) {
		mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, set->options);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_TIMEOUT, 600);
	}
	end(b, nlh);
}

/* What is kept for two hosts. */
static void put_kept(struct nlmsghdr *nlh)
{
	static const uint8_t timeouts[2 * IPCUCKOO_TIMEOUT_SIZE] = { 0, 0, 2, 5 };
	static const uint8_t counters[2 * IPCUCKOO_COUNTERS_SIZE] = { [7] = 3, [15] = 180 };
	static const uint8_t skbinfos[2 * IPCUCKOO_SKBINFO_SIZE] = {
		0, 0, 0, 0xf, 0, 0, 0, 1, 0, 1, 0, 2, 0, 3
	};
	static const char comments[] = "of one\0";	/* and of the other, none */

	mnl_attr_put(nlh, IPCUCKOO_A_TIMEOUTS, sizeof(timeouts), timeouts);
	mnl_attr_put(nlh, IPCUCKOO_A_COUNTERS, sizeof(counters), counters);
	mnl_attr_put(nlh, IPCUCKOO_A_SKBINFOS, sizeof(skbinfos), skbinfos);
	mnl_attr_put(nlh, IPCUCKOO_A_COMMENTS, sizeof(comments), comments);
}

static void put_entries(struct buffer *b, const struct has_set *set)
{
	static const uint8_t hosts4[] = { 192, 0, 2, 6, 192, 0, 2, 8 };
	static const uint8_t nets6[] = {
		0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32
	};
	static const uint8_t nomatches[] = { 0, 0, 1 };
	struct nlmsghdr *nlh = begin_ours(b, NLM_F_MULTI);

	if (set->family & IPCUCKOO_FAMILY_INET)
		mnl_attr_put(nlh, IPCUCKOO_A_HOSTS4, sizeof(hosts4), hosts4);
	if (set->type == IPCUCKOO_TYPE_HASH_NET && set->family & IPCUCKOO_FAMILY_INET6)
		mnl_attr_put(nlh, IPCUCKOO_A_NETS6, sizeof(nets6), nets6);
	if (set->exceptions)
		mnl_attr_put(nlh, IPCUCKOO_A_NOMATCHES, sizeof(nomatches), nomatches);
	if (set->options)
		put_kept(nlh);
	end(b, nlh);
}

static void put_attachment(struct buffer *b)
{
	struct nlmsghdr *nlh = begin_ours(b, NLM_F_MULTI);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_ATTACHMENT, 3);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "b");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_SRC);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, IPCUCKOO_VERDICT_DROP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, IPCUCKOO_PLACE_IP);
	end(b, nlh);
}

/* What changed, and the number of what was made. */
static void put_change(struct buffer *b)
{
	struct nlmsghdr *nlh = begin_ours(b, 0);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_CHANGED, 1);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, 1);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_ATTACHMENT, 3);
	end(b, nlh);
}

static void put_test(struct buffer *b, const struct has_set *set)
{
	struct nlmsghdr *nlh = begin_ours(b, 0);
	bool net = now.kind == ENTRY_NET4 || now.kind == ENTRY_NET6;
	bool there = now.last % 2 == 0, exception = there && net && set->exceptions;

	mnl_attr_put_u8(nlh, IPCUCKOO_A_FOUND, there && !exception);
	if (there)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_PREFIX_LEN, net ? now.last :
				now.kind == ENTRY_HOST4 ? 32 : 128);
	if (exception)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_NOMATCHES, 1);
	if (set->bits)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_COPIES, there);
	end(b, nlh);
}

/* Of the set that was asked for, or of all: 0, or -ENOENT. */
static int put_named(struct buffer *b, void (*put)(struct buffer *b,
						   const struct has_set *set))
{
	bool any = false;
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (now.set[0] && strcmp(now.set, sets[i].name))
			continue;
		put(b, &sets[i]);
		any = true;
	}
	return any || !now.set[0] ? 0 : -ENOENT;
}

static void answer_kindly(struct buffer *b)
{
	int err = 0;

	switch (now.cmd) {
	case IPCUCKOO_CMD_SET_GET:
		err = put_named(b, put_set);
		break;
	case IPCUCKOO_CMD_ENTRY_GET:
		err = put_named(b, put_entries);
		break;
	case IPCUCKOO_CMD_ENTRY_TEST:
		err = put_named(b, put_test);
		break;
	case IPCUCKOO_CMD_ATTACH_GET:
		put_attachment(b);
		break;
	default:
		put_change(b);
	}
	end(b, now.flags & NLM_F_DUMP ? begin_done(b, err) : begin_ack(b, err));
}

/* Answers made of the input */

static unsigned int take(void)
{
	if (!outside.size)
		return 0;
	outside.size--;
	return *outside.answers++;
}

static void put_attr(struct nlmsghdr *nlh)
{
	unsigned int type = take(), len = take(), fill;
	char payload[1 << 16];
	bool filled = len == 255;

	if (filled) {
		len = outside.size < 2 ? 0 : take() << 8;
		len |= take();
	}
	if (len > sizeof(payload) - 64)
		len = sizeof(payload) - 64;
	fill = filled ? take() : 0;
	memset(payload, fill, len);
	if (!filled && len > outside.size)
		len = outside.size;
	if (!filled) {
		memcpy(payload, outside.answers, len);
		outside.answers += len;
		outside.size -= len;
	}
	if (type == 255) {
		memcpy(mnl_nlmsg_get_payload_tail(nlh), payload, len);
		nlh->nlmsg_len += MNL_ALIGN(len);
	} else {
		mnl_attr_put(nlh, type, len, payload);
	}
}

/* Messages have 64 KiB at most, all of them together. */
static bool has_room(const struct buffer *b, const struct nlmsghdr *nlh)
{
	size_t used = b->used + (nlh ? nlh->nlmsg_len : 0), next = 0;

	if (outside.size > 1)
		next = outside.answers[1] == 255 && outside.size > 3 ?
		       outside.answers[2] << 8 | outside.answers[3] : outside.answers[1];
	return used + next + 128 < b->size;
}

static void answer_anyhow(struct buffer *b)
{
	unsigned int what, count;
	struct nlmsghdr *nlh;

	do {
		what = take();
		if (what % 8 == 0)
			nlh = begin_ack(b, -(int)take());
		else if (what % 8 == 1)
			nlh = begin_done(b, -(int)take());
		else
			nlh = begin_ours(b, NLM_F_MULTI);
		if (what & 8)
			nlh->nlmsg_flags |= NLM_F_DUMP_INTR;
		for (count = take() % 32; count && has_room(b, nlh); count--)
			put_attr(nlh);
		end(b, nlh);
		if (what & 16)
			nlh->nlmsg_len += 4;
	} while (what % 8 > 2 && outside.size && has_room(b, NULL));
}

/* After the last byte every request is done, once. */
static void answer(struct buffer *b)
{
	if (now.type == GENL_ID_CTRL) {
		answer_family(b);
		now.type = FAMILY_ID;
	} else if (!outside.answers) {
		answer_kindly(b);
	} else if (outside.size) {
		answer_anyhow(b);
	} else {
		end(b, begin_ack(b, 0));
	}
	now.sent = outside.answers && outside.size;
}

ssize_t outside_receive(const struct mnl_socket *socket, void *to, size_t size)
{
	struct buffer b = { .size = size };

	(void)socket;
	unpoison();
	if (!now.sent && !(outside.answers && outside.size)) {
		errno = ENODEV;
		return -1;
	}
	b.data = calloc(1, size + 256);
	if (!b.data)
		abort();
	answer(&b);
	if (b.used > size)
		abort();
	memcpy(to, b.data, b.used);
	free(b.data);
	now.poisoned = (char *)to + b.used;
	now.poisoned_size = size - b.used;
	ASAN_POISON_MEMORY_REGION(now.poisoned, now.poisoned_size);
	return b.used;
}
