/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shared library that is loaded when it is needed. Linked to the tool, it would make each command
 * start later; linked to the daemon, it would take more memory, with the libraries that it needs
 * itself, than the rest of the daemon.
 */
#ifndef IPCUCKOO_TOOL_LIBRARY_H
#define IPCUCKOO_TOOL_LIBRARY_H

#include <stddef.h>

#define LIBRARY_MEMBER(prefix, function)	__typeof__(prefix##function) *function;
#define LIBRARY_NAME(prefix, function)		#prefix #function,

/**
 * LIBRARY - define a library, for the file that uses it
 * @library:	its name. library_load(), with this name, loads it, unless that was done before; then its
 *		functions are library.function(), of the types that its headers give them. It stays until the
 *		program ends. Return: NULL, or why it cannot be used
 * @title:	what people call it
 * @FUNCTIONS:	a macro that calls its argument for each function, with the beginning of its name and the rest
 *
 * Then come the names that its file may have.
 */
#define LIBRARY(library, title, FUNCTIONS, ...)						\
	static struct { FUNCTIONS(LIBRARY_MEMBER) } library;				\
	static const char *library##_load(void)						\
	{										\
		static const char *const files[] = { __VA_ARGS__, NULL };		\
		static const char *const names[] = { FUNCTIONS(LIBRARY_NAME) NULL };	\
		static void *handle;							\
											\
		return load_library(&handle, title, files, names, (void **)&library);	\
	}

/* Load one of the files, and find the addresses of these functions. Return: as above. */
const char *load_library(void **handle, const char *title, const char *const *files,
			 const char *const *names, void **addresses);

#endif /* IPCUCKOO_TOOL_LIBRARY_H */
