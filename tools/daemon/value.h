/* SPDX-License-Identifier: GPL-2.0-only */
/* Values of the configuration: parsed from text into the field of an object. */
#ifndef IPCUCKOOD_VALUE_H
#define IPCUCKOOD_VALUE_H

#include "daemon/config.h"

#define VALUE_WHY_SIZE	256

/* Parse the value of a key. @more: it is a continuation line, whose value is appended. On error,
 * @why says what is wrong and what a value has to be. Return: whether it is right.
 */
bool value_parse(const struct config_key *key, void *object, const char *text, bool more,
		 char why[VALUE_WHY_SIZE]);
void value_free(const struct config_key *key, void *object);
bool value_same(const struct config_key *key, const void *a, const void *b);

#endif /* IPCUCKOOD_VALUE_H */
