// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdio.h>

#include "lib/library.h"

static char problem[320];

/* Says what is wrong with the first name: that is the usual one. */
static void *open_library(const struct library *library)
{
	void *handle;
	size_t i;

	for (i = 0; library->files[i]; i++) {
		handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
		if (handle)
			return handle;
		if (!i)
			snprintf(problem, sizeof(problem), "%s cannot be loaded; is it installed? %s",
				 library->title, dlerror());
	}
	return NULL;
}

const char *library_load(struct library *library)
{
	const struct library_function *function;
	void *handle, *address;

	if (library->handle)
		return NULL;
	handle = open_library(library);
	if (!handle)
		return problem;
	for (function = library->functions; function->name; function++) {
		address = dlsym(handle, function->name);
		if (!address) {
			snprintf(problem, sizeof(problem), "%s is another version than this program was built for: %s",
				 library->title, dlerror());
			dlclose(handle);
			return problem;
		}
		*(void **)((char *)library->pointers + function->offset) = address;
	}
	library->handle = handle;
	return NULL;
}
