// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/base/request.h"

struct request *request_new(const char *command, const char *how, void *client,
			    void (*answer)(void *client, int status, char *text))
{
	/* The words of @how lie behind the request. */
	struct request *request = need_zeros(sizeof(*request) + strlen(how) + 1);

	request->command = command;
	request->how = strcpy((char *)(request + 1), how);
	request->client = client;
	request->answer = answer;
	return request;
}

void request_answer(struct request *request, int status, char *text)
{
	if (request->client)
		request->answer(request->client, status, text);
	else
		free(text);
	free(request);
}

bool request_is_awaited(const struct request *request)
{
	return request->client;
}
