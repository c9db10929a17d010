// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: /proc/net/ipcuckoo
 *
 *	sets		a line for each set
 *	attachments	a line for each attachment, with its counters
 *	set/NAME	reading it shows a summary of the set. Writing to it runs commands,
 *			one per line: +ADDR or +PREFIX adds an entry, -ADDR or -PREFIX
 *			deletes one, / deletes all entries. Adding an entry that exists,
 *			or deleting one that does not, is not an error, as in xt_recent.
 *
 * A write must consist of whole lines. A write that does not end in a newline is refused,
 * because the first half of an address can be another valid address. All lines are parsed
 * and checked before any is applied. If there are several, packets see their changes in
 * one step. Errors are those of netlink (uapi/ipcuckoo.h), and EMSGSIZE for a write of
 * more than WRITE_MAX bytes.
 *
 * open() of a set's file finds the set by name and takes a reference. The file then reads
 * and writes this set, even after the set was renamed or swapped. After the set was
 * destroyed, reads and writes fail with ENOENT.
 *
 * When a set's file is removed
 * ----------------------------
 *
 * A process that reads or writes a file can wait for user space for any time, because the
 * buffer that it passes can be memory of a FUSE file system. proc_remove() waits until
 * such calls have returned. So a file must not be removed while it is open: otherwise a
 * request to destroy a set, which holds a lock of generic netlink, could block, and with
 * it all of generic netlink on the machine.
 *
 * Instead, a file belongs to a name, not to a set. It counts its opens under
 * ipcuckoo_net.mutex; open() finds the set under the same mutex. When no set has the name
 * any more, the file is removed at once if it is not open, and otherwise by a work item
 * after the last close. Until then open() fails with ENOENT. If a set of that name is
 * created before the file was removed, the file is used again. So proc_remove() waits
 * only for calls of open() that found no set, and for calls of release() that are about
 * to return. Both take no lock but ipcuckoo_net.mutex, which callers of proc_remove() do
 * not hold.
 *
 * An open file, also one of the two lists, has references to its network namespace and to
 * the module. So while it is open neither can end and remove files; rmmod fails because
 * the module is in use. release() drops the reference to the module before it returns.
 * This is safe: unloading the module removes the file, or waits for the work item that
 * removes it, and proc_remove() waits until release() has returned.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "attach.h"
#include "lock.h"
#include "net.h"
#include "procfs.h"
#include "procfs_command.h"
#include "set.h"
#include "usage.h"

/* Maximum bytes of one write; more than cat or dd write at a time. */
#define WRITE_MAX	SZ_1M

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

/* Reading sets needs the same capability here as with netlink. */
static bool capable_in(const struct net *net)
{
	return ns_capable(ipcuckoo_net_owner(net), CAP_NET_ADMIN);
}

/* Take references to the network namespace of a file that is being opened, and to the
 * module; put_holds() drops them. Return: the namespace, or NULL if either is ending.
 */
static struct net *get_holds(const struct inode *inode)
{
	struct net *net;

	if (!try_module_get(THIS_MODULE))
		return NULL;
	net = maybe_get_net(proc_get_parent_data(inode));
	if (!net)
		module_put(THIS_MODULE);
	return net;
}

static void put_holds(struct net *net)
{
	put_net(net);
	module_put(THIS_MODULE);
}

/* The two lists */

/* Print a name as one word: that of a set of ip_set, or of a device, can have any bytes. Blanks,
 * what is not printable ASCII, and backslashes are written as in /proc/mounts, such as \040.
 */
static void show_name(struct seq_file *m, const char *name)
{
	seq_escape_str(m, name, ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND, " \\");
}

/**
 * struct list_reader - state of an open list
 * @net:	its network namespace
 * @last:	name of the last set whose line is complete: the next read shows the set
 *		behind it
 * @shown:	name of the set that was shown last. seq_file may have discarded its line
 *		for want of room, and shows the set again then
 */
struct list_reader {
	struct net *net;
	char last[IPCUCKOO_NAME_SIZE];
	char shown[IPCUCKOO_NAME_SIZE];
};

static struct ipcuckoo_net *list_net(const struct seq_file *m)
{
	const struct list_reader *reader = m->private;

	return ipcuckoo_net(reader->net);
}

static int list_open(struct inode *inode, struct file *file,
		     const struct seq_operations *ops)
{
	struct net *net = get_holds(inode);
	struct list_reader *reader;

	if (!net)
		return -ENXIO;
	reader = capable_in(net) ? __seq_open_private(file, ops, sizeof(*reader)) : NULL;
	if (!reader) {
		put_holds(net);
		return capable_in(net) ? -ENOMEM : -EPERM;
	}
	reader->net = net;
	return 0;
}

static int list_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct net *net = list_net(m)->net;

	seq_release_private(inode, file);
	put_holds(net);
	return 0;
}

/* Return the header at position 0; at another position, the set behind the last one whose
 * line is complete. The position is not used to find it: seq_file starts at 0, and otherwise
 * continues where it stopped. The set is locked until sets_stop(), with a reference.
 */
static void *sets_start(struct seq_file *m, loff_t *pos)
{
	struct list_reader *reader = m->private;
	int err;

	if (!*pos) {
		*reader->last = '\0';
		err = ipcuckoo_net_sync(list_net(m), IPCUCKOO_FOREVER);
		return err ? ERR_PTR(err) : SEQ_START_TOKEN;
	}
	return ipcuckoo_set_next_locked(list_net(m), reader->last, IPCUCKOO_FOREVER);
}

static bool is_set(const void *v)
{
	return v != SEQ_START_TOKEN && !IS_ERR_OR_NULL(v);
}

static void sets_stop(struct seq_file *m, void *v)
{
	struct ipcuckoo_set *set = v;

	if (!is_set(v))
		return;
	ipcuckoo_set_unlock(set);
	ipcuckoo_set_put(set);
}

static void *sets_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct list_reader *reader = m->private;

	(*pos)++;
	if (is_set(v))
		strscpy(reader->last, reader->shown, sizeof(reader->last));
	sets_stop(m, v);
	return ipcuckoo_set_next_locked(list_net(m), reader->last, IPCUCKOO_FOREVER);
}

static int sets_show(struct seq_file *m, void *v)
{
	struct list_reader *reader = m->private;
	struct ipcuckoo_set *set = v;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "# name type family entries maxelem slots bytes attachments rules\n");
		return 0;
	}
	strscpy(reader->shown, set->name, sizeof(reader->shown));
	show_name(m, set->name);
	seq_printf(m, " %s %s %u %u %llu %zu %u %u\n",
		   type_name(set->type), family_name(set->family),
		   ipcuckoo_usage_live(&set->entries), set->maxelem,
		   ipcuckoo_usage_slots(&set->entries),
		   ipcuckoo_set_memory(set), READ_ONCE(set->attachments),
		   READ_ONCE(set->rules));
	return 0;
}

static const struct seq_operations sets_ops = {
	.start = sets_start,
	.next = sets_next,
	.stop = sets_stop,
	.show = sets_show,
};

static int sets_open(struct inode *inode, struct file *file)
{
	return list_open(inode, file, &sets_ops);
}

static const struct proc_ops sets_file_ops = {
	.proc_open = sets_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = list_release,
};

static void *attachments_start(struct seq_file *m, loff_t *pos)
{
	struct ipcuckoo_net *pernet = list_net(m);

	mutex_lock(&pernet->mutex);
	return *pos ? seq_list_start(&pernet->attached.list, *pos - 1) :
		      SEQ_START_TOKEN;
}

static void attachments_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&list_net(m)->mutex);
}

static void *attachments_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct ipcuckoo_net *pernet = list_net(m);

	if (v != SEQ_START_TOKEN)
		return seq_list_next(v, &pernet->attached.list, pos);
	(*pos)++;
	return seq_list_start(&pernet->attached.list, 0);
}

/* Show on which packets a rule acts, as in new,tcp:22,80-90; "*" if on all. */
static void show_only(struct seq_file *m, const struct ipcuckoo_rule *rule)
{
	const struct ipcuckoo_port_range *range;
	int i;

	if (rule->only_new)
		seq_puts(m, rule->protocol ? "new," : "new");
	if (!rule->protocol) {
		if (!rule->only_new)
			seq_putc(m, '*');
		return;
	}
	seq_puts(m, rule->protocol == IPPROTO_TCP ? "tcp" :
		    rule->protocol == IPPROTO_UDP ? "udp" : "sctp");
	for (i = 0; i < rule->ports.count; i++) {
		range = &rule->ports.range[i];
		seq_printf(m, "%c%u", i ? ',' : ':', range->first);
		if (range->last != range->first)
			seq_printf(m, "-%u", range->last);
	}
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
		[IPCUCKOO_VERDICT_PREFETCH] = "prefetch",
	};
	static const char * const states[] = {
		[IPCUCKOO_STATE_ACTIVE] = "active",
		[IPCUCKOO_STATE_NO_DEVICE] = "no-device",
		[IPCUCKOO_STATE_NO_HOOK] = "no-hook",
		[IPCUCKOO_STATE_NO_PROGRAM] = "no-program",
	};
	static const char * const places[] = {
		[IPCUCKOO_PLACE_IP] = "ip",
		[IPCUCKOO_PLACE_INGRESS] = "ingress",
		[IPCUCKOO_PLACE_XDP] = "xdp",
	};
	const struct ipcuckoo_attachment *at;
	struct ipcuckoo_counter sum;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "# id set direction verdict mark/mask order device loopback place priority state only packets bytes\n");
		return 0;
	}
	at = list_entry(v, struct ipcuckoo_attachment, list);
	sum = ipcuckoo_attachment_count(at);
	seq_printf(m, "%u ", at->id);
	show_name(m, at->set->name);
	seq_printf(m, " %s %s 0x%x/0x%x %d ", dirs[at->rule.dir], verdicts[at->rule.verdict],
		   at->rule.mark, at->rule.mask, at->rule.order);
	show_name(m, *at->rule.dev ? at->rule.dev : "*");
	seq_printf(m, " %s %s %d %s ", at->rule.loopback ? "yes" : "no",
		   places[at->rule.place], at->rule.priority,
		   states[ipcuckoo_attachment_state(at, at->set->pernet->net)]);
	show_only(m, &at->rule);
	seq_printf(m, " %llu %llu\n", sum.packets, sum.bytes);
	return 0;
}

static const struct seq_operations attachments_ops = {
	.start = attachments_start,
	.next = attachments_next,
	.stop = attachments_stop,
	.show = attachments_show,
};

static int attachments_open(struct inode *inode, struct file *file)
{
	return list_open(inode, file, &attachments_ops);
}

static const struct proc_ops attachments_file_ops = {
	.proc_open = attachments_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = list_release,
};

/* The files of sets */

/**
 * struct set_file - the file for the set of a name
 * @node:	in ipcuckoo_proc.files
 * @unused:	in ipcuckoo_proc.unused, or empty
 * @pde:	its procfs entry
 * @opens:	how many times it is open; under ipcuckoo_net.mutex
 * @named:	a set has the name, or is about to get it, and this is not a set of ip_set; under
 *		ipcuckoo_net.mutex. If it is false, the file is not opened any more
 * @name:	the name
 */
struct set_file {
	struct rb_node node;
	struct list_head unused;
	struct proc_dir_entry *pde;
	unsigned int opens;
	bool named;
	char name[IPCUCKOO_NAME_SIZE];
};

static struct set_file *find_file(struct ipcuckoo_net *pernet, const char *name)
{
	struct rb_node *node = pernet->proc.files.rb_node;
	struct set_file *file;
	int order;

	lockdep_assert_held(&pernet->mutex);
	while (node) {
		file = rb_entry(node, struct set_file, node);
		order = strcmp(name, file->name);
		if (!order)
			return file;
		node = order < 0 ? node->rb_left : node->rb_right;
	}
	return NULL;
}

static bool file_less(struct rb_node *a, const struct rb_node *b)
{
	return strcmp(rb_entry(a, struct set_file, node)->name,
		      rb_entry(b, struct set_file, node)->name) < 0;
}

/* Estimated bytes that procfs allocates for a file. */
#define PDE_SIZE	256

static size_t file_size(void)
{
	return kmalloc_size_roundup(sizeof(struct set_file)) + PDE_SIZE;
}

/* Remove a file that is not open and is not in ipcuckoo_proc.files any more. */
static void remove_file(struct set_file *file, struct ipcuckoo_mem *mem)
{
	proc_remove(file->pde);
	kfree(file);
	ipcuckoo_mem_uncharge(mem, file_size());
}

static struct set_file *take_unused(struct ipcuckoo_net *pernet)
{
	struct set_file *file;

	mutex_lock(&pernet->mutex);
	file = list_first_entry_or_null(&pernet->proc.unused, struct set_file, unused);
	if (file) {
		list_del(&file->unused);
		rb_erase(&file->node, &pernet->proc.files);
	}
	mutex_unlock(&pernet->mutex);
	return file;
}

/* Remove the unused files. This takes ipcuckoo_net.names to exclude ipcuckoo_proc_add(),
 * which either uses a file again before this, or creates a new one after this.
 */
static void removal_work(struct work_struct *work)
{
	struct ipcuckoo_net *pernet = container_of(work, struct ipcuckoo_net,
						 proc.removal);
	struct set_file *file;

	ipcuckoo_lock_names_anyway(pernet);
	while ((file = take_unused(pernet)))
		remove_file(file, &pernet->mem);
	ipcuckoo_unlock_names(pernet);
}

/* Take a reference to the set that has the name of a file, and count the file as open. A set of
 * ip_set has no file. It can have the name of one that is about to be removed, and that must not be
 * opened again.
 * Return: NULL if no set that has a file has the name.
 */
static struct ipcuckoo_set *use_file(struct ipcuckoo_net *pernet, struct set_file *file)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = file->named ? ipcuckoo_set_find(pernet, file->name) : NULL;
	if (set && set->ipset)
		set = NULL;
	if (set) {
		kref_get(&set->ref);
		file->opens++;
	}
	mutex_unlock(&pernet->mutex);
	return set;
}

static void unuse_file(struct ipcuckoo_net *pernet, struct set_file *file,
		       struct ipcuckoo_set *set)
{
	mutex_lock(&pernet->mutex);
	if (!--file->opens && !file->named) {
		list_add_tail(&file->unused, &pernet->proc.unused);
		queue_work(pernet->wq, &pernet->proc.removal);
	}
	mutex_unlock(&pernet->mutex);
	ipcuckoo_set_put(set);
}

static int set_show(struct seq_file *m, void *v)
{
	struct ipcuckoo_set *set = m->private;
	struct ipcuckoo_entries *e = &set->entries;
	int err = ipcuckoo_set_lock(set, IPCUCKOO_FOREVER);

	if (err)
		return err;
	seq_printf(m, "name %s\ntype %s\nfamily %s\nmaxelem %u\n", set->name,
		   type_name(set->type), family_name(set->family),
		   set->maxelem);
	seq_printf(m, "entries %u\nslots %llu\nbytes %zu\nattachments %u\nrules %u\n",
		   ipcuckoo_usage_live(&set->entries), ipcuckoo_usage_slots(e),
		   ipcuckoo_set_memory(set), READ_ONCE(set->attachments),
		   READ_ONCE(set->rules));
	if (ipcuckoo_entries_approximate(e))
		seq_printf(m, "bits %u\ncapacity %u\nmulti %s\n", e->shape.bits,
			   e->shape.capacity, e->shape.multi ? "yes" : "no");
	seq_printf(m, "generation %llu\ngrowths %u\nrekeys %u\ndisplaced %llu\n",
		   e->generation, e->growths, e->rekeys,
		   ipcuckoo_usage_displaced(e));
	ipcuckoo_set_unlock(set);
	return 0;
}

static struct ipcuckoo_set *file_set(const struct file *file)
{
	const struct seq_file *m = file->private_data;

	return m->private;
}

static int open_set(struct file *file, struct net *net)
{
	struct set_file *set_file = pde_data(file_inode(file));
	struct ipcuckoo_set *set;
	int err;

	if (!capable_in(net))
		return -EPERM;
	set = use_file(ipcuckoo_net(net), set_file);
	if (!set)
		return -ENOENT;
	err = single_open(file, set_show, set);
	if (err)
		unuse_file(ipcuckoo_net(net), set_file, set);
	return err;
}

static int set_open(struct inode *inode, struct file *file)
{
	struct net *net = get_holds(inode);
	int err;

	if (!net)
		return -ENXIO;
	err = open_set(file, net);
	if (err)
		put_holds(net);
	return err;
}

static int set_release(struct inode *inode, struct file *file)
{
	struct net *net = proc_get_parent_data(inode);

	unuse_file(ipcuckoo_net(net), pde_data(inode), file_set(file));
	single_release(inode, file);
	put_holds(net);
	return 0;
}

/* Run the commands that user space has at @buf. The copy is charged to the namespace, because
 * copy_from_user() waits as long as user space likes if a file system provides the page. A copy
 * of a page at most may exceed the limit, so that a namespace at its limit can still delete
 * entries one by one. That is bounded by the number of processes, as each has one such copy.
 */
static ssize_t set_write(struct file *file, const char __user *buf, size_t size,
			 loff_t *pos)
{
	struct ipcuckoo_set *set = file_set(file);
	struct ipcuckoo_area copy;
	char *text;
	int err;

	if (!size)
		return 0;
	if (size > WRITE_MAX)
		return -EMSGSIZE;
	err = ipcuckoo_area_alloc(&copy, &set->pernet->mem, size + 1,
				  size < PAGE_SIZE ? IPCUCKOO_CHARGE_ANYWAY :
						     IPCUCKOO_CHARGE_WAIT);
	if (err)
		return err;
	text = copy.data;
	if (copy_from_user(text, buf, size))
		err = -EFAULT;
	else if (text[size - 1] != '\n' || strlen(text) != size)
		err = -EINVAL;
	else
		err = ipcuckoo_proc_run(set, text);
	ipcuckoo_area_free(&copy, &set->pernet->mem);
	return err ?: size;
}

static const struct proc_ops set_ops = {
	.proc_open = set_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = set_release,
	.proc_write = set_write,
};

static bool reuse_file(struct ipcuckoo_net *pernet, const char *name)
{
	struct set_file *file;

	mutex_lock(&pernet->mutex);
	file = find_file(pernet, name);
	if (file) {
		file->named = true;
		list_del_init(&file->unused);
	}
	mutex_unlock(&pernet->mutex);
	return file;
}

/**
 * ipcuckoo_proc_add() - make sure that there is a file for a name
 * @pernet:	namespace; the caller holds @pernet->names
 * @name:	a name that no set has, or a set of ip_set. The caller then gives it to a set, or
 *		calls ipcuckoo_proc_del() on failure
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0, -ENOMEM, -EDQUOT, or -EINTR for a fatal signal.
 */
int ipcuckoo_proc_add(struct ipcuckoo_net *pernet, const char *name)
{
	struct set_file *file;

	if (reuse_file(pernet, name))
		return 0;
	if (!ipcuckoo_mem_charge(&pernet->mem, file_size()))
		return ipcuckoo_mem_refusal();
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		goto err_uncharge;
	file->named = true;
	INIT_LIST_HEAD(&file->unused);
	strscpy(file->name, name, sizeof(file->name));
	file->pde = proc_create_data(name, 0600, pernet->proc.set_dir, &set_ops, file);
	if (!file->pde)
		goto err_free;
	mutex_lock(&pernet->mutex);
	rb_add(&file->node, &pernet->proc.files, file_less);
	mutex_unlock(&pernet->mutex);
	return 0;

err_free:
	kfree(file);
err_uncharge:
	ipcuckoo_mem_uncharge(&pernet->mem, file_size());
	return -ENOMEM;
}

/**
 * ipcuckoo_proc_del() - remove the file of a name
 * @pernet:	namespace; the caller holds @pernet->names
 * @name:	a name that no set has any more, or that none ever had; sets of ip_set do not count
 *
 * If the file is open, it is removed after the last close.
 *
 * Context: process context; takes the namespace's mutex. Does not wait for a process that
 * may be waiting for user space.
 */
void ipcuckoo_proc_del(struct ipcuckoo_net *pernet, const char *name)
{
	struct set_file *file;

	mutex_lock(&pernet->mutex);
	file = find_file(pernet, name);
	if (file && !file->named)
		file = NULL;
	if (file) {
		file->named = false;
		if (file->opens)
			file = NULL;
		else
			rb_erase(&file->node, &pernet->proc.files);
	}
	mutex_unlock(&pernet->mutex);
	if (file)
		remove_file(file, &pernet->mem);
}

/**
 * ipcuckoo_proc_init_net() - create the directory of a namespace
 * @pernet:	namespace
 *
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_proc_init_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_proc *proc = &pernet->proc;

	proc->files = RB_ROOT;
	INIT_LIST_HEAD(&proc->unused);
	INIT_WORK(&proc->removal, removal_work);
	proc->dir = proc_net_mkdir(pernet->net, IPCUCKOO_NAME, pernet->net->proc_net);
	if (!proc->dir)
		return -ENOMEM;
	proc->set_dir = _proc_mkdir("set", 0500, proc->dir, pernet->net, true);
	if (proc->set_dir &&
	    proc_create("sets", 0400, proc->dir, &sets_file_ops) &&
	    proc_create("attachments", 0400, proc->dir, &attachments_file_ops))
		return 0;
	proc_remove(proc->dir);
	return -ENOMEM;
}

/**
 * ipcuckoo_proc_exit_net() - remove the directory of a namespace
 * @pernet:	namespace; its sets are destroyed. No file is open, because an open file
 *		has references to the namespace and the module
 */
void ipcuckoo_proc_exit_net(struct ipcuckoo_net *pernet)
{
	cancel_work_sync(&pernet->proc.removal);
	removal_work(&pernet->proc.removal);
	WARN_ON(!RB_EMPTY_ROOT(&pernet->proc.files));
	proc_remove(pernet->proc.dir);
}
