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
 * meanwhile. When it is destroyed reads and writes fail with ENOENT.
 *
 * How a file goes
 * ---------------
 *
 * Whoever reads or writes a file may wait for user space for as long as he
 * likes: the memory he reads to or writes from can be that of a FUSE file
 * system. proc_remove() waits for him. So no file is removed while it is open:
 * otherwise a request to destroy a set, which holds a lock of generic netlink,
 * could be held up, and with it generic netlink of the whole machine.
 *
 * In place of that the file of a set belongs to the name of the set. It counts
 * how often it is open, under ipcuckoo_net.mutex, under which open() also finds
 * the set. When no set has the name any more the file is removed at once if it
 * is not open, otherwise by a work item after the last close; that file cannot
 * be opened meanwhile (ENOENT). If a set of that name is made before, the file
 * is used again. proc_remove() then waits only for calls of open() that found no
 * set and for the end of calls of release(), which take no lock but
 * ipcuckoo_net.mutex; whoever removes a file does not hold it.
 *
 * An open file, the two lists included, holds its network namespace and the
 * module, so that neither can end, and remove files, while it is open: rmmod
 * answers that the module is in use. release() gives the module back before it
 * has returned. That is safe, because the end of the module removes the file, or
 * waits for the work item that does, and that waits for release() to return.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "attach.h"
#include "net.h"
#include "procfs.h"
#include "procfs_command.h"
#include "set.h"
#include "usage.h"

/* Bytes of one write; more than cat or dd write at a time. */
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

/* Only those who may read sets by netlink may read them here. */
static bool capable_in(const struct net *net)
{
	return ns_capable(ipcuckoo_net_owner(net), CAP_NET_ADMIN);
}

/* The network namespace of a file that is being opened, held with the module
 * until put_holds(); or NULL if either is about to end.
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

/**
 * struct list_reader - a list that is open
 * @net:	its network namespace
 * @last:	name of the set before the one that is to be shown next, so that a
 *		read goes on where the one before it ended
 * @shown:	name of the set that was shown last, perhaps in vain: its line may
 *		have found no room
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

/* seq_file begins at 0, or goes on where it was. */
static void *sets_start(struct seq_file *m, loff_t *pos)
{
	struct list_reader *reader = m->private;

	if (!*pos) {
		*reader->last = '\0';
		return SEQ_START_TOKEN;
	}
	return ipcuckoo_set_next(list_net(m), reader->last);
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
	struct list_reader *reader = m->private;

	(*pos)++;
	if (is_set(v))
		strscpy(reader->last, reader->shown, sizeof(reader->last));
	sets_stop(m, v);
	return ipcuckoo_set_next(list_net(m), reader->last);
}

static int sets_show(struct seq_file *m, void *v)
{
	struct list_reader *reader = m->private;
	struct ipcuckoo_set *set = v;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "# name type family entries maxelem slots bytes attachments\n");
		return 0;
	}
	if (mutex_lock_killable(&set->entries.mutex))
		return -EINTR;
	strscpy(reader->shown, set->name, sizeof(reader->shown));
	seq_printf(m, "%s %s %s %u %u %llu %zu %u\n", set->name,
		   type_name(set->type), family_name(set->family),
		   ipcuckoo_usage_live(&set->entries), set->maxelem,
		   ipcuckoo_usage_slots(&set->entries),
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
	static const char * const states[] = {
		[IPCUCKOO_STATE_ACTIVE] = "active",
		[IPCUCKOO_STATE_NO_DEVICE] = "no-device",
		[IPCUCKOO_STATE_NO_HOOK] = "no-hook",
	};
	const struct ipcuckoo_attachment *at;
	struct ipcuckoo_counter sum;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "# id set direction verdict mark/mask order device loopback place priority state packets bytes\n");
		return 0;
	}
	at = list_entry(v, struct ipcuckoo_attachment, list);
	sum = ipcuckoo_attachment_count(at);
	seq_printf(m, "%u %s %s %s 0x%x/0x%x %d %s %s %s %d %s %llu %llu\n", at->id,
		   at->set->name, dirs[at->rule.dir], verdicts[at->rule.verdict],
		   at->rule.mark, at->rule.mask, at->rule.order,
		   *at->rule.dev ? at->rule.dev : "*",
		   at->rule.loopback ? "yes" : "no",
		   at->rule.place == IPCUCKOO_PLACE_INGRESS ? "ingress" : "ip",
		   at->rule.priority, states[at->state], sum.packets, sum.bytes);
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
 * struct set_file - the file of the set of a name
 * @node:	in ipcuckoo_proc.files
 * @unused:	in ipcuckoo_proc.unused, or empty
 * @pde:	what procfs has
 * @opens:	how often it is open; under ipcuckoo_net.mutex
 * @named:	there is a set of that name, or there will be in a moment; likewise
 * @name:	its name
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

/* What procfs keeps of a file, about: it does not tell. */
#define PDE_SIZE	256

static size_t file_size(void)
{
	return kmalloc_size_roundup(sizeof(struct set_file)) + PDE_SIZE;
}

/* Remove a file that cannot be opened and that nobody finds any more. */
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

/* Under names: a set that is being made with such a name either found the file,
 * which is then in use, or makes another one when this is done.
 */
static void removal_work(struct work_struct *work)
{
	struct ipcuckoo_net *pernet = container_of(work, struct ipcuckoo_net,
						 proc.removal);
	struct set_file *file;

	mutex_lock(&pernet->names);
	while ((file = take_unused(pernet)))
		remove_file(file, &pernet->mem);
	mutex_unlock(&pernet->names);
}

/* Hold the set that a file belongs to, and keep the file. NULL if there is none. */
static struct ipcuckoo_set *use_file(struct ipcuckoo_net *pernet, struct set_file *file)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, file->name);
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
		queue_work(system_unbound_wq, &pernet->proc.removal);
	}
	mutex_unlock(&pernet->mutex);
	ipcuckoo_set_put(set);
}

static int set_show(struct seq_file *m, void *v)
{
	struct ipcuckoo_set *set = m->private;
	struct ipcuckoo_entries *e = &set->entries;

	if (mutex_lock_killable(&e->mutex))
		return -EINTR;
	if (set->dead) {
		mutex_unlock(&e->mutex);
		return -ENOENT;
	}
	seq_printf(m, "name %s\ntype %s\nfamily %s\nmaxelem %u\n", set->name,
		   type_name(set->type), family_name(set->family),
		   set->maxelem);
	seq_printf(m, "entries %u\nslots %llu\nbytes %zu\nattachments %u\n",
		   ipcuckoo_usage_live(&set->entries), ipcuckoo_usage_slots(e),
		   ipcuckoo_set_memory(set), READ_ONCE(set->attachments));
	if (ipcuckoo_entries_approximate(e))
		seq_printf(m, "bits %u\ncapacity %u\nmulti %s\n", e->shape.bits,
			   e->shape.capacity, e->shape.multi ? "yes" : "no");
	seq_printf(m, "generation %llu\ngrowths %u\nrekeys %u\ndisplaced %llu\n",
		   e->generation, e->growths, e->rekeys,
		   ipcuckoo_usage_displaced(e));
	mutex_unlock(&e->mutex);
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
		err = ipcuckoo_proc_run(set, text);
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
 * ipcuckoo_proc_add() - have a file for the set of a name
 * @pernet:	namespace, whose mutex of names is held
 * @name:	the name, which no set has yet. From now on one may get it; or give
 *		it back with ipcuckoo_proc_del()
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
 * ipcuckoo_proc_del() - no set has a name any more
 * @pernet:	namespace, whose mutex of names is held
 * @name:	the name
 *
 * Removes the file, or lets it be removed when it is open no more.
 *
 * Context: process context; takes the namespace's mutex. Waits for nobody who may
 * be waiting for user space.
 */
void ipcuckoo_proc_del(struct ipcuckoo_net *pernet, const char *name)
{
	struct set_file *file;
	bool open;

	mutex_lock(&pernet->mutex);
	file = find_file(pernet, name);
	file->named = false;
	open = file->opens;
	if (!open)
		rb_erase(&file->node, &pernet->proc.files);
	mutex_unlock(&pernet->mutex);
	if (!open)
		remove_file(file, &pernet->mem);
}

/**
 * ipcuckoo_proc_init_net() - make the directory of a namespace
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
	proc->dir = proc_net_mkdir(pernet->net, "ipcuckoo", pernet->net->proc_net);
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
 * @pernet:	namespace; its sets are gone, and no file is open, for each holds the
 *		namespace and the module
 */
void ipcuckoo_proc_exit_net(struct ipcuckoo_net *pernet)
{
	cancel_work_sync(&pernet->proc.removal);
	removal_work(&pernet->proc.removal);
	WARN_ON(!RB_EMPTY_ROOT(&pernet->proc.files));
	proc_remove(pernet->proc.dir);
}
