# SPDX-License-Identifier: GPL-2.0
"""Random commands of ipset, from a seed: valid and invalid ones, on few names and few addresses, so
that they often meet.

What the kernel's own types do by chance, or wrong, is not asked for:

- Which entry a set with forceadd gives up, and whether it takes the new one at all, depends on a
  hash with a random seed. Such sets have names and episodes of their own (see forceadd_episode()),
  where only the number of entries is looked at.
- From a hashsize of 2048 on, the kernel enforces maxelem for parts of the hash, so sets with a
  larger hashsize get the default maxelem and few entries.
- Short timeouts are followed by a SLEEP at once (see expiry()), because nobody knows whether an
  entry with a timeout of a second is still there after a few commands.
- An entry that is added again after it has expired keeps its counters, if it has not been collected
  and no others are given. So in sets with counters, those that expire are no other HOSTS, and are
  always added with counters.
- Of a range that runs backwards, a hash:ip with a netmask stores addresses that are not masked,
  which no packet can match. So only sets of type hash:net get such ranges.
- Of any range, a hash:ip with a bitmask does. So episodes that have such sets add hosts only.
- Wide prefixes are added to sets of type hash:net only: in a hash:ip they are millions of entries.
- A packet does not make the hash larger: what it adds is lost if its place in the hash is taken.
  A set that is full may take it or not. So in the episodes with packets, no set has a small hash,
  and each has room for all that is added. What rules do by chance, rules.py says.
"""
import random
from collections import namedtuple

from .episode import Command, Episode
from .rules import CLIENTS, FLAVOURS, Rules

EPISODE_COMMANDS = 50
# One episode in so many waits for timeouts, which takes seconds, one has sets with forceadd, and
# some have packets.
EXPIRY_ONE_IN = 8
FORCEADD_ONE_IN = 8
PACKETS_ONE_IN = 4
# Of those with packets, one in so many has rules that change an entry several times.
CHANGES_ONE_IN = 8
# Of the episodes, where there are bitmasks
BITMASK_SHARE = 0.3

# A name belongs to a kind of sets, so that a wide prefix never meets a hash:ip.
HOST_SETS = ["a", "b", "c", "d"]
NET_SETS = ["m", "n", "o", "p"]
LISTS = ["L", "M"]
ODD_NAMES = ["nope", "abcdefghijklmnopqrstuvwxyz01234", "abcdefghijklmnopqrstuvwxyz012345", "-x"]

HOSTS = {
    "inet": ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.7", "10.0.1.1", "10.1.2.3",
             "192.0.2.1", "255.255.255.255", "0.0.0.0", "127.0.0.1", "10.0.0.1/32"],
    "inet6": ["2001:db8::", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "fe80::1", "::1", "::",
              "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::1/128", "::ffff:10.0.0.1"],
}
EXPIRING = ["10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.4"]
# Few hosts each
NARROW = {
    "inet": ["10.0.0.0/30", "10.0.0.4/31", "10.0.0.0/29", "10.0.0.9/28", "192.0.2.0/24",
             "10.0.0.1-10.0.0.6", "10.0.0.250-10.0.1.5",
             "255.255.255.252-255.255.255.255", "0.0.0.0-0.0.0.3", "10.0.0.3-10.0.0.3"],
    "inet6": ["2001:db8::/127", "2001:db8::1-2001:db8::4", "fe80::/64"],
}
WIDE = {
    "inet": ["10.0.0.0/8", "10.0.0.0/16", "10.1.0.0/16", "10.0.0.0/9", "0.0.0.0/1", "128.0.0.0/1",
             "10.1.2.3/12", "0.0.0.0/0", "10.0.0.0/0", "10.0.0.1-10.255.255.254",
             "10.0.0.6-10.0.0.1",
             "0.0.0.0-127.255.255.255", "192.0.2.0-192.0.3.77", "10.0.0.0/24", "10.0.0.0/25"],
    "inet6": ["2001:db8::/32", "2001:db8::/48", "2001:db8::/64", "2001:db8:0:1::/64", "fe80::/10",
              "::/0", "::/1", "2000::/3", "8000::/1", "2001:db8::1/47"],
}
INVALID = {
    "inet": ["10.0.0.256", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/", "10.0.0.1-", "10.0.0.1,80",
             "10.0.0.1,tcp:80", "2001:db8::1", "10.0.0.1/255.255.255.0", "[10.0.0.1]"],
    "inet6": ["10.0.0.1", "2001:db8::1/129", "2001:db8::1/x", "2001:db8:::1", "[2001:db8::1]",
              "[2001:db8::1]/64"],
}

# Values of options: those that are accepted, and those that are not
FAMILIES = ["inet", "inet6"], ["ipv5", ""]
HASHSIZES = ["1024", "64", "1", "100", "1000", "512"], ["0", "x", "-1", "4294967296"]
LARGE_HASHSIZES = ["2048", "4096", "65536"]
LEAST_HASHSIZE = 1024
FEW = ["3", "2", "5", "8", "1"], ["x", "-1", "4294967296"]
MANY = ["65536", "1000000", "4294967295"], ["x", "-1", "99999999999"]
TIMEOUTS = ["600", "0", "1000", "2147483", "86400"], ["-1", "x", "4294968", "99999999999"]
NETMASKS = {"inet": (["24", "32", "30", "1", "31"], ["0", "33", "x", "-1"]),
            "inet6": (["64", "128", "127", "1", "32"], ["0", "129", "x"])}
BITMASKS = {"inet": (["255.255.255.0", "255.0.255.0", "0.0.0.255", "255.255.255.255"],
                     ["0.0.0.0", "24", "x"]),
            "inet6": (["ffff:ffff:ffff:ffff::", "ffff::ffff"], ["::", "64"])}
BUCKETSIZES = ["2", "4", "12", "3", "1", "0", "14", "15", "255"], ["256", "x", "-1"]
INITVALS = ["0x12345678", "0", "0xffffffff", "305419896", "1"], ["0x123456789", "x", "-1"]
COUNTS = (["0", "5", "4294967296", "9223372036854775808", "18446744073709551614", "0x10"],
          ["18446744073709551615", "18446744073709551616", "x", "-1"])
MARKS = (["0x1", "0x1/0xf", "0xffffffff/0xffffffff", "0x0/0x0", "10", "0xff/0x1"],
         ["0x100000000", "x", "0x1/0x100000000"])
PRIORITIES = ["1:2", "ffff:ffff", "0:0", "0:1", "a:b"], ["10000:0", "1", "x:y"]
QUEUES = ["1", "0", "65535"], ["65536", "x", "-1"]
COMMENTS = (["x", "two words", "", "it's", "\u00fc\u20ac \u6f22", "a" * 255, "<b> & #c",
             "back\\slash", "timeout 7", "add a 10.0.0.1"],
            ["a" * 256, 'a "quoted" word'])

# How often an option gets a value that is refused
INVALID_SHARE = 0.06
# How often add has an option that its set was not created for
ODD_SHARE = 0.01

# What the grammar believes of a set: its family, and the words of its options. If it is wrong, a
# command fails that was meant to succeed.
Known = namedtuple("Known", "family options")
UNKNOWN = Known("inet", ())


class Grammar:
    def __init__(self, seed, things):
        self.random = random.Random(seed)
        self.has_bitmask = things.get("hash:ip", 0) >= 6 and self.chance(BITMASK_SHARE)
        self.known = {}
        self.families = ["inet", "inet6"] if "ipv6" in things else ["inet"]
        self.flavours = [flavour for flavour in FLAVOURS if flavour in things]
        # The rules of an episode that has packets
        self.rules = None

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return self.random.choice(items)

    def value(self, values):
        """One of the (accepted, refused) values"""
        accepted, refused = values
        return self.pick(refused if self.chance(INVALID_SHARE) else accepted)

    # --- sets ---

    def name(self, names):
        """One of these names, mostly that of a set that exists"""
        if self.chance(0.03):
            return self.pick(ODD_NAMES)
        known = [name for name in names if name in self.known]
        return self.pick(known if known and self.chance(0.9) else names)

    def any_name(self):
        return self.name(self.pick([HOST_SETS, NET_SETS, LISTS]))

    def create(self, name=None):
        kind = self.pick(["hash:ip", "hash:net"])
        if name is None:
            names = HOST_SETS if kind == "hash:ip" else NET_SETS
            free = [each for each in names if each not in self.known]
            name = self.pick(free if free and self.chance(0.85) else names)
        elif name in HOST_SETS:
            kind = "hash:ip"
        else:
            kind = "hash:net"
        family = "inet6" if self.chance(0.3) else "inet"
        options = self.set_options(kind, family)
        self.known.setdefault(name, Known(family, options))
        return ["create", name, kind, *options]

    def set_options(self, kind, family):
        words = ["family", family] if family == "inet6" or self.chance(0.3) else []
        if self.chance(0.02):
            words = ["family", self.value(FAMILIES)]
        for option, share, make in (
                ("timeout", 0.35, lambda: [self.value(TIMEOUTS)]),
                ("counters", 0.35, list),
                ("comment", 0.35, list),
                ("skbinfo", 0.3, list),
                ("netmask", 0.15 if kind == "hash:ip" else 0.01,
                 lambda: [self.value(NETMASKS[family])]),
                ("bucketsize", 0 if self.rules else 0.1, lambda: [self.value(BUCKETSIZES)]),
                ("initval", 0.1, lambda: [self.value(INITVALS)]),
                ("nomatch", 0.005, list),
                ("range", 0.005, lambda: ["10.0.0.0/24"]),
                ("probes", 0.005, lambda: ["8"])):
            if self.chance(share):
                words += [option, *make()]
        if self.has_bitmask and kind == "hash:ip" and self.chance(0.1):
            words += ["bitmask", self.value(BITMASKS[family])]
        words += self.sizes()
        if self.chance(0.02):
            words += self.pick([["timeout", "500"], ["counters"], ["-exist"], ["nonsense"]])
        return words

    def large_sizes(self):
        return self.pick([[], ["maxelem", self.pick(MANY[0])],
                          ["hashsize", self.pick(LARGE_HASHSIZES)],
                          ["hashsize", str(LEAST_HASHSIZE), "maxelem", self.pick(MANY[0])]])

    def sizes(self):
        if self.rules:
            return self.large_sizes()
        kind = self.random.random()
        if kind < 0.25:
            return ["maxelem", self.value(FEW)]
        if kind < 0.3:
            return ["maxelem", "0"]
        if kind < 0.4:
            return ["maxelem", self.value(MANY)]
        if kind < 0.5:
            return ["hashsize", self.value(HASHSIZES), "maxelem", self.value(FEW)]
        if kind < 0.6:
            return ["hashsize", self.value((LARGE_HASHSIZES, HASHSIZES[1]))]
        return []

    # --- members ---

    def family_of(self, name):
        family = self.known.get(name, UNKNOWN).family
        if self.chance(0.03):
            return "inet" if family == "inet6" else "inet6"
        return family

    def element(self, name):
        family = self.family_of(name)
        if self.chance(0.05):
            return self.pick(INVALID[family])
        if name in NET_SETS:
            return self.pick(self.pick([HOSTS, NARROW, WIDE, WIDE])[family])
        if self.has_bitmask:
            return self.pick(HOSTS[family])
        return self.pick(self.pick([HOSTS, HOSTS, HOSTS, NARROW])[family])

    def member_options(self, name, quote):
        """Options of add. quote: how to write a comment"""
        words, options = [], self.known.get(name, UNKNOWN).options
        for option, needs, make in (
                ("timeout", "timeout", lambda: [self.value(TIMEOUTS)]),
                ("packets", "counters", lambda: [self.value(COUNTS)]),
                ("bytes", "counters", lambda: [self.value(COUNTS)]),
                ("comment", "comment", lambda: [quote(self.value(COMMENTS))]),
                ("skbmark", "skbinfo", lambda: [self.value(MARKS)]),
                ("skbprio", "skbinfo", lambda: [self.value(PRIORITIES)]),
                ("skbqueue", "skbinfo", lambda: [self.value(QUEUES)])):
            if self.chance(0.3 if needs in options else ODD_SHARE):
                words += [option, *make()]
        if self.chance((0.35 if self.rules else 0.2) if name in NET_SETS else ODD_SHARE):
            words.append("nomatch")
        return words

    def exist(self, words):
        """Some commands ignore errors, in one of the ways to say so."""
        if self.chance(0.25):
            return self.pick([["-exist", *words], ["-!", *words], [*words, "-exist"]])
        return words

    def add(self, quote=str):
        name = self.name(HOST_SETS + NET_SETS)
        return self.exist(["add", name, self.element(name), *self.member_options(name, quote)])

    def delete(self):
        name = self.name(HOST_SETS + NET_SETS)
        return self.exist(["del", name, self.element(name)])

    def test(self):
        name = self.name(HOST_SETS + NET_SETS)
        words = ["test", name, self.element(name)]
        if name in NET_SETS and self.chance(0.4) or self.chance(0.01):
            words.append("nomatch")
        return words

    def member_of_list(self):
        words = [self.pick(["add", "add", "del", "test"]), self.name(LISTS),
                 self.name(HOST_SETS + NET_SETS)]
        if self.chance(0.3):
            words += [self.pick(["before", "after"]), self.name(HOST_SETS + NET_SETS)]
        return words

    def create_list(self):
        name = self.pick(LISTS)
        self.known.setdefault(name, UNKNOWN)
        return ["create", name, "list:set", *self.pick([[], ["size", "4"], ["timeout", "600"],
                                                        ["counters", "comment"]])]

    # --- sets as a whole ---

    def is_referred(self, name):
        """Do rules prevent that the set is renamed or destroyed?"""
        return self.rules is not None and name in self.rules.referred

    def rename(self):
        names = self.pick([HOST_SETS, NET_SETS])
        old, new = self.name(names), self.pick(names)
        if old in self.known and new not in self.known and not self.is_referred(old):
            self.known[new] = self.known.pop(old)
        return ["rename", old, new]

    def swap(self):
        names = self.pick([HOST_SETS, NET_SETS])
        a, b = self.name(names), self.any_name() if self.chance(0.1) else self.name(names)
        known = self.known
        if a in known and b in known and known[a].family == known[b].family and (
                a in HOST_SETS) == (b in HOST_SETS):
            known[a], known[b] = known[b], known[a]
        return ["swap", a, b]

    def flush(self):
        return ["flush"] if self.chance(0.1) else ["flush", self.any_name()]

    def destroy(self):
        if self.chance(0.1):
            if not any(map(self.is_referred, self.known)):
                self.known.clear()
            return ["destroy"]
        name = self.any_name()
        if not self.is_referred(name):
            self.known.pop(name, None)
        return ["destroy", name]

    def show(self):
        words = [self.pick(["list", "list", "save"])]
        if self.chance(0.6):
            words.append(self.any_name())
        for option, share in (("-sorted", 0.15), ("-terse", 0.15), ("-name", 0.1), ("-t", 0.05)):
            if self.chance(share):
                words.append(option)
        if self.chance(0.15):
            words[:0] = ["-output", self.pick(["xml", "save", "plain", "json", "x"])]
        return words

    # --- commands with an input ---

    def restore(self):
        lines = []
        for _ in range(self.random.randrange(1, 9)):
            make = self.random.choices(
                [self.create, lambda: self.add(lambda text: f'"{text}"'), self.delete, self.flush,
                 self.destroy, self.swap, self.rename, self.test, self.show],
                [4, 20, 3, 1, 1, 1, 1, 0.3, 0.2])[0]
            lines.append(" ".join(make()))
        words = self.pick([["restore"], ["restore"], ["-exist", "restore"], ["restore", "-!"]])
        return Command(tuple(words), "".join(line + "\n" for line in lines))

    def round_trip(self):
        """Saves all sets to a file, and restores them from it."""
        yield Command(("save", "-f", "saved"))
        yield Command(("CAT", "saved"))
        if self.chance(0.7):
            yield Command(("destroy",))
        yield Command((*self.pick([[], ["-exist"]]), "restore", "-f", "saved"))

    def one(self):
        """The next commands: one, or a few that belong together"""
        make, = self.random.choices(
            [self.create, self.add, self.delete, self.test, self.show, self.flush, self.destroy,
             self.rename, self.swap, self.create_list, self.member_of_list, self.restore,
             self.round_trip],
            [14, 40, 8, 14, 8, 2, 3, 3, 4, 2, 5, 6, 1])
        made = make()
        if isinstance(made, Command):
            return [made]
        if isinstance(made, list):
            return [Command(tuple(made))]
        return list(made)

    # --- episodes ---

    def finish(self):
        """Whatever an episode has done, its sets are looked at in the end. Half of the time they
        are destroyed with the namespace."""
        yield Command(("list",))
        yield Command(("save",))
        if self.chance(0.5):
            yield Command(("destroy",))
            yield Command(("list", "-name"))

    def plain_episode(self, count):
        commands = [Command(tuple(self.create(name))) for name in ("a", "m")]
        while len(commands) < count - 4:
            commands += self.one()
        return commands + list(self.finish())

    def expiry(self):
        """Members that expire while the episode sleeps, and some that take their places"""
        name = self.pick(["a", "m"])
        counts = "counters" in self.known.get(name, UNKNOWN).options
        hosts = EXPIRING if counts else HOSTS["inet"]
        lines = [f"add {name} {self.pick(hosts)} timeout {self.pick(['1', '1', '600'])}"
                 f"{' packets 1 bytes 28' * counts}\n" for _ in range(self.random.randrange(1, 6))]
        yield Command(("-exist", "restore"), "".join(lines))
        yield Command(("SLEEP",))
        yield Command(tuple(self.pick([["list", "-t", name], ["list", name], ["save", name],
                                       ["test", name, self.pick(hosts)]])))

    def expiry_episode(self, count):
        commands = []
        for name, kind in ("a", "hash:ip"), ("m", "hash:net"):
            options = ["timeout", self.pick(["600", "0"]),
                       *self.pick([[], ["counters"], ["comment", "counters"]]),
                       *self.pick([[], ["maxelem", self.pick(FEW[0])]])]
            self.known[name] = Known("inet", options)
            commands.append(Command(("create", name, kind, *options)))
        sleeps = 2
        while len(commands) < count - 4:
            if sleeps and self.chance(0.1):
                commands += self.expiry()
                sleeps -= 1
            else:
                commands += self.one()
        return commands + list(self.finish())

    def forceadd_episode(self, count):
        """A set with forceadd. While it has had fewer additions than it has room for, everything is
        compared; later only its number of entries, and nothing is deleted but all at once."""
        kind, family = self.pick(["hash:ip", "hash:net"]), self.pick(["inet", "inet", "inet6"])
        room = self.random.randrange(1, 6)
        options = self.pick([[], ["counters"], ["timeout", "600"], ["comment", "skbinfo"]])
        commands = [Command(("create", "f", kind, "family", family, "forceadd", "maxelem",
                             str(room), *options))]
        left = room
        while len(commands) < count:
            host = self.pick(HOSTS[family])
            if self.chance(0.05):
                commands.append(Command(("flush", "f")))
                left = room
            elif left:
                commands.append(Command(tuple(self.exist(["add", "f", host]))))
                commands.append(Command(("list", "f")))
                left -= 1
            else:
                commands.append(Command(tuple(self.exist(["add", "f", host])),
                                        is_compared=False))
                commands.append(Command(("list", "-t", "f")))
        return commands

    # --- episodes with packets ---

    def simple_options(self, kind, family):
        """Options that no kernel refuses"""
        words = ["family", family] if family == "inet6" else []
        words += self.pick([[], [], ["counters"], ["timeout", "600"], ["timeout", "0", "counters"],
                            ["comment", "counters"], ["timeout", "600", "comment", "skbinfo"]])
        if kind == "hash:ip" and self.chance(0.15):
            words += ["netmask", self.pick(NETMASKS[family][0])]
        return [*words, *self.large_sizes()]

    def create_for_rules(self):
        """Sets of one family, and perhaps some of the other one, and a list"""
        family = "inet6" if "inet6" in self.families and self.chance(0.3) else "inet"
        other = "inet" if family == "inet6" else "inet6"
        sets = [("a", "hash:ip", family), ("m", "hash:net", family)]
        sets += [each for each in (("b", "hash:ip", other), ("n", "hash:net", other),
                                   ("c", "hash:ip", family), ("o", "hash:net", family))
                 if self.chance(0.25)]
        for name, kind, of in sets:
            options = self.simple_options(kind, of)
            self.known[name] = Known(of, options)
            yield Command(("create", name, kind, *options))
        if self.chance(0.2):
            yield Command(tuple(self.create_list()))

    def names_for_rules(self, family):
        """The names of sets of a family, and of those of type hash:net"""
        names = [name for name, known in self.known.items() if known.family == family]
        return names, [name for name in names if name in NET_SETS]

    def packets_episode(self, count):
        """Packets between the commands meet rules that refer to the sets, and change them."""
        self.rules = Rules(self.random, self.pick(self.flavours))
        commands = list(self.create_for_rules())
        commands += [Command(tuple(self.add())) for _ in range(4)]
        for family in self.families:
            names, nets = self.names_for_rules(family)
            if names:
                commands.append(self.rules.add(family, names, nets))
        while sum(c.words[0] != "SEND" for c in commands) < count - 8:
            if self.chance(0.08):
                commands.append(self.rules.change_rules(self.names_for_rules))
            else:
                commands += self.one()
            commands += [self.rules.send() for _ in range(self.pick([0, 0, 1, 1, 2, 3]))]
        return [*commands, *self.rules.finish(), *self.finish()]

    def changes_episode(self, count):
        """Each packet comes from an entry, which rules delete and add, several times for the packet."""
        self.rules = Rules(self.random, self.pick(self.flavours))
        family = self.pick(self.families)
        name, kind = self.pick([("a", "hash:ip"), ("m", "hash:net")])
        options = ["family", family]
        for words in ["timeout", "600"], ["counters"], ["comment"], ["skbinfo"]:
            options += words if self.chance(0.5) else []
        self.known[name] = Known(family, options)
        commands = [Command(("create", name, kind, *options)),
                    self.rules.add_changes(family, name, kind == "hash:net")]
        while len(commands) < 3 * count // 2:
            client = self.pick(CLIENTS[family])
            commands += [Command(("add", name, client, *self.member_options(name, str), "-exist")),
                         self.rules.send(client), Command(("list", name))]
        return [*commands, *self.rules.finish(), *self.finish()]

    def episode(self, number, count):
        self.known = {}
        make = self.plain_episode
        if number % PACKETS_ONE_IN == 1 and self.flavours:
            make = self.packets_episode
            if number // PACKETS_ONE_IN % CHANGES_ONE_IN == CHANGES_ONE_IN - 1:
                make = self.changes_episode
        if number % FORCEADD_ONE_IN == FORCEADD_ONE_IN - 1:
            make = self.forceadd_episode
        elif number % EXPIRY_ONE_IN == EXPIRY_ONE_IN - 2:
            make = self.expiry_episode
        return Episode(f"random episode {number + 1}", make(count))


def episodes(seed, count, things):
    """Episodes of together at least so many commands. Each has a seed of its own, so that an
    episode does not depend on those before it."""
    result, made = [], 0
    while made < count:
        number = len(result)
        grammar = Grammar(f"{seed}.{number}", things)
        result.append(grammar.episode(number, EPISODE_COMMANDS))
        made += len(result[-1].commands)
    return result
