// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/http/libcurl.h"
#include "lib/library.h"

#define LIBCURL_FUNCTION(name)	{ "curl_" #name, offsetof(struct libcurl, name) },

struct libcurl libcurl;

static const struct library_function functions[] = {
	LIBCURL_FUNCTIONS(LIBCURL_FUNCTION)
	{ NULL, 0 }
};

/* The second one is what Debian calls it when it uses GnuTLS. */
static const char *const files[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };

static struct library library = { "libcurl", files, functions, &libcurl, NULL };

const char *libcurl_load(void)
{
	return library_load(&library);
}
