/* SPDX-License-Identifier: GPL-2.0-only */
/* OpenSSL, and what hiredis has to do with it; loaded when it is needed. */
#ifndef IPCUCKOOD_OPENSSL_H
#define IPCUCKOOD_OPENSSL_H

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "lib/library.h"

/* Each function that is used. To use another one, add it here. What OpenSSL's headers define as a
 * macro is not here, but what the macro calls, and has to be called by that name.
 */
#define OPENSSL_FUNCTIONS(FUNCTION)			\
	FUNCTION(, ERR_clear_error)			\
	FUNCTION(, ERR_peek_last_error)			\
	FUNCTION(, ERR_reason_error_string)		\
	FUNCTION(, SSL_CTX_ctrl)			\
	FUNCTION(, SSL_CTX_free)			\
	FUNCTION(, SSL_CTX_load_verify_locations)	\
	FUNCTION(, SSL_CTX_new)				\
	FUNCTION(, SSL_CTX_set_info_callback)		\
	FUNCTION(, SSL_CTX_set_verify)			\
	FUNCTION(, SSL_CTX_use_PrivateKey_file)		\
	FUNCTION(, SSL_CTX_use_certificate_chain_file)	\
	FUNCTION(, SSL_alert_desc_string_long)		\
	FUNCTION(, SSL_ctrl)				\
	FUNCTION(, SSL_free)				\
	FUNCTION(, SSL_get0_param)			\
	FUNCTION(, SSL_get_ex_data)			\
	FUNCTION(, SSL_get_verify_result)		\
	FUNCTION(, SSL_is_init_finished)		\
	FUNCTION(, SSL_new)				\
	FUNCTION(, SSL_set1_host)			\
	FUNCTION(, SSL_set_ex_data)			\
	FUNCTION(, TLS_client_method)			\
	FUNCTION(, X509_VERIFY_PARAM_set1_ip_asc)	\
	FUNCTION(, X509_verify_cert_error_string)	\
	FUNCTION(, redisInitiateSSL)

#define TEXT_OF(macro)		#macro
#define TEXT(macro)		TEXT_OF(macro)

/* This file needs OpenSSL, so this also finds the functions of the OpenSSL that it uses. */
LIBRARY(openssl, "the TLS of hiredis", OPENSSL_FUNCTIONS, "libhiredis_ssl.so." TEXT(HIREDIS_SONAME))

#endif /* IPCUCKOOD_OPENSSL_H */
