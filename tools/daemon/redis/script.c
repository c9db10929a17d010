// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/redis/list.h"
#include "daemon/redis/script.h"

#define TEXT_OF(number)	#number
#define TEXT(number)	TEXT_OF(number)

/* Each script runs this before it reads the list. SETRANGE of nothing changes nothing, and makes no
 * key, but it is a command that writes, so a replica refuses it (READONLY), unless its
 * configuration says "replica-read-only no". Without it, a replica that has not got its primary's
 * data would answer that there is no list. The publisher asks for the role before, but a primary
 * can become a replica in between; a script cannot ask, as Redis does not let it run ROLE. It has
 * to be a command that Redis also refuses when it has no memory left: Redis looks at that only
 * until the first command of a script that writes.
 */
#define ONLY_PRIMARY	"redis.call('SETRANGE', KEYS[3], 0, '') "

const char script_change[] =
	"local done = redis.call('GET', KEYS[3]) "
	"if done then return done end "
	ONLY_PRIMARY
	"local format = redis.call('HGET', KEYS[1], 'format') "
	"if not format then return {err = 'NOLIST'} end "
	"if format ~= ARGV[1] then return {err = 'FORMAT ' .. format} end "
	"if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[2]) then return {err = 'FULL'} end "
	"local n = redis.call('HINCRBY', KEYS[1], 'seq', 1) "
	"redis.call('XADD', KEYS[2], '*', 'n', n, 'c', ARGV[3]) "
	"redis.call('SET', KEYS[3], tostring(n), 'EX', " TEXT(SCRIPT_TOKEN_SECONDS) ") "
	"return tostring(n)";

const char script_replace[] =
	"local done = redis.call('GET', KEYS[3]) "
	"if done then return done end "
	ONLY_PRIMARY
	"local format = redis.call('HGET', KEYS[1], 'format') "
	"if format and format ~= ARGV[1] then return {err = 'FORMAT ' .. format} end "
	"if redis.call('STRLEN', KEYS[4]) ~= tonumber(ARGV[3]) then return {err = 'CUT'} end "
	"local old = redis.call('HGET', KEYS[1], 'version') "
	"local n = redis.call('HINCRBY', KEYS[1], 'seq', 1) "
	"local id = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], '*', 'n', n, 'v', ARGV[2]) "
	"redis.call('PERSIST', KEYS[4]) "
	"redis.call('HSET', KEYS[1], 'format', ARGV[1], 'version', ARGV[2], 'bytes', ARGV[3], "
	"'snapshot-seq', n, 'snapshot-id', id) "
	"if old then redis.call('EXPIRE', ARGV[5] .. old, 600) end "
	"redis.call('SET', KEYS[3], tostring(n), 'EX', " TEXT(SCRIPT_TOKEN_SECONDS) ") "
	"return tostring(n)";

const char script_renew[] =
	ONLY_PRIMARY
	"local head = redis.call('HMGET', KEYS[1], 'format', 'version') "
	"if head[1] ~= ARGV[1] or head[2] ~= ARGV[6] then return {err = 'OLD'} end "
	"local at = redis.call('XRANGE', KEYS[2], ARGV[8], ARGV[8]) "
	"if #at ~= 1 or at[1][2][1] ~= 'n' or at[1][2][2] ~= ARGV[7] then return {err = 'OLD'} end "
	"if redis.call('STRLEN', KEYS[3]) ~= tonumber(ARGV[3]) then return {err = 'CUT'} end "
	"redis.call('PERSIST', KEYS[3]) "
	"redis.call('HSET', KEYS[1], 'version', ARGV[2], 'bytes', ARGV[3], 'snapshot-seq', ARGV[7], "
	"'snapshot-id', ARGV[8]) "
	"redis.call('EXPIRE', ARGV[5] .. head[2], 600) "
	"redis.call('XTRIM', KEYS[2], 'MAXLEN', '~', ARGV[4]) "
	"return 'OK'";

const char *script_bare_error(const char *error)
{
	const char *at, *bare = error;

	if (strncmp(error, "ERR Error running script", 24))
		return error;
	for (at = strstr(error, ": -"); at; at = strstr(at + 1, ": -"))
		if (at[3] >= 'A' && at[3] <= 'Z')
			bare = at + 3;
	return bare;
}

static bool begins_with_one(const char *error, const char *const *codes)
{
	error = script_bare_error(error);
	for (; *codes; codes++)
		if (!strncmp(error, *codes, strlen(*codes)))
			return true;
	return false;
}

bool script_is_elsewhere(const char *error)
{
	static const char *const codes[] = {
		"READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS",
		/* Of a cluster, another server has the list. */
		"MOVED", "ASK ", "CLUSTERDOWN", "TRYAGAIN", NULL
	};

	return begins_with_one(error, codes);
}

bool script_is_final(const char *error)
{
	static const char *const codes[] = { "ERR string exceeds maximum allowed size", NULL };

	return begins_with_one(error, codes);
}

char *script_error(const char *list, const char *error)
{
	error = script_bare_error(error);
	if (!strncmp(error, "NOLIST", 6))
		return need_text("there is no list %s in Redis; make it: ipcuckoo publish %s --file FILE",
				 list, list);
	if (!strncmp(error, "FORMAT", 6))
		return need_text("the list %s in Redis has another format (%.32s), and this ipcuckood knows format %d; update the older one",
				 list, error + strcspn(error, " "), LIST_FORMAT);
	if (!strncmp(error, "FULL", 4))
		return need_text("the stream of changes is full, because no daemon renews the snapshot; look at ipcuckood status where publish = yes, or publish all of the list: ipcuckoo publish %s --file FILE",
				 list);
	if (!strncmp(error, "CUT", 3))
		return need_copy("the list did not arrive as a whole; publish it again");
	if (!strncmp(error, "NOPERM", 6))
		return need_text("Redis does not let this user write: %.200s; give another user, or publish on another firewall",
				 error);
	if (!strncmp(error, "OOM", 3))
		return need_text("Redis has no memory left: %.200s; raise its maxmemory", error);
	return need_text("Redis refuses it: %.200s", error);
}
