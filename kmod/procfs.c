// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: /proc/net/ipcuckoo
 *
 *	sets		a line for each set
 *	attachments	a line for each attachment, with its counters
 *	set/NAME	reads as the summary of a set. Takes commands, one a line:
 *			+ADDR or +PREFIX to add, -ADDR or -PREFIX to delete,
 *			/ to delete all. Adding what is there and deleting what
 *			is not is no error, as in xt_recent.
 *
 * A write is whole lines: one that does not end in a newline is refused, for
 * half an address may be another one. All lines are parsed and checked before
 * any is applied, and several are applied in one step. Errors are those of
 * netlink (uapi/ipcuckoo.h); EMSGSIZE: the write is larger than WRITE_MAX.
 *
 * Opening the file of a set finds the set of that name and holds it: what is
 * read and written then is that set's, though it may be renamed or swapped
 * meanwhile. Its removal waits for whoever is in here, who takes no lock that is
 * held then: not that of names.
 */
#include <linux/ctype.h>
#include <linux/inet.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "change.h"
#include "compat.h"
#include "net.h"
#include "procfs.h"
#include "set.h"

/* Bytes of one write; more than cat or dd write at a time. */
#define WRITE_MAX	SZ_1M

/* The longest command. */
#define LINE_MAX	sizeof("+ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128")

static const char *type_name(u8 type)
{
	static const char * const names[] = {
		[IPCUCKOO_TYPE_HASH_IP] = "hash:ip",
		[IPCUCKOO_TYPE_HASH_NET] = "hash:net",
		[IPCUCKOO_TYPE_FILTER_IP] = "filter:ip",
	};

	return names[type];
}

static const char *family_name(u8 family)
{
	static const char * const names[] = {
		[IPCUCKOO_FAMILY_INET] = "inet",
		[IPCUCKOO_FAMILY_INET6] = "inet6",
		[IPCUCKOO_FAMILY_ANY] = "any",
	};

	return names[family];
}

/* Only those who may read sets by netlink may read them here. */
static bool capable_in(const struct net *net)
{
	return ns_capable(ipcuckoo_net_owner(net), CAP_NET_ADMIN);
}

/* The two lists. Opened by proc_create_net(), which checks file modes only; so
 * each reading begins with the capability.
 */

static void *sets_start(struct seq_file *m, loff_t *pos)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(seq_file_net(m));
	struct ipcuckoo_set *set, *last;
	loff_t i;

	if (!capable_in(inet->net))
		return ERR_PTR(-EPERM);
	if (!*pos)
		return SEQ_START_TOKEN;
	set = ipcuckoo_set_next(inet, "");
	for (i = 1; set && i < *pos; i++) {
		last = set;
		set = ipcuckoo_set_after(inet, last);
		ipcuckoo_set_put(last);
	}
	return set;
}

static bool is_set(const void *v)
{
	return v != SEQ_START_TOKEN && !IS_ERR_OR_NULL(v);
}

static void sets_stop(struct seq_file *m, void *v)
{
	if (is_set(v))
		ipcuckoo_set_put(v);
}

static void *sets_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(seq_file_net(m));
	struct ipcuckoo_set *set;

	(*pos)++;
	set = is_set(v) ? ipcuckoo_set_after(inet, v) : ipcuckoo_set_next(inet, "");
	sets_stop(m, v);
	return set;
}

static int sets_show(struct seq_file *m, void *v)
{
	struct ipcuckoo_set *set = v;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "# name type family entries maxelem slots bytes attachments\n");
		return 0;
	}
	mutex_lock(&set->entries.mutex);
	seq_printf(m, "%s %s %s %u %u %llu %zu %u\n", set->name,
		   type_name(set->type), family_name(set->family),
		   ipcuckoo_set_count(set), set->maxelem,
		   ipcuckoo_entries_slots(&set->entries),
		   ipcuckoo_set_memory(set), READ_ONCE(set->attachments));
	mutex_unlock(&set->entries.mutex);
	return 0;
}

static const struct seq_operations sets_ops = {
	.start = sets_start,
	.next = sets_next,
	.stop = sets_stop,
	.show = sets_show,
};

static void *attachments_start(struct seq_file *m, loff_t *pos)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(seq_file_net(m));

	mutex_lock(&inet->mutex);
	if (!capable_in(inet->net))
		return ERR_PTR(-EPERM);
	return *pos ? seq_list_start(&inet->attached.list, *pos - 1) :
		      SEQ_START_TOKEN;
}

static void attachments_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&ipcuckoo_net(seq_file_net(m))->mutex);
}

static void *attachments_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(seq_file_net(m));

	if (v != SEQ_START_TOKEN)
		return seq_list_next(v, &inet->attached.list, pos);
	(*pos)++;
	return seq_list_start(&inet->attached.list, 0);
}

static int attachments_show(struct seq_file *m, void *v)
{
	static const char * const dirs[] = {
		[IPCUCKOO_DIR_SRC] = "src",
		[IPCUCKOO_DIR_DST] = "dst",
		[IPCUCKOO_DIR_BOTH] = "both",
	};
	static const char * const verdicts[] = {
		[IPCUCKOO_VERDICT_DROP] = "drop",
		[IPCUCKOO_VERDICT_ACCEPT] = "accept",
		[IPCUCKOO_VERDICT_MARK] = "mark",
		[IPCUCKOO_VERDICT_COUNT] = "count",
	};
	const struct ipcuckoo_attachment *at;
	struct ipcuckoo_counter sum;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "# id set direction verdict mark/mask order device loopback place priority packets bytes\n");
		return 0;
	}
	at = list_entry(v, struct ipcuckoo_attachment, list);
	sum = ipcuckoo_attachment_count(at);
	seq_printf(m, "%u %s %s %s 0x%x/0x%x %d %s %s %s %d %llu %llu\n", at->id,
		   at->set->name, dirs[at->rule.dir], verdicts[at->rule.verdict],
		   at->rule.mark, at->rule.mask, at->rule.order,
		   *at->rule.dev ? at->rule.dev : "*",
		   at->rule.loopback ? "yes" : "no",
		   at->rule.place == IPCUCKOO_PLACE_INGRESS ? "ingress" : "ip",
		   at->rule.priority, sum.packets, sum.bytes);
	return 0;
}

static const struct seq_operations attachments_ops = {
	.start = attachments_start,
	.next = attachments_next,
	.stop = attachments_stop,
	.show = attachments_show,
};

/* The file of a set */

static int set_show(struct seq_file *m, void *v)
{
	struct ipcuckoo_set *set = m->private;
	struct ipcuckoo_entries *e = &set->entries;

	mutex_lock(&e->mutex);
	seq_printf(m, "name %s\ntype %s\nfamily %s\nmaxelem %u\n", set->name,
		   type_name(set->type), family_name(set->family),
		   set->maxelem);
	seq_printf(m, "entries %u\nslots %llu\nbytes %zu\nattachments %u\n",
		   ipcuckoo_set_count(set), ipcuckoo_entries_slots(e),
		   ipcuckoo_set_memory(set), READ_ONCE(set->attachments));
	if (ipcuckoo_entries_approximate(e))
		seq_printf(m, "bits %u\ncapacity %u\nmulti %s\n", e->shape.bits,
			   e->shape.capacity, e->shape.multi ? "yes" : "no");
	seq_printf(m, "generation %llu\ngrowths %u\nrekeys %u\ndisplaced %llu\n",
		   e->generation, e->growths, e->rekeys,
		   ipcuckoo_entries_displaced(e));
	mutex_unlock(&e->mutex);
	return 0;
}

static int open_set(struct file *file, struct net *net)
{
	struct ipcuckoo_set *set;
	int err;

	if (!capable_in(net))
		return -EPERM;
	/* procfs renames no file. */
	set = ipcuckoo_set_get(ipcuckoo_net(net), file_dentry(file)->d_name.name);
	if (!set)
		return -ENOENT;
	err = single_open(file, set_show, set);
	if (err)
		ipcuckoo_set_put(set);
	return err;
}

static struct ipcuckoo_set *file_set(const struct file *file)
{
	const struct seq_file *m = file->private_data;

	return m->private;
}

/* A file that is open holds its namespace, so that the end of a namespace never
 * waits for who reads or writes.
 */
static int set_open(struct inode *inode, struct file *file)
{
	struct net *net = maybe_get_net(proc_get_parent_data(inode));
	int err;

	if (!net)
		return -ENXIO;
	err = open_set(file, net);
	if (err)
		put_net(net);
	return err;
}

static int set_release(struct inode *inode, struct file *file)
{
	struct net *net = proc_get_parent_data(inode);
	int err;

	ipcuckoo_set_put(file_set(file));
	err = single_release(inode, file);
	put_net(net);
	return err;
}

enum command_type {
	COMMAND_ADD = '+',
	COMMAND_DEL = '-',
	COMMAND_FLUSH = '/',
};

struct command {
	char type;
	struct ipcuckoo_entry entry;
};

/* What the parsers below take and others would read as something else: octets
 * and lengths with leading zeros, groups of more than four digits.
 */
static bool plain_numbers(const char *text)
{
	const char *number = text;
	size_t digits;
	bool decimal;

	for (; *number; number += max_t(size_t, digits, 1)) {
		digits = strspn(number, "0123456789abcdefABCDEF");
		decimal = number[digits] == '.' ||
			  (number > text && strchr("./", number[-1]));
		if (digits > 4 || (decimal && digits > 1 && *number == '0'))
			return false;
	}
	return true;
}

static int parse_entry(const char *text, struct ipcuckoo_entry *entry)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? slash - text : strlen(text);
	const char *end;
	u8 addr[16];

	if (!plain_numbers(text))
		return -EINVAL;
	entry->v6 = strnchr(text, len, ':');
	entry->len = entry->v6 ? 128 : 32;
	if (entry->v6 ? !in6_pton(text, len, addr, -1, &end) :
			!in4_pton(text, len, addr, -1, &end))
		return -EINVAL;
	if (end != text + len)
		return -EINVAL;
	if (slash && (!isdigit(slash[1]) || kstrtou8(slash + 1, 10, &entry->len)))
		return -EINVAL;
	entry->addr.hi = entry->v6 ? get_unaligned_be64(addr) : 0;
	entry->addr.lo = entry->v6 ? get_unaligned_be64(addr + 8) :
				     get_unaligned_be32(addr);
	return 0;
}

static int parse_command(const struct ipcuckoo_set *set, const char *line,
			 struct command *command)
{
	int err;

	command->type = *line;
	switch (*line) {
	case COMMAND_FLUSH:
		return line[1] ? -EINVAL : 0;
	case COMMAND_DEL:
		if (!ipcuckoo_set_deletes(set))
			return -EOPNOTSUPP;
		fallthrough;
	case COMMAND_ADD:
		err = parse_entry(line + 1, &command->entry);
		return err ?: ipcuckoo_set_check(set, &command->entry);
	default:
		return -EINVAL;
	}
}

/* What is said of an entry here: nothing, so that it has the set's timeout. */
static int apply_command(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			 struct command *command)
{
	const struct ipcuckoo_given given = ipcuckoo_given_nothing(set->timeout);
	int err;

	switch (command->type) {
	case COMMAND_FLUSH:
		return ipcuckoo_entries_flush(e);
	case COMMAND_ADD:
		err = ipcuckoo_change_add_one(set, e, &command->entry, &given);
		return err == -EEXIST ? 0 : err;
	default:
		err = ipcuckoo_change_del_one(set, e, &command->entry);
		return err == -ENOENT ? 0 : err;
	}
}

/* A single command changes the contents in place, as a batch of one entry. */
static int apply_single(struct ipcuckoo_set *set, const struct command *command)
{
	struct ipcuckoo_change_result result;
	struct ipcuckoo_batch batch;
	u8 data[IPCUCKOO_NET6_SIZE];

	if (command->type == COMMAND_FLUSH)
		return ipcuckoo_set_flush(set);
	ipcuckoo_batch_single(&batch, data, &command->entry);
	return command->type == COMMAND_ADD ?
	       ipcuckoo_change_add(set, &batch, true, &result) :
	       ipcuckoo_change_del(set, &batch, true, &result);
}

/* Several commands are applied to contents aside, which then replace those of the
 * set: packets see them in one step.
 */
static int apply_commands(struct ipcuckoo_set *set, struct command *commands,
			  size_t count)
{
	struct ipcuckoo_entries *next = ipcuckoo_change_aside(set);
	int err = 0;
	size_t i;

	if (IS_ERR(next))
		return PTR_ERR(next);
	if (commands[0].type != COMMAND_FLUSH)
		err = ipcuckoo_entries_copy(next, &set->entries);
	for (i = 0; i < count && !err; i++) {
		err = fatal_signal_pending(current) ? -EINTR :
		      apply_command(set, next, &commands[i]);
		cond_resched();
	}
	if (!err)
		ipcuckoo_set_replace(set, next);
	ipcuckoo_change_aside_end(next);
	return err;
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Parse and apply @text, which ends in a newline. Destroys it. */
static int run_commands(struct ipcuckoo_set *set, char *text)
{
	size_t count = 0, lines = count_lines(text);
	struct command *commands;
	char *line;
	int err = 0;

	commands = kvmalloc_array(lines, sizeof(*commands), GFP_KERNEL_ACCOUNT);
	if (!commands)
		return -ENOMEM;
	for (; count < lines && !err; count++) {
		line = strsep(&text, "\n");
		err = strlen(line) < LINE_MAX ?
		      parse_command(set, line, &commands[count]) : -EINVAL;
		cond_resched();
	}
	if (!err)
		err = ipcuckoo_set_lock(set);
	if (!err) {
		err = count == 1 ? apply_single(set, commands) :
				   apply_commands(set, commands, count);
		ipcuckoo_set_unlock(set);
	}
	kvfree(commands);
	return err;
}

static ssize_t set_write(struct file *file, const char __user *buf, size_t size,
			 loff_t *pos)
{
	struct ipcuckoo_set *set = file_set(file);
	char *text;
	int err;

	if (!size)
		return 0;
	if (size > WRITE_MAX)
		return -EMSGSIZE;
	text = kvmalloc(size + 1, GFP_KERNEL_ACCOUNT);
	if (!text)
		return -ENOMEM;
	text[size] = '\0';
	if (copy_from_user(text, buf, size))
		err = -EFAULT;
	else if (text[size - 1] != '\n' || strlen(text) != size)
		err = -EINVAL;
	else
		err = run_commands(set, text);
	kvfree(text);
	return err ?: size;
}

static const struct proc_ops set_ops = {
	.proc_open = set_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = set_release,
	.proc_write = set_write,
};

/**
 * ipcuckoo_proc_add() - make the file of a set
 * @inet:	namespace, whose mutex of names is held
 * @name:	name of the set, which may be found later
 *
 * Return: the file, or NULL for want of memory.
 */
struct proc_dir_entry *ipcuckoo_proc_add(struct ipcuckoo_net *inet,
					 const char *name)
{
	return proc_create(name, 0600, inet->proc_sets, &set_ops);
}

/**
 * ipcuckoo_proc_del() - remove the file of a set
 * @proc:	file
 *
 * Context: process context; waits for those who use the file.
 */
void ipcuckoo_proc_del(struct proc_dir_entry *proc)
{
	proc_remove(proc);
}

/**
 * ipcuckoo_proc_init_net() - make the directory of a namespace
 * @inet:	namespace
 *
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_proc_init_net(struct ipcuckoo_net *inet)
{
	inet->proc = proc_net_mkdir(inet->net, "ipcuckoo", inet->net->proc_net);
	if (!inet->proc)
		return -ENOMEM;
	inet->proc_sets = _proc_mkdir("set", 0500, inet->proc, inet->net, true);
	if (inet->proc_sets &&
	    proc_create_net("sets", 0400, inet->proc, &sets_ops,
			    sizeof(struct seq_net_private)) &&
	    proc_create_net("attachments", 0400, inet->proc, &attachments_ops,
			    sizeof(struct seq_net_private)))
		return 0;
	ipcuckoo_proc_exit_net(inet);
	return -ENOMEM;
}

/**
 * ipcuckoo_proc_exit_net() - remove the directory of a namespace
 * @inet:	namespace
 */
void ipcuckoo_proc_exit_net(struct ipcuckoo_net *inet)
{
	proc_remove(inet->proc);
}
