/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shared library that is loaded when it is needed. Linked to the tool, it would make each command
 * start later; linked to the daemon, it would take more memory, with the libraries that it needs
 * itself, than the rest of the daemon.
 */
#ifndef IPCUCKOO_TOOL_LIBRARY_H
#define IPCUCKOO_TOOL_LIBRARY_H

#include <stddef.h>

/**
 * struct library_function - a function of a library
 * @name:	its name
 * @offset:	where the pointer to it is, in the struct of all of them
 */
struct library_function {
	const char *name;
	size_t offset;
};

/**
 * struct library - a library
 * @title:	what people call it
 * @files:	names that its file may have; NULL ends them
 * @functions:	the functions that are used; a name that is NULL ends them
 * @pointers:	the struct of the pointers to them
 * @handle:	NULL: it is not loaded
 */
struct library {
	const char *title;
	const char *const *files;
	const struct library_function *functions;
	void *pointers;
	void *handle;
};

/**
 * library_load() - load a library, unless that was done before
 * @library:	the library; it stays until the program ends
 *
 * Return: NULL, or why it cannot be used, a text that stays until the next call. Then its functions
 * must not be called.
 */
const char *library_load(struct library *library);

#endif /* IPCUCKOO_TOOL_LIBRARY_H */
