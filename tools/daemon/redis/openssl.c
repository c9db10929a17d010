// SPDX-License-Identifier: GPL-2.0-only
#ifdef IPCUCKOO_REDIS_TLS
#include <hiredis/hiredis.h>

#include "lib/library.h"
#include "daemon/redis/openssl.h"

#define TEXT_OF(macro)		#macro
#define TEXT(macro)		TEXT_OF(macro)
#define OPENSSL_FUNCTION(name)	{ #name, offsetof(struct openssl, name) },

struct openssl openssl;

static const struct library_function functions[] = {
	OPENSSL_FUNCTIONS(OPENSSL_FUNCTION)
	{ NULL, 0 }
};

/* It needs OpenSSL, so this also finds the functions of the OpenSSL that it uses. */
static const char *const files[] = { "libhiredis_ssl.so." TEXT(HIREDIS_SONAME), NULL };

static struct library library = { "the TLS of hiredis", files, functions, &openssl, NULL };

const char *openssl_load(void)
{
	return library_load(&library);
}
#endif
