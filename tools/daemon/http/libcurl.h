/* SPDX-License-Identifier: GPL-2.0-only */
/* libcurl, loaded when it is needed: when the first transfer begins. */
#ifndef IPCUCKOOD_LIBCURL_H
#define IPCUCKOOD_LIBCURL_H

#include <curl/curl.h>

/* Each function of libcurl that is used, without "curl_". To use another one, add it here. */
#define LIBCURL_FUNCTIONS(FUNCTION)	\
	FUNCTION(easy_cleanup)		\
	FUNCTION(easy_getinfo)		\
	FUNCTION(easy_init)		\
	FUNCTION(easy_setopt)		\
	FUNCTION(easy_strerror)		\
	FUNCTION(easy_unescape)		\
	FUNCTION(free)			\
	FUNCTION(getdate)		\
	FUNCTION(global_cleanup)	\
	FUNCTION(global_init)		\
	FUNCTION(multi_add_handle)	\
	FUNCTION(multi_assign)		\
	FUNCTION(multi_cleanup)		\
	FUNCTION(multi_info_read)	\
	FUNCTION(multi_init)		\
	FUNCTION(multi_remove_handle)	\
	FUNCTION(multi_setopt)		\
	FUNCTION(multi_socket_action)	\
	FUNCTION(slist_append)		\
	FUNCTION(slist_free_all)

#define LIBCURL_MEMBER(name)	__typeof__(curl_##name) *name;

/* The functions, of the types that <curl/curl.h> gives them: libcurl.easy_init() */
struct libcurl {
	LIBCURL_FUNCTIONS(LIBCURL_MEMBER)
};

extern struct libcurl libcurl;

/**
 * libcurl_load() - load libcurl, unless that was done before
 *
 * It stays until the daemon ends.
 *
 * Return: NULL, or why it cannot be used. Then its functions must not be called.
 */
const char *libcurl_load(void);

#endif /* IPCUCKOOD_LIBCURL_H */
