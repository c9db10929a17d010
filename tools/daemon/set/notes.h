/* SPDX-License-Identifier: GPL-2.0-only */
/* Notes: short texts that a source has to remember from one run to the next, by a key. */
#ifndef IPCUCKOOD_NOTES_H
#define IPCUCKOOD_NOTES_H

/**
 * struct note - a note
 * @key:	its key, a word
 * @value:	its text, one line
 * @next:	another note, or NULL
 */
struct note {
	char *key;
	char *value;
	struct note *next;
};

/* The text of a note; NULL if there is none. */
const char *notes_get(const struct note *notes, const char *key);
/* Set a note, or remove it if @value is NULL. */
void notes_set(struct note **notes, const char *key, const char *value);
void notes_free(struct note **notes);

#endif /* IPCUCKOOD_NOTES_H */
