#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Packets add elements to sets of our types and delete them, "-j SET", while ipset and the tool
list, save, restore, load, swap, flush and destroy sets, and while namespaces end. KTAP.

While only packets change a set, each packet must be seen by the rule behind the one that has added
its address, and in the end the set has exactly the addresses of all packets.

The packets come from processes in the namespace of the sets, and over a link from another one, which
are received and forwarded in softirqs:

      peer                    the sets and rules
    +--------------+        +------------------------------------------------+
    |  172.31.0.2  |--veth--|  172.31.0.1                                    |
    |  fd00::2     |        |  fd00::1                                       |
    |              |        |  10.0.0.1/8, fd01::1/64 on d0, which drops all |
    +--------------+        +------------------------------------------------+

SEED=n repeats a run. DROPIN_CASES="ip net6" are the only FLOODS beside requests; otherwise it is all
of them, or, where each takes a minute or more, as many as AMOUNTS says, drawn by the seed.
"""
import collections
import contextlib
import ipaddress
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, here)

from differ import ktap
from differ.net import enter, has_ipv6, namespace
from differ.types import Ours, is_loaded, must, need_ipset

KERNEL = os.environ.get("IPCUCKOO_KERNEL")
TOOL = os.environ["IPCUCKOO"]

# network: where the packets go
Family = collections.namedtuple("Family", "name number iptables network")
INET = Family("inet", socket.AF_INET, "iptables", ipaddress.ip_network("10.0.0.0/8"))
INET6 = Family("inet6", socket.AF_INET6, "ip6tables", ipaddress.ip_network("fd01::/64"))
# Floods beside requests: the type and the family of the sets
FLOODS = {"ip": ("hash:ip", INET), "net": ("hash:net", INET),
          "ip6": ("hash:ip", INET6), "net6": ("hash:net", INET6)}
# packets: of each sender. seconds: of a flood beside requests. ends: namespaces that end. floods: how
# many of FLOODS
Amount = collections.namedtuple("Amount", "packets seconds ends floods")
AMOUNTS = {"uml": Amount(10000, 4, 5, len(FLOODS)), "uml-debug": Amount(1500, 4, 2, 2)}
AMOUNT = AMOUNTS.get(KERNEL, Amount(1500, 4, 2, 1))
# A request takes milliseconds, on a busy machine some seconds. It must not wait for packets to end.
# Emulated machines that check themselves need seconds to start a program.
REQUEST_SECONDS = 20 if KERNEL == "uml" else 120
END_SECONDS = 60
# Those with an even number send from the namespace of the sets, the others over the link.
SENDERS = 3
# Random addresses are below these. A short list takes less time.
MANY, FEW = 1 << 16, 1 << 13
CHAINS = ("OUTPUT", "FORWARD")
# More changes may be pending at once, but a machine that is busy applies few.
PAUSE_EVERY = 200
PAUSE = 0.005
BACKLOG = "/proc/sys/net/core/netdev_max_backlog"
# The family of the sets and packets; within() changes it.
family = INET


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def handle(name):
    return os.open(f"/run/netns/{name}", os.O_RDONLY)


@contextlib.contextmanager
def inside(name):
    """Meanwhile this process, and what it starts, is in the namespace."""
    home, there = namespace(), handle(name)
    enter(there)
    try:
        yield
    finally:
        enter(home)
        os.close(home)
        os.close(there)


def make_namespaces(name):
    """Makes the namespaces above. The other one is NAME-peer."""
    lines = (f"netns add {name}", f"netns add {name}-peer",
             f"-n {name} link add d0 type dummy", f"-n {name} addr add 10.0.0.1/8 dev d0",
             f"-n {name} link set d0 up",
             f"-n {name} link add v0 type veth peer name v0 netns {name}-peer",
             f"-n {name} addr add 172.31.0.1/24 dev v0", f"-n {name} link set v0 up",
             f"-n {name}-peer addr add 172.31.0.2/24 dev v0", f"-n {name}-peer link set v0 up",
             f"-n {name}-peer route add default via 172.31.0.1")
    if has_ipv6():
        lines += (f"-n {name} addr add fd01::1/64 dev d0 nodad",
                  f"-n {name} addr add fd00::1/64 dev v0 nodad",
                  f"-n {name}-peer addr add fd00::2/64 dev v0 nodad",
                  f"-n {name}-peer route add default via fd00::1")
    for line in lines:
        must("no network", "ip", *line.split())
    with inside(name):
        write("/proc/sys/net/ipv4/ip_forward", "1")
        if has_ipv6():
            write("/proc/sys/net/ipv6/conf/all/forwarding", "1")


def end_namespaces(name):
    for each in (name, f"{name}-peer"):
        must("cannot delete a namespace", "ip", "netns", "del", each)


def run(program, *argv, text=""):
    return subprocess.run([program, *argv], input=text, capture_output=True, text=True,
                          timeout=2 * REQUEST_SECONDS)


def ipset(*argv):
    must("ipset has failed", "ipset", *argv)


def create(name, settype, *options):
    ipset("create", name, settype, "family", family.name, *options)


def iptables(*argv):
    return must("iptables has failed", family.iptables, "-w", *argv)


def rule(*argv):
    for chain in CHAINS:
        iptables("-A", chain, "-d", str(family.network), *argv)


def delete_rules():
    iptables("-F")


def rules(target):
    rule("-m", "comment", "--comment", "sent")
    rule("-j", "SET", target, "s", "dst", *(["--exist"] if target == "--add-set" else []))
    rule("-m", "set", "--match-set", "s", "dst", "-m", "comment", "--comment", "hit")
    rule("-m", "set", "!", "--match-set", "s", "dst", "-m", "comment", "--comment", "miss")


def counted(comment):
    """How many packets each chain has counted in the rule with this comment"""
    found = []
    for chain in CHAINS:
        listing = iptables("-nvxL", chain)
        found += [int(line.split()[0]) for line in listing.splitlines()
                  if f"/* {comment} */" in line]
    return found


def address(number):
    return str(family.network[number])


def addresses(seed, n):
    """Those to which a sender sends"""
    rng = random.Random(f"{seed}-{n}")
    while True:
        yield address(rng.randrange(2, MANY))


def send(name, n, to):
    """Sends a packet to each of these addresses."""
    enter(handle(f"{name}-peer" if n % 2 else name))
    sock = socket.socket(family.number, socket.SOCK_DGRAM)
    for sent, each in enumerate(to):
        sock.sendto(b"", (each, 9))
        if not sent % PAUSE_EVERY:
            time.sleep(PAUSE)


def send_on(name, n):
    """Sends packets to random addresses without end, even if the link has gone meanwhile."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    enter(handle(f"{name}-peer" if n % 2 else name))
    sock = socket.socket(family.number, socket.SOCK_DGRAM)
    while True:
        for _ in range(PAUSE_EVERY):
            with contextlib.suppress(OSError):
                sock.sendto(b"", (address(random.randrange(2, FEW)), 9))
        time.sleep(PAUSE)


def fork(action):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        action()
        status = 0
    except Exception as e:
        print(f"# {e!r}", flush=True)
    finally:
        os._exit(status)


def senders(name, seed, count):
    return [fork(lambda n=n: send(name, n, itertools.islice(addresses(seed, n), count)))
            for n in range(SENDERS)]


def endless_senders(name, numbers=range(SENDERS)):
    return [fork(lambda n=n: send_on(name, n)) for n in numbers]


def await_packets(name, numbers=range(SENDERS)):
    """Waits until packets of all these senders come. This process is in the namespace."""
    end = time.monotonic() + END_SECONDS
    while not all(counted("sent")[n % 2] for n in numbers):
        if time.monotonic() > end:
            raise ktap.Bail(f"no packets come to {name}")


def wait(pids):
    """Whether all of them have ended well"""
    return all([os.waitpid(pid, 0)[1] == 0 for pid in pids])


def stop(pids):
    """Whether all of them were still sending"""
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    return all([os.waitpid(pid, 0)[1] == signal.SIGTERM for pid in pids])


def expected(seed, count):
    found = set()
    for n in range(SENDERS):
        found.update(itertools.islice(addresses(seed, n), count))
    return found


def members(name):
    lines = run("ipset", "save", name).stdout.splitlines()
    return {line.split()[2] for line in lines if line.startswith("add ")}


def alone(out, seed, packets):
    """Only packets change the set; user space lists it."""
    create("s", "hash:ip", "maxelem", "1000000", "counters", "timeout", "1000")
    rules("--add-set")
    pids = senders("alone", seed, packets)
    listed = sum(run("ipset", "list", "s").returncode == 0 for _ in range(5))
    out.case("all packets are sent", wait(pids))
    out.case("the set is listed meanwhile", listed == 5)
    hits, misses = counted("hit"), counted("miss")
    out.note(f"{hits} packets sent and forwarded were seen by the next rule, {misses} were not")
    local = (SENDERS + 1) // 2
    out.case("each packet is seen by the next rule",
             hits == [local * packets, (SENDERS - local) * packets] and not any(misses))
    found, want = members("s"), expected(seed, packets)
    out.note(f"{len(want)} addresses, {len(found - want)} too many, {len(want - found)} missing")
    out.case("the set has exactly the addresses of all packets", found == want)
    delete_rules()
    rules("--del-set")
    out.case("packets that delete are sent", wait(senders("alone", seed, packets)))
    out.case("the set is empty", not members("s"))
    out.case("no packet has matched", not any(counted("hit")))
    delete_rules()


# What user space does while packets come: the exit status that it must have, the program, and its
# arguments. {n} is a number, {elem} an element that no packet adds, {wide} one that packets add
# hosts of, and {part} a part of that, {type} is that of the sets, {file} a file with FED addresses,
# and {fed} one of these. Packets change the set that is loaded, which is no reason to give up.
# Requests are made one after the other, so each knows what the set has.
FED = 3000
# The first of them, of what a new set is filled with, and of {elem}
FED_AT, FILL_AT, ELEM_AT = 200 << 16, 1 << 16, 201 << 16
# So many elements can be in the set that drops others when it is full.
FULL = 500
REQUESTS = [(int(line.split()[0]), *line.split()[1:]) for line in """\
0 ipset list -t s
0 ipset save
0 ipset add s {elem}
1 ipset add s {elem}
0 ipset test s {elem}
0 ipset test all s
0 TOOL stats
0 TOOL test s {elem}
0 ipset del s {elem}
1 ipset del s {elem}
1 ipset test s {elem}
0 TOOL load fed {file}
0 ipset test fed {fed}
0 TOOL add s {elem}
0 ipset swap s other
1 ipset test s {elem}
0 ipset test other {elem}
0 TOOL list s
0 ipset -exist add s {wide}
0 ipset -exist del s {part}
0 ipset -exist add full {elem}
0 ipset list full
0 ipset create t{n} {type} family {family} comment counters maxelem 1000000
0 ipset restore
0 ipset rename t{n} u{n}
0 ipset add all u{n}
1 ipset destroy u{n}
0 ipset del all u{n}
0 ipset swap s u{n}
0 TOOL save s
0 ipset destroy u{n}
1 ipset list -t u{n}
0 ipset flush other
0 ipset flush s
1 ipset test s {elem}
""".splitlines()]
# The tool reads a set in parts. If it is changed during each attempt, it says so, and fails.
MIXED = "changed during every attempt to read"
# What another process does meanwhile, without end
OTHERS = (("TOOL", "stats"), ("TOOL", "save", "s"), ("ipset", "list", "fed"))


def ask(report, status, argv, text=""):
    """Runs a program, which must have this exit status."""
    begin = time.monotonic()
    done = run(TOOL if argv[0] == "TOOL" else argv[0], *argv[1:], text=text)
    report["count"] += 1
    report["longest"] = max(report["longest"], (time.monotonic() - begin, " ".join(argv)))
    report["mixed"] += MIXED in done.stderr
    if done.returncode != status and MIXED not in done.stderr and len(report["wrong"]) < 5:
        report["wrong"].append(f"{' '.join(argv)}: status {done.returncode} for {status}: "
                               f"{done.stderr.strip()[:300]}")


def new_report():
    return {"count": 0, "longest": (0, ""), "mixed": 0, "wrong": []}


def prefix(settype, number, bits):
    """The prefix of 2^bits addresses from this one on. hash:ip has only hosts of IPv6."""
    if not bits or (settype, family) == ("hash:ip", INET6):
        return address(number)
    return f"{address(number)}/{family.network.max_prefixlen - bits}"


def requests(settype, path, seconds):
    """Makes all requests for some seconds, at least once."""
    report, n = new_report(), 0
    end = time.monotonic() + seconds
    while not n or time.monotonic() < end:
        n += 1
        words = {"n": n, "type": settype, "family": family.name, "file": path,
                 "elem": prefix(settype, ELEM_AT, 4 if settype == "hash:net" else 0),
                 "wide": prefix(settype, 256, 8), "part": prefix(settype, 256, 4),
                 "fed": address(FED_AT + 7)}
        lines = "".join(f"add t{n} {address(FILL_AT + i)}\n" for i in range(3000))
        for status, *argv in REQUESTS:
            ask(report, status, [word.format(**words) for word in argv], lines)
    return report


def others(path):
    """Makes the requests of OTHERS until it is told to end, and writes its report to a file."""
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    report = new_report()
    while not ended:
        for argv in OTHERS:
            ask(report, 0, argv)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(report, f)


def fed_file(directory):
    path = os.path.join(directory, "fed.txt")
    write(path, "".join(f"{address(FED_AT + i)}\n" for i in range(FED)))
    return path


def mixed(out, settype):
    """Packets add and delete, while user space makes all requests."""
    what = f"{settype}, {family.name}"
    for name in ("s", "other", "fed"):
        create(name, settype, "comment", "counters", "maxelem", "1000000")
    create("full", settype, "counters", "forceadd", "maxelem", str(FULL))
    ipset("create", "all", "list:set")
    ipset("add", "all", "s")
    if settype == "hash:net":
        ipset("add", "s", prefix(settype, 9 << 16, 4))
    rules("--add-set")
    rule("-j", "SET", "--del-set", "other", "dst")
    rule("-j", "SET", "--add-set", "fed", "dst")
    rule("-j", "SET", "--add-set", "full", "dst", "--exist")
    rule("-j", "SET", "--add-set", "all", "dst")
    pids = endless_senders("mixed")
    await_packets("mixed")
    with tempfile.TemporaryDirectory() as directory:
        answer = os.path.join(directory, "report")
        other = fork(lambda: others(answer))
        report = requests(settype, fed_file(directory), AMOUNT.seconds)
        os.kill(other, signal.SIGTERM)
        out.case(f"{what}: a second process makes requests", wait([other]))
        with open(answer, encoding="utf-8") as f:
            second = json.load(f)
    out.case(f"{what}: packets came until the end", stop(pids))
    longest, which = max(tuple(each["longest"]) for each in (report, second))
    out.note(f"{report['count']} requests beside {second['count']}, {longest:.2f} s at most:"
             f" {which}; {report['mixed'] + second['mixed']} saw changes; {len(members('s'))}"
             f" members; {counted('hit')} packets have matched")
    wrong = report["wrong"] + second["wrong"]
    out.case(f"{what}: each request does what it should", not wrong and second["count"])
    out.note("\n".join(wrong))
    out.case(f"{what}: none takes {REQUEST_SECONDS} s", longest < REQUEST_SECONDS)
    out.case(f"{what}: packets sent and forwarded match", all(counted("hit")))
    delete_rules()
    kept = len(members("full"))
    out.note(f"{kept} members in the set that drops others when it is full")
    out.case(f"{what}: a full set drops elements for new ones", FULL // 2 < kept <= FULL)
    ipset("destroy", "all")
    out.case(f"{what}: the sets are destroyed", run("ipset", "destroy").returncode == 0)


# What uses a set while it is destroyed: programs, and whoever reads this file, which takes little
# time. At least so many sets are destroyed.
USERS = (("-exist", "add", "d", "10.202.0.1"), ("stats",), ("list", "d"))
DESTROYED = 5
# The second is said if the set has been created again since the request was refused.
NOT_FOUND = ("does not exist", "there is no set of that name", MIXED)
SETS = "/proc/self/net/ipcuckoo/sets"


def use():
    """Uses sets until it is told to end. They may be gone, but nothing else may fail."""
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    while not ended:
        for words in USERS:
            done = run(TOOL, *words)
            if done.returncode and not (done.returncode == 1 and any(
                    text in done.stderr for text in NOT_FOUND)):
                raise ktap.Bail(f"{words}: status {done.returncode}: {done.stderr}")


def read_sets():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        with open(SETS, encoding="ascii") as f:
            f.read()


def destroying(out):
    """The set to which packets have just added is destroyed beside requests of the tool."""
    rule("-m", "comment", "--comment", "sent")
    pids = endless_senders("gone", (0, 1))
    await_packets("gone", (0, 1))
    users = [fork(use)]
    readers = [fork(read_sets)] if os.path.exists(SETS) else []
    done, failed, most = 0, 0, 0
    end = time.monotonic() + AMOUNT.seconds
    while done < DESTROYED or time.monotonic() < end:
        create("d", "hash:ip", "maxelem", "1000000")
        rule("-j", "SET", "--add-set", "d", "dst")
        time.sleep(random.random() * 0.05)
        most = max(most, int(run("ipset", "list", "-t", "d").stdout.split()[-1]))
        for chain in CHAINS:
            iptables("-D", chain, "2")
        done += 1
        failed += run("ipset", "destroy", "d").returncode != 0
    for pid in users:
        os.kill(pid, signal.SIGTERM)
    out.note(f"{done} sets of {most} elements at most")
    out.case("sets are destroyed beside requests of the tool", not failed and most)
    out.case("the tool finds them or not", wait(users))
    out.case("packets came until the end, and the list was read", stop(pids + readers))
    delete_rules()


def ending(out, rounds):
    """Namespaces end while packets still come over the link, and leave no set behind."""
    side, sending, left = Ours(), [], 0
    for n in range(rounds):
        name = f"end{n}"
        make_namespaces(name)
        with inside(name):
            create("s", "hash:ip", "timeout", "5")
            rules("--add-set")
        # Processes that inherit a handle of the namespace would keep it.
        pids = endless_senders(name, (1, 3))
        with inside(name):
            await_packets(name, (1, 3))
        must("cannot delete a namespace", "ip", "netns", "del", name)
        end = time.monotonic() + END_SECONDS
        while side.references("hash:ip") and time.monotonic() < end:
            time.sleep(0.01)
        left += side.references("hash:ip")
        sending.append(stop(pids))
        must("cannot delete a namespace", "ip", "netns", "del", f"{name}-peer")
    out.case(f"{rounds} namespaces end while packets come", sending and all(sending))
    out.case("their sets are gone", not left)


def within(name, test, of=INET):
    """Runs a test in a namespace of its own, with sets and packets of this family."""
    global family
    family = of
    make_namespaces(name)
    with inside(name):
        test()
        must("cannot destroy the sets", "ipset", "destroy")
    end_namespaces(name)
    family = INET


def floods():
    """Which floods beside requests this run has"""
    chosen = os.environ.get("DROPIN_CASES", "").split()
    for name in chosen:
        if name not in FLOODS:
            raise ktap.Bail(f"DROPIN_CASES: no flood has the name {name}; there are {' '.join(FLOODS)}")
    possible = [name for name in FLOODS if FLOODS[name][1] is INET or has_ipv6()]
    return chosen or random.sample(possible, min(AMOUNT.floods, len(possible)))


def body(out):
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    out.note(f"SEED={seed} repeats this run")
    random.seed(seed)
    write(BACKLOG, "100000")
    side = Ours()
    side.insert()
    within("alone", lambda: alone(out, seed, AMOUNT.packets))
    for name in floods():
        settype, of = FLOODS[name]
        within("mixed", lambda: mixed(out, settype), of)
    within("gone", lambda: destroying(out))
    ending(out, AMOUNT.ends)
    side.unload()
    out.case("the modules are unloaded", not is_loaded("ipcuckoo_ipset"))


need_ipset()
ktap.run(body)
