// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the tool's parser of addresses and list files: what it accepts, what it refuses and with
 * which message, and how fast it is. Also reads the lists of the directory that is its argument,
 * ../data.
 *
 * Also tests what makes valid UTF-8 of any text, and what reads times.
 *
 * Links address.c, packed.c, feed.c, utf8.c and duration.c of ../../tools/lib.
 */
#define _FILE_OFFSET_BITS 64
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <err.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "../lib/ktap.h"
#include "../../uapi/ipcuckoo.h"
#include "../../tools/lib/duration.h"
#include "../../tools/lib/feed.h"
#include "../../tools/lib/utf8.h"

#define V4	IPCUCKOO_FAMILY_INET
#define V6	IPCUCKOO_FAMILY_INET6
#define ANY	IPCUCKOO_FAMILY_ANY

/* The scanner takes 25 ms natively; sanitizers and emulators need more. */
#define SPEED_LINES	1000000
#define SPEED_MOST	0.1

static uint64_t random_state;

static uint64_t random64(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

struct text {
	char data[4096];
	size_t len;
};

static int append_entry(enum entry_kind kind, const uint8_t *entry, void *data)
{
	struct text *text = data;
	char *end;

	if (text->len + ADDRESS_TEXT_SIZE + 1 > sizeof(text->data))
		return 1;
	if (text->len)
		text->data[text->len++] = ' ';
	end = entry_format(text->data + text->len, kind, entry);
	text->len = end - text->data;
	return 0;
}

/* All entries of a feed, sorted, separated by blanks. */
static const char *contents(struct feed *feed)
{
	static struct text text;

	text.len = 0;
	packed_sort(&feed->entries);
	packed_walk(&feed->entries, append_entry, &text);
	text.data[text.len] = '\0';
	return text.data;
}

static void check_entry(const char *text, uint8_t family, bool hosts_only,
			const char *expected)
{
	struct feed feed = {
		.family = family,
		.hosts_only = hosts_only,
		.expand_limit = FEED_EXPAND_LIMIT,
		.has_expand = true,
	};
	char why[ADDRESS_WHY_SIZE] = "";
	size_t len = strlen(text);
	const char *got;
	char *exact;

	/* Without a NUL at the end, so that a sanitizer finds reads beyond it. */
	exact = malloc(len ? len : 1);
	memcpy(exact, text, len);
	if (feed_add(&feed, exact, len, why)) {
		expect(*expected == '!' && !strcmp(expected + 1, why),
		       "\"%s\": expected \"%s\", got the error \"%s\"", text,
		       expected, why);
	} else {
		got = contents(&feed);
		expect(!strcmp(got, expected),
		       "\"%s\": expected \"%s\", got \"%s\"", text, expected,
		       got);
	}
	free(exact);
	feed_free(&feed);
}

/* Texts and their results; '!' begins an error message. */
struct example {
	const char *text;
	const char *expected;
};

static void check_examples(const struct example *example, uint8_t family,
			   bool hosts_only)
{
	for (; example->text; example++)
		check_entry(example->text, family, hosts_only,
			    example->expected);
}

static void test_addresses(void)
{
	static const struct example v4[] = {
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "192.0.2.1", "192.0.2.1" },
		{ "10.20.30.99", "10.20.30.99" },
		{ "", "!no address" },
		{ "192.0.2.300", "!octet 4 is greater than 255" },
		{ "256.0.2.3", "!octet 1 is greater than 255" },
		{ "1.99999999999999999999.2.3", "!octet 2 is greater than 255" },
		{ "192.0.2", "!3 octets where an IPv4 address has 4" },
		{ "7", "!1 octet where an IPv4 address has 4" },
		{ "192.0.2.1.5", "!5 octets where an IPv4 address has 4" },
		{ "192.0.2.", "!octet 4 is empty" },
		{ "192..2.1", "!octet 2 is empty" },
		{ ".0.2.1", "!octet 1 is empty" },
		{ "192.0.2.x", "!octet 4 has 'x' where a digit belongs" },
		{ "192.0.2.1x", "!octet 4 has 'x' where a digit belongs" },
		{ "192.0.2.\x1b[2J", "!octet 4 has \\x1b where a digit belongs" },
		{ "010.0.0.1", "!octet 1 has a leading zero: octal or decimal?" },
		{ "10.0.0.00", "!octet 4 has a leading zero: octal or decimal?" },
		{ "example.com", "!not an IP address" },
		{ "my-host", "!not an IP address" },
		{ "1.2.3.4:80", "!a port does not belong behind an address here" },
		{ "2001:db8::1", "!an IPv6 address, but the set's family is inet" },
		{ "::ffff:1.2.3.4", "!an IPv6 address, but the set's family is inet" },
		{ NULL, NULL }
	};
	static const struct example v6[] = {
		{ "::", "::" },
		{ "::1", "::1" },
		{ "1::", "1::" },
		{ "2001:DB8::A", "2001:db8::a" },
		{ "2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1" },
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
		{ "::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8" },
		{ "64:ff9b::192.0.2.33", "64:ff9b::c000:221" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "1:2:3:4:5:6:7", "!7 groups where an IPv6 address has 8" },
		{ "1:2:3:4:5:6:7:8:9", "!more than 8 groups" },
		{ "1:2:3:4::5:6:7:8", "!8 groups leave nothing for \"::\"" },
		{ "1::2::3", "!more than one \"::\"" },
		{ ":::", "!more than two colons in a row" },
		{ "1:::2", "!more than two colons in a row" },
		{ ":1::2", "!begins with a single colon" },
		{ ":", "!begins with a single colon" },
		{ "1::2:", "!ends with a single colon" },
		{ "12345::", "!group 1 has more than 4 digits" },
		{ "1::g", "!group 2 has 'g' where a hex digit belongs" },
		{ "1:2:3:4:5:6:7:1.2.3.4", "!no room for an IPv4 address at the end" },
		{ "::1.2.3", "!3 octets where an IPv4 address has 4" },
		{ "::1.2.3.256", "!octet 4 is greater than 255" },
		{ "[2001:db8::1]", "!brackets do not belong around an address here" },
		{ "fe80::1%eth0", "!a zone (%...) has no meaning in a set" },
		{ "192.0.2.1", "!an IPv4 address, but the set's family is inet6" },
		{ "::ffff:192.0.2.1",
		  "!IPv4 mapped into IPv6, but the set's family is inet6" },
		{ NULL, NULL }
	};

	check_examples(v4, V4, true);
	check_examples(v4, V4, false);
	ktap_case("IPv4 addresses");
	check_examples(v6, V6, true);
	check_examples(v6, V6, false);
	ktap_case("IPv6 addresses");
}

static void test_mapped(void)
{
	static const struct example any[] = {
		{ "192.0.2.1", "192.0.2.1" },
		{ "2001:db8::1", "2001:db8::1" },
		{ "::ffff:192.0.2.1", "192.0.2.1" },
		{ "::ffff:c000:201", "192.0.2.1" },
		{ "::ffff:192.0.2.0/120", "192.0.2.0/24" },
		{ "::ffff:0:0/96",
		  "!would be all of IPv4; say 0.0.0.0/0 if that is meant" },
		{ "::ffff:0:0-::ffff:ffff:ffff",
		  "!would be all of IPv4; say 0.0.0.0/0 if that is meant" },
		{ "::ffff:0:0/97", "0.0.0.0/1" },
		{ "::ffff:0:1-::ffff:0:2", "0.0.0.1 0.0.0.2" },
		{ "::/0", "::/0" },
		{ "::fffe:0:0/95", "::fffe:0:0/95" },
		{ "::fffe:ffff:ffff-::1:0:0:0",
		  "!the range overlaps ::ffff:0:0/96, which means IPv4" },
		{ "::fffe:ffff:ffff-::ffff:0:0",
		  "!the range overlaps ::ffff:0:0/96, which means IPv4" },
		{ "::ffff:ffff:ffff-::1:0:0:0",
		  "!the range overlaps ::ffff:0:0/96, which means IPv4" },
		{ "::1:0:0:0-::1:0:0:1", "::1:0:0:0/127" },
		{ NULL, NULL }
	};

	check_examples(any, ANY, false);
	ktap_case("IPv4 mapped into IPv6");
}

static void test_prefixes(void)
{
	static const struct example any[] = {
		{ "0.0.0.0/0", "0.0.0.0/0" },
		{ "::/0", "::/0" },
		{ "10.0.0.0/8", "10.0.0.0/8" },
		{ "10.1.2.3/8", "10.0.0.0/8" },
		{ "10.1.2.3/32", "10.1.2.3" },
		{ "2001:db8::1/32", "2001:db8::/32" },
		{ "2001:db8::1/128", "2001:db8::1" },
		{ "2001:db8::1/127", "2001:db8::/127" },
		{ "10.0.0.0/33", "!prefix length is greater than 32" },
		{ "::/129", "!prefix length is greater than 128" },
		{ "10.0.0.0/4294967304", "!prefix length is greater than 32" },
		{ "10.0.0.0/", "!no prefix length behind the slash" },
		{ "10.0.0.0/08", "!the prefix length has a leading zero" },
		{ "10.0.0.0/8/8", "!the prefix length is no number from 0 to 32" },
		{ "10.0.0.0/255.0.0.0", "!a netmask: write the prefix length, /8" },
		{ "10.0.0.0/255.255.255.252", "!a netmask: write the prefix length, /30" },
		{ "10.0.0.1/255.255.255.255", "!a netmask: write the prefix length, /32" },
		{ "0.0.0.0/0.0.0.0", "!a netmask: write the prefix length, /0" },
		{ "10.0.0.0/255.0.255.0", "!a netmask whose bits do not stand in a row is no prefix" },
		{ "10.0.0.0/0.0.0.255", "!a netmask whose bits do not stand in a row is no prefix" },
		{ "10.0.0.0/255.0.0", "!the prefix length is no number from 0 to 32" },
		{ "10.0.0.0/ffff::", "!the prefix length is no number from 0 to 32" },
		{ "2001:db8::/ffff:ffff::", "!a netmask: write the prefix length, /32" },
		{ "2001:db8::/255.255.0.0", "!the prefix length is no number from 0 to 128" },
		{ "10.1.2.3/0", "!/0 means every address: if that is meant, write 0.0.0.0/0" },
		{ "2001:db8::/0", "!/0 means every address: if that is meant, write ::/0" },
		{ "::1/0", "!/0 means every address: if that is meant, write ::/0" },
		{ "10.0.0.0/-1", "!the ends of a range are addresses, not prefixes" },
		{ "/8", "!no address" },
		{ "10.0.0/8", "!3 octets where an IPv4 address has 4" },
		{ NULL, NULL }
	};
	static const struct example hosts[] = {
		{ "192.0.2.0/30", "192.0.2.0 192.0.2.1 192.0.2.2 192.0.2.3" },
		{ "192.0.2.3/31", "192.0.2.2 192.0.2.3" },
		{ "2001:db8::/127", "2001:db8:: 2001:db8::1" },
		{ "10.0.0.0/15",
		  "!stands for more than 65536 addresses; a hash:net set takes it as it is, --expand adds every one" },
		{ NULL, NULL }
	};

	check_examples(any, ANY, false);
	ktap_case("prefixes");
	check_examples(hosts, ANY, true);
	ktap_case("prefixes expanded to hosts");
}

static void test_ranges(void)
{
	static const struct example any[] = {
		{ "0.0.0.0-255.255.255.255", "0.0.0.0/0" },
		{ "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0" },
		{ "192.0.2.1-192.0.2.1", "192.0.2.1" },
		{ "192.0.2.1-192.0.2.6",
		  "192.0.2.1 192.0.2.2/31 192.0.2.4/31 192.0.2.6" },
		{ "192.0.2.0-192.0.3.255", "192.0.2.0/23" },
		{ "255.255.255.254-255.255.255.255", "255.255.255.254/31" },
		{ "0.0.0.0-0.0.0.2", "0.0.0.0/31 0.0.0.2" },
		{ "0.0.0.1-255.255.255.255",
		  "0.0.0.1 0.0.0.2/31 0.0.0.4/30 0.0.0.8/29 0.0.0.16/28 "
		  "0.0.0.32/27 0.0.0.64/26 0.0.0.128/25 0.0.1.0/24 0.0.2.0/23 "
		  "0.0.4.0/22 0.0.8.0/21 0.0.16.0/20 0.0.32.0/19 0.0.64.0/18 "
		  "0.0.128.0/17 0.1.0.0/16 0.2.0.0/15 0.4.0.0/14 0.8.0.0/13 "
		  "0.16.0.0/12 0.32.0.0/11 0.64.0.0/10 0.128.0.0/9 1.0.0.0/8 "
		  "2.0.0.0/7 4.0.0.0/6 8.0.0.0/5 16.0.0.0/4 32.0.0.0/3 "
		  "64.0.0.0/2 128.0.0.0/1" },
		{ "2001:db8::1-2001:db8::4",
		  "2001:db8::1 2001:db8::2/127 2001:db8::4" },
		{ "2001:db8::-2001:db8:0:1:ffff:ffff:ffff:ffff",
		  "2001:db8::/63" },
		{ "2001:db8:0:0:ffff:ffff:ffff:fffe-2001:db8:0:1::1",
		  "2001:db8::ffff:ffff:ffff:fffe/127 2001:db8:0:1::/127" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127" },
		{ "192.0.2.9-192.0.2.1", "!the range runs backwards" },
		{ "192.0.2.1-2001:db8::1", "!the range mixes IPv4 and IPv6" },
		{ "192.0.2.1-", "!the range has no last address" },
		{ "-192.0.2.1", "!the range has no first address" },
		{ "-", "!the range has no first address" },
		{ "192.0.2.1-192.0.2.2-192.0.2.3",
		  "!octet 4 has '-' where a digit belongs" },
		{ "192.0.2.0/24-192.0.3.0",
		  "!the ends of a range are addresses, not prefixes" },
		{ "192.0.2.1-5", "!1 octet where an IPv4 address has 4" },
		{ NULL, NULL }
	};
	static const struct example hosts[] = {
		{ "192.0.2.1-192.0.2.3", "192.0.2.1 192.0.2.2 192.0.2.3" },
		{ "255.255.255.254-255.255.255.255",
		  "255.255.255.254 255.255.255.255" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "0.0.0.0-255.255.255.255",
		  "!stands for more than 65536 addresses; a hash:net set takes it as it is, --expand adds every one" },
		{ "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "!stands for more than 65536 addresses; a hash:net set takes it as it is, --expand adds every one" },
		{ NULL, NULL }
	};

	check_examples(any, ANY, false);
	ktap_case("ranges");
	check_examples(hosts, ANY, true);
	ktap_case("ranges expanded to hosts");
}

/* Write a file with this content, and read it into @feed. */
static int read_data(struct feed *feed, const char *data, size_t len,
		     struct feed_fault *fault)
{
	char path[] = "/tmp/test_parse.XXXXXX";
	int err, fd = mkstemp(path);

	if (!expect(fd >= 0 && write(fd, data, len) == (ssize_t)len,
		    "a temporary file can be written"))
		return -EIO;
	close(fd);
	err = feed_read(feed, path, fault);
	fault->file = "";
	unlink(path);
	return err;
}

struct file_example {
	const char *data;
	size_t len;
	const char *expected;	/* entries, or "!line: text: why" */
};

#define JSON	"is JSON, and a list has an address in each line"
#define COMMANDS	"has commands, as save prints them, which ipcuckoo restore -file FILE runs"
#define HOSTS	"a hosts file names hosts, which a resolver blocks, as dnsmasq --addn-hosts=FILE does; a list has addresses"
#define TWO	"has two addresses: write one in each line, a range as A-B, a netmask as A/24, text behind #; ipcuckood reads columns (format = csv)"
#define CUT_OFF	"the list ends here without a newline: is the prefix cut off? if not, end the line"
#define CARRIAGE_RETURN	\
	"a carriage return inside the line: old Mac line ends?"
#define FILE_EXAMPLE(data, expected) { data, sizeof(data) - 1, expected }

static void check_file(const struct file_example *example, uint8_t family)
{
	struct feed feed = {
		.family = family, .expand_limit = FEED_EXPAND_LIMIT
	};
	char told[512], quoted[200];
	struct feed_fault fault;
	const char *got;

	if (read_data(&feed, example->data, example->len, &fault)) {
		snprintf(told, sizeof(told), "!%lu: %s: %s", fault.line,
			 fault.text, fault.why);
		got = told;
	} else {
		got = contents(&feed);
	}
	address_quote(quoted, sizeof(quoted), example->data, example->len);
	expect(!strcmp(got, example->expected),
	       "\"%s\": expected \"%s\", got \"%s\"", quoted, example->expected,
	       got);
	feed_free(&feed);
}

static void test_files(void)
{
	static const struct file_example any[] = {
		FILE_EXAMPLE("", ""),
		FILE_EXAMPLE("\n\n", ""),
		FILE_EXAMPLE(" ", ""),
		FILE_EXAMPLE("# comment\n; comment\n \t# comment", ""),
		FILE_EXAMPLE("192.0.2.1", "192.0.2.1"),
		FILE_EXAMPLE("192.0.2.1\n192.0.2.2\n", "192.0.2.1 192.0.2.2"),
		FILE_EXAMPLE("192.0.2.1\r\n192.0.2.2\r\n", "192.0.2.1 192.0.2.2"),
		FILE_EXAMPLE("192.0.2.1\r", "192.0.2.1"),
		FILE_EXAMPLE("\r\n\r\n192.0.2.1\r\n\r\n", "192.0.2.1"),
		FILE_EXAMPLE("192.0.2.1\r\r\n192.0.2.2 7\r\r", "192.0.2.1 192.0.2.2"),
		FILE_EXAMPLE("192.0.2.1\r192.0.2.2\r",
			     "!1: 192.0.2.1\\x0d192.0.2.2: " CARRIAGE_RETURN),
		FILE_EXAMPLE("192.0.2.1\n# comment\r192.0.2.2\n",
			     "!2: # comment\\x0d192.0.2.2: " CARRIAGE_RETURN),
		FILE_EXAMPLE("\r192.0.2.1", "!1: \\x0d192.0.2.1: " CARRIAGE_RETURN),
		FILE_EXAMPLE("\xef\xbb\xbf" "192.0.2.1\n", "192.0.2.1"),
		FILE_EXAMPLE("\xef\xbb\xbf", ""),
		FILE_EXAMPLE("\xef\xbb\xbf# comment\n::1", "::1"),
		FILE_EXAMPLE("192.0.2.1\t7\n192.0.2.2 7", "192.0.2.1 192.0.2.2"),
		FILE_EXAMPLE("192.0.2.1,7,spam\n192.0.2.2 , x", "192.0.2.1 192.0.2.2"),
		FILE_EXAMPLE("192.0.2.1#x\n192.0.2.2;x\n192.0.2.3 # x", "192.0.2.1 192.0.2.2 192.0.2.3"),
		FILE_EXAMPLE("192.0.2.0/24 ; SBL1\n", "192.0.2.0/24"),
		FILE_EXAMPLE("  192.0.2.1\n\t\v\f192.0.2.2  ", "192.0.2.1 192.0.2.2"),
		FILE_EXAMPLE("2001:db8::/32\n192.0.2.1\n::1\n", "192.0.2.1 ::1 2001:db8::/32"),
		FILE_EXAMPLE("192.0.2.2\n192.0.2.0/24\n192.0.2.0\n192.0.2.0/25",
			     "192.0.2.0/24 192.0.2.0/25 192.0.2.0 192.0.2.2"),
		FILE_EXAMPLE("192.0.2.0-192.0.2.1\n", "192.0.2.0/31"),
		FILE_EXAMPLE("192.0.2.0 - 192.0.2.1 x\n", "192.0.2.0/31"),
		FILE_EXAMPLE("192.0.2.0- 192.0.2.1,x\n", "192.0.2.0/31"),
		FILE_EXAMPLE("192.0.2.0 -192.0.2.1\n", "192.0.2.0/31"),
		FILE_EXAMPLE("192.0.2.1 - bad guy\n", "192.0.2.1"),
		FILE_EXAMPLE("192.0.2.1 - 5 hits\n", "192.0.2.1"),
		FILE_EXAMPLE("192.0.2.1 -", "192.0.2.1"),
		FILE_EXAMPLE("192.0.2.1 - 192.0.2.300\n",
			     "!1: 192.0.2.1-192.0.2.300: octet 4 is greater than 255"),
		FILE_EXAMPLE("192.0.2.1\n\n192.0.2.300 x\n192.0.2.2\n",
			     "!3: 192.0.2.300: octet 4 is greater than 255"),
		FILE_EXAMPLE("192.0.2.1\n192.0.2.300",
			     "!2: 192.0.2.300: octet 4 is greater than 255"),
		FILE_EXAMPLE("1.2.3.4567\n", "!1: 1.2.3.4567: octet 4 is greater than 255"),
		FILE_EXAMPLE("01.2.3.4\n", "!1: 01.2.3.4: octet 1 has a leading zero: octal or decimal?"),
		FILE_EXAMPLE("ip,count\n", "!1: ip: not an IP address"),
		FILE_EXAMPLE("192.0.2.1\0\n", "!1: 192.0.2.1\\x00: octet 4 has \\x00 where a digit belongs"),
		FILE_EXAMPLE("\0\n", "!1: \\x00: not an IP address"),
		FILE_EXAMPLE("192.0.2.1 \0\n", "192.0.2.1"),
		FILE_EXAMPLE("\"192.0.2.1\"\n", "!1: \"192.0.2.1\": not an IP address"),
		/* Other files */
		FILE_EXAMPLE("{\"a\": 1}\n", "!0: : " JSON),
		FILE_EXAMPLE(" \n [\n {\"a\": 1}]", "!0: : " JSON),
		FILE_EXAMPLE("[\"192.0.2.1\"]", "!0: : " JSON),
		FILE_EXAMPLE("\xef\xbb\xbf{", "!0: : " JSON),
		FILE_EXAMPLE("[]", "!0: : " JSON),
		FILE_EXAMPLE("[2001:db8::1]\n", "!1: [2001:db8::1]: brackets do not belong around an address here"),
		FILE_EXAMPLE("create feed hash:net family inet\nadd feed 192.0.2.1\n", "!0: : " COMMANDS),
		FILE_EXAMPLE("# a save\n# of today\nadd feed 192.0.2.1\n", "!0: : " COMMANDS),
		FILE_EXAMPLE("adder\n", "!1: adder: not an IP address"),
		FILE_EXAMPLE("# hosts\n127.0.0.1 localhost\n", "!2: 127.0.0.1 localhost: " HOSTS),
		FILE_EXAMPLE("192.0.2.1\n0.0.0.0\tads.example.net # x\n", "!2: 0.0.0.0\\x09ads.example.net # x: " HOSTS),
		FILE_EXAMPLE("::1 ip6-localhost ip6-loopback\n", "!1: ::1 ip6-localhost ip6-loopback: " HOSTS),
		FILE_EXAMPLE("127.0.0.1\n::1 # loopback\n0.0.0.0 ; x\n::,a.b\n", "0.0.0.0 127.0.0.1 :: ::1"),
		FILE_EXAMPLE("0.0.0.0 reserved\n192.0.2.1 ads.example.net\n", "0.0.0.0 192.0.2.1"),
		/* A second address, which would be lost */
		FILE_EXAMPLE("192.0.2.0\t192.0.2.255\t24\n", "!1: 192.0.2.0\\x09192.0.2.255\\x0924: " TWO),
		FILE_EXAMPLE("192.0.2.1,192.0.2.2\n", "!1: 192.0.2.1,192.0.2.2: " TWO),
		FILE_EXAMPLE("192.0.2.1 192.0.2.2\n", "!1: 192.0.2.1 192.0.2.2: " TWO),
		FILE_EXAMPLE("192.0.2.1 (192.0.2.2)", "!1: 192.0.2.1 (192.0.2.2): " TWO),
		FILE_EXAMPLE("192.0.2.1 to 192.0.2.9\n", "!1: 192.0.2.1 to 192.0.2.9: " TWO),
		FILE_EXAMPLE("192.0.2.1 \xe2\x80\x93 192.0.2.9\n",
			     "!1: 192.0.2.1 \\xe2\\x80\\x93 192.0.2.9: " TWO),
		FILE_EXAMPLE("192.0.2.0 /24\n", "!1: 192.0.2.0 /24: " TWO),
		FILE_EXAMPLE("192.0.2.0 255.255.255.0\n", "!1: 192.0.2.0 255.255.255.0: " TWO),
		FILE_EXAMPLE("192.0.2.1 192.0.2.2:80\n", "!1: 192.0.2.1 192.0.2.2:80: " TWO),
		FILE_EXAMPLE("192.0.2.1 - 192.0.2.3 192.0.2.9\n",
			     "!1: 192.0.2.1 - 192.0.2.3 192.0.2.9: " TWO),
		FILE_EXAMPLE("192.0.2.1 2001:db8::/32\n", "!1: 192.0.2.1 2001:db8::/32: " TWO),
		FILE_EXAMPLE("192.0.2.1 # and 192.0.2.2\n192.0.2.3 ; 192.0.2.4\n192.0.2.5 // 192.0.2.6\n"
			     "// 192.0.2.7\n192.0.2.8#4#2#Host#192.0.2.9\n",
			     "192.0.2.1 192.0.2.3 192.0.2.5 192.0.2.8"),
		FILE_EXAMPLE("192.0.2.1 2026-11-29 12:30:00 7.5 29/11/2026 4-1.2.3.4.example.net x192.0.2.2\n",
			     "192.0.2.1"),
		/* A last line that may be the beginning of a longer one */
		FILE_EXAMPLE("192.0.2.1\n203.0.113.0/2", "!2: 203.0.113.0/2: " CUT_OFF),
		FILE_EXAMPLE("0.0.0.0/1", "!1: 0.0.0.0/1: " CUT_OFF),
		FILE_EXAMPLE("10.0.0.0/3\r", "!1: 10.0.0.0/3: " CUT_OFF),
		FILE_EXAMPLE("2001:db8::/3", "!1: 2001:db8::/3: " CUT_OFF),
		FILE_EXAMPLE("2001:db8::/12", "!1: 2001:db8::/12: " CUT_OFF),
		FILE_EXAMPLE("203.0.113.0/2\n", "192.0.0.0/2"),
		FILE_EXAMPLE("203.0.113.0/2 ", "192.0.0.0/2"),
		FILE_EXAMPLE("203.0.113.0/2 x", "192.0.0.0/2"),
		FILE_EXAMPLE("203.0.113.0/2\n192.0.2.1", "192.0.0.0/2 192.0.2.1"),
		FILE_EXAMPLE("10.0.0.0/4", "0.0.0.0/4"),
		FILE_EXAMPLE("10.0.0.0/24", "10.0.0.0/24"),
		FILE_EXAMPLE("0.0.0.0/0", "0.0.0.0/0"),
		FILE_EXAMPLE("2001:db8::/13", "2000::/13"),
		FILE_EXAMPLE("2001:db8::/32", "2001:db8::/32"),
		FILE_EXAMPLE("2001:db8::", "2001:db8::"),
		FILE_EXAMPLE("\xff\xfe" "1\0.\0", "!0: : is UTF-16, not UTF-8"),
		FILE_EXAMPLE("\x1f\x8b\x08", "!0: : is compressed"),
		FILE_EXAMPLE("PK\x03\x04", "!0: : is a zip archive"),
	};
	static const struct file_example inet[] = {
		FILE_EXAMPLE("192.0.2.1\n::1\n", "!2: ::1: an IPv6 address, but the set's family is inet"),
	};
	static const struct file_example inet6[] = {
		FILE_EXAMPLE("::1\n192.0.2.1\n", "!2: 192.0.2.1: an IPv4 address, but the set's family is inet6"),
	};
	unsigned int i;

	for (i = 0; i < sizeof(any) / sizeof(any[0]); i++)
		check_file(&any[i], ANY);
	check_file(&inet[0], V4);
	check_file(&inet6[0], V6);
	ktap_case("list files");
}

static unsigned long reported;

static void report(const struct feed *feed, const struct feed_fault *fault)
{
	(void)fault;
	reported++;
	expect_equal(reported, feed->skipped, "reports and skipped lines");
}

static void test_skip_invalid(void)
{
	static const char data[] =
		"x\n192.0.2.1\n192.0.2.300\n10.1.2.3/8\n::1\n999.1.1.1";
	struct feed feed = {
		.family = V4, .expand_limit = FEED_EXPAND_LIMIT,
		.skip_invalid = true, .report = report,
	};
	struct feed_fault fault;

	expect_equal(read_data(&feed, data, sizeof(data) - 1, &fault), 0,
		     "result");
	expect_equal(feed.skipped, 4, "skipped lines");
	expect_equal(reported, 4, "reports");
	expect_equal(feed.masked, 1, "prefixes with host bits");
	expect_equal(feed.lines, 6, "lines");
	expect(!strcmp(contents(&feed), "10.0.0.0/8 192.0.2.1"),
	       "the valid lines were read: %s", contents(&feed));
	feed_free(&feed);
	ktap_case("invalid lines are skipped on request");
}

/* Test lines of every length around the size of the reader's buffer. */
static void test_long_lines(void)
{
	static const size_t buffer = 256 << 10;
	char *data = malloc(4 * buffer), *p;
	struct feed_fault fault;
	size_t len;

	for (len = buffer - 20; len < buffer + 20; len++) {
		struct feed feed = { .family = V4 };

		p = data;
		*p++ = '#';
		memset(p, 'c', len);
		p += len;
		p = stpcpy(p, "\n192.0.2.1 ");
		memset(p, 'c', len);
		p += len;
		p = stpcpy(p, "\n192.0.2.2");
		expect_equal(read_data(&feed, data, p - data, &fault), 0,
			     "result for %zu bytes", len);
		expect(!strcmp(contents(&feed), "192.0.2.1 192.0.2.2"),
		       "%zu bytes: %s", len, contents(&feed));
		expect_equal(feed.lines, 3, "lines");
		feed_free(&feed);
	}
	ktap_case("comments and columns longer than the buffer");

	for (len = 0; len < 2; len++) {
		struct feed feed = { .family = V4 };

		memset(data, len ? '1' : ' ', 2 * buffer);
		strcpy(data + 2 * buffer, "\n192.0.2.2\n");
		expect_equal(read_data(&feed, data, 2 * buffer + 11, &fault),
			     -EINVAL, "result");
		expect(!strcmp(fault.why, "the line is longer than 262144 bytes"),
		       "%s", fault.why);
		expect_equal(fault.line, 1, "line");
		feed_free(&feed);
	}
	free(data);
	ktap_case("an entry behind the maximum length of a line is an error");
}

static void test_no_file(void)
{
	struct feed feed = { .family = V4 };
	struct feed_fault fault;

	expect_equal(feed_read(&feed, "/nonexistent/list", &fault), -ENOENT,
		     "result");
	expect(!strncmp(fault.why, "cannot be opened: ", 18), "%s", fault.why);
	expect_equal(feed_read(&feed, "/", &fault), -EISDIR, "result");
	expect(!strncmp(fault.why, "cannot be read: ", 16), "%s", fault.why);
	feed_free(&feed);
	ktap_case("files that cannot be read");
}

/*
 * If the other end of a socket is closed without having read everything, the socket returns its
 * data and then an error: here after a whole buffer that has an invalid line.
 */
static void test_read_error(void)
{
	struct feed feed = { .family = V4, .skip_invalid = true };
	int fd[2], size = 1 << 20, standard = dup(STDIN_FILENO);
	const size_t len = 300 << 10;
	char *data = malloc(len);
	struct feed_fault fault;

	memset(data, '\n', len);
	*data = 'x';
	expect(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "a pair of sockets");
	setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	expect(write(fd[0], "", 1) == 1 && write(fd[1], data, len) == (ssize_t)len,
	       "the socket has room for more than a buffer");
	close(fd[1]);
	dup2(fd[0], STDIN_FILENO);
	expect_equal(feed_read(&feed, "-", &fault), -ECONNRESET, "result");
	expect_equal(feed.skipped, 1, "skipped lines");
	expect_equal(fault.line, 0, "line: the file itself");
	expect(!strncmp(fault.why, "cannot be read: ", 16), "%s", fault.why);
	dup2(standard, STDIN_FILENO);
	close(standard);
	close(fd[0]);
	free(data);
	feed_free(&feed);
	ktap_case("a read error after an invalid line");
}

/* Formatted entries must be parsed to the same entries, for addresses of every form. */
static void test_round_trip(void)
{
	char text[ADDRESS_TEXT_SIZE], why[ADDRESS_WHY_SIZE];
	struct address_range range;
	struct packed back = { 0 };
	uint8_t entry[17];
	unsigned int bits, i, n;
	bool v4;

	for (n = 0; n < 200000; n++) {
		enum entry_kind kind = random64() % ENTRY_KINDS;
		uint64_t zero = random64() & random64();

		v4 = kind == ENTRY_HOST4 || kind == ENTRY_NET4;
		bits = v4 ? 32 : 128;
		for (i = 0; i < bits / 8; i++)
			entry[i] = zero >> i / 2 & 1 ? 0 : random64();
		if (!v4)
			entry[0] |= 1;	/* not mapped */
		if (kind == ENTRY_NET4 || kind == ENTRY_NET6) {
			bits = random64() % bits;
			entry[v4 ? 4 : 16] = bits;
			for (i = bits; i < (v4 ? 32 : 128); i++)
				entry[i / 8] &= ~(0x80 >> i % 8);
		}
		*entry_format(text, kind, entry) = '\0';
		if (!expect(!address_parse(text, strlen(text), &range, why),
			    "%s: %s", text, why))
			continue;
		packed_clear(&back);
		expect(!packed_add_range(&back, &range, false) && !range.masked &&
		       packed_count(&back) == 1 && back.kind[kind].count == 1 &&
		       !memcmp(back.kind[kind].data, entry, entry_size[kind]),
		       "%s is parsed to the same entry", text);
	}
	packed_free(&back);
	ktap_case("200000 random entries are the same after formatting and parsing");
}

/* A character in UTF-8, as RFC 3629 says. Return: its length. */
static int encode(unsigned int c, char text[5])
{
	int bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	for (i = bytes - 1; i > 0; i--, c >>= 6)
		text[i] = 0x80 | (c & 0x3f);
	text[0] = bytes == 1 ? c : (0xff00 >> bytes & 0xff) | c;
	text[bytes] = '\0';
	return bytes;
}

static void test_utf8_characters(void)
{
	char text[5];
	unsigned int c;
	int bytes;

	for (c = 1; c < 0x120000; c++) {
		bytes = encode(c, text);
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			bytes = -1;
		if (!expect(utf8_next(text) == bytes && utf8_is_valid(text) == (bytes > 0),
			    "U+%04X: %d bytes, not %d", c, utf8_next(text), bytes))
			break;
	}
	ktap_case("UTF-8: all characters are valid; surrogates and higher numbers are not");
}

static void test_utf8_repair(void)
{
	/* R is U+FFFD. */
	static const struct {
		const char *text;
		const char *valid;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "caf\xe9", "cafR" },
		{ "caf\xe9s", "cafRs" },
		{ "\x80\xbf", "RR" },
		/* Cut off */
		{ "\xc3", "R" },
		{ "\xe2\x82", "R" },
		{ "\xf0\x9f\x98", "R" },
		{ "\xe2\x82\xe2\x82\xac", "R\xe2\x82\xac" },
		/* Longer than it has to be; surrogates; above U+10FFFF */
		{ "\xc0\x80", "RR" },
		{ "\xe0\x9f\xbf", "RRR" },
		{ "\xf0\x8f\xbf\xbf", "RRRR" },
		{ "\xed\xa0\x80", "RRR" },
		{ "\xf4\x90\x80\x80", "RRRR" },
		{ "\xff\xfe\xfd", "RRR" },
		/* The example of the Unicode Standard */
		{ "\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", "aRRRbRcRRd" },
	};
	char expected[64], *end, *valid;
	const char *at;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (at = cases[i].valid, end = expected; *at; at++)
			end = *at == 'R' ? stpcpy(end, UTF8_REPLACEMENT) : mempcpy(end, at, 1);
		*end = '\0';
		valid = utf8_repair(cases[i].text);
		expect(!strcmp(valid, expected), "case %zu: \"%s\", not \"%s\"", i, valid,
		       expected);
		expect(utf8_is_valid(valid), "case %zu is valid then", i);
		free(valid);
	}
	ktap_case("UTF-8: what is no character is replaced");
}

static void test_utf8_random(void)
{
	static const unsigned char bytes[] = "\x01" "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2"
					     "\xdf\xe0\xe1\xed\xee\xef\xf0\xf1\xf4\xf5\xff";
	char text[9], *valid, *again;
	unsigned int n, i;

	for (n = 0; n < 200000; n++) {
		for (i = 0; i < sizeof(text) - 1; i++)
			text[i] = bytes[random64() % (sizeof(bytes) - 1)];
		text[random64() % sizeof(text)] = '\0';
		text[sizeof(text) - 1] = '\0';
		valid = utf8_repair(text);
		again = utf8_repair(valid);
		expect(utf8_is_valid(valid) && !strcmp(valid, again), "repaired once");
		expect(utf8_is_valid(text) == !strcmp(text, valid), "only if it has to be");
		free(valid);
		free(again);
	}
	ktap_case("UTF-8: 200000 random texts become valid");
}

/* The prefixes of a range must be adjacent, and the fewest: no size occurs three times. */
static void check_split(const struct address_range *range)
{
	uint64_t mask = range->family == V4 ? UINT32_MAX : UINT64_MAX;
	unsigned int bits = range->family == V4 ? 32 : 128, block;
	struct address_range rest = *range;
	unsigned char seen[129] = { 0 };
	struct u128 next;

	for (;;) {
		block = bits - address_block(&rest);
		if (!expect(++seen[block] <= 2, "three blocks of 2^%u", block))
			return;
		next = u128_add_block(rest.first, block);
		if (u128_compare(next, rest.first) <= 0 ||
		    u128_compare(next, rest.last) > 0)
			break;
		rest.first = next;
	}
	if (range->family == V6 && !next.lo)
		next.hi--;
	next.lo = (next.lo - 1) & mask;
	expect(!u128_compare(next, range->last),
	       "the prefixes end where the range ends");
}

static void test_random_ranges(void)
{
	struct address_range range = { .masked = false };
	struct u128 spare;
	int n;

	for (n = 0; n < 200000; n++) {
		range.family = n & 1 ? V4 : V6;
		range.first = (struct u128) { random64(), random64() };
		range.last = range.first;
		range.last.lo += random64() >> random64() % 64;
		if (random64() & 1)
			range.last.hi = random64();
		if (range.family == V4) {
			range.first.hi = range.last.hi = 0;
			range.first.lo &= UINT32_MAX;
			range.last.lo &= UINT32_MAX;
		}
		if (u128_compare(range.first, range.last) > 0) {
			spare = range.first;
			range.first = range.last;
			range.last = spare;
		}
		check_split(&range);
	}
	ktap_case("200000 random ranges become adjacent prefixes");
}

static void test_packed(void)
{
	static const char *const more[] = {
		"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.0.0.0/8", "11.0.0.0",
		"2001:db8::/32", "2001:db8:1::/48", "2001:db8::1", "10.1.2.3",
		"2001:db9::", NULL
	};
	struct feed a = { .family = ANY };
	char why[ADDRESS_WHY_SIZE];
	unsigned int i;

	for (i = 0; more[i]; i++)
		feed_add(&a, more[i], strlen(more[i]), why);
	packed_sort(&a.entries);
	expect_equal(packed_dedup(&a.entries), 2, "repeats");
	expect_equal(packed_count(&a.entries), 8, "entries");
	expect_equal(packed_covered(&a.entries), 4, "covered");
	feed_free(&a);
	ktap_case("repeats and overlaps");
}

static void test_sort(void)
{
	static const unsigned int counts[] = { 0, 1, 2, 31, 33, 1000, 100000 };
	unsigned int c, i, kind, size;
	struct address_range range;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		struct packed entries = { 0 };

		for (i = 0; i < counts[c]; i++) {
			bool v4 = random64() & 1;
			unsigned int free = random64() % 3;
			uint64_t low = random64() & 0xff00ff000full;

			range.family = v4 ? V4 : V6;
			range.first.hi = v4 ? 0 : random64() & 0xf0f;
			range.first.lo = low & (v4 ? UINT32_MAX : UINT64_MAX);
			range.first.lo &= ~((1ull << free) - 1);
			range.last = range.first;
			range.last.lo |= (1ull << free) - 1;
			packed_add_range(&entries, &range, false);
		}
		packed_sort(&entries);
		for (kind = 0; kind < ENTRY_KINDS; kind++) {
			size = entry_size[kind];
			for (i = 1; i < entries.kind[kind].count; i++)
				expect(memcmp(entries.kind[kind].data + (i - 1) * size,
					      entries.kind[kind].data + i * size,
					      size) <= 0,
				       "entry %u of kind %u is in order", i, kind);
		}
		expect_equal(packed_count(&entries), counts[c], "entries");
		packed_free(&entries);
	}
	ktap_case("entries of all kinds are sorted");
}

/* A few addresses at both ends of the space and in it, and prefixes of all lengths */
static void add_random(struct packed *entries)
{
	enum entry_kind kind = random64() % ENTRY_KINDS;
	unsigned int bytes = is_v6(kind) ? 16 : 4, bit;
	uint8_t entry[IPCUCKOO_NET6_SIZE] = { 0 };

	if (random64() % 4 == 0)
		memset(entry, 0xff, bytes);
	entry[0] ^= random64() & 0xc0;
	entry[bytes - 1] ^= random64() & 0x07;
	if (is_net(kind)) {
		entry[bytes] = random64() % 2 ? random64() % (8 * bytes) :
						8 * bytes - 1 - random64() % 4;
		for (bit = entry[bytes]; bit < 8 * bytes; bit++)
			entry[bit / 8] &= ~(0x80 >> bit % 8);
	}
	packed_add(entries, kind, entry);
}

/* Bit by bit */
static bool covers(enum entry_kind wide, const uint8_t *by, enum entry_kind kind,
		   const uint8_t *entry)
{
	unsigned int bytes = is_v6(kind) ? 16 : 4, bit;
	unsigned int by_len = is_net(wide) ? by[bytes] : 8 * bytes;
	unsigned int len = is_net(kind) ? entry[bytes] : 8 * bytes;

	if (is_v6(wide) != is_v6(kind) || by_len > len)
		return false;
	for (bit = 0; bit < by_len; bit++)
		if ((by[bit / 8] ^ entry[bit / 8]) & 0x80 >> bit % 8)
			return false;
	return true;
}

static bool is_covered(const struct packed *except, enum entry_kind kind, const uint8_t *entry)
{
	struct entry_ref ref;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < except->kind[ref.kind].count; ref.index++)
			if (covers(ref.kind, entry_at(except, ref), kind, entry))
				return true;
	return false;
}

/* The entries of line @at have the first line that has them. */
static void check_lines(const struct feed *all, struct feed *one, unsigned int at, const char *text)
{
	struct packed *entries = &one[at].entries;
	struct entry_ref ref;
	unsigned int first;

	packed_sort(entries);
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count; ref.index++) {
			first = 0;
			while (!packed_has(&one[first].entries, ref.kind, entry_at(entries, ref)))
				first++;
			expect_equal(origin_line(all->origin, &all->entries, ref.kind,
						 entry_at(entries, ref)), first + 1, "%s", text);
		}
	}
}

/* Lines of all kinds, some of them twice, that arrive in pieces: each entry has the first line that
 * has it.
 */
static void test_origin(void)
{
	static const char *const texts[] = {
		"", "# nothing", "10.0.0.%u", "10.0.0.%u", "10.0.%u.0/24", "2001:db8::%u", "10.1.0.%u-10.1.0.40",
		"10.2.0.%u # a comment", "wrong %u", "2001:db8:%u::/48", " 10.0.0.%u", "10.0.0.%u\r",
	};
	char line[64][64], all[sizeof(line)], why[ADDRESS_WHY_SIZE];
	struct origin *origin = calloc(1, sizeof(*origin));
	unsigned int round, count, i, room = sizeof(texts) / sizeof(texts[0]);
	struct feed_fault fault = { 0 };
	struct feed_stream *stream;
	size_t len, at, some;

	for (round = 0; round < 2000 && !ktap_failing(); round++) {
		struct feed feed = { .family = IPCUCKOO_FAMILY_ANY, .skip_invalid = true, .origin = origin };
		struct feed one[64];

		memset(origin, 0, offsetof(struct origin, runs));
		count = 1 + random64() % 64;
		for (i = 0, len = 0; i < count; i++) {
			snprintf(line[i], sizeof(line[i]), texts[random64() % room],
				 (unsigned int)(random64() % 30));
			len += sprintf(all + len, "%s\n", line[i]);
			one[i] = (struct feed){ .family = IPCUCKOO_FAMILY_ANY };
			some = strspn(line[i], " ");
			feed_add(&one[i], line[i] + some, strcspn(line[i] + some, " \r"), why);
		}
		stream = feed_open(&feed, &fault);
		for (at = 0; stream && at < len; at += some) {
			some = 1 + random64() % (len - at);
			expect_equal(feed_push(stream, all + at, some), 0, "result");
		}
		expect_equal(feed_end(stream), 0, "result");
		feed_close(stream);
		for (i = 0; i < count; i++)
			check_lines(&feed, one, i, line[i]);
		for (i = 0; i < count; i++)
			feed_free(&one[i]);
		feed_free(&feed);
	}
	free(origin);
	ktap_case("which lines entries come from");
}

/* What packed_match() has found, of the first list and of the second one */
struct matched {
	const struct packed *a, *b;
	size_t count;
};

static void on_match(enum entry_kind kind, size_t in_a, size_t in_b, void *data)
{
	struct matched *matched = data;
	struct entry_ref a = { kind, in_a }, b = { kind, in_b };

	expect(!memcmp(entry_at(matched->a, a), entry_at(matched->b, b), entry_size[kind]),
	       "entries %zu and %zu of kind %d are the same", in_a, in_b, kind);
	matched->count++;
}

/* Lists of very different length, too */
static void test_common(void)
{
	struct packed a = { 0 }, b = { 0 }, missing = { 0 }, all = { 0 };
	struct matched matched = { &a, &b, 0 };
	unsigned int round, i;
	struct entry_ref ref;
	size_t common, at;

	for (round = 0; round < 3000; round++) {
		packed_clear(&a);
		packed_clear(&b);
		packed_clear(&missing);
		packed_clear(&all);
		for (i = random64() % (round % 3 ? 8 : 300); i; i--)
			add_random(&a);
		for (i = random64() % (round % 5 ? 300 : 4); i; i--)
			add_random(&b);
		packed_unique(&a);
		packed_unique(&b);
		common = 0;
		expect_equal(packed_missing(&a, &b, &missing), 0, "result");
		for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
			for (ref.index = 0, at = 0; ref.index < a.kind[ref.kind].count; ref.index++) {
				const uint8_t *entry = entry_at(&a, ref);
				struct entry_ref next = { ref.kind, at };

				if (packed_has(&b, ref.kind, entry)) {
					common++;
					continue;
				}
				expect(at++ < missing.kind[ref.kind].count &&
				       !memcmp(entry_at(&missing, next), entry, entry_size[ref.kind]),
				       "round %u: entry %zu of kind %d is missing", round, ref.index,
				       ref.kind);
			}
			expect_equal(missing.kind[ref.kind].count, at, "missing");
		}
		matched.count = 0;
		packed_match(&a, &b, on_match, &matched);
		expect_equal(matched.count, common, "round %u: in both", round);
		expect_equal(packed_append(&all, &a), 0, "result");
		expect_equal(packed_append(&all, &b), 0, "result");
		expect_equal(packed_unique(&all), common, "repeats");
		expect_equal(packed_count(&all), packed_count(&missing) + packed_count(&b), "union");
	}
	packed_free(&a);
	packed_free(&b);
	packed_free(&missing);
	packed_free(&all);
	ktap_case("what two lists have in common, and what one lacks");
}

/* Each prefix of an address covers it, and has its length. */
static void test_prefix_of(void)
{
	uint8_t address[IPCUCKOO_HOST6_SIZE], entry[IPCUCKOO_NET6_SIZE];
	unsigned int round, len, bytes, i;
	enum entry_kind kind;
	bool v6;

	for (round = 0; round < 100; round++) {
		v6 = round % 2;
		bytes = v6 ? 16 : 4;
		for (i = 0; i < sizeof(address); i++)
			address[i] = random64();
		for (len = 0; len <= 8 * bytes; len++) {
			kind = entry_prefix(v6, address, len, entry);
			expect_equal(is_v6(kind), v6, "family");
			expect_equal(is_net(kind), len < 8 * bytes, "host");
			expect(!is_net(kind) || entry[bytes] == len, "length %u", len);
			expect(covers(kind, entry, v6 ? ENTRY_HOST6 : ENTRY_HOST4, address),
			       "length %u covers", len);
			for (i = len; i < 8 * bytes; i++)
				expect(!(entry[i / 8] & 0x80 >> i % 8), "bit %u of %u", i, len);
		}
	}
	ktap_case("the prefixes that cover an address");
}

static void test_without(void)
{
	struct packed entries = { 0 }, except = { 0 }, rest = { 0 };
	unsigned int round, i, holes = 0;
	struct entry_ref ref;

	for (round = 0; round < 20000; round++) {
		size_t want = 0;

		packed_clear(&entries);
		packed_clear(&except);
		packed_clear(&rest);
		for (i = random64() % 40; i; i--)
			add_random(&entries);
		for (i = random64() % 4; i; i--)
			add_random(&except);
		packed_sort(&entries);
		packed_dedup(&entries);
		packed_sort(&except);
		expect_equal(packed_without(&entries, &except, &rest), 0, "result");
		for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
			size_t at = 0;

			for (ref.index = 0; ref.index < entries.kind[ref.kind].count; ref.index++) {
				const uint8_t *entry = entry_at(&entries, ref);

				expect_equal(packed_covers(&except, ref.kind, entry),
					     is_covered(&except, ref.kind, entry), "covered");
				if (is_covered(&except, ref.kind, entry)) {
					holes++;
					continue;
				}
				expect(at < rest.kind[ref.kind].count &&
				       !memcmp(rest.kind[ref.kind].data +
					       at++ * entry_size[ref.kind], entry,
					       entry_size[ref.kind]),
				       "round %u: entry %zu of kind %d stays", round, ref.index,
				       ref.kind);
			}
			want += at;
		}
		expect_equal(packed_count(&rest), want, "entries that stay");
	}
	packed_free(&entries);
	packed_free(&except);
	packed_free(&rest);
	expect(holes > 10000, "exceptions cover entries: %u", holes);
	ktap_case("entries without those that others cover, compared bit by bit");
}

static void test_real_lists(const char *dir)
{
	struct feed all = { .family = ANY, .expand_limit = FEED_EXPAND_LIMIT };
	char text[4096], path[32];
	struct feed_fault fault;
	glob_t lists = {};
	size_t i;

	snprintf(text, sizeof(text), "%s/*.xz", dir);
	expect_equal(glob(text, 0, NULL, &lists), 0, "%s", text);
	for (i = 0; i < lists.gl_pathc; i++) {
		size_t before = packed_count(&all.entries);
		const char *list = lists.gl_pathv[i];
		FILE *xz;

		snprintf(text, sizeof(text), "xz -dc '%s'", list);
		xz = popen(text, "r");
		if (!expect(xz, "%s can be started", text))
			break;
		snprintf(path, sizeof(path), "/dev/fd/%d", fileno(xz));
		expect(!feed_read(&all, path, &fault), "%s:%lu: \"%s\": %s",
		       list, fault.line, fault.text, fault.why);
		expect_equal(pclose(xz), 0, "%s", text);
		expect(packed_count(&all.entries) > before, "%s has entries",
		       list);
	}
	globfree(&lists);
	expect_equal(all.masked, 0, "prefixes with host bits");
	packed_sort(&all.entries);
	expect_equal(packed_dedup(&all.entries), 0, "repeats");
	printf("# %zu hosts, %zu IPv4 and %zu IPv6 prefixes\n",
	       all.entries.kind[ENTRY_HOST4].count,
	       all.entries.kind[ENTRY_NET4].count,
	       all.entries.kind[ENTRY_NET6].count);
	feed_free(&all);
	ktap_case("real lists");
}

/* The time is always printed, but checked only without sanitizers and emulators. */
static void test_speed(bool judge)
{
	char *data = malloc(16 * SPEED_LINES), *p = data;
	struct feed feed = { .family = V4 };
	double parsed, sorted, started;
	struct feed_fault fault;
	uint8_t address[4];
	char path[] = "/tmp/test_parse.XXXXXX";
	uint64_t sum = 0, expected = 0;
	uint32_t value;
	size_t i;
	int fd;

	for (i = 0; i < SPEED_LINES; i++) {
		value = random64();
		expected += value;
		address[0] = value >> 24;
		address[1] = value >> 16;
		address[2] = value >> 8;
		address[3] = value;
		p = address_format4(p, address);
		*p++ = '\n';
	}
	fd = mkstemp(path);
	expect(fd >= 0 && write(fd, data, p - data) == p - data,
	       "a temporary file can be written");
	free(data);
	close(fd);
	started = ktap_seconds();
	expect_equal(feed_read(&feed, path, &fault), 0, "result");
	parsed = ktap_seconds();
	packed_sort(&feed.entries);
	sorted = ktap_seconds();
	unlink(path);
	expect_equal(packed_count(&feed.entries), SPEED_LINES, "entries");
	for (i = 0; i < packed_count(&feed.entries); i++) {
		p = (char *)feed.entries.kind[ENTRY_HOST4].data + 4 * i;
		sum += (uint32_t)(uint8_t)p[0] << 24 | (uint8_t)p[1] << 16 |
		       (uint8_t)p[2] << 8 | (uint8_t)p[3];
	}
	expect(sum == expected, "the sum of the addresses is right");
	printf("# %d lines parsed in %.1f ms, sorted in %.1f ms\n", SPEED_LINES,
	       (parsed - started) * 1e3, (sorted - parsed) * 1e3);
	expect(!judge || parsed - started < SPEED_MOST, "parsed in %.0f ms",
	       SPEED_MOST * 1e3);
	feed_free(&feed);
	ktap_case("a million lines are parsed in time");
}

static void test_durations(void)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} good[] = {
		{ "0", 0 }, { "90", 90 }, { "90s", 90 }, { "15m", 900 }, { "2h", 7200 },
		{ "7d", 604800 }, { "2w", 1209600 }, { "1h30m", 5400 }, { "1w2d3h4m5s", 788645 },
		{ "1d5s", 86405 }, { "0s", 0 }, { "0h30m", 1800 },
		{ "18446744073709551615", UINT64_MAX }, { "18446744073709551614s", UINT64_MAX - 1 },
		{ "30500568904943w", 18446744073709526400ull },
		{ "30500568904943w25215s", UINT64_MAX },
	};
	static const char *const bad[] = {
		"", "h", "-1", "+1", " 1", "1 ", "1 h", "1h 30m", "1H", "1x", "1hm", "1h30", "30m1h",
		"1h1h", "1.5h", "010", "010s", "1h030m", "0x10", "1h-", "18446744073709551616",
		"30500568904944w", "30500568904943w25216s",
	};
	static const struct {
		uint64_t seconds;
		const char *text;
	} shown[] = {
		{ 0, "0s" }, { 59, "59s" }, { 90, "90s" }, { 900, "15m" }, { 5400, "90m" },
		{ 86400, "1d" }, { 604800, "1w" }, { 2147483647, "2147483647s" },
		{ UINT64_MAX, "18446744073709551615s" },
	};
	char text[DURATION_TEXT_SIZE];
	uint64_t seconds;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect(duration_parse(good[i].text, &seconds) && seconds == good[i].seconds,
		       "\"%s\": %" PRIu64, good[i].text, seconds);
	ktap_case("times with units and without");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(!duration_parse(bad[i], &seconds), "\"%s\": %" PRIu64, bad[i], seconds);
	ktap_case("what is no time");
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		duration_format(shown[i].seconds, text);
		expect(!strcmp(text, shown[i].text), "%" PRIu64 ": %s", shown[i].seconds, text);
		expect(duration_parse(text, &seconds) && seconds == shown[i].seconds,
		       "\"%s\" is read as %" PRIu64, text, seconds);
	}
	ktap_case("times are shown as they are read");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: %s DIRECTORY", argv[0]);
	random_state = ktap_begin("test_parse");
	test_addresses();
	test_mapped();
	test_prefixes();
	test_ranges();
	test_files();
	test_skip_invalid();
	test_long_lines();
	test_no_file();
	test_read_error();
	test_round_trip();
	test_random_ranges();
	test_packed();
	test_sort();
	test_without();
	test_common();
	test_origin();
	test_prefix_of();
	test_utf8_characters();
	test_utf8_repair();
	test_utf8_random();
	test_durations();
	test_real_lists(argv[1]);
	test_speed(ktap_option("SPEED", 0));
	return ktap_end();
}
