# SPDX-License-Identifier: GPL-2.0
"""Random rules of iptables that refer to sets, and packets that meet them, between the addresses of
net.py.

What happens by chance is not asked for:

- A machine sends packets of IPv6 by itself, such as reports of multicast groups, and nobody knows
  when. So rules are in chains of their own, which see UDP only and whose counters are no policy's.
- What iptables-nft deletes, the kernel releases later, so nobody knows when a set can be destroyed.
  So only rules of iptables-legacy are deleted.
"""
from .episode import Command

FLAVOURS = ["legacy", "nft"]
PROGRAMS = {"inet": "iptables", "inet6": "ip6tables"}

# The chains of rules: which one begins them, and the address of the client in their packets
CHAINS = {"in": ("INPUT", "src"), "out": ("OUTPUT", "dst")}

# Addresses of packets. The client's are elements that grammar.py adds to sets, and a few others.
CLIENTS = {
    "inet": ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.7", "10.0.1.1", "10.1.2.3",
             "192.0.2.1", "10.0.0.5", "10.200.0.1", "192.0.2.77"],
    "inet6": ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "2001:db8::5", "2001:db8:0:2::1"],
}
FIREWALLS = {
    "inet": ["203.0.113.1", "203.0.113.2", "203.0.113.129"],
    "inet6": ["2001:db8:ffff::1", "2001:db8:ffff::2"],
}
# Some rules are for these addresses only.
PREFIXES = {"inet": ["10.0.0.0/30", "10.0.0.0/8", "192.0.2.0/24"],
            "inet6": ["2001:db8::/126", "2001:db8::/64"]}
# A packet never meets the end of a timeout.
TIMEOUTS = ["600", "1000", "0", "86400", "2147483"]
CONDITIONS = ["--packets-gt 2", "--packets-lt 4", "--packets-eq 1", "! --packets-eq 1",
              "--bytes-gt 100", "--bytes-lt 100", "! --update-counters",
              "--packets-gt 1 ! --update-counters"]
# How many packets a SEND has
COUNTS = ["1", "1", "1", "2", "3"]
# How often rules of a family, and how often packets, are on their way to the client
OUTPUT_SHARE = 0.2


class Rules:
    """The rules of an episode, all with one flavour of iptables"""

    def __init__(self, random, flavour):
        self.random, self.flavour = random, flavour
        # The families that have rules, and the names of the sets to which rules refer
        self.families = []
        self.referred = set()

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return self.random.choice(items)

    def run(self, family, *words):
        return Command(("$", f"{PROGRAMS[family]}-{self.flavour}", *words))

    def which(self, chain):
        """The address that a set is asked for: mostly that of the client"""
        usual = CHAINS[chain][1]
        other = "dst" if usual == "src" else "src"
        if self.chance(0.04):
            return f"{usual},{other}"
        return other if self.chance(0.15) else usual

    def match(self, name, chain, is_net):
        self.referred.add(name)
        words = ["-m set", "!"] if self.chance(0.25) else ["-m set"]
        words.append(f"--match-set {name} {self.which(chain)}")
        if self.chance(0.4 if is_net else 0.04):
            words.append("--return-nomatch")
        if self.chance(0.15):
            words.append(self.pick(CONDITIONS))
        return words

    def change(self, name, chain):
        """The words of a rule that adds to a set or deletes from it"""
        self.referred.add(name)
        if self.chance(0.3):
            return [f"-j SET --del-set {name} {self.which(chain)}"]
        words = [f"-j SET --add-set {name} {self.which(chain)}"]
        if self.chance(0.4):
            words.append("--exist")
        if self.chance(0.4):
            words.append(f"--timeout {self.pick(TIMEOUTS)}")
        return words

    def rules(self, names, nets, family):
        """A rule that refers to some of these sets; nets: those of type hash:net. If it changes a
        set, the next rule may see what it has done."""
        chain = "out" if self.chance(OUTPUT_SHARE) else "in"
        words = [f"-A {chain}"]
        if self.chance(0.3):
            words.append(f"--{CHAINS[chain][1]} {self.pick(PREFIXES[family])}")
        name, changed, kind = self.pick(names), self.pick(names), self.random.random()
        if kind < 0.65:
            words += self.match(name, chain, name in nets)
        if kind < 0.35:
            words.append("-j DROP")
        elif kind >= 0.5:
            words += self.change(changed, chain)
        yield " ".join(words)
        if kind >= 0.5 and self.chance(0.5):
            yield " ".join([f"-A {chain}", *self.match(changed, chain, changed in nets)])

    def drop(self, names, nets):
        """A rule that drops packets from the client"""
        name = self.pick(names)
        return " ".join(["-A in", *self.match(name, "in", name in nets), "-j DROP"])

    def chains(self, family):
        """Makes the chains, if the family has none yet. A second time would empty them."""
        if family in self.families:
            return []
        self.families.append(family)
        return [*(f":{name} - [0:0]" for name in CHAINS),
                *(f"-A {begin} -p udp -j {name}" for name, (begin, _) in CHAINS.items())]

    def add(self, family, names, nets):
        """Adds a few rules, the last of which drops packets."""
        lines = ["*filter", *self.chains(family)]
        for _ in range(self.random.randrange(1, 6)):
            lines += self.rules(names, nets, family)
        lines += [self.drop(names, nets), "COMMIT"]
        return Command(("$", f"{PROGRAMS[family]}-{self.flavour}-restore", "-n"),
                       "".join(f"{line}\n" for line in lines))

    def add_changes(self, family, name, is_net):
        """Adds rules all of which change one set, and one that drops packets"""
        lines = ["*filter", *self.chains(family)]
        for _ in range(self.random.randrange(2, 5)):
            lines.append(" ".join(["-A in", *self.change(name, "in")]))
            if self.chance(0.3):
                lines.append(" ".join(["-A in", *self.match(name, "in", is_net)]))
        lines += [self.drop([name], [name] if is_net else []), "COMMIT"]
        return Command(("$", f"{PROGRAMS[family]}-{self.flavour}-restore", "-n"),
                       "".join(f"{line}\n" for line in lines))

    def add_to_missing(self):
        """A rule for a set that is not there"""
        return self.run(self.pick(self.families), "-A", "in", "-m", "set", "--match-set", "nope",
                        "src")

    def delete(self):
        """Deletes the first rule of a chain, if there is one."""
        return self.run(self.pick(self.families), "-D", self.pick(["in", "in", "out"]), "1")

    def change_rules(self, names_of):
        """Mostly adds rules. names_of(family): the names of sets, and of those of type hash:net"""
        if self.chance(0.15):
            return self.add_to_missing()
        if self.flavour == "legacy" and self.chance(0.4):
            return self.delete()
        family = self.pick(self.families)
        names, nets = names_of(family)
        return self.add(family, names, nets) if names else self.add_to_missing()

    def send(self, client=None):
        family = self.pick(self.families)
        addresses = client or self.pick(CLIENTS[family]), self.pick(FIREWALLS[family])
        if not client and self.chance(OUTPUT_SHARE):
            addresses = addresses[::-1]
        return Command(("SEND", *addresses, self.pick(COUNTS)))

    def finish(self):
        """Shows what the rules have counted, and may delete them."""
        for family in self.families:
            for chain in CHAINS:
                yield self.run(family, "-nvxL", chain)
        if self.flavour == "legacy" and self.chance(0.5):
            for family in self.families:
                yield self.run(family, "-F")
