# SPDX-License-Identifier: GPL-2.0
"""The two sides: the modules that register hash:ip and hash:net, one side at a time"""
import os
import re
import shutil
import subprocess
import time

from .ktap import Bail, skip_all
from .rules import FLAVOURS

TYPES = ("hash:ip", "hash:net")
UNLOAD_SECONDS = 60


def call(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def must(why, *argv):
    done = call(*argv)
    if done.returncode:
        raise Bail(f"{why}: {' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def is_loaded(module):
    return os.path.exists(f"/sys/module/{module}/refcnt")


def references(module):
    with open(f"/sys/module/{module}/refcnt") as f:
        return int(f.read())


def unload(module):
    """Namespaces are destroyed in the background, and their sets hold the module until then."""
    end = time.monotonic() + UNLOAD_SECONDS
    while is_loaded(module):
        done = call("rmmod", module)
        if done.returncode and time.monotonic() > end:
            raise Bail(f"cannot unload {module}: {done.stderr.strip()}")
        if done.returncode:
            time.sleep(0.1)


class Side:
    """modules: in the order of loading. owners: the module that a set of each type refers to."""
    name = ""
    is_kernels = False
    modules = ()
    owners = {}

    def __init__(self):
        self.revisions = {}

    def case(self, text):
        """The name of a case: the side, and the first line of TEXT"""
        return f"{self.name}: {text.splitlines()[0].rstrip('.')}"

    def insert(self):
        raise NotImplementedError

    def load(self):
        self.insert()
        for kind in TYPES:
            self.probe(kind)

    def unload(self):
        for module in reversed(self.modules):
            unload(module)

    def references(self, kind):
        return references(self.owners[kind])

    def settled(self, kind):
        """The references, once those of sets are gone that were destroyed before."""
        for _ in range(100):
            if not self.references(kind):
                break
            time.sleep(0.1)
        return self.references(kind)

    def is_own(self, kind, before):
        """Has a new set added to the references that there were before?"""
        return self.references(kind) == before + 1

    def probe(self, kind):
        """Notes the revision of a type, and makes sure that its sets are those of this side."""
        before = self.settled(kind)
        must(f"{self.name}: cannot create a set", "ipset", "create", "probe", kind)
        is_own = self.is_own(kind, before)
        listing = must(f"{self.name}: cannot list a set", "ipset", "list", "-t", "probe")
        must(f"{self.name}: cannot destroy a set", "ipset", "destroy", "probe")
        if not is_own:
            raise Bail(f"{self.name}: a set of type {kind} does not refer to {self.owners[kind]}")
        self.revisions[kind] = int(re.search(r"^Revision: (\d+)", listing, re.M)[1])


class Stock(Side):
    """The kernel's own types"""
    name = "stock"
    is_kernels = True
    modules = ("ip_set_hash_ip", "ip_set_hash_net")
    owners = dict(zip(TYPES, modules))

    def insert(self):
        must("cannot load the kernel's own types", "modprobe", "-a", *self.modules)
        for module in self.modules:
            if not is_loaded(module):
                raise Bail(f"{module} is not a module here, so nothing can take its place")


class Ours(Side):
    name = "ours"
    modules = ("ipcuckoo", "ipcuckoo_ipset")
    owners = dict.fromkeys(TYPES, "ipcuckoo_ipset")
    variables = ("IPCUCKOO_KO", "IPCUCKOO_IPSET_KO")

    def __init__(self):
        super().__init__()
        for module, name in zip(self.modules, self.variables):
            if not os.path.isfile(os.environ.get(name, "")):
                raise Bail(f"{name} does not name the file {module}.ko")

    def insert(self, *parameters):
        """With PARAMETERS of the first module"""
        for name in self.variables:
            must("cannot load our types", "insmod", os.environ[name], *parameters)
            parameters = ()

    def unload(self):
        for module in Stock.modules:
            if is_loaded(module):
                raise Bail(f"the kernel has loaded {module} beside our types")
        super().unload()


class BuiltIn(Stock):
    """For DROPIN_SELF=1, where the kernel's own types are not modules: nothing is loaded."""

    def insert(self):
        pass

    def references(self, kind):
        return 0

    def is_own(self, kind, before):
        return True

    def unload(self):
        pass


def sides():
    """(stock, ours). With DROPIN_SELF=1 both are the kernel's own: whatever differs then is a fault
    of the comparison."""
    if not os.environ.get("DROPIN_SELF"):
        return Stock(), Ours()
    own = Stock if call("modprobe", "-n", "-a", *Stock.modules).returncode == 0 else BuiltIn
    return own(), own()


def flavours():
    """Those of iptables that work here"""
    return [flavour for flavour in FLAVOURS if shutil.which(f"iptables-{flavour}") and
            call(f"iptables-{flavour}", "-nL", "INPUT").returncode == 0]


def things(side):
    """What episodes may need: revisions by the name of a thing"""
    found = dict(side.revisions) | dict.fromkeys(flavours(), 0)
    if os.path.isdir("/proc/sys/net/ipv6"):
        found["ipv6"] = 0
    if call("ipset", "create", "probe", "list:set").returncode == 0:
        found["list:set"] = 0
        call("ipset", "destroy", "probe")
    return found


def need_ipset():
    """Skips the program where there is nothing to compare with."""
    if not shutil.which("ipset"):
        skip_all("ipset is not installed")
    if not os.path.isdir("/sys/module/ip_set") and call("modprobe", "ip_set").returncode:
        skip_all("this kernel has no ip_set")
