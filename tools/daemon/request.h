/* SPDX-License-Identifier: GPL-2.0-only */
/* A request of a client of the control socket whose answer may come later. */
#ifndef IPCUCKOOD_REQUEST_H
#define IPCUCKOOD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct request - a request
 * @command:	"publish", "fleet"
 * @how:	"publish": what to do with the entries; "" with "fleet"
 * @json:	answer as JSON
 * @force:	"publish": also what the guard refuses
 * @body:	what the client sent behind the line; NULL if there is nothing
 * @size:	its length
 */
struct request {
	const char *command;
	const char *how;
	bool json;
	bool force;
	const char *body;
	size_t size;
};

/* Answer a request with an exit status (cli/tool.h) and a text, which must be allocated and is
 * freed. Each request is answered once; it is gone afterwards. The client may have gone before.
 */
void request_answer(struct request *request, int status, char *text);

/* Whether the client still waits for the answer. */
bool request_is_awaited(const struct request *request);

#endif /* IPCUCKOOD_REQUEST_H */
