// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of commands: usage, help and dispatch are made from it. ipset's
 * commands come first, in ipset's order: ipset takes an abbreviation, and it
 * stands for the first of ipset's commands that begins with it.
 */
#include "cli/globals.h"
#include "cmd/commands.h"

#define ENTRY_HELP							\
	"An entry is an address, a prefix (A/LEN) or a range (A-B), IPv4 or\n" \
	"IPv6 as the family of the set allows. Host bits of a prefix are cleared,\n" \
	"as ipset does. In a hash:net set, a range becomes as few prefixes as\n" \
	"possible. In a hash:ip or filter:ip set, a prefix or range becomes hosts:\n" \
	"more than 65536 of them (or than maxelem, if that is larger) need\n" \
	"--expand. A host name can be given instead of an address. Either all\n" \
	"entries are changed, or none. --check checks the command line, and\n" \
	"changes nothing.\n"

const struct command commands[] = {
	{ "create", run_create, COMMAND_IPSET | COMMAND_TYPED | COMMAND_CREATE,
	  { "new", "n", "-N" },
	  "NAME hash:ip|hash:net|filter:ip",
	  "create a set",
	  "hash:ip (or iphash) holds hosts. hash:net (or nethash) holds hosts and\n"
	  "prefixes.\n"
	  "filter:ip holds hosts in 8, 16 or 32 bits each. It is approximate: its\n"
	  "entries match, and so do some non-members, which are addresses that are\n"
	  "not entries. The share of non-members that match is the false-positive\n"
	  "rate; in a full set it is 3.0 %, 0.012 % or 0.00000018 %. The size of the\n"
	  "set is fixed. Its entries cannot be listed, and they can be deleted only\n"
	  "if the set is multi.\n"
	  "With -exist, it is no error if the set exists and was created with the\n"
	  "same options. maxelem is compared only if it is given.\n"
	  "hashsize N, bucketsize N and initval N of ipset are accepted, and have no\n"
	  "effect.\n"
	  "\n"
	  "  ipcuckoo create feed hash:net family any\n"
	  "  ipcuckoo create hosts6 hash:ip family inet6 maxelem 100000\n"
	  "  ipcuckoo create many filter:ip family inet6 fpp 0.001 capacity 2000000\n" },
	{ "add", run_add, COMMAND_IPSET | COMMAND_TYPED, { "-A" },
	  "NAME ENTRY... [timeout TIME] [packets N] [bytes N] [comment TEXT] [skbmark MARK[/MASK]] [skbprio MAJOR:MINOR] [skbqueue N] [nomatch] [--expand] [--check]",
	  "add entries",
	  ENTRY_HELP
	  "Each option except nomatch needs the option of the set that stores it:\n"
	  "timeout, counters, comment or skbinfo. TIME is in seconds, or has units:\n"
	  "90s, 15m, 1h30m, 7d; 0 is for ever. nomatch makes the entries\n"
	  "exceptions, in any hash:net set: if several entries cover an address, the\n"
	  "longest one decides, and the address is not in the set if that is an\n"
	  "exception.\n"
	  "With -exist, it is no error if an entry exists: the entry gets the options\n"
	  "of this command instead of those it had. Its counters go on unless packets\n"
	  "or bytes set them. In a filter:ip set, an address that matches already is\n"
	  "not added, unless the set is multi.\n"
	  "With -f FILE instead of entries, they come line by line, also from a pipe\n"
	  "that stays open (-f -): each is in the set within a second, and a wrong\n"
	  "line does not stop the others.\n"
	  "\n"
	  "  ipcuckoo add feed 192.0.2.0/24 2001:db8::/32\n"
	  "  ipcuckoo add feed 198.51.100.7-198.51.100.90 -exist\n"
	  "  ipcuckoo add guests 192.0.2.1 timeout 1h30m\n" },
	{ "del", run_del, COMMAND_IPSET | COMMAND_TYPED, { "-D" },
	  "NAME ENTRY... [--expand] [--check]",
	  "delete entries",
	  ENTRY_HELP
	  "With -exist, it is no error if an entry does not exist. Entries of a\n"
	  "filter:ip set can be deleted only if the set is multi; do not delete\n"
	  "entries that were never added.\n"
	  "\n"
	  "  ipcuckoo del feed 192.0.2.0/24\n" },
	{ "test", run_test, COMMAND_IPSET | COMMAND_TYPED, { "-T" },
	  "NAME ENTRY [nomatch]",
	  "test whether an address is in a set",
	  "An address is in the set if the longest entry that covers it is not an\n"
	  "exception. A prefix is in the set if this very prefix is an entry. Exit\n"
	  "status 0: in the set, 1: not in the set. For a filter:ip set, the answer\n"
	  "is maybe or no. With nomatch, test succeeds if the address is not in the\n"
	  "set because of an exception.\n"
	  "\n"
	  "  ipcuckoo test feed 192.0.2.1 && echo listed\n" },
	{ "destroy", run_destroy, COMMAND_IPSET | COMMAND_LOSES, { "x", "-X" },
	  "[NAME | --all]",
	  "destroy a set, or all sets",
	  "Without a name, all sets are destroyed, as with ipset. An attached set\n"
	  "cannot be destroyed; if any set is attached, --all destroys none.\n"
	  "With -exist, it is no error if there is no such set.\n"
	  "\n"
	  "  ipcuckoo destroy feed\n" },
	{ "list", run_list, COMMAND_IPSET | COMMAND_FILE, { "-L" },
	  "[NAME] [-t] [-n] [--verbose]",
	  "show a set, or all sets",
	  "-t, -terse    do not show entries\n"
	  "-n, -name     show names only\n"
	  "--verbose     also show what ipset does not have\n"
	  "\n"
	  "  ipcuckoo list feed\n"
	  "  ipcuckoo list -t -j\n" },
	{ "save", run_save, COMMAND_IPSET | COMMAND_FILE, { "-S" },
	  "[NAME | --all] [--ipset]",
	  "print the commands that create a set, or all sets, again",
	  "restore reads the output. With -file FILE, save writes it to FILE, and\n"
	  "replaces an existing file only when all output is written.\n"
	  "--all     also print the commands that attach the sets\n"
	  "--ipset   print only what ipset can restore; anything else is an error\n"
	  "\n"
	  "  ipcuckoo save --all -file sets\n"
	  "  ipcuckoo save feed --ipset\n" },
	{ "restore", run_restore, COMMAND_IPSET | COMMAND_LOSES | COMMAND_FILE, { "-R" },
	  "[--check]",
	  "run the commands of a file: all of them, or none",
	  "Reads commands as save prints them, one a line, from standard input or\n"
	  "from -file FILE: create, add, del, destroy, flush, rename, swap, attach.\n"
	  "The kernel makes all changes together. If a line is wrong, an error names\n"
	  "it, and nothing is changed.\n"
	  "--check   check the lines, and change nothing\n"
	  "\n"
	  "  ipcuckoo restore -file sets\n"
	  "  ipcuckoo restore --check -file sets\n" },
	{ "flush", run_flush, COMMAND_IPSET | COMMAND_LOSES, { "-F" },
	  "[NAME | --all]",
	  "delete all entries of a set, or of all sets",
	  "Without a name, all sets are flushed, as with ipset.\n"
	  "\n"
	  "  ipcuckoo flush feed\n" },
	{ "rename", run_rename, COMMAND_IPSET, { "e", "-E" },
	  "FROM TO",
	  "rename a set",
	  "Attachments of the set stay.\n"
	  "\n"
	  "  ipcuckoo rename feed feed.old\n" },
	{ "swap", run_swap, COMMAND_IPSET | COMMAND_LOSES, { "w", "-W" },
	  "NAME NAME",
	  "exchange the names of two sets, in one step",
	  "The sets must have the same type and family. Attachments stay with the\n"
	  "names: a packet sees either the old contents or the new.\n"
	  "\n"
	  "  ipcuckoo swap feed feed.new\n" },
	{ "help", run_help, COMMAND_IPSET, { "-H" },
	  "[COMMAND | TYPE | TOPIC... | --words | --complete -- WORD...]",
	  "show this help, that of a command, or a section of the manual",
	  "TYPE       show the commands whose options depend on the type of the set\n"
	  "TOPIC      print a section of ipcuckoo(8), such as quick start, at boot or\n"
	  "           guard, or a page such as xdp for ipcuckoo-xdp(7); man and the\n"
	  "           manual pages have to be installed\n"
	  "--words    print the grammar of each command, one a line, for programs.\n"
	  "           Other names of a command follow after a |. Words in capitals\n"
	  "           stand for a value, all others are typed as they are. The line *\n"
	  "           has the options that every command takes.\n"
	  "--complete -- WORD...\n"
	  "           print what can stand instead of the last WORD, which may be empty,\n"
	  "           in a command line of these words: for shells. Words in capitals\n"
	  "           stand for a value\n" },
	{ "version", run_version, COMMAND_IPSET, { "-v" },
	  "",
	  "show the versions of tool and module", "" },
	{ "-", run_interactive, COMMAND_IPSET, { NULL },
	  "",
	  "read commands from standard input, one a line, until quit",
	  "" },
	{ "quit", run_quit, COMMAND_IPSET, { NULL },
	  "",
	  "stop reading commands (for - and restore)",
	  "The lines after it are not read.\n" },
	{ "change", run_change, 0, { NULL },
	  "NAME maxelem N",
	  "change the limit of a set",
	  "The limit cannot be lower than the number of entries; 0 is no limit.\n"
	  "\n"
	  "  ipcuckoo change feed maxelem 200000\n" },
	{ "count", run_count, 0, { NULL },
	  "NAME ADDRESS",
	  "show how often an address may be in a filter:ip set",
	  "The number includes copies of other entries that have the same\n"
	  "fingerprint. Exit status 1 if it is 0.\n"
	  "\n"
	  "  ipcuckoo count many 2001:db8::1\n" },
	{ "load", run_load, COMMAND_LOSES, { "replace" },
	  "NAME FILE... [--append] [--skip-invalid] [--override] [--expand] [--check]",
	  "replace the entries of a set by those of files, in one step",
	  "The files have one address, prefix or range a line. # and ; begin\n"
	  "comments; anything after white space or a comma is ignored; - is standard\n"
	  "input. If a line is wrong, or there is no entry at all, nothing is changed.\n"
	  "A packet sees either the old contents or the new, never a mixture. replace\n"
	  "is another name of this command.\n"
	  "--append        add to the entries of the set instead of replacing them\n"
	  "--skip-invalid  report wrong lines, and skip them\n"
	  "--override      replace the entries even if other processes change the set\n"
	  "                during the load; their changes are lost. By default, load\n"
	  "                starts again then, and gives up after five attempts\n"
	  "--expand        in a hash:ip or filter:ip set, add every host of prefixes\n"
	  "                and ranges, even if there are more than 65536 (or than\n"
	  "                maxelem, if that is larger)\n"
	  "--check         read the files, and change nothing\n"
	  "\n"
	  "  ipcuckoo load feed drop.txt more.txt\n"
	  "  curl -s https://example.net/list | ipcuckoo load feed -\n" },
	{ "attach", run_attach, 0, { NULL },
	  "NAME src|dst|both drop|accept|count|prefetch|mark VALUE[/MASK] [[ingress|xdp] dev IFNAME] [order N] [priority N] [loopback] [new] [proto tcp|udp|sctp dport PORTS] [log [nflog GROUP] [rate N/s] [every N]] [--replace] [--approximate]",
	  "make a set act on packets",
	  "src, dst, both  which address of the packet is looked up\n"
	  "drop            drop the packet\n"
	  "accept          skip the attachments that follow at the same priority (an\n"
	  "                allowlist); the rest of netfilter still decides\n"
	  "count           count the packet, and go on (a dry run)\n"
	  "mark            set the mark to (mark & ~MASK) | VALUE, and go on\n"
	  "prefetch        look nothing up; let the processor fetch what look-ups at a\n"
	  "                later place will read (with ingress or xdp only)\n"
	  "order N         attachments run in ascending order; default: prefetch 0,\n"
	  "                accept 100, count and mark 200, drop 300\n"
	  "dev IFNAME      only packets of this interface\n"
	  "ingress         run in the ingress hook of the interface, before the rest\n"
	  "                of netfilter; sees no packets that this machine sends\n"
	  "xdp             run in a BPF program at the interface, before the kernel makes a\n"
	  "                packet of what arrives; the program is attached beside others\n"
	  "priority N      priority of the netfilter hook; default: -450 (before\n"
	  "                defragmentation), or the module parameter priority. accept\n"
	  "                does not skip attachments at other priorities\n"
	  "loopback        look at packets of loopback devices, too\n"
	  "new             only packets of connections that are not established yet, nor\n"
	  "                related to one; default priority: -199 (behind connection\n"
	  "                tracking, which it switches on)\n"
	  "proto, dport    only packets of this protocol to these ports: numbers, ranges and\n"
	  "                names of services, 15 at most, such as 22,80-90,https; no fragments\n"
	  "                but the first, which has the port\n"
	  "log             log matching packets to the kernel log, or to GROUP of\n"
	  "                nflog. rate limits the messages to N a second (default:\n"
	  "                10, 0: no limit); every logs only each N-th packet, counted\n"
	  "                on each CPU\n"
	  "--replace       replace the attachments of the set with the same direction,\n"
	  "                interface and hook, in one step: no packet slips through\n"
	  "--approximate   needed to drop or accept with a filter:ip set, because some\n"
	  "                non-members will be dropped or accepted, too\n"
	  "\n"
	  "  ipcuckoo attach feed src drop\n"
	  "  ipcuckoo attach friends src accept\n"
	  "  ipcuckoo attach feed both mark 0x1/0xff dev eth0\n"
	  "  ipcuckoo attach feed src drop new\n"
	  "  ipcuckoo attach feed src drop proto tcp dport 22,80-90\n"
	  "  ipcuckoo attach feed src drop ingress dev eth0\n"
	  "  ipcuckoo attach feed src drop xdp dev eth0\n"
	  "  ipcuckoo attach feed src prefetch ingress dev eth0\n"
	  "  ipcuckoo attach feed src count --replace\n" },
	{ "detach", run_detach, 0, { NULL },
	  "NAME [src|dst|both] [drop|accept|count|prefetch|mark [VALUE[/MASK]]] [[ingress|xdp] dev IFNAME] [order N] [priority N] [loopback] [new] [proto tcp|udp|sctp dport PORTS] [log ...] | id N | --all",
	  "remove attachments of a set, or of all sets",
	  "Removes every attachment of the set that has the given options, which are\n"
	  "those of attach. log and its options are ignored.\n"
	  "\n"
	  "  ipcuckoo detach feed\n"
	  "  ipcuckoo detach feed src drop ingress dev eth0\n"
	  "  ipcuckoo detach id 3\n" },
	{ "block", run_block, 0, { NULL },
	  "ENTRY... [timeout TIME]",
	  "drop all packets from these addresses",
	  "Adds the addresses to the set " BLOCK_SET ". On first use, the set is\n"
	  "created (hash:net, family any, timeout 0) and attached (src drop).\n"
	  "timeout TIME  end the block by itself after that time: seconds, 15m, 1h30m,\n"
	  "              7d. Without it, the addresses are blocked until unblock\n"
	  "\n"
	  "  ipcuckoo block 192.0.2.1 2001:db8::/32\n"
	  "  ipcuckoo block 198.51.100.7 timeout 1h\n" },
	{ "unblock", run_unblock, 0, { NULL },
	  "ENTRY...",
	  "stop blocking these addresses",
	  "Deletes the addresses from the set " BLOCK_SET ". Exit status 1 if one\n"
	  "of them is not blocked.\n"
	  "\n"
	  "  ipcuckoo unblock 192.0.2.1\n" },
	{ "publish", run_publish, 0, { NULL },
	  "LIST [ENTRY...] [timeout TIME] [comment TEXT] [--delete] [--file FILE] [--empty] [--control SOCKET]",
	  "change a list that a fleet shares",
	  "Adds entries to a list in Redis, which ipcuckood follows on all firewalls\n"
	  "of a fleet: see [redis NAME] in ipcuckood(8). The ipcuckood of this machine\n"
	  "publishes them. All entries of a command change in one step. While Redis\n"
	  "is away, ipcuckood publishes them later, and the exit status is 3.\n"
	  "timeout TIME  they expire that long from now (seconds, 15m, 1h30m, 7d),\n"
	  "              everywhere in the same second\n"
	  "--delete      delete them; it is no error if they are not there\n"
	  "--file FILE   replace all entries of the list by those of FILE, in one step,\n"
	  "              or make the list: an entry a line, and perhaps the second since\n"
	  "              1970 at which it expires, and a comment: ENTRY,SECOND,COMMENT\n"
	  "--empty       with --file, the list may become empty\n"
	  "--control SOCKET  the control socket of ipcuckood\n"
	  "\n"
	  "  ipcuckoo publish feed 192.0.2.7 timeout 1h comment scanner\n"
	  "  ipcuckoo publish feed 192.0.2.7 --delete\n"
	  "  ipcuckoo publish feed --file list.txt\n" },
	{ "fleet", run_fleet, 0, { NULL },
	  "status [LIST] [--control SOCKET]",
	  "show which firewalls have a shared list in force",
	  "Shows, for each firewall of a fleet, which change of a list in Redis it has\n"
	  "in force: whether it lags, its kernel refuses the list, or it was not heard\n"
	  "of. Exit status 0: all of them have all of the list; 1: some have not.\n"
	  "LIST may be left out if there is only one.\n"
	  "\n"
	  "  ipcuckoo fleet status feed\n" },
	{ "why", run_why, 0, { NULL },
	  "ADDRESS [--control SOCKET]",
	  "show why an address is blocked, or is not",
	  "Shows what the attachments do with packets from and to the address, by\n"
	  "device if that matters; which sets have it, by which entries, the one that\n"
	  "decides first; and in which order these sets are attached. If ipcuckood\n"
	  "runs, also which of its sources have the address, as of when, until when,\n"
	  "and the decisions of CrowdSec. Exit status 0: some of its packets are\n"
	  "dropped; 1: none are.\n"
	  "--control SOCKET  the control socket of ipcuckood\n"
	  "\n"
	  "  ipcuckoo why 192.0.2.7\n"
	  "  ipcuckoo why 2001:db8::7 -j\n" },
	{ "stats", run_stats, 0, { NULL },
	  "[--prometheus]",
	  "show attachments with counters, sets and memory",
	  "--prometheus  print the text format that the textfile collector of\n"
	  "              node_exporter reads\n"
	  "\n"
	  "  ipcuckoo stats\n"
	  "  ipcuckoo stats -j\n"
	  "  ipcuckoo stats --prometheus > ipcuckoo.prom.new && mv ipcuckoo.prom.new ipcuckoo.prom\n" },
	{ "top", run_top, 0, { NULL },
	  "[NAME] [--first N]",
	  "show the entries that most packets matched",
	  "Shows entries of a set, or of all sets, that were created with counters.\n"
	  "Entries that no packet matched are not shown.\n"
	  "--first N  show at most N entries; default: 10\n"
	  "\n"
	  "  ipcuckoo top feed --first 20\n"
	  "  ipcuckoo top -j\n" },
	{ "monitor", run_monitor, 0, { NULL },
	  "",
	  "show changes as they happen",
	  "Prints a line for each event, until it is interrupted: sets are created,\n"
	  "destroyed, flushed or replaced (by load), entries are added, deleted or\n"
	  "have expired, sets are attached or detached. Many entries that change at\n"
	  "once take several lines. If events come faster than monitor reads them,\n"
	  "some are lost, and a line says \"overrun\".\n"
	  "\n"
	  "  ipcuckoo monitor\n"
	  "  ipcuckoo monitor -j | jq .\n" },
	{ NULL, NULL, 0, { NULL }, NULL, NULL, NULL }
};

/* Map the status of a command to the exit status of the tool. Scripts that use ipset expect
 * its exit statuses from the commands that ipset has: 2 for a wrong command line, and 1 for
 * any other failure, also for a wrong value (STATUS_SYNTAX). A wrong value also gives 1 if
 * there is no command (NULL), and 2 with the commands that ipset does not have. All other
 * statuses of these commands are exit statuses.
 */
int exit_status(const struct command *command, int status)
{
	bool ipset = command && command->flags & COMMAND_IPSET;

	if (status == STATUS_SYNTAX)
		return !command || ipset ? STATUS_NO : STATUS_USAGE;
	return ipset && status > STATUS_USAGE ? STATUS_NO : status;
}

static int fail_no_command(const struct tool *tool)
{
	return fail(tool, STATUS_USAGE,
		    "No command specified.\nTry `ipcuckoo help' for more information. To begin:\n"
		    "  ipcuckoo block 192.0.2.7                   drop all packets of an address\n"
		    "  ipcuckoo unblock 192.0.2.7                 let them pass again\n"
		    "  ipcuckoo create feed hash:net family any   make a set for addresses and prefixes\n"
		    "  ipcuckoo load feed list.txt                fill it with those of a list\n"
		    "  ipcuckoo attach feed src drop              drop the packets that come from them\n"
		    "  ipcuckoo list -t                           show all sets\n"
		    "  ipcuckoo stats                             show what is attached, with counters");
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
		return tool->help ? STATUS_OK : fail_no_command(tool);
	}
	name = words->word[0];
	words->word++;
	words->count--;
	words->plain--;
	tool->command = find_command(name);
	if (!tool->command)
		return fail_command(tool, name, words);
	if (tool->help) {
		print_help(tool->command);
		return STATUS_OK;
	}
	return tool->command->run(tool, words);
}

/**
 * run_words - run one command
 * @tool:	the run; options that this command sets in it stay set
 * @words:	the words of the command
 *
 * Return: the exit status.
 */
int run_words(struct tool *tool, struct words *words)
{
	int status = run(tool, words);

	return exit_status(tool->command, status);
}
