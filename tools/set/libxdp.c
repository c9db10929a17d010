// SPDX-License-Identifier: GPL-2.0-only
#ifdef IPCUCKOO_XDP
#include "lib/library.h"
#include "set/libxdp.h"

#define LIBXDP_FUNCTION(name)	{ #name, offsetof(struct libxdp, name) },

struct libxdp libxdp;

static const struct library_function functions[] = {
	LIBXDP_FUNCTIONS(LIBXDP_FUNCTION)
	{ NULL, 0 }
};

/* It needs libbpf, so this also finds the functions of the libbpf that it uses. */
static const char *const files[] = { "libxdp.so.1", NULL };

static struct library library = { "libxdp", files, functions, &libxdp, NULL };

const char *libxdp_load(void)
{
	return library_load(&library);
}
#endif
