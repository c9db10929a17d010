#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""What packets change in a set counts before it is stored: for the next packet, for ipset, for the
tool, and at the end of sets and namespaces. KTAP.

Packets change a set in place. What they cannot change at once, such as the first element of a set,
they leave in a small table, from which a work item of the kernel stores it (see
kmod/ipset/pending.h). To look at sets in between, this program stops the work item: it runs with a
real-time priority on the one processor on which work items may run, and does not sleep.

Most cases also run on the kernel's own types, which have nothing to store later: what is expected
here is what they do. The cases after "only ours" know our limits.

With DROPIN_CASES="flush list" only these cases run, and only on ours: mutants/ has faults that they
must find. The cases after "only with pauses" need a module that lets a process wait in the middle of
a look-up, which mutants/stutter.patch makes."""
import contextlib
import json
import os
import random
import re
import signal
import sys
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, here)

from differ import ktap
from differ.firewall import Firewall
from differ.types import Ours, Stock, call, must, need_ipset

# IPCUCKOO_PENDING_MAX of kmod/ipset/pending.h
MOST = 16384
CPUMASK = "/sys/devices/virtual/workqueue/cpumask"
RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
STORE_SECONDS = 60
# Since Linux 6.12 other processes get some milliseconds in each second, unless this is 0.
FAIR = "/sys/kernel/debug/sched/fair_server/cpu0/runtime"

# Parameters of the module, and the points at which a process can wait: see mutants/stutter.patch.
PARAMETERS = "/sys/module/ipcuckoo/parameters"
(NONE_PENDING, NOT_AMONG_CHANGES, FIRST_LOOK, APPLYING, APPLIED, FOUND_BY_NAME,
 COPIED) = range(1, 8)
PAUSE_SECONDS = 20

# What a rule does with a packet, by its destination port
RULES = {
    1: "-j SET --add-set s dst",
    2: "-j SET --del-set s dst",
    3: "-j SET --add-set s dst --exist --timeout 100",
    4: "-j SET --add-set s dst --timeout 1",
    5: "-j SET --add-set s dst --timeout 100",
    6: "-m set --match-set s dst -j DROP",
}
ADD, DELETE, EXTEND, BRIEFLY, ADD_100, ASK = RULES


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def can_hold():
    """Can a process with a real-time priority keep the others from running for seconds?"""
    call("mount", "-t", "debugfs", "none", "/sys/kernel/debug")
    if os.path.exists(FAIR):
        write(FAIR, "0")
        return True
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return tuple(map(int, version.groups())) < (6, 12)


def address(number):
    return f"10.1.{number >> 8}.{number & 255}"


def wait(seconds):
    """Without sleeping"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


# --- cases for all types ---

def test_next_packet(fw):
    """The next packet sees what one has added, and what one has deleted."""
    seen = []
    for settype in ("hash:ip", "hash:net", "hash:ip counters comment"):
        fw.create(settype)
        with fw.held():
            fw.send(ADD, "10.1.0.1")
            seen.append(fw.has("10.1.0.1") and not fw.has("10.1.0.2"))
            fw.send(DELETE, "10.1.0.1")
            seen.append(not fw.has("10.1.0.1"))
            fw.send(ADD, "10.1.0.1")
            seen.append(fw.has("10.1.0.1"))
        seen.append(fw.has("10.1.0.1"))
        with fw.held():
            fw.send(DELETE, "10.1.0.1")
            seen.append(not fw.has("10.1.0.1"))
        seen.append(not fw.has("10.1.0.1") and not fw.members())
    return all(seen)


def test_user_deletes(fw):
    """ipset deletes what a packet has just added."""
    fw.create("hash:ip")
    with fw.held():
        fw.send(ADD, "10.1.0.1")
        deleted = fw.ipset("del s 10.1.0.1")[0] == 0
        gone = not fw.has("10.1.0.1")
    return deleted and gone and not fw.members()


def test_user_adds(fw):
    """ipset finds what a packet has just added, and adds what one has just deleted."""
    fw.create("hash:ip")
    with fw.held():
        fw.send(ADD, "10.1.0.1")
        refused = fw.ipset("add s 10.1.0.1")[0] == 1
        fw.send(DELETE, "10.1.0.1")
        added = fw.ipset("add s 10.1.0.1")[0] == 0 and fw.has("10.1.0.1")
    return refused and added and list(fw.members()) == ["10.1.0.1"]


def test_flush(fw):
    """A flush deletes what packets have just added."""
    fw.create("hash:ip")
    with fw.held():
        for n in range(10):
            fw.send(ADD, address(n))
        fw.ipset("flush s")
        left = [n for n in range(10) if fw.has(address(n))]
    return not left and not fw.members()


def test_list(fw):
    """A list, its header and a test of ipset have what packets have just done."""
    fw.create("hash:ip")
    fw.ipset("add s 10.9.9.9")
    with fw.held():
        for n in range(10):
            fw.send(ADD, address(n))
        fw.send(DELETE, "10.9.9.9")
        tested = fw.ipset("test s 10.1.0.3")[0] == 0 and fw.ipset("test s 10.9.9.9")[0] == 1
        members = set(fw.members())
    # The list has stored changes. The work item may have got in line for the contents meanwhile, and
    # would store those that follow before the next list.
    with fw.held():
        for n in range(10, 13):
            fw.send(ADD, address(n))
        header = fw.ipset("list -t s")[1]
    return tested and members == {address(n) for n in range(10)} and \
        "Number of entries: 13\n" in header


def test_swap(fw):
    """What a packet has just added goes with the set that is swapped."""
    fw.create("hash:ip")
    fw.ipset("create t hash:ip")
    with fw.held():
        fw.send(ADD, "10.1.0.1")
        fw.ipset("swap s t")
        gone = not fw.has("10.1.0.1")
        fw.send(ADD, "10.1.0.2")
    return gone and list(fw.members("t")) == ["10.1.0.1"] and list(fw.members()) == ["10.1.0.2"]


def test_lengths(fw):
    """A prefix that a packet has added matches, though the set stores none of its length."""
    fw.create("hash:net")
    fw.ipset("add s 10.9.9.0/28")
    with fw.held():
        fw.send(ADD, "10.1.2.17")
        fw.ipset("del s 10.9.9.0/28")
        found = fw.has("10.1.2.18") and not fw.has("10.1.2.32") and not fw.has("10.9.9.1")
    return found and list(fw.members()) == ["10.1.2.16/28"]


def test_longest(fw):
    """A packet changes the prefix of the longest length, of which those before have left some."""
    seen = []
    for first, packets, left in (
            (("10.1.0.0/16",), (DELETE, ADD), ["10.1.2.3"]),
            (("10.1.0.0/16", "10.1.2.0/24"), (DELETE, DELETE), []),
            (("10.1.0.0/16", "10.9.9.9"), (DELETE,), ["10.1.0.0/16", "10.9.9.9"]),
            (("10.1.0.0/16", "10.1.2.3"), (DELETE, ADD, DELETE), [])):
        fw.create("hash:net")
        for element in first:
            fw.ipset(f"add s {element}")
        with fw.held():
            for port in packets:
                fw.send(port, "10.1.2.3")
        seen.append(sorted(fw.members()) == sorted(left))
    return all(seen)


def timeout_of(line):
    return int(re.search(r" timeout (\d+)", line)[1])


def test_replaced(fw):
    """What is deleted and added again by packets has the timeout of the second packet."""
    fw.create("hash:ip timeout 0", (DELETE, ADD_100, ASK))
    fw.ipset("add s 10.1.0.1 timeout 2000")
    with fw.held():
        fw.send(DELETE, "10.1.0.1")
        fw.send(ADD_100, "10.1.0.1")
    return 0 < timeout_of(fw.members()["10.1.0.1"]) <= 101


def test_new(fw):
    """What packets have deleted and added again has no comment of before, also when it is extended."""
    fw.create("hash:ip timeout 0 comment", (DELETE, ADD_100, EXTEND, ASK))
    lines = []
    for last in (ADD_100, EXTEND):
        fw.ipset("flush s")
        fw.ipset("add s 10.1.0.1 timeout 2000 comment mine")
        with fw.held():
            for rule in (DELETE, ADD_100, last):
                fw.send(rule, "10.1.0.1")
        lines.append(fw.members()["10.1.0.1"])
    return all(0 < timeout_of(line) <= 101 and "comment" not in line for line in lines)


def test_expired(fw):
    """What has expired before it is stored is never seen again."""
    fw.create("hash:ip timeout 0", (BRIEFLY, ASK))
    before = []
    with fw.held():
        # So that their deadlines are reached at different parts of a second
        for n in range(4):
            fw.send(BRIEFLY, address(n))
            before.append(fw.has(address(n)))
            wait(0.3)
        wait(1.8)
        after = [n for n in range(4) if fw.has(address(n))]
    return all(before) and not after and not fw.members()


def test_comment(fw):
    """A packet that extends a timeout leaves the comment as it is."""
    fw.create("hash:ip timeout 0 comment", (EXTEND, ASK))
    fw.ipset('add s 10.1.0.1 timeout 2000 comment mine')
    with fw.held():
        fw.send(EXTEND, "10.1.0.1")
    line = fw.members()["10.1.0.1"]
    return 0 < timeout_of(line) <= 101 and line.endswith(' comment "mine"')


def test_counters(fw):
    """Packets are counted for what one has just added."""
    fw.create("hash:ip counters")
    with fw.held():
        fw.send(ADD, "10.1.0.1")
        for _ in range(3):
            fw.has("10.1.0.1")
    fw.has("10.1.0.1")
    # The packet that has added it, and those that have asked: 28 bytes each
    return fw.members()["10.1.0.1"] == "10.1.0.1 packets 5 bytes 140"


def test_last(fw):
    """The last change of an address counts, whatever is stored meanwhile."""
    rng = random.Random(fw.seed)
    fw.create("hash:ip")
    there, wrong = set(), 0
    for n in range(6000):
        to = address(rng.randrange(16))
        if to in there:
            fw.send(DELETE, to)
            there.discard(to)
        else:
            fw.send(ADD, to)
            there.add(to)
        to = address(rng.randrange(16))
        wrong += fw.has(to) != (to in there)
        if not n % 5:
            time.sleep(0)
        if not n % 100:
            time.sleep(0.002)
    return not wrong and set(fw.members()) == there


def test_full(fw):
    """Packets fill a set up to its limit, and not further."""
    filled = []
    for _ in range(10):
        fw.create("hash:ip maxelem 4")
        for n in range(6):
            fw.send(ADD, address(n))
            time.sleep(0)
        filled.append([fw.has(address(n)) for n in range(6)] == [True] * 4 + [False] * 2 and
                      len(fw.members()) == 4)
    return all(filled)


def test_count(fw):
    """Changes that undo each other leave room for as many elements as before."""
    fw.create("hash:ip maxelem 4")
    for n in range(8):
        with fw.held():
            fw.send(ADD, address(n))
            fw.send(DELETE, address(n))
    fw.ipset("add s 10.9.9.9")
    with fw.held():
        fw.send(DELETE, "10.9.9.9")
        fw.send(ADD, "10.9.9.9")
    for n in range(6):
        fw.send(ADD, address(n))
    return set(fw.members()) == {"10.9.9.9", *map(address, range(3))}


# --- only ours ---

def test_most(fw):
    """16384 changes wait, more are refused, counted and logged, and later there is room again."""
    fw.create("hash:ip maxelem 100000")
    # The kernel logs ten lines in five seconds, and tests before this one may have used them up.
    time.sleep(6)
    call("dmesg", "-C")
    with fw.held():
        for n in range(MOST + 100):
            fw.send(ADD, address(n))
        last = fw.has(address(MOST - 1)) and not fw.has(address(MOST))
    held = set(fw.members())
    lost = json.loads(call(os.environ["IPCUCKOO"], "stats", "-j").stdout)["sets"][0]["failed"]["pending"]
    logged = "faster than they can be stored" in call("dmesg").stdout
    for n in range(MOST, MOST + 100):
        fw.send(ADD, address(n))
    return (last and lost == 100 and logged and held == set(map(address, range(MOST))) and
            len(fw.members()) == MOST + 100)


def test_work(fw):
    """The work item stores all changes, without a request of user space."""
    fw.create("hash:ip maxelem 100000")
    with fw.held():
        for n in range(MOST):
            fw.send(ADD, address(n))
    end = time.monotonic() + STORE_SECONDS
    for n in range(MOST, 2 * MOST):
        while not fw.has(address(n)) and time.monotonic() < end:
            fw.send(ADD, address(n))
            time.sleep(0)
    return fw.has(address(2 * MOST - 1)) and len(fw.members()) == 2 * MOST


def test_tool(fw):
    """The tool shows what packets have just done."""
    fw.create("hash:ip")
    tool = os.environ["IPCUCKOO"]
    with fw.held():
        fw.send(ADD, "10.1.0.1")
        fw.send(ADD, "10.1.0.2")
        out = call(tool, "save", "s").stdout
    return {"10.1.0.1", "10.1.0.2"} <= set(out.split())


def test_closed(fw):
    """A set with maxelem 0 takes nothing until its limit is changed, and never has no limit."""
    fw.create("hash:ip maxelem 0")
    tool = os.environ["IPCUCKOO"]
    fw.send(ADD, "10.1.0.1")
    refused = not fw.has("10.1.0.1") and fw.ipset("add s 10.1.0.2")[0] == 1 and \
        call(tool, "add", "s", "10.1.0.3").returncode and not fw.members()
    changed = call(tool, "change", "s", "maxelem", "2").returncode == 0
    for n in range(3):
        fw.send(ADD, address(n))
    done = call(tool, "change", "s", "maxelem", "0")
    return refused and changed and set(fw.members()) == {address(0), address(1)} and \
        done.returncode and "belongs to ip_set" in done.stderr


def test_destroy(fw):
    """A set is destroyed while changes wait, and while one is being stored."""
    done = []
    for pause in (None, 0, 0.001):
        fw.create("hash:ip")
        must("no rules", "iptables", "-w", "-D", "OUTPUT", "-p", "udp", "--dport", str(ASK),
             *RULES[ASK].split())
        with fw.held():
            for n in range(2000):
                fw.send(ADD, address(n))
            if pause is None:
                must("no rules", "iptables", "-w", "-F")
                done.append(fw.ipset("destroy s")[0] == 0)
        if pause is not None:
            must("no rules", "iptables", "-w", "-F")
            time.sleep(pause)
            done.append(fw.ipset("destroy s")[0] == 0)
    return all(done)


def test_namespace(fw):
    """A namespace ends while changes wait. The kernel warns if their memory is still charged."""
    pid = os.fork()
    if not pid:
        try:
            inner = Firewall(RULES, ASK, (ADD, DELETE, ASK))
            inner.create("hash:ip")
            with inner.held():
                for n in range(1000):
                    inner.send(ADD, address(n))
                os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def test_memory(fw):
    """The memory of changes counts for the limit of the namespace, until they are stored."""
    fw.create("hash:ip maxelem 100000")
    with fw.held():
        for n in range(MOST):
            fw.send(ADD, address(n))
    first = len(fw.members())
    fw.ipset("flush s")
    for begin in range(0, MOST, 1024):
        with fw.held():
            for n in range(begin, begin + 1024):
                fw.send(ADD, address(n))
        fw.members()
    return MOST // 8 < first < MOST // 2 and len(fw.members()) == MOST


# --- only with pauses ---

def parameter(name, value=None):
    path = f"{PARAMETERS}/{name}"
    if value is not None:
        write(path, str(value))
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def execute(*argv):
    """Becomes another program, which prints nothing."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.execvp(argv[0], argv)


def await_pause():
    """Waits until the process pauses, and lets only it run."""
    end = time.monotonic() + PAUSE_SECONDS
    while parameter("pausing") != "Y":
        os.sched_yield()
        if time.monotonic() > end:
            raise ktap.Bail("no process pauses")


@contextlib.contextmanager
def paused(point, action, skip=0):
    """A process does ACTION, and waits at POINT until this ends, but not the first SKIP times. Then
    what is given has its exit status, or minus the signal that has ended it."""
    found = []
    parameter("point", point)
    parameter("skip", skip)
    pid = os.fork()
    if not pid:
        try:
            parameter("pause", os.getpid())
            os._exit(action())
        finally:
            os._exit(2)
    try:
        await_pause()
        yield pid, found
    finally:
        parameter("pause", 0)
        found.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def is_missed(fw, point):
    """Does a packet to 10.1.0.1 match, though the prefix that covers it changes meanwhile? A packet
    adds a long one, and then user space deletes the short one."""
    for n in range(8):
        fw.ipset(f"add s 10.8.{n}.0/24")
    fw.ipset("add s 10.9.9.9")
    fw.ipset("add s 10.1.0.0/24")
    with fw.held():
        if point == NOT_AMONG_CHANGES:
            fw.send(ADD, "10.2.0.1")
        with paused(point, lambda: fw.has("10.1.0.1")) as (_, found):
            fw.send(ADD, "10.1.0.1")
            fw.ipset("del s 10.1.0.0/24")
    return found != [1] or not fw.has("10.1.0.1")


def test_missed_plain(fw):
    """A packet that has found no change does not miss a prefix that is added then."""
    fw.create("hash:net")
    return not is_missed(fw, NONE_PENDING)


def test_missed_records(fw):
    """Nor does one in a set with skbinfo."""
    fw.create("hash:net skbinfo")
    return not is_missed(fw, NONE_PENDING)


def test_missed_counters(fw):
    """Nor does one in a set with counters."""
    fw.create("hash:net counters")
    return not is_missed(fw, NONE_PENDING)


def test_missed_walk(fw):
    """A packet that asks for one length after the other does not miss a prefix that is added then."""
    fw.create("hash:net")
    return not is_missed(fw, NOT_AMONG_CHANGES)


def test_expired_walk(fw):
    """A packet that asks for one length after the other has one time for all of them."""
    fw.create("hash:net timeout 0", (ADD_100, ASK))
    for element in "10.9.9.9", "10.8.0.0/24", "10.1.0.0/24 timeout 3":
        fw.ipset(f"add s {element}")
    with fw.held():
        fw.send(ADD_100, "10.2.0.1")
        with paused(NOT_AMONG_CHANGES, lambda: fw.has("10.1.0.1"), 1) as (_, found):
            fw.ipset("add s 10.1.0.1")
            wait(4.2)
    return found == [1]


def test_missed_host(fw):
    """A packet that is not among the changes does not miss that its timeout is extended then."""
    fw.create("hash:ip timeout 0", (EXTEND, ADD_100, ASK))
    fw.ipset("add s 10.1.0.1 timeout 2")
    with fw.held():
        fw.send(ADD_100, "10.1.0.2")
        with paused(NOT_AMONG_CHANGES, lambda: fw.has("10.1.0.1")) as (_, found):
            fw.send(EXTEND, "10.1.0.1")
            wait(3.2)
    return found == [1] and fw.has("10.1.0.1")


def test_added_twice(fw):
    """What two packets add at the same time counts once."""
    fw.create("hash:ip maxelem 2")
    with fw.held():
        with paused(FIRST_LOOK, lambda: fw.send(ADD, "10.1.0.1")) as (_, found):
            fw.send(ADD, "10.1.0.1")
        fw.send(ADD, "10.1.0.2")
        both = fw.has("10.1.0.1") and fw.has("10.1.0.2")
    return found == [0] and both and len(fw.members()) == 2


def test_commented(fw):
    """A comment of user space stays, though a packet has added the element just before."""
    fw.create("hash:ip timeout 0 comment", (DELETE, ADD_100, ASK))
    fw.ipset("add s 10.1.0.1 timeout 2000 comment old")
    with fw.held():
        fw.send(DELETE, "10.1.0.1")
        # This request stores the deletion, and then adds the element.
        with paused(APPLIED, lambda: execute("ipset", "add", "s", "10.1.0.1", "comment", "mine")) as (_, found):
            fw.send(ADD_100, "10.1.0.1")
    return found == [0] and fw.members()["10.1.0.1"].endswith(' comment "mine"')


def test_killed(fw):
    """A change is not lost, nor its number, if who was about to store it is killed."""
    fw.create("hash:ip maxelem 4")
    with fw.held():
        fw.send(ADD, "10.1.0.1")
        with paused(APPLYING, lambda: execute("ipset", "list", "s")) as (pid, found):
            os.kill(pid, signal.SIGKILL)
        left = fw.has("10.1.0.1")
        # The limit is reached with two of user space and two of packets.
        fw.ipset("add s 10.2.0.1")
        fw.ipset("add s 10.2.0.2")
        fw.send(ADD, "10.1.0.2")
        fw.send(ADD, "10.1.0.3")
        full = fw.has("10.1.0.2") and not fw.has("10.1.0.3")
    return found == [-signal.SIGKILL] and left and full and \
        set(fw.members()) == {"10.1.0.1", "10.1.0.2", "10.2.0.1", "10.2.0.2"}


def test_counted(fw):
    """Each packet is counted once, though what it matches is being stored meanwhile."""
    fw.create("hash:ip counters")
    with fw.held():
        fw.send(ADD, "10.1.0.1")
        fw.has("10.1.0.1")
        with paused(APPLIED, lambda: execute("ipset", "list", "s")):
            for _ in range(3):
                fw.has("10.1.0.1")
        fw.has("10.1.0.1")
    return fw.members()["10.1.0.1"] == "10.1.0.1 packets 6 bytes 168"


def test_settled(fw):
    """What waits in a set that is destroyed is not stored for a request that has found it before."""
    argv = os.environ["IPCUCKOO"], "test", "s", "10.1.0.1"
    found = []
    for is_destroyed in (False, True):
        fw.create("hash:ip")
        fw.ipset("create t hash:ip")
        with fw.held():
            fw.send(ADD, "10.1.0.1")
            # Its first request asks what set that is.
            with paused(FOUND_BY_NAME, lambda: execute(*argv), 1) as (_, status):
                if is_destroyed:
                    fw.ipset("swap s t")
                    fw.ipset("destroy t")
                    # Its end is a work item.
                    time.sleep(0.1)
        found += status
    return found == [0, 1]


@contextlib.contextmanager
def in_place():
    """Meanwhile packets change the contents, if they may."""
    parameter("later", 0)
    try:
        yield
    finally:
        parameter("later", 1)


def test_before_pending(fw):
    """A packet changes nothing in place while an earlier change of the element waits."""
    fw.create("hash:ip")
    fw.ipset("add s 10.1.0.1")
    with fw.held():
        fw.send(DELETE, "10.1.0.1")
        with in_place():
            fw.send(ADD, "10.1.0.1")
        there = fw.has("10.1.0.1")
    return there and set(fw.members()) == {"10.1.0.1"}


def test_beside_process(fw):
    """A packet changes nothing in place while a process copies the elements to a larger table."""
    fw.create("hash:ip")
    fw.ipset("add s 10.9.9.9")
    with fw.held():
        with paused(COPIED, lambda: execute("ipset", "add", "s", "10.3.0.0/24")) as (_, found):
            with in_place():
                fw.send(DELETE, "10.9.9.9")
        there = fw.has("10.9.9.9")
    return found == [0] and not there and len(fw.members()) == 256


def test_commented_in_place(fw):
    """What packets have deleted and added again has no comment of before, if it is stored in place."""
    fw.create("hash:ip timeout 0 comment", (DELETE, ADD_100, ASK))
    fw.ipset("add s 10.1.0.1 timeout 2000 comment old")
    with contextlib.ExitStack() as stack:
        with fw.held():
            fw.send(DELETE, "10.1.0.1")
            fw.send(ADD_100, "10.1.0.1")
            stack.enter_context(in_place())
        # The work item comes first.
        time.sleep(0.5)
        return "comment" not in fw.members()["10.1.0.1"]


def test_growing(fw):
    """What packets add, delete and extend while the table is copied to a larger one is not lost."""
    for settype in "hash:ip timeout 0", "hash:ip timeout 0 counters":
        fw.create(settype, (BRIEFLY, EXTEND, DELETE))
        rng, kept = random.Random(fw.seed), set()
        with in_place():
            for n in range(6000):
                fw.send(BRIEFLY, address(n))
                if n >= 20:
                    fw.send(EXTEND, address(n - 20))
                    kept.add(address(n - 20))
                if n >= 40 and not rng.randrange(4):
                    fw.send(DELETE, address(n - 40))
                    kept.discard(address(n - 40))
            # What was not extended expires, or what was, if that is lost.
            time.sleep(3)
            found = set(fw.members())
        if found != kept:
            print(f"# {settype}: {len(found - kept)} too many, {len(kept - found)} missing")
            return False
    return True


COMMON = (
    test_next_packet, test_user_deletes, test_user_adds, test_flush, test_list, test_swap,
    test_lengths, test_longest, test_replaced, test_new, test_expired, test_comment, test_counters,
    test_last, test_full, test_count,
)
# A repair of 2026 ("do not update comments from kernel-side hash adds", 6.1.183)
LATE = (test_comment,)
# They hold for longer than a second.
LONG = (test_expired, test_most, test_memory, test_missed_host, test_expired_walk)
OURS = (test_most, test_work, test_tool, test_closed, test_destroy, test_namespace)
PAUSES = (test_missed_plain, test_missed_records, test_missed_counters, test_missed_walk,
          test_expired_walk, test_missed_host, test_added_twice, test_commented, test_killed, test_counted, test_settled,
          test_before_pending, test_beside_process, test_commented_in_place, test_growing)


def run(out, side, tests):
    fw = Firewall(RULES, ASK, (ADD, DELETE, ASK))
    fw.seed = out.seed
    for test in tests:
        if test in LONG and not out.can_hold:
            out.skip(side.case(test.__doc__),
                     "this kernel lets other processes run, and has no option for that")
        else:
            out.case_of(side, test.__doc__, test(fw), test in LATE)
    must("no rules", "iptables", "-w", "-F")
    must("cannot destroy the sets", "ipset", "destroy")
    fw.close()


def body(out):
    out.seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    out.note(f"SEED={out.seed} repeats this run")
    os.sched_setaffinity(0, {0})
    write(RUNTIME, "-1")
    write(CPUMASK, "1")
    out.can_hold = can_hold()
    chosen = os.environ.get("DROPIN_CASES", "").split()
    if not chosen and call("modprobe", "-n", "-a", *Stock.modules).returncode == 0:
        side = Stock()
        side.load()
        run(out, side, COMMON)
        side.unload()
    side = Ours()
    for tests, parameters in (COMMON + OURS + (PAUSES if chosen else ()), ()), ((test_memory,), ("memory_limit=1",)):
        if chosen:
            tests = [t for t in tests if t.__name__.removeprefix("test_") in chosen]
        if tests:
            side.insert(*parameters)
            run(out, side, tests)
            side.unload()
    out.case("the modules are unloaded", not os.path.exists("/sys/module/ipcuckoo_ipset"))


need_ipset()
ktap.run(body)
