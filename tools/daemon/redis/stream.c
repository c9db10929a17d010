// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "daemon/redis/stream.h"

/* What read_entry() returns if the number of a change does not follow that of the one before */
static const char gap[] = "changes are missing before it";

const redisReply *stream_entries(const redisReply *reply)
{
	const redisReply *stream;

	/* [[key, entries]] */
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1)
		return NULL;
	stream = reply->element[0];
	if (stream->type != REDIS_REPLY_ARRAY || stream->elements != 2 ||
	    stream->element[1]->type != REDIS_REPLY_ARRAY)
		return NULL;
	return stream->element[1];
}

/* The text of a reply that must be a string; NULL otherwise. */
static const char *string_of(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_STRING ? reply->str : NULL;
}

/* Read an entry: [id, ["n", number, "c" or "v", data]]. Return: NULL, or what is wrong. */
static const char *read_entry(const redisReply *entry, struct stream_batch *batch,
			      struct list_limits *limits, char why[LIST_WHY_SIZE])
{
	const redisReply *id, *fields, *data;
	size_t i, before = batch->changes.count;
	uint64_t seq, ms;
	int err;

	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2)
		return "it is no entry of a stream";
	id = entry->element[0];
	fields = entry->element[1];
	if (!string_of(id) || !list_parse_id(id->str, id->len, &ms))
		return "it has no id";
	if (fields->type != REDIS_REPLY_ARRAY || fields->elements != 4)
		return "it has not the two fields of a change";
	for (i = 0; i < 4; i++)
		if (!string_of(fields->element[i]))
			return "it has not the two fields of a change";
	data = fields->element[3];
	if (strcmp(fields->element[0]->str, "n") ||
	    !list_number(fields->element[1]->str, fields->element[1]->len, &seq))
		return "it has no number";
	if (seq != batch->at.seq + 1)
		return gap;
	/* The changes behind it are changes of the new list: its snapshot has to be read first. */
	batch->replaced = !strcmp(fields->element[2]->str, "v");
	if (batch->replaced)
		return NULL;
	if (strcmp(fields->element[2]->str, "c"))
		return "it has a field that this ipcuckood does not know; update ipcuckood";
	err = list_parse_changes((const uint8_t *)data->str, data->len, limits, &batch->changes,
				 why);
	if (err)
		return err == -ENOMEM ? "there is not enough memory for it" : why;
	batch->atomic |= batch->changes.count > before + 1;
	memset(batch->at.id, 0, sizeof(batch->at.id));
	memcpy(batch->at.id, id->str, id->len);
	batch->at.seq = seq;
	return NULL;
}

const char *stream_read(struct stream_batch *batch, const redisReply *entries,
			struct list_limits *limits, char why[LIST_WHY_SIZE])
{
	const char *wrong = NULL;
	size_t i;

	for (i = 0; i < entries->elements && !batch->replaced && !wrong; i++)
		wrong = read_entry(entries->element[i], batch, limits, why);
	return wrong == gap ? NULL : wrong;
}

void stream_free(struct stream_batch *batch)
{
	list_free_changes(&batch->changes);
}
