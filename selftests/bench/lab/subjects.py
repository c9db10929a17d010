# SPDX-License-Identifier: GPL-2.0
"""Sets of ipcuckoo, ipset and nftables, of one type and family, as an operator handles them.

Every set acts on packets all the time, unless it is idle: ours is attached, the others have a rule
in the raw table or a chain of that priority. ipset and nft read files of their own commands; ours
reads the list.
"""
import glob
import os
import subprocess
import sys
import time

top = os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../../..")
programs = f"{top}/build/bench/lab"
work = "/tmp/lab"

VERSION = {"inet": "4", "inet6": "6"}


def die(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def run(argv, stdin=os.devnull):
    """Runs a command that must succeed."""
    with open(stdin, "rb") as f:
        done = subprocess.run(argv, stdin=f, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              check=False)
    if done.returncode:
        die(f"{' '.join(argv[:6])}: {done.stderr.decode().strip()[:300]}")


def drain(argv):
    """The same, with its output in a pipe. Returns the number of lines."""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        lines = 0
        while data := os.read(p.stdout.fileno(), 1 << 20):
            lines += data.count(b"\n")
    if p.returncode:
        die(f"{' '.join(argv[:6])}: exit status {p.returncode}")
    return lines


class Entries:
    """The contents of a set; argv is a command that prints them, an entry a line."""

    def write(self, path, head="", line="%s", tail=""):
        """Writes a file with all entries, each in a line like this one."""
        before, after = line.split("%s")
        with open(path, "wb") as f:
            f.write(head.encode())
            f.flush()
            with subprocess.Popen(self.argv, stdout=subprocess.PIPE) as p:
                subprocess.run(["sed", f"s/^/{before}/; s|$|{after}|"] if before + after else
                               ["cat"], stdin=p.stdout, stdout=f, check=True)
            if p.returncode:
                die(f"{self.argv[0]}: exit status {p.returncode}")
            f.seek(0, os.SEEK_END)
            f.write(tail.encode())

    def texts(self):
        path = f"{work}/texts"
        self.write(path)
        with open(path, encoding="ascii") as f:
            return f.read().split()


class Hosts(Entries):
    """Different hosts of a seed; from number first to before number last of all."""

    def __init__(self, seed, of, inet="inet", first=0, last=None):
        self.seed, self.of, self.inet = seed, of, inet
        self.first, self.last = first, of if last is None else last
        self.argv = [f"{programs}/generate", "members", VERSION[inet],
                     *map(str, (seed, of, self.first, self.last))]

    def __len__(self):
        return self.last - self.first

    def part(self, first, last):
        assert last <= len(self)
        return Hosts(self.seed, self.of, self.inet, self.first + first, self.first + last)


class Countries(Entries):
    """The prefixes of all countries for which there are lists, each once"""

    def __init__(self, inet):
        paths = sorted(glob.glob(f"{os.environ['IPCUCKOO_TESTS']}/data/country-*-ipv"
                                 f"{VERSION[inet]}.txt"))
        if not paths:
            die(f"no lists of countries for {inet}: {os.environ['IPCUCKOO_TESTS']}/data")
        self.argv = ["awk", "/^[0-9a-f]/ && !seen[$1]++ { print $1 }", *paths]

    def __len__(self):
        return drain(self.argv)


class Subject:
    """A subject that keeps sets of a type and a family"""

    def __init__(self, settype="hash:ip", inet="inet"):
        self.type, self.inet = settype, inet


class Ours(Subject):
    name = "ipcuckoo"
    tool = os.environ.get("IPCUCKOO", "ipcuckoo")

    def create(self, name, idle=False):
        run([self.tool, "create", name, self.type, "family", self.inet])
        if not idle:
            run([self.tool, "--force", "attach", name, "src", "drop"])

    def destroy(self, name, idle=False):
        if not idle:
            run([self.tool, "detach", name])
        run([self.tool, "destroy", name])

    def write_list(self, path, name, hosts):
        hosts.write(path)

    write_replacement = write_removal = write_list

    def load(self, name, path):
        run([self.tool, "--force", "load", name, path])

    replace = load

    def bulk_add(self, name, path):
        run([self.tool, "--force", "load", name, path, "--append"])

    def bulk_delete(self, name, path):
        run(["xargs", self.tool, "del", name], path)

    def list(self, name):
        return drain([self.tool, "list", name])

    def flush(self, name):
        run([self.tool, "flush", name])

    def add(self, name, host):
        run([self.tool, "--force", "add", name, host])

    def delete(self, name, host):
        run([self.tool, "del", name, host])

    def stream(self, name, verb, hosts):
        """Runs one program for all changes, as a shell's echo does."""
        fd = os.open(f"/proc/net/ipcuckoo/set/{name}", os.O_WRONLY)
        sign = {"add": "+", "del": "-"}[verb]
        for host in hosts:
            os.write(fd, f"{sign}{host}\n".encode())
        os.close(fd)

    def field(self, name, key):
        with open(f"/proc/net/ipcuckoo/set/{name}", encoding="ascii") as f:
            return int(dict(line.split()[:2] for line in f)[key])

    def count(self, name):
        return self.field(name, "entries")

    def bytes(self, name):
        return self.field(name, "bytes")


class Ipset(Subject):
    name = "ipset"

    def __init__(self, *which):
        super().__init__(*which)
        self.options = [self.type, "family", self.inet, "maxelem", "100000000"]

    def create(self, name, idle=False):
        run(["ipset", "create", name, *self.options])
        if not idle:
            self.rule("-A", name)

    def rule(self, what, name):
        run(["iptables-legacy" if self.inet == "inet" else "ip6tables-legacy", "-t", "raw", what,
             "PREROUTING", "-m", "set", "--match-set", name, "src", "-j", "DROP"])

    def destroy(self, name, idle=False):
        if not idle:
            self.rule("-D", name)
        # It may stay in use for a moment after the rule that used it was deleted.
        for _ in range(100):
            if not subprocess.run(["ipset", "-q", "destroy", name], check=False).returncode:
                return
            time.sleep(0.05)
        die(f"ipset destroy {name}: it stays in use")

    def known(self, name):
        """A line that creates the set if it does not exist. If a file does not create its set,
        ipset asks the kernel before every entry, which doubles the time."""
        return f"create {name} {' '.join(self.options)} -exist\n"

    def write_list(self, path, name, hosts):
        hosts.write(path, self.known(name), f"add {name} %s")

    def write_removal(self, path, name, hosts):
        hosts.write(path, self.known(name), f"del {name} %s")

    def write_replacement(self, path, name, hosts):
        hosts.write(path, f"create next {' '.join(self.options)}\n", "add next %s",
                    f"swap next {name}\ndestroy next\n")

    def load(self, name, path):
        run(["ipset", "restore"], path)

    replace = bulk_add = bulk_delete = load

    def list(self, name):
        return drain(["ipset", "list", name])

    def flush(self, name):
        run(["ipset", "flush", name])

    def add(self, name, host):
        run(["ipset", "add", name, host])

    def delete(self, name, host):
        run(["ipset", "del", name, host])

    def stream(self, name, verb, hosts):
        """Runs one program for all changes, which sends each change to the kernel separately."""
        text = "".join(f"{verb} {name} {host}\n" for host in hosts)
        with subprocess.Popen(["ipset", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as p:
            _, err = p.communicate(text.encode())
        if p.returncode or err:
            die(f"ipset -: {err.decode()[:300]}")

    def field(self, name, key):
        out = subprocess.run(["ipset", "list", "-t", name], capture_output=True, text=True,
                             check=True).stdout
        return int(next(line.split(":")[1] for line in out.splitlines()
                        if line.startswith(key)))

    def count(self, name):
        return self.field(name, "Number of entries")

    def bytes(self, name):
        return self.field(name, "Size in memory")


class Nft(Subject):
    """Each set has a table of the same name."""

    name = "nft"
    # nftables does not report its memory.
    bytes = None

    def __init__(self, *which):
        super().__init__(*which)
        self.table = "ip" if self.inet == "inet" else "ip6"
        self.flags = "" if self.type == "hash:ip" else "flags interval; auto-merge;"

    def create(self, name, idle=False):
        path = f"{work}/table"
        t = self.table
        with open(path, "w", encoding="ascii") as f:
            f.write(f"add table {t} {name}\n"
                    f"add set {t} {name} {name} {{"
                    f" type ipv{VERSION[self.inet]}_addr; {self.flags} }}\n")
            if not idle:
                f.write(
                    f"add chain {t} {name} c {{ type filter hook prerouting priority raw; }}\n"
                    f"add rule {t} {name} c {t} saddr @{name} drop\n")
        run(["nft", "-f", path])

    def destroy(self, name, idle=False):
        run(["nft", "delete", "table", self.table, name])

    def elements(self, path, verb, name, hosts, head=""):
        hosts.write(path, f"{head}{verb} element {self.table} {name} {name} {{\n", "%s,", "}\n")

    def write_list(self, path, name, hosts):
        self.elements(path, "add", name, hosts)

    def write_removal(self, path, name, hosts):
        self.elements(path, "delete", name, hosts)

    def write_replacement(self, path, name, hosts):
        self.elements(path, "add", name, hosts, f"flush set {self.table} {name} {name}\n")

    def load(self, name, path):
        run(["nft", "-f", path])

    replace = bulk_add = bulk_delete = load

    def list(self, name):
        return drain(["nft", "list", "set", self.table, name, name])

    def flush(self, name):
        run(["nft", "flush", "set", self.table, name, name])

    def add(self, name, host):
        run(["nft", "add", "element", self.table, name, name, f"{{ {host} }}"])

    def delete(self, name, host):
        run(["nft", "delete", "element", self.table, name, name, f"{{ {host} }}"])

    # nft has no other way to add elements, and only counts them by listing all.
    stream = count = None


def take(path, count, skip=0):
    """The hosts of a file from a given one on"""
    with open(path, encoding="ascii") as f:
        for i, line in enumerate(f):
            if i >= skip + count:
                return
            if i >= skip:
                yield line.rstrip("\n")


def words_of(entries):
    """1M, 840k, 10758"""
    for unit, words in (1_000_000, "M"), (1000, "k"):
        if entries >= unit and entries % (unit // 10) == 0:
            return f"{entries / unit:g}{words}"
    return str(entries)


def write_to(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def kernel_bytes():
    """Memory that the kernel has allocated, after dropping caches, and pages of slabs that have no
    object: else a set seems to take no memory if one before it has left such pages."""
    os.sync()
    for what in "3", "2":
        write_to("/proc/sys/vm/drop_caches", what)
        # Give RCU time to free memory.
        time.sleep(0.3)
    for path in glob.glob("/sys/kernel/slab/*/shrink"):
        write_to(path, "1")
    with open("/proc/meminfo", encoding="ascii") as f:
        fields = dict(line.split(":") for line in f)
    return 1024 * sum(int(fields[k].split()[0]) for k in ("SUnreclaim", "VmallocUsed", "Percpu"))


def environment(seed, **more):
    """A line that says where this is measured, for the report"""
    def first_line(*argv):
        out = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
        return out.splitlines()[0] if out else "?"

    return {"part": "environment", "program": os.path.basename(sys.argv[0]),
            "kernel": first_line("uname", "-srv"),
            "machine": os.environ.get("IPCUCKOO_KERNEL", "?"),
            "ipset": first_line("ipset", "version"), "nft": first_line("nft", "--version"),
            "ipcuckoo": first_line(Ours.tool, "version"), "seed": seed, **more}


def load_module():
    """Refuses to run outside a machine of vm/run, because the measurements would disturb others.
    Also loads the modules of ipset, which the kernel would otherwise load, and allocate memory for,
    when the first set is created."""
    run(["insmod", os.environ.get("IPCUCKOO_KO") or die("to be run by vm/run")])
    run(["modprobe", "-a", "ip_set_hash_ip", "ip_set_hash_net"])
    os.makedirs(work, exist_ok=True)
