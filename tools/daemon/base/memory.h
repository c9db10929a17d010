/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small allocations, which do not fail: if there is no memory for them, the daemon ends with a
 * message. systemd starts it again; the sets in the kernel stay as they are. What depends on the
 * size of a list is not allocated here, but where -ENOMEM can be handled.
 */
#ifndef IPCUCKOOD_MEMORY_H
#define IPCUCKOOD_MEMORY_H

#include <stddef.h>

struct json_object;

/* Memory filled with zeros. */
void *need_zeros(size_t size);
/* A copy of a text; NULL of NULL. */
char *need_copy(const char *text);
/* A text, as printf() would print it. */
char *need_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, behind a text that is allocated. */
void need_more(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A copy of a text of others: what acts on a terminal, and ends of lines, become \x1b and so on. */
char *need_printable(const char *text);
/* What an object is in JSON, which does not act on a terminal either; the object is put. */
char *need_json(struct json_object *object, int flags);
/* End in the same way if @err, of a function that returns 0 or -ENOMEM, is not 0: for the few cases
 * in which going on would do harm.
 */
void need_memory(int err);
/* Room for one more pointer behind the @count pointers of an array, and for a NULL behind it. */
void *need_room(void *array, size_t count);

#endif /* IPCUCKOOD_MEMORY_H */
