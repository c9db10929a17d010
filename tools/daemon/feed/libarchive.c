// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/feed/libarchive.h"
#include "lib/library.h"

#define LIBARCHIVE_FUNCTION(name)	{ "archive_" #name, offsetof(struct libarchive, name) },

struct libarchive libarchive;

static const struct library_function functions[] = {
	LIBARCHIVE_FUNCTIONS(LIBARCHIVE_FUNCTION)
	{ NULL, 0 }
};

static const char *const files[] = { "libarchive.so.13", NULL };

static struct library library = { "libarchive", files, functions, &libarchive, NULL };

const char *libarchive_load(void)
{
	return library_load(&library);
}
