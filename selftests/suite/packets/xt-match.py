#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Rules of iptables that refer to sets, "-m ipcuckoo", with iptables-legacy and iptables-nft, IPv4
and IPv6: random packets through random sets, whose verdicts and counters are compared with a
reference; saved rules; what a set to which rules refer refuses; sets that are swapped and replaced;
namespaces that end, and modules that are unloaded. KTAP. SEED repeats a run."""
import collections
import ipaddress
import os
import random
import sys

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from differ.net import has_ipv6
from differ.types import call, is_loaded, unload
from xtables.firewall import Firewall, backends, insert, need_match

MATCH, EXCEPTION = "match", "exception"
# Sources and destinations of packets, which sets have prefixes of
SOURCES = {4: ipaddress.ip_network("192.0.2.0/24"), 6: ipaddress.ip_network("2001:db8:1::/120")}
TARGETS = {4: ipaddress.ip_network("10.9.0.0/20"), 6: ipaddress.ip_network("fd09::/116")}
PACKETS = 60
# Addresses of TARGETS
DROPPED, NOT_DROPPED = 1, 2


class Reference:
    """A set, looked up naively: the longest prefix that covers an address decides."""

    def __init__(self):
        self.entries = {}
        self.counted = collections.Counter()

    def fill(self, rng, count, hosts, families):
        while len(self.entries) < count:
            area = rng.choice((SOURCES, TARGETS))[rng.choice(families)]
            bits = area.max_prefixlen
            length = bits if hosts else rng.randint(area.prefixlen + 1, bits)
            inside = int(area.network_address) + rng.randrange(area.num_addresses)
            network = ipaddress.ip_network((inside >> bits - length << bits - length, length))
            self.entries[network] = not hosts and rng.random() < 0.4

    def lines(self, name):
        for network, nomatch in self.entries.items():
            yield f"add {name} {network}{' nomatch' if nomatch else ''}"

    def decide(self, address):
        """(MATCH, EXCEPTION or None; the entry)"""
        covering = [n for n in self.entries if n.version == address.version and address in n]
        if not covering:
            return None, None
        entry = max(covering, key=lambda n: n.prefixlen)
        return EXCEPTION if self.entries[entry] else MATCH, entry


class Rule:
    """A rule of the test, and what it must do with an address"""

    def __init__(self, name, reference, dst=False, invert=False, nomatch=False, update=True,
                 approximate=False):
        self.reference = reference
        self.dst, self.invert, self.nomatch, self.update = dst, invert, nomatch, update
        self.words = (["!"] if invert else []) + ["--match-set", name, "dst" if dst else "src"]
        self.words += ["--return-nomatch"] if nomatch else []
        self.words += [] if update else ["!", "--update-counters"]
        self.words += ["--approximate"] if approximate else []
        self.hits = 0

    def packet(self, src, dst):
        decision, entry = self.reference.decide(dst if self.dst else src)
        if entry and self.update:
            self.reference.counted[entry] += 1
        matches = (decision == (EXCEPTION if self.nomatch else MATCH)) != self.invert
        self.hits += matches
        return matches


def some_packets(rng, version, entries):
    """Random addresses, most of them in or beside an entry"""
    def address(area):
        near = [n for n in entries if n.version == version and n.subnet_of(area)]
        if not near or rng.random() < 0.2:
            return area[rng.randrange(area.num_addresses)]
        entry = rng.choice(near)
        edge = rng.choice((int(entry[0]) - 1, int(entry[0]), int(entry[-1]), int(entry[-1]) + 1,
                           int(entry[rng.randrange(entry.num_addresses)])))
        found = ipaddress.ip_address(edge)
        return found if found in area else area[0]
    return [(address(SOURCES[version]), address(TARGETS[version])) for _ in range(PACKETS)]


def saved_counters(fw, name):
    """Packets by entry, from "ipcuckoo save" """
    found = {}
    for line in fw.tool("save", name).splitlines():
        words = line.split()
        if words[0] == "add":
            packets = int(words[words.index("packets") + 1]) if "packets" in words else 0
            found[ipaddress.ip_network(words[2])] = packets
    return found


def families():
    return (4, 6) if has_ipv6() else (4,)


def verdicts(out, fw, backend, rng):
    """Random sets and packets: rules match and count as the reference says."""
    nets, hosts = Reference(), Reference()
    nets.fill(rng, 40, False, families())
    # Whatever is drawn, one address is dropped, and one is not.
    for version in families():
        for n in DROPPED, NOT_DROPPED:
            nets.entries[ipaddress.ip_network(TARGETS[version][n])] = n == NOT_DROPPED
    hosts.fill(rng, 60, True, families())
    fw.restore("create nets hash:net family any counters",
               "create hosts hash:ip family any counters",
               "create filter filter:ip family any", *nets.lines("nets"), *hosts.lines("hosts"),
               *hosts.lines("filter"))
    for version in families():
        rules = [Rule("nets", nets, dst, invert, nomatch, update)
                 for dst in (False, True) for invert in (False, True) for nomatch in (False, True)
                 for update in (False, True)]
        # A set that has no exceptions ignores --return-nomatch.
        rules += [Rule("hosts", hosts), Rule("hosts", hosts, dst=True, update=False),
                  Rule("filter", hosts, dst=True, update=False, approximate=True)]
        drop = Rule("nets", nets, dst=True)
        fw.rules(version, *(rule.words for rule in rules), [*drop.words, "-j", "DROP"])
        fw.count_all(version)
        packets = some_packets(rng, version, list(nets.entries) + list(hosts.entries))
        packets += [(SOURCES[version][1], TARGETS[version][n]) for n in (DROPPED, NOT_DROPPED)]
        passed = 0
        for src, dst in packets:
            for rule in rules:
                rule.packet(src, dst)
            passed += not drop.packet(src, dst)
        sent = fw.send(packets)
        want = [rule.hits for rule in rules] + [drop.hits, passed]
        found = fw.counts(version)
        if found != want:
            out.note(f"rules counted {found}, expected {want}")
        out.case(f"{backend}, IPv{version}: rules match the packets that they should",
                 found == want)
        out.case(f"{backend}, IPv{version}: some packets are dropped, and others are not",
                 0 < drop.hits < len(packets) and sent == passed)
        fw.flush(version)
    for name, reference in (("nets", nets), ("hosts", hosts)):
        want = {entry: reference.counted[entry] for entry in reference.entries}
        found = saved_counters(fw, name)
        for entry in want:
            if found.get(entry) != want[entry]:
                out.note(f"{name}: {entry} counted {found.get(entry)}, expected {want[entry]}")
        out.case(f"{backend}: the entries of {name} count the packets that they decide",
                 found == want)
    fw.restore("destroy nets", "destroy hosts", "destroy filter")


def hashed_hosts(out, fw, backend):
    """--return-nomatch and masks in sets of hosts"""
    fw.restore("create h hash:ip family any", "create m hash:ip netmask 24",
               "add h 10.9.0.1", "add m 10.9.1.0")
    fw.rules(4, *(words.split() for words in (
        "--match-set h dst --return-nomatch", "! --match-set h dst --return-nomatch",
        "--match-set m dst")))
    fw.send([("192.0.2.1", dst) for dst in ("10.9.0.1", "10.9.1.77", "10.9.2.77")])
    out.case(f"{backend}: hash:ip ignores --return-nomatch; masks count",
             fw.counts(4) == [1, 2, 1])
    fw.flush(4)
    fw.restore("destroy h", "destroy m")


ODD = "odd(name)'!\\"

SPECIFICATIONS = (
    ["--match-set", "a", "src"], ["!", "--match-set", "a", "dst"],
    ["--match-set", "a", "dst", "--return-nomatch"],
    ["--match-set", "a", "src", "!", "--update-counters"],
    ["!", "--match-set", "f", "src", "--return-nomatch", "!", "--update-counters", "--approximate"],
    ["--match-set", ODD, "dst"],
)


def saved_rules(fw, version):
    return [line for line in fw.saved(version).splitlines() if "--match-set" in line]


def finds_no_other(fw, version):
    """Does -C tell rules with different options of one match apart? ip6tables-legacy 1.8.9 does
    not, whatever the match is."""
    rule = ("OUTPUT", "-m", "mark", "--mark", "1")
    fw.must(version, "-A", *rule)
    other = fw.iptables(version, "-C", "OUTPUT", "-m", "mark", "!", "--mark", "1").returncode
    fw.must(version, "-D", *rule)
    return bool(other)


def specifications(out, fw, backend):
    fw.tool("create", "a", "hash:net", "family", "any")
    fw.tool("create", "f", "filter:ip", "family", "any")
    fw.tool("create", ODD, "hash:ip", "family", "any")
    for version in families():
        fw.rules(version, *SPECIFICATIONS)
        before = saved_rules(fw, version)
        text = fw.saved(version)
        fw.flush(version)
        fw.load(version, text)
        out.case(f"{backend}, IPv{version}: saved rules are restored as they were",
                 len(before) == len(SPECIFICATIONS) and saved_rules(fw, version) == before)
        listed = fw.must(version, "-nL", "OUTPUT")
        out.case(f"{backend}, IPv{version}: rules are listed",
                 "ipcuckoo match-set a src ! update-counters" in listed)
        checked = [fw.iptables(version, "-C", *fw.spec(words)).returncode
                   for words in SPECIFICATIONS]
        out.case(f"{backend}, IPv{version}: rules are found by their specification",
                 not any(checked))
        other = fw.iptables(version, "-C", *fw.spec(["!", *SPECIFICATIONS[0]])).returncode
        out.case(f"{backend}, IPv{version}: an option makes another rule, as for other matches",
                 bool(other) == finds_no_other(fw, version))
        gone = [fw.iptables(version, "-D", *fw.spec(words)).returncode for words in SPECIFICATIONS]
        out.case(f"{backend}, IPv{version}: rules are deleted by their specification",
                 not any(gone) and not saved_rules(fw, version))
    fw.tool("destroy", "a")
    fw.tool("destroy", "f")
    fw.tool("destroy", ODD)


def says(done, *texts):
    return done.returncode and all(text in done.stderr for text in texts)


def references(out, fw, backend):
    fw.restore("create a hash:ip family any", "create b hash:ip family any", "add a 10.9.0.1",
               "add b 10.9.0.2")
    rules = len(families()) + 1
    fw.rule(4, "--match-set", "a", "dst")
    for version in families():
        fw.rule(version, "--match-set", "a", "src")
    listing = fw.tool("list", "-t", "a")
    out.case(f"{backend}: list shows how many rules refer to a set",
             f"References: {rules}\n" in listing and f"Rules of iptables: {rules}\n" in listing)
    out.case(f"{backend}: stats -j, too", f'"rules":{rules},' in fw.tool("stats", "-j"))
    out.case(f"{backend}: Prometheus, too",
             f'ipcuckoo_set_rules{{set="a",type="hash:ip",family="any"}} {rules}\n' in
             fw.tool("stats", "--prometheus"))
    proc = fw.call("cat", "/proc/net/ipcuckoo/sets").stdout
    out.case(f"{backend}: the list in /proc, too", any(
        line.startswith("a ") and line.endswith(f" 0 {rules}") for line in proc.splitlines()))
    refused = "rules of iptables refer to"
    out.case(f"{backend}: the set is not destroyed", says(fw.try_tool("destroy", "a"), refused))
    out.case(f"{backend}: nor are all sets", says(fw.try_tool("destroy"), refused, "a ("))
    out.case(f"{backend}: nor is it renamed", says(fw.try_tool("rename", "a", "c"), refused))
    many = fw.try_tool("restore", text="create c hash:ip\ndestroy b\ndestroy a\n")
    names = fw.tool("list", "-name").split()
    out.case(f"{backend}: a transaction that destroys it is refused, and changes nothing",
             says(many, refused) and names == ["a", "b"])
    many = fw.try_tool("restore", text="create c hash:ip family any\nswap a c\ndestroy c\n")
    out.case(f"{backend}: a transaction that swaps it and then destroys the other set is not",
             many.returncode == 0 and fw.tool("list", "-name").split() == ["a", "b"])
    fw.tool("flush")
    out.case(f"{backend}: all sets are flushed", fw.tool("save").count("\nadd ") == 0)
    for version in families():
        fw.must(version, "-D", *fw.spec(["--match-set", "a", "src"]))
    out.case(f"{backend}: one rule less, and it is still not destroyed",
             says(fw.try_tool("destroy", "a"), refused) and
             "Rules of iptables: 1\n" in fw.tool("list", "-t", "a"))
    fw.must(4, "-D", *fw.spec(["--match-set", "a", "dst"]))
    out.case(f"{backend}: without rules it is renamed and destroyed",
             "Rules" not in fw.tool("list", "-t", "a") and
             not fw.try_tool("rename", "a", "c").returncode and
             not fw.try_tool("destroy").returncode)


def redirects(out, fw, backend):
    """Names keep what rules see."""
    def hits(dst):
        before = fw.counts(4)
        fw.send([("192.0.2.1", dst)])
        return [b - a for a, b in zip(before, fw.counts(4))]

    fw.restore("create a hash:net", "create b hash:net", "create c hash:net", "add a 10.9.0.1",
               "add b 10.9.0.2", "add c 10.9.0.3")
    fw.rule(4, "--match-set", "a", "dst")
    fw.rule(4, "--match-set", "b", "dst")
    out.case(f"{backend}: rules see their sets",
             (hits("10.9.0.1"), hits("10.9.0.2")) == ([1, 0], [0, 1]))
    fw.tool("swap", "a", "b")
    out.case(f"{backend}: two sets that rules refer to are swapped",
             (hits("10.9.0.1"), hits("10.9.0.2")) == ([0, 1], [1, 0]))
    fw.tool("swap", "c", "a")
    out.case(f"{backend}: one with a set to which no rule refers",
             (hits("10.9.0.3"), hits("10.9.0.2")) == ([1, 0], [0, 0]) and
             "Rules" not in fw.tool("list", "-t", "c"))
    fw.tool("destroy", "c")
    fw.tool("load", "a", "-", text="10.9.0.8/29\n")
    out.case(f"{backend}: a file is loaded",
             (hits("10.9.0.9"), hits("10.9.0.3")) == ([1, 0], [0, 0]))
    fw.tool("-exist", "restore", text="create a hash:net\nflush a\nadd a 10.9.0.5\n")
    out.case(f"{backend}: the set is restored",
             (hits("10.9.0.5"), hits("10.9.0.9")) == ([1, 0], [0, 0]))
    fw.tool("flush", "a")
    out.case(f"{backend}: the set is flushed", hits("10.9.0.5") == [0, 0])
    fw.flush(4)
    fw.tool("destroy")


def refusals(out, fw, backend):
    def refused(name, sentence, *words):
        fw.clear_log()
        done = fw.iptables(4, "-A", *fw.spec(words))
        log = fw.log()
        passed = done.returncode and sentence in log + done.stderr
        if not passed:
            out.note(f"{done.returncode}: {done.stderr}{log}")
        out.case(f"{backend}: {name} is refused, and the reason is said", passed)

    fw.tool("create", "a", "filter:ip")
    refused("an unknown set", "make it with \"ipcuckoo create nope", "--match-set", "nope", "src")
    refused("an approximate set", "accept that with \"--approximate\"", "--match-set", "a", "src")
    refused("a name that is too long", "it has 1 to 31 characters", "--match-set", "x" * 32, "src")
    refused("a name that is not valid", "there is no set a b",
            "--match-set", "a b", "src")
    refused("a rule without a direction", "--match-set NAME src", "--match-set", "a")
    refused("a rule with two directions", "--match-set NAME src", "--match-set", "a", "src,dst")
    refused("a rule without a set", "give --match-set NAME src", "--approximate")
    refused("an option given twice", "only once",
            "--match-set", "a", "src", "--match-set", "a", "dst", "--approximate")
    refused("an inverted --approximate", "cannot precede --approximate", "--match-set", "a", "src",
            "!", "--approximate")
    out.case(f"{backend}: no rule was left behind",
             not saved_rules(fw, 4) and "Rules" not in fw.tool("list", "-t", "a"))
    fw.tool("destroy", "a")


RESTORED = """*filter
:OUTPUT ACCEPT [0:0]
-A OUTPUT -p udp -m ipcuckoo --match-set good src -j ACCEPT
-A OUTPUT -p udp -m ipcuckoo ! --match-set {} src -j DROP
COMMIT
"""


def other_sets(out, fw, backend):
    """Sets that do not exist, or have no addresses of the rule's family, are refused by name: by
    iptables with a sentence, and by the kernel, where iptables does not know the sets."""
    fw.restore("create good hash:net family any", "create v4 hash:net",
               "create v6 hash:ip family inet6", f"create {ODD} hash:ip family inet6")
    for version, name, reason in (
            *((v, "nope", "there is no set nope") for v in families()),
            (4, "v6", "the set v6 has no IPv4 addresses"),
            (6, "v4", "the set v4 has no IPv6 addresses"),
            (4, ODD, f"the set {ODD} has no IPv4 addresses")):
        if version not in families():
            continue
        which = f"{backend}, IPv{version}: {name}"
        done = fw.iptables(version, "-A", *fw.spec(["!", "--match-set", name, "src"]), "-j", "DROP")
        out.case(f"{which} is refused in a rule", says(done, reason))
        if name == ODD:
            continue
        for options in (), ("--test",), ("--noflush",):
            done = fw.call(fw.program(version, "-restore"), *options, text=RESTORED.format(name))
            passed = says(done, reason) and any(f"line{mark} 4" in done.stderr
                                                for mark in ("", ":"))
            if not passed:
                out.note(f"{done.returncode}: {done.stderr}")
            out.case(f"{which} is refused in a file, with its line: {options}", passed)
        # Where iptables does not see the list of the sets
        hidden = "mount -t tmpfs none /proc/$$/net && exec \"$@\""
        fw.clear_log()
        done = fw.call("unshare", "-m", "sh", "-c", hidden, "sh", fw.program(version), "-w", "-A",
                       *fw.spec(["!", "--match-set", name, "src"]), "-j", "DROP")
        said = fw.log()
        passed = done.returncode and reason.replace("the set ", "") in said
        if not passed:
            out.note(f"{done.returncode}: {done.stderr}{said}")
        out.case(f"{which} is refused by the kernel", passed)
    out.case(f"{backend}: no rule of them is left behind",
             not any(saved_rules(fw, version) for version in families()))
    fw.rule(4, "--match-set", "v4", "src")
    out.case(f"{backend}: a set of another family cannot get the name of one that a rule has",
             says(fw.try_tool("swap", "v4", "v6"), "cannot be swapped"))
    fw.flush(4)
    fw.tool("destroy")


def of_ipset(out, fw):
    """A set of ip_set, which ipcuckoo shows, too"""
    if not os.path.isfile(os.environ.get("IPCUCKOO_IPSET_KO", "")) or \
       fw.call("ipset", "--version").returncode:
        out.skip("a set of ipset is refused", "no ipset, or no module ipcuckoo_ipset")
        return
    call("modprobe", "ip_set")
    insert("IPCUCKOO_IPSET_KO")
    fw.call("ipset", "create", "theirs", "hash:ip")
    shown = "theirs" in fw.tool("list", "-name").split()
    fw.clear_log()
    done = fw.iptables(4, "-A", *fw.spec(["--match-set", "theirs", "src"]))
    out.case("a set of ipset is refused, and the reason is said",
             shown and done.returncode and "use \"-m set --match-set theirs\"" in fw.log())
    fw.call("ipset", "destroy", "theirs")
    unload("ipcuckoo_ipset")


def endings(out, rng):
    """Namespaces end with rules in them, and the modules are unloaded."""
    for n in range(3):
        for backend in backends():
            fw = Firewall(f"end{n}{backend}", backend)
            fw.restore("create a hash:net family any counters", "add a 10.0.0.0/8",
                       "create b hash:net family any", "swap a b")
            for version in families():
                fw.rule(version, "--match-set", rng.choice("ab"), "dst")
                fw.rule(version, "!", "--match-set", "a", "src")
            fw.send([("192.0.2.1", "10.9.0.1")])
            fw.end()
    out.case("namespaces end with rules in them", True)
    fw = Firewall("last", backends()[0])
    fw.tool("create", "a", "hash:ip")
    fw.rule(4, "--match-set", "a", "src")
    out.case("a rule holds both modules", call("rmmod", "xt_ipcuckoo").returncode and
             call("rmmod", "ipcuckoo").returncode)
    fw.flush(4)
    fw.end()
    out.case("xt_ipcuckoo holds ipcuckoo", call("rmmod", "ipcuckoo").returncode)
    unload("xt_ipcuckoo")
    unload("ipcuckoo")
    out.case("without rules both are unloaded", not is_loaded("ipcuckoo"))
    insert("IPCUCKOO_KO")
    insert("IPCUCKOO_XT_KO")
    unload("xt_ipcuckoo")
    unload("ipcuckoo")
    out.case("both are loaded and unloaded again", not is_loaded("ipcuckoo"))


def body(out):
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    out.note(f"SEED={seed} repeats this run")
    rng = random.Random(seed)
    insert("IPCUCKOO_KO")
    insert("IPCUCKOO_XT_KO")
    for backend in backends():
        fw = Firewall("fw", backend)
        verdicts(out, fw, backend, rng)
        hashed_hosts(out, fw, backend)
        specifications(out, fw, backend)
        references(out, fw, backend)
        redirects(out, fw, backend)
        refusals(out, fw, backend)
        other_sets(out, fw, backend)
        if backend == backends()[0]:
            of_ipset(out, fw)
        fw.end()
    endings(out, rng)


need_match()
ktap.run(body)
