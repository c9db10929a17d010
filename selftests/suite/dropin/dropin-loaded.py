#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Our types of ipset are loaded beside the kernel's own, and the reverse: whoever comes second is
refused, and changes nothing. The kernel's log says what to do, which is then done. KTAP."""
import errno
import os
import re
import sys

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, here)

from differ import ktap
from differ.types import TYPES, Ours, Stock, call, is_loaded, must, need_ipset, references, unload

MEMBER = "10.1.0.1"


class Log:
    """What the kernel logs from now on"""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def lines(self):
        """The messages since the last call"""
        found = []
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return found
            except OSError as e:
                # Records that were overwritten before they were read
                if e.errno != errno.EPIPE:
                    raise
                continue
            found.append(record.split(";", 1)[1].splitlines()[0])


def insert_ipset():
    """The result of loading the types of ours, after the module that they need"""
    return call("insmod", os.environ["IPCUCKOO_IPSET_KO"])


def has_member():
    return call("ipset", "test", "s", MEMBER).returncode == 0


def advice(lines, kind, module):
    """The command in the message of ours that names the type and the kernel's module, or None"""
    for line in lines:
        found = re.search(r'"(modprobe -r [a-z_]+)"', line)
        if found and line.startswith("ipcuckoo_ipset: ") and module in line and \
                f"destroy all sets of the type {kind}," in line:
            return found[1].split()
    return None


def second(out, log, kind):
    """Ours come second, and then first."""
    module = Stock.owners[kind]
    must("cannot load the kernel's own type", "modprobe", module)
    must("cannot create a set", "ipset", "create", "s", kind)
    must("cannot add", "ipset", "add", "s", MEMBER)
    must("cannot load our module", "insmod", os.environ["IPCUCKOO_KO"])
    log.lines()
    done = insert_ipset()
    lines = log.lines()
    out.case(f"{kind}: ours are refused while {module} is loaded",
             done.returncode and not is_loaded("ipcuckoo_ipset"))
    command = advice(lines, kind, module)
    out.case(f"{kind}: the log says which module is loaded, and what to do", command)
    out.note("\n".join(lines))
    out.case(f"{kind}: the set is as before", has_member() and references(module) == 1)
    for other in TYPES:
        must("cannot create a set", "ipset", "create", f"s-{other}", other)
    out.case(f"{kind}: sets of all types are the kernel's own",
             all(references(owner) for owner in Stock.owners.values()))
    must("cannot destroy the sets", "ipset", "destroy")
    for other in Stock.modules:
        if other != module:
            unload(other)
    out.case(f"{kind}: the command of the log unloads it",
             command and call(*command).returncode == 0 and not is_loaded(module))
    done = insert_ipset()
    out.case(f"{kind}: then ours are loaded", done.returncode == 0)
    out.note(done.stderr)


def first(out, log, kind):
    """Ours are there, and the kernel's own come second."""
    module = Stock.owners[kind]
    must("cannot create a set", "ipset", "create", "s", kind)
    must("cannot add", "ipset", "add", "s", MEMBER)
    done = call("modprobe", module)
    out.case(f"{kind}: {module} is refused while ours are loaded",
             done.returncode and not is_loaded(module))
    out.case(f"{kind}: our set is as before",
             has_member() and references("ipcuckoo_ipset") == 1)
    must("cannot destroy the set", "ipset", "destroy", "s")
    log.lines()


def body(out):
    side, log = Ours(), Log()
    must("cannot load ip_set", "modprobe", "ip_set")
    for kind in TYPES:
        for module in Stock.modules:
            unload(module)
        second(out, log, kind)
        first(out, log, kind)
        side.unload()
    out.case("the modules are unloaded", not is_loaded("ipcuckoo_ipset"))


need_ipset()
if call("modprobe", "-n", "-a", *Stock.modules).returncode:
    ktap.skip_all("this kernel has no hash:ip and hash:net of its own as modules")
ktap.run(body)
