/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses, prefixes and ranges: parsed from text, and formatted in canonical form.
 *
 * An address is stored as a 128-bit number, an IPv4 address in the low 32 bits. So the
 * same code splits ranges of both families into prefixes.
 */
#ifndef IPCUCKOO_TOOL_ADDRESS_H
#define IPCUCKOO_TOOL_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128" and its NUL */
#define ADDRESS_TEXT_SIZE	44

/* Room for the reason why a text is not an address. */
#define ADDRESS_WHY_SIZE	160

struct u128 {
	uint64_t hi;
	uint64_t lo;
};

/**
 * struct address_range - the addresses of one address, prefix or range
 * @first:	lowest address
 * @last:	highest address
 * @family:	IPCUCKOO_FAMILY_INET or IPCUCKOO_FAMILY_INET6
 * @masked:	the text was a prefix with host bits set; they have been cleared
 */
struct address_range {
	struct u128 first;
	struct u128 last;
	uint8_t family;
	bool masked;
};

/* Numbers of 128 bits: compare, with a result as memcmp() has; add 2^log2. */
int u128_compare(struct u128 a, struct u128 b);
struct u128 u128_add_block(struct u128 a, unsigned int log2);

int address_parse(const char *text, size_t len, struct address_range *range,
		  char why[ADDRESS_WHY_SIZE]);
int address_fit(struct address_range *range, uint8_t family,
		char why[ADDRESS_WHY_SIZE]);

/* Could the text be the beginning of a longer prefix, which is a small part of this one? */
bool address_may_be_cut(const char *text, size_t len);

/* Length of the largest prefix that begins where the range begins and lies inside it. */
unsigned int address_block(const struct address_range *range);
bool address_is_host(const struct address_range *range);
/* Parse an address, and store it as address_store() does. IPv4 that is mapped into IPv6 becomes IPv4, as
 * the packets are. Return: whether @text is one address.
 */
bool address_read_host(const char *text, uint8_t *family, uint8_t *to);

/* Number of addresses in a range, at most UINT64_MAX. */
uint64_t address_count(const struct address_range *range);

/* Store an address in network byte order: 4 bytes for IPv4, 16 for IPv6. */
void address_store(const struct u128 *address, uint8_t family, uint8_t *to);

/*
 * Format an address in network byte order. Both functions write at most
 * ADDRESS_TEXT_SIZE - 5 bytes without a NUL, and return the end of the text.
 */
char *address_format4(char *to, const uint8_t from[4]);
char *address_format6(char *to, const uint8_t from[16]);

void address_quote(char *to, size_t size, const char *text, size_t len);

#endif /* IPCUCKOO_TOOL_ADDRESS_H */
