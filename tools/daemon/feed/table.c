// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/base/memory.h"
#include "daemon/feed/table.h"

/* Columns, as the publishers describe them: https://iptoasn.com, https://db-ip.com/db/lite.php,
 * https://dev.maxmind.com/geoip/docs/databases, and RFC 1881's registries:
 * https://ftp.ripe.net/pub/stats/ripencc/RIR-Statistics-Exchange-Format.txt
 */
static const struct table {
	enum format_kind kind;
	int separator;
	const char *field;
	const char *to;
	const char *country;
	const char *asn;
} tables[] = {
	{ FORMAT_IPTOASN, '\t', "1", "2", .country = "4", .asn = "3" },
	{ FORMAT_DBIP, ',', "1", "2", .country = "3", .asn = "3" },
	{ FORMAT_GEOLITE, ',', "network", NULL, .asn = "autonomous_system_number" },
	{ FORMAT_RIR, 0, NULL, NULL, .country = "2" },
};

static const struct table *find_table(int kind)
{
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if ((int)tables[i].kind == kind)
			return &tables[i];
	return NULL;
}

static bool is_country(const char *text)
{
	return isalpha((unsigned char)text[0]) && isalpha((unsigned char)text[1]) && !text[2] &&
	       strcasecmp(text, "ZZ");
}

static bool is_asn(const char *text)
{
	return *text && strlen(text) <= 10 && strspn(text, "0123456789") == strlen(text);
}

/* "AS64496" is 64496, which is what the tables have. The country AS, American Samoa, stays what it is. */
static void strip_as(char **values)
{
	for (; *values; values++)
		if (!strncasecmp(*values, "AS", 2))
			memmove(*values, *values + 2, strlen(*values + 2) + 1);
}

static void check_values(struct section *section, const char *key, char *const *values,
			 bool (*is_right)(const char *text), const char *example)
{
	for (; *values; values++)
		if (!is_right(*values))
			section_fault(section, key, "\"%.64s\" is none, as %s is", *values, example);
}

void table_check(struct format *format, struct section *section)
{
	struct {
		const char *key;
		char ***values;
	} keys[] = {
		{ "country", &format->country }, { "not-country", &format->not_country },
		{ "asn", &format->asn },
	};
	const struct table *table = find_table(format->kind);
	const char *key = NULL, *column;
	size_t i, count;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!*keys[i].values)
			continue;
		if (key)
			section_fault(section, keys[i].key, "%s is there already; write a feed for each", key);
		key = keys[i].key;
	}
	if (!key && table && table->kind != FORMAT_RIR)
		section_fault(section, "format",
			      "a line is missing that says what is wanted of the table, such as: country = AQ");
	if (key && !table)
		section_fault(section, key,
			      "it is of no use here; say which table it is, as format = iptoasn, dbip, geolite or rir");
	if (!key || !table)
		return;
	column = format->asn ? table->asn : table->country;
	if (!column)
		section_fault(section, key, "%s", format->asn ?
			      "files of registries do not say which addresses a system has; use another table" :
			      "GeoLite2 has numbers of countries beside its networks; say format = csv, field = network, match-field = geoname_id and match = the number");
	if (format->match_field || format->match)
		section_fault(section, "match-field", "it is instead of %s", key);
	if (!column || format->match_field || format->match)
		return;
	if (format->asn) {
		strip_as(format->asn);
		check_values(section, key, format->asn, is_asn, "64496");
	} else {
		check_values(section, key, format->country ? : format->not_country, is_country,
			     "the two letters AQ");
	}
	format->match = format->asn ? : format->country ? : format->not_country;
	format->except = format->not_country;
	format->asn = NULL;
	format->country = NULL;
	format->not_country = NULL;
	format->match_field = need_copy(column);
	format->is_table = true;
	for (count = 0; format->match[count]; count++)
		;
	format->found = need_zeros(count + 1);
	if (table->kind == FORMAT_RIR)
		return;
	format->kind = FORMAT_CSV;
	format->separator = table->separator;
	format->field = need_copy(table->field);
	format->to = need_copy(table->to);
}

void table_begin(const struct format *format)
{
	size_t i;

	for (i = 0; format->found && format->match[i]; i++)
		format->found[i] = false;
}

const char *table_missing(const struct format *format)
{
	size_t i;

	for (i = 0; format->found && format->match[i]; i++)
		if (!format->found[i])
			return format->match[i];
	return NULL;
}

bool table_wants(const struct format *format, const char *value)
{
	bool named = false;
	size_t i;

	for (i = 0; value && format->match[i]; i++) {
		if (strcasecmp(format->match[i], value))
			continue;
		format->found[i] = true;
		named = true;
	}
	/* What belongs to no country is in no other one either: private networks, for instance. */
	return format->except ? value && is_country(value) && !named : named;
}
