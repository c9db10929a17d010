# SPDX-License-Identifier: GPL-2.0
"""What a set shall have, computed naively: with sets of texts, and each entry compared with each
exception"""
import collections
import ipaddress


def network(text):
    return ipaddress.ip_network(text, strict=False)


def canonical(net):
    """As the tool prints it: a host without its length"""
    return str(net.network_address) if net.prefixlen == net.max_prefixlen else str(net)


def entries_of(texts, hosts=False):
    """Addresses, prefixes and ranges "A-B" as entries"""
    found = set()
    for text in texts:
        if "-" in text:
            first, last = map(ipaddress.ip_address, text.split("-"))
            nets = ipaddress.summarize_address_range(first, last)
        else:
            nets = [network(text)]
        for net in nets:
            found.update(map(str, net) if hosts else [canonical(net)])
    return found


def union(sources, exceptions=(), hosts=False):
    """The entries of a set: those of its sources, without those that an exception covers. A set of
    prefixes also has the exceptions, which end in " nomatch"."""
    nets = [network(text) for text in exceptions]
    result = set()
    for texts in sources:
        for entry in entries_of(texts, hosts):
            net = network(entry)
            if not any(net.version == e.version and net.subnet_of(e) for e in nets):
                result.add(entry)
    if not hosts:
        result.update(canonical(e) + " nomatch" for e in nets)
    return result


def aggregated(sources, rules, exceptions=()):
    """The networks of which so many hosts are listed. @rules: numbers of hosts and lengths, "8/24". None of
    them has anything in common with an exception."""
    hosts = {net for texts in sources for net in map(network, entries_of(texts))
             if net.prefixlen == net.max_prefixlen}
    found = set()
    for rule in rules:
        least, length = map(int, rule.split("/"))
        count = collections.Counter(host.supernet(new_prefix=length) for host in hosts
                                    if host.version == (6 if length > 32 else 4))
        found |= {canonical(net) for net, number in count.items() if number >= least and
                  not any(net.version == e.version and net.overlaps(e) for e in map(network, exceptions))}
    return found
