// SPDX-License-Identifier: GPL-2.0-only
/*
 * The signs between values are read here, the values themselves by json-c's tokener, which takes
 * them in parts: the names of the lists, and each decision. So an answer of any length needs no
 * more memory than its largest decision.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/crowdsec/answer.h"
#include "lib/address.h"

/* The largest decision in bytes, and the deepest one. CrowdSec's have some 200 bytes, no depth. */
#define VALUE_MOST	(64 << 10)
#define DEPTH_MOST	16

#define NS_PER_SECOND	1000000000ll

/* What has to come next. */
enum step {
	START,		/* "{" */
	FIRST_NAME,	/* a name, or "}" */
	NAME,		/* a name */
	COLON,		/* ":" */
	VALUE,		/* the value of a name that is not known */
	LIST,		/* "[" or null */
	FIRST_DECISION,	/* a decision, or "]" */
	DECISION,	/* a decision */
	NEXT_DECISION,	/* "," or "]" */
	NEXT_NAME,	/* "," or "}" */
	END,		/* nothing */
};

enum list { LIST_NEW = 1 << 0, LIST_DELETED = 1 << 1 };

/**
 * struct answer - an answer that is being read
 * @list:	it is a list
 * @limit:	maximum number of bytes
 * @take:	gets the decisions
 * @owner:	its argument
 * @step:	what has to come next
 * @tokener:	reads values
 * @inside:	number of bytes that the tokener has of a value; 0: between two values
 * @now:	the list that is read
 * @seen:	the lists that were there
 * @size:	bytes that have arrived
 * @why:	why the answer is of no use
 */
struct answer {
	bool list;
	uint64_t limit;
	answer_fn *take;
	void *owner;
	enum step step;
	struct json_tokener *tokener;
	size_t inside;
	enum list now;
	unsigned int seen;
	uint64_t size;
	char why[ANSWER_WHY_SIZE];
};

struct answer *answer_new(bool list, uint64_t limit, answer_fn *take, void *owner)
{
	struct answer *answer = need_zeros(sizeof(*answer));

	answer->list = list;
	answer->limit = limit;
	answer->take = take;
	answer->owner = owner;
	answer->now = LIST_NEW;
	answer->step = list ? LIST : START;
	answer->tokener = json_tokener_new_ex(DEPTH_MOST);
	if (!answer->tokener) {
		free(answer);
		return NULL;
	}
#ifdef JSON_TOKENER_ALLOW_TRAILING_CHARS
	json_tokener_set_flags(answer->tokener,
			       JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
#endif
	return answer;
}

void answer_free(struct answer *answer)
{
	if (!answer)
		return;
	json_tokener_free(answer->tokener);
	free(answer);
}

const char *answer_why(const struct answer *answer)
{
	return answer->why;
}

uint64_t answer_size(const struct answer *answer)
{
	return answer->size;
}

/* Return: -EINVAL. */
static int wrong(struct answer *answer, const char *data, size_t len)
{
	char text[48];

	address_quote(text, sizeof(text), data, len);
	if (answer->step == START || (answer->list && answer->step == LIST))
		snprintf(answer->why, sizeof(answer->why),
			 "does not answer as the Local API of CrowdSec does, but with \"%s\"; is the url right?",
			 text);
	else
		snprintf(answer->why, sizeof(answer->why),
			 "sent an answer that is no correct JSON, at \"%s\"", text);
	return -EINVAL;
}

/* A text of an object; "" if there is none. A NUL inside would hide what is behind it. */
static const char *text_of(struct json_object *object, const char *name)
{
	struct json_object *found;
	const char *text;

	if (!json_object_object_get_ex(object, name, &found) ||
	    !json_object_is_type(found, json_type_string))
		return "";
	text = json_object_get_string(found);
	return strlen(text) == (size_t)json_object_get_string_len(found) ? text : "";
}

static uint64_t id_of(struct json_object *object)
{
	struct json_object *found;
	int64_t id;

	if (!json_object_object_get_ex(object, "id", &found) ||
	    !json_object_is_type(found, json_type_int))
		return 0;
	id = json_object_get_int64(found);
	return id > 0 ? id : 0;
}

static int take_decision(struct answer *answer, struct json_object *object)
{
	const struct answer_decision decision = {
		.deleted = answer->now == LIST_DELETED,
		.id = id_of(object),
		.origin = text_of(object, "origin"),
		.type = text_of(object, "type"),
		.scope = text_of(object, "scope"),
		.value = text_of(object, "value"),
		.scenario = text_of(object, "scenario"),
		.duration = text_of(object, "duration"),
	};

	answer->step = NEXT_DECISION;
	return answer->take(answer->owner, &decision);
}

static void take_name(struct answer *answer, struct json_object *object)
{
	const char *name = json_object_get_string(object);

	answer->now = !strcmp(name, "new") ? LIST_NEW :
		      !strcmp(name, "deleted") ? LIST_DELETED : 0;
	answer->seen |= answer->now;
	answer->step = COLON;
}

/* A value is complete; NULL is null. */
static int take_value(struct answer *answer, struct json_object *object)
{
	switch (answer->step) {
	case FIRST_NAME:
	case NAME:
		take_name(answer, object);
		return 0;
	case FIRST_DECISION:
	case DECISION:
		if (json_object_is_type(object, json_type_object))
			return take_decision(answer, object);
		snprintf(answer->why, sizeof(answer->why),
			 "sent a list with something else than decisions");
		return -EINVAL;
	case LIST:
		if (object)
			return wrong(answer, json_object_get_string(object),
				     strlen(json_object_get_string(object)));
		answer->step = answer->list ? END : NEXT_NAME;
		return 0;
	default:
		answer->step = NEXT_NAME;
		return 0;
	}
}

/* Whether a value begins with this character, by what has to come next. */
static bool begins_value(const struct answer *answer, char sign)
{
	switch (answer->step) {
	case FIRST_NAME:
	case NAME:
		return sign == '"';
	case FIRST_DECISION:
		return sign != ']';
	case LIST:
		return sign == 'n';
	case DECISION:
	case VALUE:
		return true;
	default:
		return false;
	}
}

static int take_sign(struct answer *answer, char sign)
{
	static const struct {
		enum step step;
		char sign;
		enum step next;
	} signs[] = {
		{ START, '{', FIRST_NAME },
		{ FIRST_NAME, '}', END },
		{ LIST, '[', FIRST_DECISION },
		{ FIRST_DECISION, ']', NEXT_NAME },
		{ NEXT_DECISION, ',', DECISION },
		{ NEXT_DECISION, ']', NEXT_NAME },
		{ NEXT_NAME, ',', NAME },
		{ NEXT_NAME, '}', END },
	};
	size_t i;

	if (answer->step == COLON && sign == ':') {
		answer->step = answer->now ? LIST : VALUE;
		return 0;
	}
	for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (signs[i].step != answer->step || signs[i].sign != sign)
			continue;
		answer->step = signs[i].next;
		if (answer->list && answer->step == NEXT_NAME)
			answer->step = END;
		return 0;
	}
	return -EINVAL;
}

/* Read more of a value. Return: 0 or a negative errno; *@used is the number of bytes read. */
static int push_value(struct answer *answer, const char *data, size_t len, size_t *used)
{
	struct json_object *object;
	enum json_tokener_error error;
	int err;

	if (len > VALUE_MOST - answer->inside)
		len = VALUE_MOST - answer->inside;
	object = json_tokener_parse_ex(answer->tokener, data, len);
	error = json_tokener_get_error(answer->tokener);
	*used = len;
	answer->inside += len;
	if (error == json_tokener_continue) {
		if (answer->inside < VALUE_MOST)
			return 0;
		snprintf(answer->why, sizeof(answer->why),
			 "sent a decision with more than %d KB, which CrowdSec does not do",
			 VALUE_MOST >> 10);
		return -EINVAL;
	}
	if (error != json_tokener_success) {
		json_object_put(object);
		return wrong(answer, data, len);
	}
	*used = json_tokener_get_parse_end(answer->tokener);
	answer->inside = 0;
	json_tokener_reset(answer->tokener);
	err = take_value(answer, object);
	json_object_put(object);
	return err;
}

static bool is_blank(char sign)
{
	return sign == ' ' || sign == '\t' || sign == '\n' || sign == '\r';
}

bool answer_push(struct answer *answer, const char *data, size_t len)
{
	size_t used;
	int err = 0;

	answer->size += len;
	if (answer->size > answer->limit) {
		snprintf(answer->why, sizeof(answer->why),
			 "sent more than %llu MB; if that is right, raise max-size",
			 (unsigned long long)(answer->limit >> 20));
		return false;
	}
	for (; len && !err; data += used, len -= used) {
		used = 1;
		if (!answer->inside && is_blank(*data))
			continue;
		if (answer->inside || begins_value(answer, *data))
			err = push_value(answer, data, len, &used);
		else if (take_sign(answer, *data))
			err = wrong(answer, data, len);
	}
	return !err;
}

bool answer_end(struct answer *answer)
{
	if (answer->step != END)
		snprintf(answer->why, sizeof(answer->why), answer->size ?
			 "sent an answer that is cut off" : "sent an empty answer");
	else if (!answer->list && !(answer->seen & LIST_NEW))
		snprintf(answer->why, sizeof(answer->why),
			 "does not answer as the Local API of CrowdSec does: there is no list \"new\"; is the url right?");
	return !answer->why[0];
}

static const struct {
	const char *word;
	int64_t ns;
} units[] = {
	{ "ns", 1 }, { "us", 1000 }, { "\xc2\xb5s", 1000 }, { "\xce\xbcs", 1000 },
	{ "ms", NS_PER_SECOND / 1000 }, { "s", NS_PER_SECOND }, { "m", 60 * NS_PER_SECOND },
	{ "h", 3600 * NS_PER_SECOND },
};

static int64_t read_unit(const char **text)
{
	size_t len = strcspn(*text, "0123456789."), i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].word) != len || strncmp(*text, units[i].word, len))
			continue;
		*text += len;
		return units[i].ns;
	}
	return 0;
}

/* A number with digits before or behind its point, and its unit. Return: false if it is none, or
 * too large.
 */
static bool read_part(const char **text, int64_t *ns)
{
	int64_t whole = 0, unit;
	double fraction = 0, place = 1;
	const char *begin = *text;
	size_t digits;

	for (; **text >= '0' && **text <= '9'; ++*text)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, **text - '0', &whole))
			return false;
	digits = *text - begin;
	if (**text == '.')
		for (++*text; **text >= '0' && **text <= '9'; ++*text, digits++)
			fraction += (**text - '0') * (place /= 10);
	unit = digits ? read_unit(text) : 0;
	if (!unit || __builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, (int64_t)(fraction * unit), &whole))
		return false;
	return !__builtin_add_overflow(*ns, whole, ns);
}

bool answer_parse_duration(const char *text, int64_t *ns)
{
	bool negative = *text == '-';

	*ns = 0;
	text += negative;
	if (!strcmp(text, "0"))
		return true;
	do {
		if (!read_part(&text, ns))
			return false;
	} while (*text);
	if (negative)
		*ns = -*ns;
	return true;
}
