// SPDX-License-Identifier: GPL-2.0-only
#include "set/mask.h"

static bool is_six(const struct nl_set *set)
{
	return set->family == IPCUCKOO_FAMILY_INET6;
}

bool has_bitmask(const struct nl_set *set)
{
	static const uint8_t zero[IPCUCKOO_HOST6_SIZE];

	return memcmp(set->bitmask, zero, sizeof(zero));
}

static int parse_netmask(const struct tool *tool, const char *word,
			 struct nl_set *set)
{
	long long len;
	int status;

	status = parse_number(tool, "netmask", word, 1, is_six(set) ? 128 : 32,
			      &len);
	/* A netmask of all bits is the same as none, as in ipset. */
	if (!status && len < (is_six(set) ? 128 : 32))
		set->netmask = len;
	return status;
}

static int parse_bitmask(const struct tool *tool, const char *word,
			 struct nl_set *set)
{
	struct address_range range;
	char why[ADDRESS_WHY_SIZE];

	if (address_parse(word, strlen(word), &range, why) ||
	    address_fit(&range, set->family, why))
		return fail_syntax(tool, "bitmask is not valid: %s", why);
	if (!address_is_host(&range))
		return fail_syntax(tool, "bitmask is not valid: not an address");
	address_store(&range.first, range.family, set->bitmask);
	if (has_bitmask(set))
		return STATUS_OK;
	return fail(tool, STATUS_REFUSED,
		    "The value of the netmask parameter is invalid");
}

int parse_mask(const struct tool *tool, const char *netmask,
	       const char *bitmask, struct nl_set *set)
{
	if (netmask && bitmask)
		return fail_syntax(tool,
				   "bitmask and netmask are mutually exclusive, provide only one");
	if ((netmask || bitmask) && set->family == IPCUCKOO_FAMILY_ANY)
		return fail_syntax(tool,
				   "netmask and bitmask go with the family inet or inet6");
	if (netmask)
		return parse_netmask(tool, netmask, set);
	return bitmask ? parse_bitmask(tool, bitmask, set) : STATUS_OK;
}

const char *mask_text(const struct nl_set *set, char text[ADDRESS_TEXT_SIZE])
{
	char *end = is_six(set) ? address_format6(text, set->bitmask) :
				  address_format4(text, set->bitmask);

	*end = '\0';
	return text;
}

void mask_make_netmask(struct nl_set *set)
{
	size_t bits = is_six(set) ? 128 : 32, ones = 0, i;

	while (ones < bits && set->bitmask[ones / 8] & (0x80 >> ones % 8))
		ones++;
	for (i = ones; i < bits; i++)
		if (set->bitmask[i / 8] & (0x80 >> i % 8))
			return;
	if (!ones)
		return;
	memset(set->bitmask, 0, sizeof(set->bitmask));
	/* A netmask of all bits is the same as none. */
	set->netmask = ones < bits ? ones : 0;
}

bool mask_bits(const struct nl_set *set, uint8_t mask[IPCUCKOO_HOST6_SIZE])
{
	size_t i;

	memcpy(mask, set->bitmask, IPCUCKOO_HOST6_SIZE);
	for (i = 0; i < set->netmask && i < 8 * IPCUCKOO_HOST6_SIZE; i++)
		mask[i / 8] |= 0x80 >> i % 8;
	return set->netmask || has_bitmask(set);
}

void mask_hosts(const struct nl_set *set, struct packed *entries)
{
	enum entry_kind kind = is_six(set) ? ENTRY_HOST6 : ENTRY_HOST4;
	struct entry_array *array = &entries->kind[kind];
	uint8_t mask[IPCUCKOO_HOST6_SIZE];
	size_t i, byte;

	if (!mask_bits(set, mask))
		return;
	for (i = 0; i < array->count; i++)
		for (byte = 0; byte < entry_size[kind]; byte++)
			array->data[i * entry_size[kind] + byte] &= mask[byte];
}
