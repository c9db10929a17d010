// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdio.h>

#include "lib/library.h"

static char problem[320];

/* Says what is wrong with the first name: that is the usual one. */
static void *open_library(const char *title, const char *const *files)
{
	void *handle;
	size_t i;

	for (i = 0; files[i]; i++) {
		handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
		if (handle)
			return handle;
		if (!i)
			snprintf(problem, sizeof(problem), "%s cannot be loaded; is it installed? %s",
				 title, dlerror());
	}
	return NULL;
}

const char *load_library(void **handle, const char *title, const char *const *files,
			 const char *const *names, void **addresses)
{
	void *opened;

	if (*handle)
		return NULL;
	opened = open_library(title, files);
	if (!opened)
		return problem;
	for (; *names; names++, addresses++) {
		*addresses = dlsym(opened, *names);
		if (!*addresses) {
			snprintf(problem, sizeof(problem), "%s is another version than this program was built for: %s",
				 title, dlerror());
			dlclose(opened);
			return problem;
		}
	}
	*handle = opened;
	return NULL;
}
