// SPDX-License-Identifier: GPL-2.0-only
/* Looks at the keys together that say where Redis is and how to connect. */
#include "daemon/conf/section.h"
#include "daemon/redis/conn.h"
#include "daemon/redis/tls.h"

static void check_tls(const struct conn_config *conn, struct section *section)
{
	if (conn->tls && !tls_is_built())
		section_fault(section, "tls",
			      "this ipcuckood was built without TLS for Redis, because hiredis_ssl or OpenSSL was not there; use a tunnel such as stunnel, or build it with hiredis 1.0 or newer and OpenSSL");
	if (conn->tls && !conn->ca_file)
		section_fault(section, "tls",
			      "a line is missing that says who signs the certificate of Redis, such as: tls-ca = /etc/redis-ca.pem");
	if (!conn->tls && (conn->ca_file || conn->tls_name || conn->cert_file ||
			   conn->key_file))
		section_fault(section, conn->ca_file ? "tls-ca" :
				       conn->tls_name ? "tls-name" :
				       conn->cert_file ? "tls-cert" : "tls-key",
			      "this has no effect without the line: tls = yes");
	if (!conn->cert_file != !conn->key_file)
		section_fault(section, conn->cert_file ? "tls-cert" : "tls-key",
			      "tls-cert and tls-key go together");
}

static void check_addresses(struct section *section, const char *key, char **addresses)
{
	const char *why;
	size_t i;

	for (i = 0; addresses && addresses[i]; i++) {
		why = conn_check_server(addresses[i]);
		if (why)
			section_fault(section, key, "\"%.128s\": %s", addresses[i], why);
	}
}

static void check_servers(const struct conn_config *conn, struct section *section)
{
	check_addresses(section, "server", conn->servers);
	if (conn->sentinel)
		check_addresses(section, "sentinel", conn->sentinel + 1);
	if (conn->sentinel && !conn->sentinel[1])
		section_fault(section, "sentinel",
			      "the addresses of the sentinels are missing, such as: sentinel = mymaster 192.0.2.1:26379 192.0.2.2:26379");
	if (conn->sentinel && conn->servers)
		section_fault(section, "sentinel",
			      "server and sentinel exclude each other: with sentinel, the sentinels say where Redis is");
	if (!conn->sentinel && !conn->servers)
		section_fault(section, NULL,
			      "a line is missing that says where Redis is, such as: server = redis.example.org:6379");
	if (conn->sentinel_password_file && !conn->sentinel)
		section_fault(section, "sentinel-password-file",
			      "this has no effect without the line sentinel");
}

void conn_check_config(const struct conn_config *conn, struct section *section)
{
	check_servers(conn, section);
	if (conn->user && !conn->password_file)
		section_fault(section, "user",
			      "a line is missing that says where the password is, such as: password-file = /etc/ipcuckood.redis");
	check_tls(conn, section);
}
