// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/why.h"
#include "lib/escape.h"

/* Replace all texts of an object by texts that do not act on a terminal. */
static void escape_all(struct json_object *object)
{
	struct json_object *value;
	const char *text;
	char *escaped;
	size_t i;

	switch (json_object_get_type(object)) {
	case json_type_string:
		text = json_object_get_string(object);
		escaped = malloc(ESCAPED_SIZE(strlen(text)));
		json_object_set_string(object, escaped ? escape_text(text, "", "\\x", escaped) : "");
		free(escaped);
		break;
	case json_type_array:
		for (i = 0; i < json_object_array_length(object); i++)
			escape_all(json_object_array_get_idx(object, i));
		break;
	case json_type_object: {
		json_object_object_foreach(object, key, each) {
			(void)key;
			value = each;
			escape_all(value);
		}
		break;
	}
	default:
		break;
	}
}

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

/* The text of a key; "" if there is none. */
static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static size_t count_of(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* Packets */

/* Whether it makes no difference in which of two ways, or by which of two devices, packets go. */
static bool same_fate(struct json_object *a, struct json_object *b)
{
	return !strcmp(text_of(a, "verdict"), text_of(b, "verdict")) &&
	       json_object_equal(get(a, "attachment"), get(b, "attachment"));
}

/* @by: ", by eth0" */
static void print_fate(struct json_object *packet, const char *label, const char *by)
{
	const char *verdict = text_of(packet, "verdict");
	bool dropped = !strcmp(verdict, "drop");

	printf("  %s%s: ", label, by);
	if (!strcmp(verdict, "pass"))
		puts("not dropped");
	else
		printf("%s by set %s (%s)%s\n", dropped ? "dropped" : "accepted",
		       text_of(packet, "set"), text_of(packet, "how"),
		       dropped ? "" : ", before another one drops them");
}

/* Whether some of @count objects from number @from on have a key. */
static bool some_have(struct json_object *array, size_t from, size_t count, const char *key)
{
	while (count--)
		if (get(json_object_array_get_idx(array, from + count), key))
			return true;
	return false;
}

/* The packets of one way, by device and kind if that matters: @count objects from number @from on. */
static void print_way(struct json_object *packets, size_t from, size_t count, const char *label)
{
	struct json_object *first = json_object_array_get_idx(packets, from), *packet;
	bool devices = some_have(packets, from, count, "dev"), same = true;
	bool kinds = some_have(packets, from, count, "only");
	const char *dev, *only;
	char by[512];
	size_t i;

	for (i = 1; i < count; i++)
		same &= same_fate(first, json_object_array_get_idx(packets, from + i));
	for (i = 0; i < (same ? 1 : count); i++) {
		packet = json_object_array_get_idx(packets, from + i);
		dev = text_of(packet, "dev");
		only = text_of(packet, "only");
		snprintf(by, sizeof(by), "%s%s%s%s", devices ? ", by " : "",
			 !devices ? "" : *dev ? dev : "any other device",
			 kinds ? ", " : "", !kinds ? "" : *only ? only : "other packets");
		print_fate(packet, label, same ? "" : by);
	}
}

/* Each of the four ways has an object for each device. */
static void print_packets(struct json_object *packets)
{
	size_t count = count_of(packets) / 4, i;
	bool both = true, own = false;

	for (i = 0; i < count; i++) {
		both &= same_fate(json_object_array_get_idx(packets, count + i),
				  json_object_array_get_idx(packets, 2 * count + i));
		own |= strcmp(text_of(json_object_array_get_idx(packets, 3 * count + i), "verdict"),
			      "pass");
	}
	puts("Packets:");
	print_way(packets, 0, count, "from it");
	print_way(packets, count, count, both ? "to it" : "to it, arriving here");
	if (!both)
		print_way(packets, 2 * count, count, "to it, sent by this machine");
	/* Most addresses are none of this machine. */
	if (own)
		print_way(packets, 3 * count, count, "from it, sent by this machine");
}

/* Sets */

static const char *time_text(struct json_object *object, const char *key, char text[64])
{
	time_t at = json_object_get_int64(get(object, key));
	struct tm tm;

	if (!at || !localtime_r(&at, &tm) || !strftime(text, 64, "%F %T", &tm))
		return strcpy(text, "an unknown time");
	return text;
}

/* "198.51.100.0/24 timeout 3599 comment "scanner"", as list prints it */
static void print_entry(struct json_object *entry)
{
	printf("  %s", text_of(entry, "elem"));
	json_object_object_foreach(entry, key, value) {
		if (!strcmp(key, "elem"))
			continue;
		printf(" %s", key);
		if (json_object_is_type(value, json_type_string))
			printf(strcmp(key, "comment") ? " %s" : " \"%s\"",
			       json_object_get_string(value));
		else if (!json_object_is_type(value, json_type_boolean))
			printf(" %s", json_object_get_string(value));
	}
	putchar('\n');
}

static void print_decision(struct json_object *decision)
{
	char until[64];

	printf("    decision %lld of CrowdSec: scenario %s, origin %s, until %s\n",
	       (long long)json_object_get_int64(get(decision, "id")),
	       text_of(decision, "scenario"), text_of(decision, "origin"),
	       time_text(decision, "expires", until));
}

/* What a source has of the address */
static void print_covered(struct json_object *source, struct json_object *entry)
{
	const char *comment = text_of(entry, "comment"), *url = text_of(source, "url");
	const char *list = text_of(source, "list"), *server = text_of(source, "server");
	struct json_object *decisions = get(entry, "decisions");
	char at[64];
	size_t i;

	printf("  from %s %s", text_of(source, "kind"), text_of(source, "name"));
	if (*list)
		printf(" (list %s%s%s)", list, *server ? " in Redis at " : "", server);
	else if (*url)
		printf(" (%s)", url);
	printf(": %s, as of %s", text_of(entry, "entry"), time_text(source, "good_at", at));
	if (get(entry, "expires"))
		printf(", until %s", time_text(entry, "expires", at));
	if (*comment)
		printf(", comment \"%s\"", comment);
	if (strcmp(text_of(source, "state"), "good"))
		printf("; now it is %s", text_of(source, "state"));
	putchar('\n');
	if (json_object_get_boolean(get(entry, "kept_out")))
		puts("    ipcuckood does not put this into the set; \"ipcuckood status\" says why");
	if (get(entry, "needed_hosts"))
		printf("    %lld hosts of this network are listed, and %lld are enough: \"aggregate\" in the configuration\n",
		       (long long)json_object_get_int64(get(entry, "listed_hosts")),
		       (long long)json_object_get_int64(get(entry, "needed_hosts")));
	for (i = 0; i < count_of(decisions); i++)
		print_decision(json_object_array_get_idx(decisions, i));
}

static void print_sources(struct json_object *sources)
{
	struct json_object *source, *covered;
	size_t i, j;

	for (i = 0; i < count_of(sources); i++) {
		source = json_object_array_get_idx(sources, i);
		covered = get(source, "covered_by");
		for (j = 0; j < count_of(covered); j++)
			print_covered(source, json_object_array_get_idx(covered, j));
	}
}

static void print_set(struct json_object *set)
{
	const char *name = text_of(set, "name"), *answer = text_of(set, "answer");
	const char *state = text_of(set, "state"), *problem = text_of(set, "problem");
	struct json_object *entries = get(set, "entries"), *rules = get(set, "rules");
	size_t i;

	if (!strcmp(answer, "listed"))
		printf("Set %s has it:\n", name);
	else if (!strcmp(answer, "maybe"))
		printf("Set %s may have it: it is approximate, and %.3g %% of the addresses that it does not have match, too\n",
		       name, 100 * json_object_get_double(get(set, "fppnow")));
	else if (!strcmp(answer, "exception"))
		printf("Set %s has an exception for it:\n", name);
	else
		printf("Set %s does not have it, though sources of ipcuckood do:\n", name);
	for (i = 0; i < count_of(entries); i++)
		print_entry(json_object_array_get_idx(entries, i));
	if (*text_of(set, "except"))
		printf("  except in the configuration of ipcuckood: %s\n", text_of(set, "except"));
	if (*state && strcmp(state, "good"))
		printf("  state in ipcuckood: %s%s%s\n", state, *problem ? ": " : "", problem);
	print_sources(get(set, "sources"));
	if (rules)
		printf("  rules of iptables look it up, too: %s\n", json_object_get_string(rules));
}

static void print_attachment(struct json_object *attachment)
{
	const char *state = text_of(attachment, "state");

	printf("  %s %s%s%s\n", text_of(attachment, "set"), text_of(attachment, "how"),
	       *state ? ": sees no packets: " : "", state);
}

void print_why(struct json_object *answer)
{
	struct json_object *sets, *attachments;
	size_t i;

	escape_all(answer);
	sets = get(answer, "sets");
	attachments = get(answer, "attachments");
	printf("%s is %s: %s\n", text_of(answer, "address"),
	       json_object_get_boolean(get(answer, "blocked")) ? "blocked" : "not blocked",
	       text_of(answer, "why"));
	print_packets(get(answer, "packets"));
	for (i = 0; i < count_of(sets); i++)
		print_set(json_object_array_get_idx(sets, i));
	if (count_of(attachments))
		puts("Attachments of these sets, in the order in which packets meet them:");
	for (i = 0; i < count_of(attachments); i++)
		print_attachment(json_object_array_get_idx(attachments, i));
	if (!strcmp(text_of(answer, "daemon"), "elsewhere"))
		puts("ipcuckood runs in another network namespace, and keeps other sets.");
}
