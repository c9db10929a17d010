// SPDX-License-Identifier: GPL-2.0-only
/* Looks at the keys together that say where Redis is and how to connect. */
#include "daemon/engine.h"
#include "daemon/section.h"
#include "daemon/tls.h"

static void check_tls(const struct engine_config *engine, struct section *section)
{
	if (engine->tls && !tls_is_built())
		section_fault(section, "tls",
			      "this ipcuckood was built without TLS for Redis, because hiredis_ssl or OpenSSL was not there; use a tunnel such as stunnel, or build it with hiredis 1.0 or newer and OpenSSL");
	if (engine->tls && !engine->ca_file)
		section_fault(section, "tls",
			      "a line is missing that says who signs the certificate of Redis, such as: tls-ca = /etc/redis-ca.pem");
	if (!engine->tls && (engine->ca_file || engine->tls_name || engine->cert_file ||
			     engine->key_file))
		section_fault(section, engine->ca_file ? "tls-ca" :
				       engine->tls_name ? "tls-name" :
				       engine->cert_file ? "tls-cert" : "tls-key",
			      "this has no effect without the line: tls = yes");
	if (!engine->cert_file != !engine->key_file)
		section_fault(section, engine->cert_file ? "tls-cert" : "tls-key",
			      "tls-cert and tls-key go together");
}

static void check_addresses(struct section *section, const char *key, char **addresses)
{
	const char *why;
	size_t i;

	for (i = 0; addresses && addresses[i]; i++) {
		why = engine_check_server(addresses[i]);
		if (why)
			section_fault(section, key, "\"%.128s\": %s", addresses[i], why);
	}
}

static void check_servers(const struct engine_config *engine, struct section *section)
{
	check_addresses(section, "server", engine->servers);
	if (engine->sentinel)
		check_addresses(section, "sentinel", engine->sentinel + 1);
	if (engine->sentinel && !engine->sentinel[1])
		section_fault(section, "sentinel",
			      "the addresses of the sentinels are missing, such as: sentinel = mymaster 192.0.2.1:26379 192.0.2.2:26379");
	if (engine->sentinel && engine->servers)
		section_fault(section, "sentinel",
			      "server and sentinel exclude each other: with sentinel, the sentinels say where Redis is");
	if (!engine->sentinel && !engine->servers)
		section_fault(section, NULL,
			      "a line is missing that says where Redis is, such as: server = redis.example.org:6379");
	if (engine->sentinel_password_file && !engine->sentinel)
		section_fault(section, "sentinel-password-file",
			      "this has no effect without the line sentinel");
}

void engine_check_config(const struct engine_config *engine, struct section *section)
{
	check_servers(engine, section);
	if (engine->user && !engine->password_file)
		section_fault(section, "user",
			      "a line is missing that says where the password is, such as: password-file = /etc/ipcuckood.redis");
	check_tls(engine, section);
}
