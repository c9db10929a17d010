// SPDX-License-Identifier: GPL-2.0-only
/* Reads the addresses from files before anything is measured. */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "lab.h"

static LIST_HEAD(all);

static void discard(struct lab_traffic *t)
{
	list_del(&t->list);
	vfree(t->v4);
	vfree(t->v6);
	kfree(t);
}

/* Read all of a file into memory that the caller frees with vfree(). kernel_read_file() would do that,
 * but the security module IPE of Linux 7 warns about files for which it knows no purpose. Return: the
 * number of bytes.
 */
static ssize_t read_all(const char *path, void **data)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	loff_t at = 0, size;
	ssize_t bytes;

	if (IS_ERR(file))
		return PTR_ERR(file);
	size = i_size_read(file_inode(file));
	*data = size > 0 && size <= INT_MAX ? vmalloc(size) : NULL;
	bytes = *data ? 1 : -EINVAL;
	while (bytes > 0 && at < size)
		bytes = kernel_read(file, *data + at, size - at, &at);
	filp_close(file, NULL);
	if (bytes > 0)
		return size;
	vfree(*data);
	return bytes ?: -EIO;
}

/* Read a file. If the name is in use, the new addresses replace the old ones. */
int lab_traffic_read(const char *name, int family, const char *path)
{
	size_t size = family == 4 ? sizeof(__be32) : sizeof(struct in6_addr);
	struct lab_traffic *t, *old;
	void *data = NULL;
	ssize_t bytes;

	bytes = read_all(path, &data);
	if (bytes < 0)
		return bytes;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t || bytes % size || !is_power_of_2(bytes / size) ||
	    strscpy(t->name, name, sizeof(t->name)) < 0) {
		kfree(t);
		vfree(data);
		return t ? -EINVAL : -ENOMEM;
	}
	if (family == 4)
		t->v4 = data;
	else
		t->v6 = data;
	t->count = bytes / size;
	old = (struct lab_traffic *)lab_traffic_find(name);
	if (old)
		discard(old);
	list_add(&t->list, &all);
	return 0;
}

const struct lab_traffic *lab_traffic_find(const char *name)
{
	struct lab_traffic *t;

	list_for_each_entry(t, &all, list)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

void lab_traffic_exit(void)
{
	struct lab_traffic *t, *next;

	list_for_each_entry_safe(t, next, &all, list)
		discard(t);
}
