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
 * @client:	who has asked; NULL if the client has gone
 * @answer:	sends the answer to @client, and frees the text
 */
struct request {
	const char *command;
	const char *how;
	bool json;
	bool force;
	const char *body;
	size_t size;
	void *client;
	void (*answer)(void *client, int status, char *text);
};

struct request *request_new(const char *command, const char *how, void *client,
			    void (*answer)(void *client, int status, char *text));

/* Answer a request with an exit status (cli/tool.h) and a text, which must be allocated and is
 * freed. Each request is answered once; it is gone afterwards. The client may have gone before.
 */
void request_answer(struct request *request, int status, char *text);

/* Whether the client still waits for the answer. */
bool request_is_awaited(const struct request *request);

#endif /* IPCUCKOOD_REQUEST_H */
