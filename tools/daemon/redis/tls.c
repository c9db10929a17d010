// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/base/memory.h"
#include "daemon/conf/secret.h"
#include "daemon/redis/tls.h"

#ifdef IPCUCKOO_REDIS_TLS
#include <arpa/inet.h>

#include "daemon/redis/openssl.h"

/**
 * struct tls - a connection with TLS, and the certificates and keys that it uses
 * @config:	what it was made with
 * @context:	certificates and keys
 * @ssl:	the connection. hiredis frees it; but not if it could not even begin
 * @refused:	it could not begin
 * @host:	the name that the server's certificate needs to have; "" if there is none
 * @alert:	what the server says is wrong; "" if it has said nothing
 */
struct tls {
	const struct conn_config *config;
	SSL_CTX *context;
	SSL *ssl;
	bool refused;
	char host[256];
	char alert[80];
};

bool tls_is_built(void)
{
	return true;
}

/* The reason of OpenSSL's last error. */
static const char *reason(void)
{
	const char *text = openssl.ERR_reason_error_string(openssl.ERR_peek_last_error());

	return text ? text : "it is no certificate or key";
}

static bool read_files(struct tls *tls, char *why, size_t size)
{
	const struct conn_config *config = tls->config;
	char problem[SECRET_WHY_SIZE];

	openssl.ERR_clear_error();
	if (!openssl.SSL_CTX_load_verify_locations(tls->context, config->ca_file, NULL))
		snprintf(why, size, "needs tls-ca, and %.100s cannot be used: %.80s",
			 config->ca_file, reason());
	else if (config->cert_file &&
		 openssl.SSL_CTX_use_certificate_chain_file(tls->context, config->cert_file) != 1)
		snprintf(why, size, "needs tls-cert, and %.100s cannot be used: %.80s",
			 config->cert_file, reason());
	else if (config->key_file && !secret_check(config->key_file, "private key", problem))
		snprintf(why, size, "%s", problem);
	else if (config->key_file &&
		 openssl.SSL_CTX_use_PrivateKey_file(tls->context, config->key_file,
						     SSL_FILETYPE_PEM) != 1)
		snprintf(why, size, "needs tls-key, and %.100s cannot be used: %.80s",
			 config->key_file, reason());
	else
		return true;
	return false;
}

/* The server tells by an alert what it refuses. */
static void on_info(const SSL *ssl, int where, int alert)
{
	struct tls *tls = openssl.SSL_get_ex_data(ssl, 0);

	if (tls && where & SSL_CB_READ && where & SSL_CB_ALERT && (alert & 0xff))
		snprintf(tls->alert, sizeof(tls->alert), "%s",
			 openssl.SSL_alert_desc_string_long(alert));
}

static bool set_least_version(SSL_CTX *context, long version)
{
	return openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, version, NULL);
}

struct tls *tls_new(const struct conn_config *config, char *why, size_t size)
{
	const char *problem = openssl_load();
	struct tls *tls;

	if (problem) {
		snprintf(why, size, "needs TLS, but %s", problem);
		return NULL;
	}
	tls = need_zeros(sizeof(*tls));
	tls->config = config;
	tls->context = openssl.SSL_CTX_new(openssl.TLS_client_method());
	if (!tls->context || !set_least_version(tls->context, TLS1_2_VERSION)) {
		snprintf(why, size, "needs TLS, and OpenSSL cannot be used: %.80s", reason());
		tls_free(tls);
		return NULL;
	}
	openssl.SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
	openssl.SSL_CTX_set_info_callback(tls->context, on_info);
	if (read_files(tls, why, size))
		return tls;
	tls_free(tls);
	return NULL;
}

static void forget(struct tls *tls)
{
	if (tls->refused)
		openssl.SSL_free(tls->ssl);
	tls->ssl = NULL;
	tls->refused = false;
	tls->alert[0] = '\0';
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	forget(tls);
	openssl.SSL_CTX_free(tls->context);
	free(tls);
}

/* Say to the server which of its names is meant, if it has several. */
static bool send_name(SSL *ssl, const char *host)
{
	return openssl.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
				(void *)host) == 1;
}

/* The server's certificate has to be for this name or address. */
static bool expect_host(SSL *ssl, const char *host)
{
	uint8_t address[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
		return openssl.X509_VERIFY_PARAM_set1_ip_asc(openssl.SSL_get0_param(ssl), host) == 1;
	return openssl.SSL_set1_host(ssl, host) == 1 && send_name(ssl, host);
}

bool tls_start(struct tls *tls, struct redisContext *redis, const char *host)
{
	if (tls->config->tls_name)
		host = tls->config->tls_name;
	forget(tls);
	openssl.ERR_clear_error();
	snprintf(tls->host, sizeof(tls->host), "%s", host ? host : "");
	tls->ssl = openssl.SSL_new(tls->context);
	/* To a server that is near, the handshake may be over at once. */
	tls->refused = !tls->ssl || !openssl.SSL_set_ex_data(tls->ssl, 0, tls) ||
		       (host && !expect_host(tls->ssl, host)) ||
		       openssl.redisInitiateSSL(redis, tls->ssl) != REDIS_OK;
	return !tls->refused;
}

bool tls_is_up(const struct tls *tls)
{
	return tls && tls->ssl && openssl.SSL_is_init_finished(tls->ssl);
}

bool tls_problem(const struct tls *tls, char *why, size_t size)
{
	long code;

	if (!tls || !tls->ssl)
		return false;
	code = openssl.SSL_get_verify_result(tls->ssl);
	if (code == X509_V_ERR_HOSTNAME_MISMATCH || code == X509_V_ERR_IP_ADDRESS_MISMATCH)
		snprintf(why, size,
			 "has a certificate that is not for %.80s; write the name in the certificate into server or tls-name",
			 tls->host);
	else if (code != X509_V_OK)
		snprintf(why, size,
			 "has a certificate that is not believed: %.80s; is tls-ca the authority that has signed it?",
			 openssl.X509_verify_cert_error_string(code));
	else if (tls->alert[0])
		snprintf(why, size, "refuses TLS: %s; see tls-cert and tls-key", tls->alert);
	else if (!openssl.SSL_is_init_finished(tls->ssl) &&
		 ERR_GET_LIB(openssl.ERR_peek_last_error()) == ERR_LIB_SSL)
		snprintf(why, size, "cannot be used by TLS: %.80s; is that its tls-port?", reason());
	else
		return false;
	return true;
}

#else

bool tls_is_built(void)
{
	return false;
}

/* Not reached: --check and the daemon refuse tls = yes. */
struct tls *tls_new(const struct conn_config *config, char *why, size_t size)
{
	(void)config;
	snprintf(why, size, "needs TLS, which this ipcuckood was built without");
	return NULL;
}

void tls_free(struct tls *tls)
{
	(void)tls;
}

bool tls_start(struct tls *tls, struct redisContext *redis, const char *host)
{
	(void)tls;
	(void)redis;
	(void)host;
	return false;
}

bool tls_is_up(const struct tls *tls)
{
	(void)tls;
	return false;
}

bool tls_problem(const struct tls *tls, char *why, size_t size)
{
	(void)tls;
	(void)why;
	(void)size;
	return false;
}
#endif
