/* SPDX-License-Identifier: GPL-2.0-only */
/* The configuration: the sets and their sources, as a file of sections names them. */
#ifndef IPCUCKOOD_CONFIG_H
#define IPCUCKOOD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct source;
struct target;

/**
 * struct config - a configuration
 * @targets:	the sets, in the order of the file
 * @sources:	the sources, in the order of the file; behind them those that have no section (aggregate.h)
 * @section_count: how many have one
 * @left:	files with changes that wait to be published for a source that is not in it; NULL ends them
 */
struct config {
	struct target **targets;
	size_t target_count;
	struct source **sources;
	size_t source_count;
	size_t section_count;
	char **left;
};

/* Read a configuration. Everything that is wrong is printed with file, line and key. Return: NULL
 * if something is wrong.
 */
struct config *config_read(const char *path);
/* The same from a stream, which @name names in messages. */
struct config *config_read_stream(FILE *f, const char *name);
/* Whether the files that it names can be used, now and by this user: they can be opened, and not
 * everybody can read those with secrets. Those that cannot be used are printed.
 */
bool config_opens_files(const struct config *config);
void config_free(struct config *config);

struct source *config_source(const struct config *config, const char *name);
struct target *config_target(const struct config *config, const char *name);

#endif /* IPCUCKOOD_CONFIG_H */
