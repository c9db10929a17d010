// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/kept.h"
#include "set/attachment.h"
#include "set/refusal.h"

static bool is_at_fault(const struct tool *tool, int attribute, int code)
{
	const struct nl_error *error = nl_error(tool->nl);

	return error->code == code && error->attribute == attribute;
}

/* Has ip_set created the set @name? */
static bool belongs_to_ipset(const struct tool *tool, const char *name)
{
	struct nl_set set;

	return !nl_set_get(tool->nl, name, &set) && is_ipset(&set);
}

int fail_created_already(const struct tool *tool, const char *name)
{
	if (belongs_to_ipset(tool, name))
		return fail(tool, STATUS_REFUSED,
			    "Set cannot be created: set with the same name already exists (%s belongs to ip_set%s: choose another name, or destroy it with ipset)",
			    name, tool->exist ?
			    ", and has another type or family, or other options or another limit" : "");
	return fail(tool, STATUS_REFUSED,
		    "Set cannot be created: set with the same name already exists (%s%s)",
		    name, tool->exist ?
		    ", of another type or family, or with other options or another limit" :
		    "; -exist accepts that");
}

int fail_created(const struct tool *tool, const char *name)
{
	if (nl_error(tool->nl)->code == -EEXIST)
		return fail_created_already(tool, name);
	return fail_kernel(tool, NULL, "Set %s cannot be created", name);
}

/* "src drop order 300 priority -450, dst count ...": the attachments of a set, or of all
 * sets, with their names, if @set is NULL. Return: an allocated string, or NULL.
 */
static char *attached_text(struct nl *nl, const char *set)
{
	struct nl_attachment *all = NULL;
	char text[ATTACHMENT_TEXT_SIZE], *all_text = NULL;
	size_t count = 0, size, i;
	FILE *to = open_memstream(&all_text, &size);

	if (!to)
		return NULL;
	nl_attachments(nl, &all, &count);
	for (i = 0; i < count; i++) {
		if (set && strcmp(all[i].set, set))
			continue;
		fprintf(to, "%s%s%s%s", ftell(to) ? ", " : "", set ? "" : all[i].set,
			set ? "" : " ", attachment_text(&all[i], text));
	}
	free(all);
	if (!fclose(to) && size)
		return all_text;
	free(all_text);
	return NULL;
}

/* "feed (2), other (1)": the sets to which rules of iptables refer, and how many; the set @name only,
 * unless that is NULL. Return: an allocated string, or NULL if there is none.
 */
static char *referred_text(struct nl *nl, const char *name)
{
	char *text = NULL;
	struct nl_set *sets = NULL;
	size_t count = 0, size, i;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	nl_sets(nl, &sets, &count);
	for (i = 0; i < count; i++)
		if (sets[i].rules && (!name || !strcmp(sets[i].name, name)))
			fprintf(to, "%s%s (%u)", ftell(to) ? ", " : "", sets[i].name,
				sets[i].rules);
	free(sets);
	if (!fclose(to) && size)
		return text;
	free(text);
	return NULL;
}

/* Where to find rules of iptables, which do not say in which of its variants they are. */
#define FIND_RULES	"iptables-save, ip6tables-save and their -legacy variants print them with \"--match-set\""

/* @name is NULL for all sets. Return: -1 if no rule refers to a set. */
static int fail_referred(const struct tool *tool, const char *name)
{
	char *referred = referred_text(tool->nl, name);
	int status = -1;

	if (referred)
		status = fail(tool, STATUS_REFUSED,
			      "Set cannot be destroyed: it is in use by a kernel component (rules of iptables refer to %s: delete them first; "
			      FIND_RULES ")", referred);
	free(referred);
	return status;
}

/* @name is NULL for all sets. */
int fail_destroyed(const struct tool *tool, const char *name)
{
	char *attached;
	int status;

	if (nl_error(tool->nl)->code != -EBUSY)
		return fail_kernel(tool, name, "Set%s%s cannot be destroyed",
				   name ? " " : "s", name ? name : "");
	attached = attached_text(tool->nl, name);
	status = attached ? -1 : fail_referred(tool, name);
	if (status >= 0)
		return status;
	status = fail(tool, STATUS_REFUSED,
		      attached ?
		      "Set cannot be destroyed: it is in use by a kernel component (attached: %s; ipcuckoo detach %s first)" :
		      "Set cannot be destroyed: it is in use by a kernel component (attached)",
		      attached, name ? name : "--all");
	free(attached);
	return status;
}

int fail_renamed_already(const struct tool *tool, const char *to)
{
	return fail(tool, STATUS_REFUSED,
		    "Set cannot be renamed: a set with the new name already exists (%s)",
		    to);
}

int fail_renamed(const struct tool *tool, const char *from, const char *to)
{
	if (is_at_fault(tool, IPCUCKOO_A_SET_TO, -EEXIST))
		return fail_renamed_already(tool, to);
	if (nl_error(tool->nl)->code == -EBUSY)
		return fail(tool, STATUS_REFUSED,
			    "Set cannot be renamed: it is in use by a kernel component (rules of iptables refer to %s by its name: delete them first, or swap sets; "
			    FIND_RULES ")", from);
	return fail_kernel(tool, from, "Set %s cannot be renamed", from);
}

int fail_swapped_missing(const struct tool *tool, const char *other)
{
	return fail(tool, STATUS_REFUSED,
		    "Sets cannot be swapped: the second set does not exist (%s)",
		    other);
}

int fail_swapped(const struct tool *tool, const char *name, const char *other)
{
	if (is_at_fault(tool, IPCUCKOO_A_SET_TO, -ENOENT))
		return fail_swapped_missing(tool, other);
	if (is_at_fault(tool, IPCUCKOO_A_SET_TO, -EOPNOTSUPP))
		return fail(tool, STATUS_REFUSED,
			    "The sets cannot be swapped: their type does not match (%s and %s differ in type or family)",
			    name, other);
	if (nl_error(tool->nl)->code == -EREMOTE)
		return fail(tool, STATUS_REFUSED,
			    "The sets %s and %s cannot be swapped: %s belongs to ip_set: use ipset, or rules of iptables that refer to it",
			    name, other, belongs_to_ipset(tool, name) ? name : other);
	return fail_kernel(tool, name, "The sets %s and %s cannot be swapped", name,
			   other);
}

int fail_attach(const struct tool *tool, const char *name)
{
	if (nl_error(tool->nl)->code != -EEXIST)
		return fail_kernel(tool, name, "Set %s cannot be attached", name);
	if (is_at_fault(tool, IPCUCKOO_A_ORDER, -EEXIST))
		return fail(tool, STATUS_REFUSED,
			    "Set %s is attached in that way already, with another order; detach it first",
			    name);
	return fail(tool, STATUS_REFUSED,
		    "Set %s is attached in that way already (-exist accepts that)",
		    name);
}

struct changed {
	const struct tool *tool;
	const char *set;
};

static void warn_of_one(const char *set, const void *data)
{
	const struct changed *changed = data;

	if (!changed->set || !strcmp(changed->set, set))
		warn(changed->tool,
		     "Warning: ipcuckood keeps the set %s as its sources say, and undoes this change within seconds; add entries of your own to another set, or change /etc/ipcuckood.conf",
		     set);
}

void warn_kept(const struct tool *tool, const char *set)
{
	const struct changed changed = { tool, set };

	kept_walk(warn_of_one, &changed);
}
