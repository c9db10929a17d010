/* SPDX-License-Identifier: GPL-2.0-only */
/* libcurl, loaded when it is needed: when the first transfer begins. */
#ifndef IPCUCKOOD_LIBCURL_H
#define IPCUCKOOD_LIBCURL_H

#include <curl/curl.h>

#include "lib/library.h"

/* Each function of libcurl that is used, without "curl_". To use another one, add it here. */
#define LIBCURL_FUNCTIONS(FUNCTION)		\
	FUNCTION(curl_, easy_cleanup)		\
	FUNCTION(curl_, easy_getinfo)		\
	FUNCTION(curl_, easy_init)		\
	FUNCTION(curl_, easy_setopt)		\
	FUNCTION(curl_, easy_strerror)		\
	FUNCTION(curl_, easy_unescape)		\
	FUNCTION(curl_, free)			\
	FUNCTION(curl_, getdate)		\
	FUNCTION(curl_, global_cleanup)		\
	FUNCTION(curl_, global_init)		\
	FUNCTION(curl_, multi_add_handle)	\
	FUNCTION(curl_, multi_assign)		\
	FUNCTION(curl_, multi_cleanup)		\
	FUNCTION(curl_, multi_info_read)	\
	FUNCTION(curl_, multi_init)		\
	FUNCTION(curl_, multi_remove_handle)	\
	FUNCTION(curl_, multi_setopt)		\
	FUNCTION(curl_, multi_socket_action)	\
	FUNCTION(curl_, slist_append)		\
	FUNCTION(curl_, slist_free_all)

/* The second file is what Debian calls it when it uses GnuTLS. */
LIBRARY(libcurl, "libcurl", LIBCURL_FUNCTIONS, "libcurl.so.4", "libcurl-gnutls.so.4")

#endif /* IPCUCKOOD_LIBCURL_H */
