// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <netdb.h>

#include "cli/host.h"

/* Whether a word has a letter, and only characters that host names can have. */
static bool looks_like_name(const char *word)
{
	const char *c;
	bool letter = false;

	for (c = word; *c; c++) {
		if (!(*c >= '0' && *c <= '9') && !isalpha((unsigned char)*c) &&
		    !strchr("-._", *c))
			return false;
		letter |= isalpha((unsigned char)*c);
	}
	return letter;
}

bool host_looks_like_keyword(const char *word)
{
	return looks_like_name(word) && !strchr(word, '.') &&
	       !isdigit((unsigned char)*word);
}

/* Whether getaddrinfo() would take a name such as 0x0a000001 for an IPv4 address. */
static bool is_numeric(const char *name)
{
	struct in_addr address;

	return inet_aton(name, &address);
}

static bool find_host(const struct tool *tool, const char *name, uint8_t family,
		      char *address)
{
	const struct addrinfo hints = {
		.ai_family = family == IPCUCKOO_FAMILY_ANY ? AF_UNSPEC :
			     family == IPCUCKOO_FAMILY_INET6 ? AF_INET6 : AF_INET,
		.ai_socktype = SOCK_RAW,
	};
	struct addrinfo *found;
	int err;

	if (is_numeric(name) || getaddrinfo(name, NULL, &hints, &found))
		return false;
	if (found->ai_next)
		warn(tool, "Warning: %s resolves to multiple addresses: using only the first one returned by the resolver.",
		     name);
	err = getnameinfo(found->ai_addr, found->ai_addrlen, address,
			  INET6_ADDRSTRLEN, NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	return !err;
}

/* Copy the text inside brackets, or up to one of the @marks, to @part. Return: the text
 * after it; NULL if @part is empty or too long, or if the bracket is not closed.
 */
static const char *cut(const char *word, const char *marks, char part[NI_MAXHOST])
{
	bool bracket = *word == '[';
	size_t len;

	word += bracket;
	len = strcspn(word, bracket ? "]" : marks);
	if (!len || len >= NI_MAXHOST || (bracket && !word[len]))
		return NULL;
	memcpy(part, word, len);
	part[len] = '\0';
	return word + len + bracket;
}

static bool find_address(const struct tool *tool, const char *part, uint8_t family,
			 char address[INET6_ADDRSTRLEN])
{
	struct address_range range;
	char why[ADDRESS_WHY_SIZE];

	if (looks_like_name(part))
		return find_host(tool, part, family, address);
	if (strlen(part) >= INET6_ADDRSTRLEN ||
	    address_parse(part, strlen(part), &range, why) ||
	    !address_is_host(&range))
		return false;
	strcpy(address, part);
	return true;
}

static bool resolve_parts(const struct tool *tool, const char *word,
			  uint8_t family, char text[HOST_TEXT_SIZE])
{
	char part[NI_MAXHOST];
	const char *behind = cut(word, "-/", part);
	size_t len;

	if (!behind || !find_address(tool, part, family, text))
		return false;
	len = strlen(text);
	if (*behind == '-') {
		text[len++] = '-';
		behind = cut(behind + 1, "", part);
		return behind && !*behind &&
		       find_address(tool, part, family, text + len);
	}
	return (!*behind || *behind == '/') &&
	       snprintf(text + len, HOST_TEXT_SIZE - len, "%s", behind) <
	       (int)(HOST_TEXT_SIZE - len);
}

bool host_resolve(const struct tool *tool, const char *word, uint8_t family,
		  char text[HOST_TEXT_SIZE])
{
	if (resolve_parts(tool, word, family, text))
		return true;
	/* Accept a name with dashes also without brackets, which ipset requires. */
	return strchr(word, '-') && looks_like_name(word) &&
	       find_host(tool, word, family, text);
}
