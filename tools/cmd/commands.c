// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of commands: usage, help and dispatch are made from it. ipset's
 * come first, in ipset's order, for a beginning of a name is the first command
 * of ipset's that begins so.
 */
#include "cli/globals.h"
#include "cmd/commands.h"

#define ENTRY_HELP							\
	"An entry is an address, a prefix (A/LEN) or a range (A-B), IPv4 or\n" \
	"IPv6 as the set's family allows. Host bits of a prefix are cleared,\n" \
	"as ipset does. In a hash:net set a range becomes the fewest prefixes;\n" \
	"in a hash:ip or filter:ip set a prefix or range becomes hosts, more\n" \
	"than 65536 of them, and than maxelem, only with --expand. The name of a\n" \
	"host may stand for an address. All entries are changed, or none; with\n" \
	"--check they are only read.\n"

const struct command commands[] = {
	{ "create", run_create, COMMAND_IPSET | COMMAND_TYPED, { "new", "n", "-N" },
	  "NAME hash:ip|hash:net|filter:ip [family inet|inet6|any] [maxelem N] [netmask N] [bitmask ADDRESS] [timeout N] [counters] [comment] [forceadd] [skbinfo] [hashsize N] [bucketsize N] [initval N] [bits 8|16|32] [fpp P] [capacity N] [multi]",
	  "make a set",
	  "hash:ip (or iphash) holds hosts, hash:net (or nethash) holds hosts and\n"
	  "prefixes. The family is inet unless said otherwise; any holds IPv4 and\n"
	  "IPv6 in one set.\n"
	  "maxelem limits the entries; 0 is no limit.\n"
	  "In a hash:ip set with netmask N or bitmask ADDRESS only these bits of an\n"
	  "address count. hashsize, bucketsize and initval are listed as given, for\n"
	  "scripts that expect them; nothing depends on them.\n"
	  "-exist accepts a set of that name that is there and was made with the same\n"
	  "options; its limit is compared if maxelem is given.\n"
	  "\n"
	  "timeout N   entries end after N seconds, 68 years at most, unless they are\n"
	  "            given another time; 0: they stay\n"
	  "counters    packets and bytes are counted for each entry\n"
	  "comment     entries can have a comment\n"
	  "forceadd    when the set is full what is added takes the place of others\n"
	  "skbinfo     entries can have a mark, which attachments that mark set\n"
	  "            instead of their own\n"
	  "\n"
	  "filter:ip holds hosts in 8, 16 or 32 bits each, and is approximate: its\n"
	  "entries match, but so does a share of all strangers, 3.0 %, 0.012 % or\n"
	  "0.00000018 % when it is full. It has one size for good, and its entries\n"
	  "can be neither listed nor deleted.\n"
	  "bits N      bits of a fingerprint; 16 unless said otherwise\n"
	  "fpp P       the fewest bits that keep the share within P, as 0.001 or 0.1%\n"
	  "capacity N  entries it shall have room for; 65536, or maxelem\n"
	  "multi       every addition is stored, up to eight of one entry, and del\n"
	  "            removes one; deleting what was never added may unblock others\n"
	  "\n"
	  "  ipcuckoo create feed hash:net family any\n"
	  "  ipcuckoo create hosts6 hash:ip family inet6 maxelem 100000\n"
	  "  ipcuckoo create many filter:ip family inet6 fpp 0.001 capacity 2000000\n" },
	{ "add", run_add, COMMAND_IPSET | COMMAND_TYPED, { "-A" },
	  "NAME ENTRY... [timeout N] [packets N] [bytes N] [comment TEXT] [skbmark MARK[/MASK]] [skbprio MAJOR:MINOR] [skbqueue N] [nomatch] [--expand] [--check]",
	  "add entries",
	  ENTRY_HELP
	  "What stands behind them is for sets made with the option for it. nomatch,\n"
	  "in any hash:net set, makes them exceptions: the longest entry that covers\n"
	  "an address decides. With -exist all that is kept for entries that are\n"
	  "there becomes what is said now, but counters go on unless they are given.\n"
	  "-exist accepts entries that are there already. To a filter:ip set an\n"
	  "entry that matches already is not added, unless the set is multi.\n"
	  "\n"
	  "  ipcuckoo add feed 192.0.2.0/24 2001:db8::/32\n"
	  "  ipcuckoo add feed 198.51.100.7-198.51.100.90 -exist\n" },
	{ "del", run_del, COMMAND_IPSET | COMMAND_TYPED, { "-D" },
	  "NAME ENTRY... [--expand] [--check]",
	  "delete entries",
	  ENTRY_HELP
	  "-exist accepts entries that are not there. From a filter:ip set entries\n"
	  "can be deleted if it is multi; delete nothing that was never added.\n"
	  "\n"
	  "  ipcuckoo del feed 192.0.2.0/24\n" },
	{ "test", run_test, COMMAND_IPSET | COMMAND_TYPED, { "-T" },
	  "NAME ENTRY [nomatch]",
	  "ask whether an address is in a set",
	  "An address is in the set if an entry covers it; a prefix if that very\n"
	  "prefix is an entry. Exit status 0: it is, 1: it is not. Of a filter:ip\n"
	  "set the answer is maybe, or no. With nomatch: whether an exception is why\n"
	  "it is not.\n"
	  "\n"
	  "  ipcuckoo test feed 192.0.2.1 && echo listed\n" },
	{ "destroy", run_destroy, COMMAND_IPSET, { "x", "-X" },
	  "[NAME | --all]",
	  "remove a set, or all sets",
	  "Without a name all sets go, as with ipset. A set that is attached\n"
	  "stays, and with --all every other one then too.\n"
	  "-exist accepts that there is no such set.\n"
	  "\n"
	  "  ipcuckoo destroy feed\n" },
	{ "list", run_list, COMMAND_IPSET, { "-L" },
	  "[NAME] [-t] [-n] [--verbose]",
	  "show a set, or all sets",
	  "-t, -terse    without members\n"
	  "-n, -name     names only\n"
	  "--verbose     also what ipset does not have\n"
	  "\n"
	  "  ipcuckoo list feed\n"
	  "  ipcuckoo list -t -j\n" },
	{ "save", run_save, COMMAND_IPSET, { "-S" },
	  "[NAME | --all] [--ipset]",
	  "print what makes a set, or all sets, again",
	  "The output is for restore. -file FILE writes it there, in the place of\n"
	  "what is there once all is written.\n"
	  "--all     also what the sets are attached as\n"
	  "--ipset   only what ipset restores; what it cannot hold is an error\n"
	  "\n"
	  "  ipcuckoo save --all -file sets\n"
	  "  ipcuckoo save feed --ipset\n" },
	{ "restore", run_restore, COMMAND_IPSET, { "-R" },
	  "[--check]",
	  "run the commands of a file, all or none",
	  "Commands as save prints them, one a line, from standard input or -file\n"
	  "FILE: create, add, del, destroy, flush, rename, swap, attach. All lines\n"
	  "are read and checked first; one that is at fault is named, and nothing is\n"
	  "changed. If the kernel has no memory or others keep changing a set, sets\n"
	  "before it may be changed by then; the message names them.\n"
	  "--check   change nothing in any case\n"
	  "\n"
	  "  ipcuckoo restore -file sets\n"
	  "  ipcuckoo restore --check -file sets\n" },
	{ "flush", run_flush, COMMAND_IPSET, { "-F" },
	  "[NAME | --all]",
	  "remove the entries of a set, or of all sets",
	  "Without a name all sets are flushed, as with ipset.\n"
	  "\n"
	  "  ipcuckoo flush feed\n" },
	{ "rename", run_rename, COMMAND_IPSET, { "e", "-E" },
	  "FROM TO",
	  "give a set another name",
	  "What is attached stays attached.\n"
	  "\n"
	  "  ipcuckoo rename feed feed.old\n" },
	{ "swap", run_swap, COMMAND_IPSET, { "w", "-W" },
	  "NAME NAME",
	  "let two sets take each other's place, in one step",
	  "The sets have the same type and family. Attachments stay with the names:\n"
	  "packets meet the old contents or the new.\n"
	  "\n"
	  "  ipcuckoo swap feed feed.new\n" },
	{ "help", run_help, COMMAND_IPSET, { "-H" },
	  "[COMMAND | TYPE | --words]",
	  "show this, or more about a command",
	  "Of a type of sets: the commands whose words depend on it.\n"
	  "--words   the grammar of all, one a line, for programs: other names behind\n"
	  "          a |, what is not in capitals as it is typed; * for the options\n"
	  "          that go with all\n" },
	{ "version", run_version, COMMAND_IPSET, { "-v" },
	  "",
	  "show the versions of tool and module", "" },
	{ "-", run_interactive, COMMAND_IPSET, { NULL },
	  "",
	  "take commands from standard input, one a line, up to quit", "" },
	{ "quit", run_quit, COMMAND_IPSET, { NULL },
	  "",
	  "end the commands that - and restore read",
	  "What stands behind it is not read.\n" },
	{ "change", run_change, 0, { NULL },
	  "NAME maxelem N",
	  "give a set another limit",
	  "It cannot be less than the set has entries; 0 is no limit.\n"
	  "\n"
	  "  ipcuckoo change feed maxelem 200000\n" },
	{ "count", run_count, 0, { NULL },
	  "NAME ADDRESS",
	  "ask how often an address may be in a filter:ip set",
	  "Prints a number, which others with the same fingerprint may have added\n"
	  "to. Exit status 1 if it is 0.\n"
	  "\n"
	  "  ipcuckoo count many 2001:db8::1\n" },
	{ "load", run_load, 0, { "replace" },
	  "NAME FILE... [--append] [--skip-invalid] [--override] [--expand] [--check]",
	  "make list files the contents of a set, in one step",
	  "One address, prefix or range a line; # and ; begin comments, what\n"
	  "stands behind white space or a comma is ignored; - is standard input.\n"
	  "Nothing changes if a line is at fault or there is no entry at all;\n"
	  "packets meet the old contents or the new, never a mixture. replace is\n"
	  "another word for it.\n"
	  "--append        keep what the set has\n"
	  "--skip-invalid  report lines at fault and go on\n"
	  "--override      replace also what others change during the load;\n"
	  "                otherwise it begins anew, up to five times\n"
	  "--expand        in a hash:ip set, add every address of prefixes and\n"
	  "                ranges that hold more than 65536, and than maxelem\n"
	  "--check         read the files, and change nothing\n"
	  "\n"
	  "  ipcuckoo load feed drop.txt edrop.txt\n"
	  "  curl -s https://example.net/list | ipcuckoo load feed -\n" },
	{ "attach", run_attach, 0, { NULL },
	  "NAME src|dst|both drop|accept|count|mark VALUE[/MASK] [[ingress] dev IFNAME] [order N] [priority N] [loopback] [log [nflog GROUP] [rate N/s] [every N]] [--replace] [--approximate]",
	  "make a set act on packets",
	  "src, dst, both  the address of the packet that is looked up\n"
	  "drop            drop the packet\n"
	  "accept          look no further: an allowlist; later rules decide\n"
	  "count           count it and go on: a dry run\n"
	  "mark            set (mark & ~MASK) | VALUE and go on\n"
	  "order N         lower ones run first; accept has 100, count and mark\n"
	  "                200, drop 300 unless said otherwise\n"
	  "dev IFNAME      only packets of this interface\n"
	  "ingress         at the interface's ingress hook, before all else that\n"
	  "                netfilter does; not what the machine itself sends\n"
	  "priority N      of the netfilter hook, -450 (before defragmentation) unless\n"
	  "                the module was loaded with another; each is a walk of its\n"
	  "                own, which accept ends\n"
	  "loopback        look at packets of loopback devices as well\n"
	  "log             log packets that match, to the kernel log (or to nflog's\n"
	  "                GROUP): up to N a second, 10 unless said otherwise, 0 for\n"
	  "                all, and of packets every N-th on each CPU\n"
	  "--replace       in place of what the set is attached as in that direction,\n"
	  "                to that interface, in one step: no packet slips through\n"
	  "--approximate   needed to drop or accept with a filter:ip set, for some\n"
	  "                strangers will be dropped, or accepted, with it\n"
	  "\n"
	  "  ipcuckoo attach feed src drop\n"
	  "  ipcuckoo attach friends src accept\n"
	  "  ipcuckoo attach feed both mark 0x1/0xff dev eth0\n"
	  "  ipcuckoo attach feed src drop ingress dev eth0\n"
	  "  ipcuckoo attach feed src count --replace\n" },
	{ "detach", run_detach, 0, { NULL },
	  "NAME [src|dst|both] [drop|accept|count|mark [VALUE[/MASK]]] [[ingress] dev IFNAME] [order N] [priority N] [loopback] [log ...] | id N | --all",
	  "take a set, or all, off the packets again",
	  "Ends every attachment of the set that fits the words given, which are\n"
	  "those of attach; those behind log are not minded.\n"
	  "\n"
	  "  ipcuckoo detach feed\n"
	  "  ipcuckoo detach feed src drop ingress dev eth0\n"
	  "  ipcuckoo detach id 3\n" },
	{ "block", run_block, 0, { NULL },
	  "ENTRY...",
	  "drop everything from these addresses",
	  "Adds to the set " BLOCK_SET ", which is made (hash:net, family any) and\n"
	  "attached (src drop) on first use.\n"
	  "\n"
	  "  ipcuckoo block 192.0.2.1 2001:db8::/32\n" },
	{ "unblock", run_unblock, 0, { NULL },
	  "ENTRY...",
	  "let these addresses through again",
	  "Deletes from the set " BLOCK_SET ". Exit status 1 if one is not blocked.\n"
	  "\n"
	  "  ipcuckoo unblock 192.0.2.1\n" },
	{ "stats", run_stats, 0, { NULL },
	  "[--prometheus]",
	  "show attachments with counters, sets and memory",
	  "--prometheus  in the text format that node_exporter's textfile collector\n"
	  "              reads\n"
	  "\n"
	  "  ipcuckoo stats\n"
	  "  ipcuckoo stats -j\n"
	  "  ipcuckoo stats --prometheus > ipcuckoo.prom.new && mv ipcuckoo.prom.new ipcuckoo.prom\n" },
	{ "top", run_top, 0, { NULL },
	  "[NAME] [--first N]",
	  "show the entries that most packets matched",
	  "Of a set, or of all, that were made with counters; the first 10 unless\n"
	  "said otherwise, and none that no packet matched.\n"
	  "\n"
	  "  ipcuckoo top feed --first 20\n"
	  "  ipcuckoo top -j\n" },
	{ "monitor", run_monitor, 0, { NULL },
	  "",
	  "show what changes, as it changes",
	  "A line for each event, until it is interrupted: sets that are new,\n"
	  "destroyed, flushed or replaced (by load), entries that are added or\n"
	  "deleted or have ended, sets that are attached or detached. Many entries\n"
	  "at once take several lines. Where events come faster than they are read some are\n"
	  "lost, and a line says \"overrun\".\n"
	  "\n"
	  "  ipcuckoo monitor\n"
	  "  ipcuckoo monitor -j | jq .\n" },
	{ NULL, NULL, 0, { NULL }, NULL, NULL, NULL }
};

/* What ipset's scripts expect of ipset's commands: 1 for all that failed but
 * for words that were wrong. Our own tell more.
 */
int exit_status(const struct command *command, int status)
{
	bool ipset = command && command->flags & COMMAND_IPSET;

	if (status == STATUS_SYNTAX)
		return !command || ipset ? STATUS_NO : STATUS_USAGE;
	return ipset && status > STATUS_USAGE ? STATUS_NO : status;
}

static int run(struct tool *tool, struct words *words)
{
	const char *name;
	int status;

	status = take_globals(tool, words);
	if (status)
		return status;
	if (tool->version)
		return print_tool_version(tool);
	if (!words->count) {
		if (tool->help)
			print_usage(stdout);
		return tool->help ? STATUS_OK :
		       fail(tool, STATUS_USAGE,
			    "No command specified.\nTry `ipcuckoo help' for more information.");
	}
	name = words->word[0];
	words->word++;
	words->count--;
	words->plain--;
	tool->command = find_command(name);
	if (!tool->command)
		return fail_command(tool, name);
	if (tool->help) {
		print_help(tool->command);
		return STATUS_OK;
	}
	return tool->command->run(tool, words);
}

/**
 * run_words - run one command
 * @tool:	the run; what options of the command changed in it stays changed
 * @words:	its words
 *
 * Return: the status to exit with.
 */
int run_words(struct tool *tool, struct words *words)
{
	int status = run(tool, words);

	return exit_status(tool->command, status);
}
