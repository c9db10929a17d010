/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answers of CrowdSec's Local API that have decisions. They are read while they arrive, and one
 * decision at a time is in memory:
 *
 *   {"new": [DECISION, ...], "deleted": [DECISION, ...]}	from /v1/decisions/stream
 *   [DECISION, ...]						from /v1/decisions
 *
 * Instead of a list there may be null. A decision is an object such as
 *
 *   {"id": 7, "origin": "cscli", "type": "ban", "scope": "Ip", "value": "192.0.2.7",
 *    "duration": "3h59m57.1s", "scenario": "manual 'ban' from 'localhost'"}
 */
#ifndef IPCUCKOOD_ANSWER_H
#define IPCUCKOOD_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_WHY_SIZE	256

/**
 * struct answer_decision - a decision in an answer. Texts that are missing are ""
 * @deleted:	it is in the list of those that have ended
 * @id:		its number; 0 if that is missing
 * @origin, @type, @scope, @value, @scenario: what the answer says
 * @duration:	how much longer it lasts, as the answer says it
 */
struct answer_decision {
	bool deleted;
	uint64_t id;
	const char *origin;
	const char *type;
	const char *scope;
	const char *value;
	const char *scenario;
	const char *duration;
};

/* Return: 0, or a negative errno if the rest of the answer is of no use. */
typedef int answer_fn(void *owner, const struct answer_decision *decision);

struct answer;

/* @limit: maximum number of bytes. @list: the answer is a list, from /v1/decisions. */
struct answer *answer_new(bool list, uint64_t limit, answer_fn *take, void *owner);
/* Return: false if the answer is of no use; answer_why() says why, or is "" if @take ended it. */
bool answer_push(struct answer *answer, const char *data, size_t len);
bool answer_end(struct answer *answer);
const char *answer_why(const struct answer *answer);
/* Bytes that have arrived. */
uint64_t answer_size(const struct answer *answer);
void answer_free(struct answer *answer);

/* Parse a duration as Go prints it, "1h2m3.5s" or "-10ms". Return: whether it is one. */
bool answer_parse_duration(const char *text, int64_t *ns);

#endif /* IPCUCKOOD_ANSWER_H */
