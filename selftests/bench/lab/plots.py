# SPDX-License-Identifier: GPL-2.0
"""The plots: data of the measurements, drawn by gnuplot in the colours of the page"""
import re
import subprocess

from measurements import Figure

# Each subject has the same name, colour and mark in all plots. gnuplot gets a placeholder for a
# colour; the page replaces it by one for a light or a dark background.
SUBJECTS = {
    "ipcuckoo": ("ipcuckoo", 1, "pt 7 ps 0.7 lw 2.5"),
    "ipset": ("ipset", 2, "pt 9 ps 0.7 lw 1.7"),
    "nft": ("nftables set", 3, "pt 5 ps 0.6 lw 1.7"),
    "nft-size": ("nftables set with size", 4, "pt 4 ps 0.7 lw 1.7 dt 2"),
    "filter": ("filter:ip, 32 bits", 9, "pt 12 ps 0.7 lw 1.7 dt 4"),
    "lines": ("two line reads", 5, "pt 6 ps 0.7 lw 1.7 dt 3"),
    "floor": ("a hook that does nothing", 5, "pt 6 ps 0.7 lw 1.7 dt 3"),
    # Only where packets are counted
    "ipcuckoo-prefetched": ("ipcuckoo, prefetched", 9, "pt 12 ps 0.7 lw 1.7 dt 4"),
    "nft-interval": ("nftables set with intervals", 3, "pt 5 ps 0.6 lw 1.7"),
    "nft-pipapo": ("nftables concatenation", 4, "pt 4 ps 0.7 lw 1.7 dt 2"),
    "bpf-hash": ("BPF hash", 10, "pt 8 ps 0.7 lw 1.7"),
    "bpf-rhash": ("BPF rhash", 13, "pt 8 ps 0.7 lw 1.7 dt 2"),
    "bpf-filter": ("BPF as xdp-filter does", 11, "pt 8 ps 0.7 lw 1.7"),
    "bpf-lpm": ("BPF LPM trie", 12, "pt 8 ps 0.7 lw 1.7"),
    "all": ("drop everything", 5, "pt 6 ps 0.7 lw 1.7 dt 3"),
    "none": ("no filter", 5, "pt 6 ps 0.7 lw 1.7 dt 3"),
}
# Where packets are counted, the name of a subject ends with its place.
PLACES = {"native": "XDP", "xdp": "generic XDP", "ingress": "ingress", "prerouting": "PRE_ROUTING",
          "raw": "iptables raw"}
COLOURS = {1: "--ours", 2: "--ipset", 3: "--nft", 4: "--nft-size", 5: "--lines", 6: "--bar",
           7: "--grid", 8: "--ink", 9: "--filter", 10: "--bpf-hash", 11: "--bpf-filter",
           12: "--bpf-lpm", 13: "--bpf-rhash"}


def split_place(subject):
    """A subject where packets are counted, as (subject, place); others have the place None."""
    name, _, place = subject.rpartition("-")
    return (name, place) if name in SUBJECTS and place in PLACES else (subject, None)


def name_of(subject):
    name, place = split_place(subject)
    words = SUBJECTS.get(name, (name,))[0]
    return f"{words}, {PLACES[place]}" if place else words


def colour(n):
    return f'lc rgb "#{n:02x}fe{n:02x}"'


def style(subject):
    _, n, marks = SUBJECTS[subject]
    return f"{colour(n)} {marks}"


HEAD = f"""
set terminal svg size %d,%d dynamic font "sans-serif,13" background "#08fe07"
set encoding utf8
set border 3 {colour(8)} lw 0.6
set tics nomirror out scale 0.5, 0 textcolor rgb "#08fe08"
set xlabel textcolor rgb "#08fe08"
set ylabel textcolor rgb "#08fe08"
set key above left horizontal Left reverse samplen 2 width 1 textcolor rgb "#08fe08"
set grid ytics {colour(7)} lw 0.8 lt 1
"""


# From the lower to the upper quartile, in columns 3 and 4
SPREAD = "using 1:3:(0):($4-$3) with vectors nohead"


class Plot:
    """A drawing, and the text below it"""

    def __init__(self, name, title, text):
        self.name, self.title, self.text = name, title, text
        self.commands, self.data, self.items = [], [], []
        self.size = (560, 340)

    def set(self, *commands):
        self.commands += commands

    def block(self, rows):
        """Adds rows of columns; None is left out. Returns the name of the data."""
        name = f"$d{len(self.data)}"
        lines = [" ".join("-" if v is None else f'"{v}"' if isinstance(v, str) else f"{v:.6g}"
                          for v in row) for row in rows]
        self.data.append("\n".join([f"{name} << EOD", *lines, "EOD"]))
        return name

    def line(self, rows, title, style_words):
        """Adds points x, y, with the quartiles"""
        if not rows:
            return
        data = self.block(rows)
        self.items.append(f'{data} using 1:2 with linespoints {style_words} title "{title}"')
        if len(rows[0]) > 2:
            bare = re.sub(r" (pt|ps|dt) \S+", "", style_words)
            self.items.append(f"{data} {SPREAD} {bare} notitle")

    def subject_line(self, subject, points):
        """points: (x, Figure)"""
        self.line([(x, f.median, f.low, f.high) for x, f in points],
                  SUBJECTS[subject][0], style(subject))

    def draw(self):
        """The SVG, or None if there is nothing to draw, or no gnuplot"""
        if not self.items:
            return None
        script = "\n".join([HEAD % self.size, *self.data, 'set datafile missing "-"',
                            *self.commands, "plot " + ", \\\n  ".join(self.items)])
        try:
            done = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True,
                                  check=False)
        except FileNotFoundError:
            return None
        if done.returncode or not done.stdout.rstrip().endswith("</svg>"):
            raise RuntimeError(f"gnuplot cannot draw {self.name}: {done.stderr}")
        return themed(done.stdout, self.name)


def themed(svg, name):
    """Makes the SVG part of a page: with unique ids, and the colours of the page."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<(title|desc)>.*?</\1>\s*", "", svg, flags=re.S)
    svg = re.sub(r" id=(['\"])gnuplot_\w+\1", "", svg)
    svg = re.sub(r"( id=['\"])", rf"\1{name}-", svg)
    svg = re.sub(r"(xlink:href=['\"]#)", rf"\1{name}-", svg)
    svg = re.sub(r"(url\(#)", rf"\1{name}-", svg)

    def variable(m):
        return f"var({COLOURS[int(m[1], 16 if m[0].startswith('#') else 10)]})"

    svg = re.sub(r"rgb\(\s*8,\s*254,\s*7\)|#08fe07", "var(--paper)", svg, flags=re.I)
    svg = re.sub(r"rgb\(\s*(\d+),\s*254,\s*\1\)", variable, svg)
    svg = re.sub(r"#(0[\da-f])fe\1", variable, svg, flags=re.I)
    svg = re.sub(r"(stroke|fill|color)=(['\"])black\2", r"\1=\2var(--ink)\2", svg)
    return svg


def by_size(cases):
    """Lines of costs against entries"""
    lines = {}
    for case in cases:
        if not case.params.get("entries"):
            continue
        for subject in case.subjects():
            if subject in SUBJECTS:
                lines.setdefault(subject, []).append(
                    (case.params["entries"], Figure(case.values(subject))))
    return {s: lines[s] for s in SUBJECTS if s in lines}


FAMILIES = {"inet": "IPv4", "inet6": "IPv6"}
SIZE_TICS = 'set xtics ("1k" 1e3, "10k" 1e4, "100k" 1e5, "1M" 1e6, "10M" 1e7)'


def size_plot(name, title, text, cases, unit="ns"):
    plot = Plot(name, title, text)
    lines = by_size(cases)
    plot.set("set logscale x", SIZE_TICS, 'set xlabel "entries"', f'set ylabel "{unit}"',
             "set yrange [0:*]", "set xrange [800:13e6]")
    for subject, points in lines.items():
        plot.subject_line(subject, points)
    return plot


def look_up_plots(m):
    hosts = {"type": "hash:ip", "traffic": "uniform"}
    packets = {"serial": False, **hosts}
    yield size_plot("size-miss4", "IPv4 hosts, misses",
                    "What each adds to a packet's way through PRE_ROUTING.",
                    m.select("hook", family="inet", answer="miss", **packets))
    yield size_plot("size-hit4", "IPv4 hosts, hits",
                    "The same with packets that are in the set.",
                    m.select("hook", family="inet", answer="hit", **packets))
    yield size_plot("size-miss6", "IPv6 hosts, misses",
                    "128-bit keys: ours reads the key only where a fingerprint matches.",
                    m.select("hook", family="inet6", answer="miss", **packets))
    yield size_plot("bare-serial", "The look-up alone, one at a time",
                    "IPv4 misses, each begun when the last has ended. Two reads of random lines "
                    "of a block as large as our table are the floor of any table that reads two.",
                    m.select("bare", family="inet", serial=True, answer="miss", **hosts))
    yield size_plot("bare-stream", "The look-up alone, many at once",
                    "The same, none waiting for the last: the processor overlaps them.",
                    m.select("bare", family="inet", serial=False, answer="miss", **hosts))


def grouped(plot, groups, logarithmic=False):
    """Bars side by side: groups of (label, {subject: Figure})"""
    subjects = [s for s in SUBJECTS if any(s in figures for _, figures in groups)]
    if not subjects:
        return
    width = 0.8 / len(subjects)
    for i, subject in enumerate(subjects):
        rows = [(at + (i - (len(subjects) - 1) / 2) * width, f[subject].median, f[subject].low,
                 f[subject].high) for at, (_, f) in enumerate(groups) if subject in f]
        data = plot.block(rows)
        _, n, _ = SUBJECTS[subject]
        plot.items.append(f"{data} using 1:2:({width * 0.86}) with boxes fs solid 0.9 noborder "
                          f'{colour(n)} title "{SUBJECTS[subject][0]}"')
        plot.items.append(f"{data} {SPREAD} {colour(8)} lw 0.8 notitle")
    tics = ", ".join(f'"{label}" {at}' for at, (label, _) in enumerate(groups))
    plot.set(f"set xtics ({tics}) scale 0", f"set xrange [-0.6:{len(groups) - 0.4}]",
             "set bmargin 3.2")
    if logarithmic:
        # On a logarithmic axis a bar does not begin at 0: show a part of the smallest one.
        least = min(f.low for _, figures in groups for f in figures.values())
        plot.set("set logscale y", 'set format y "%g"', f"set yrange [{least / 3:g}:*]")
    else:
        plot.set("set yrange [0:*]")


def length_plot(m):
    """Bars without lines, because the sets differ in more than the number of lengths"""
    plot = Plot("lengths", "Prefixes of few and many lengths",
                "Misses, in sets that differ in entries as well; the axis is logarithmic. With "
                "several lengths ipset costs many times what it does with one, if not in "
                "proportion to their number: entries count, too. Ours asks a hint which lengths "
                "there are under this address, and for most non-members there is none.")
    cases = m.select("hook", type="hash:net", traffic="uniform", answer="miss", serial=False)
    groups = []
    for case in sorted(cases, key=lambda c: (c.params["family"], c.params.get("lengths", 0),
                                             c.params["entries"])):
        if "lengths" in case.params:
            n = case.params["lengths"]
            groups.append((f"{FAMILIES[case.params['family']]}, {case.params['entries']:,} entries"
                           f"\\n{n} length{'s' if n > 1 else ''}",
                           {s: Figure(case.values(s)) for s in case.subjects()
                            if s in SUBJECTS}))
    grouped(plot, groups, logarithmic=True)
    plot.size = (1140, 360)
    plot.set('set ylabel "ns"')
    return plot


def traffic_plot(m):
    plot = Plot("traffic", "Kinds of traffic, 1M IPv4 hosts",
                "Caches like some traffic better: one flow, or few senders of much (Zipf). Near "
                "misses are neighbours of members; they are uniform.")
    groups = []
    answers = {"miss": "misses", "hit": "hits", "near": "near misses"}
    for answer, words in answers.items():
        for traffic in ("uniform", "zipf", "flow"):
            case = m.one("hook", entries=1_000_000, family="inet", type="hash:ip",
                         traffic=traffic, answer=answer, serial=False)
            if case:
                groups.append((f"{words}\\n{traffic}",
                               {s: Figure(case.costs(s)) for s in case.subjects()}))
    grouped(plot, groups)
    plot.size = (1140, 360)
    plot.set('set ylabel "ns"')
    return plot


CONTROL = ("load", "replace", "list", "flush", "bulk-add", "bulk-delete")
ALL_CONTROL = ("load", "replace", "list", "flush")
CONTROL_WORDS = {"bulk-add": "add a tenth\\nat once", "bulk-delete": "delete a tenth\\nat once"}


def control_plot(m, entries, words):
    """Logarithmic, because the times differ by orders of magnitude"""
    plot = Plot(f"control-{entries}", f"{words} IPv4 hosts, seconds",
                "From a command to its end, text in and text out; the axis is logarithmic.")
    groups = []
    for part in CONTROL:
        case = m.one(part, entries=entries, family="inet", type="hash:ip")
        if case:
            groups.append((CONTROL_WORDS.get(part, part),
                           {s: case.figure(s) for s in case.samples}))
    grouped(plot, groups, logarithmic=True)
    plot.size = (1140, 360)
    plot.set('set ylabel "s"')
    return plot


def kinds_control_plot(m):
    plot = Plot("control-kinds", "IPv6 hosts and the countries' prefixes, seconds",
                "The same of other sets; the axis is logarithmic.")
    groups = []
    for (family, settype), words in list(SETS.items())[1:]:
        for part in ALL_CONTROL:
            for case in m.select(part, family=family, type=settype):
                groups.append((f"{part}\\n{words}",
                               {s: case.figure(s) for s in case.samples}))
    grouped(plot, groups, logarithmic=True)
    plot.size = (1140, 360)
    plot.set('set ylabel "s"')
    return plot


def one_by_one_plot(m, how, title, unit):
    plot = Plot(f"one-{how}", title, "")
    groups = []
    for entries, words in (100_000, "100k"), (1_000_000, "1M"):
        for part in "add", "delete":
            case = m.one(part, entries=entries, family="inet", how=how)
            if case:
                groups.append((f"{part}\\n{words} hosts",
                               {s: case.figure(s) for s in case.samples}))
    grouped(plot, groups)
    plot.set(f'set ylabel "{unit}"')
    return plot


def control_plots(m):
    yield control_plot(m, 1_000_000, "1M")
    yield control_plot(m, 100_000, "100k")
    yield kinds_control_plot(m)
    yield one_by_one_plot(m, "processes", "One at a time, a process each", "ms")
    yield one_by_one_plot(m, "stream", "One at a time, one program for all", "µs")


def memory_plot(m):
    plot = Plot("memory", "Memory per IPv4 entry, against the number of entries",
                "What the kernel has grown by (slab, vmalloc, per-CPU), and for ours what the "
                "module accounts for itself. The steps are the bars. Both axes are logarithmic.")
    marks = {"growth": ("", ""), "account": (", by its account", " dt 2")}
    for by, (words, more) in marks.items():
        cases = m.select("memory", by=by, family="inet", type="hash:ip")
        for subject, points in by_size(cases).items():
            if by == "account" and subject != "ipcuckoo":
                continue
            name = SUBJECTS[subject][0] + words
            rows = [(x, f.median, f.low, f.high) for x, f in points]
            look = style(subject) if by == "growth" else f"{colour(1)} pt 6 ps 0.5 lw 1.2" + more
            plot.line(rows, name, look)
    if plot.items:
        bar = plot.block([(1e4, 36), (840e3, 36), (840e3, 20), (16e6, 20)])
        plot.items.append(f'{bar} using 1:2 with lines {colour(6)} lw 1.5 title "bar"')
    plot.set("set logscale xy", SIZE_TICS, 'set xlabel "entries"', 'set ylabel "bits an entry"',
             "set yrange [10:*]", 'set ytics (10, 16, 20, 36, 64, 128, 256, 512, 1024, 2048)',
             "set xrange [9e3:19e6]")
    plot.size = (1140, 400)
    return plot


SETS = {("inet", "hash:ip"): "IPv4 hosts", ("inet6", "hash:ip"): "IPv6 hosts",
        ("inet", "hash:net"): "IPv4 prefixes", ("inet6", "hash:net"): "IPv6 prefixes"}


def kinds_plot(m):
    plot = Plot("memory-kinds", "Memory per entry, of all kinds",
                "The kernel's growth, of sets that all three have: hosts, and the prefixes of the "
                "countries. Of IPv6 hosts ours keeps the whole key, of prefixes a hint as well.")
    groups = []
    for (family, settype), words in SETS.items():
        for case in m.select("memory", by="growth", family=family, type=settype):
            if case.has("ipset", "nft"):
                groups.append((f"{words}\\n{case.params['entries']:,}",
                               {s: case.figure(s) for s in case.samples if s in SUBJECTS}))
    grouped(plot, groups)
    plot.size = (1140, 360)
    plot.set('set ylabel "bits an entry"')
    return plot


def insert_plot(m):
    plot = Plot("insert", "Cost of an insertion against the load it meets",
                "The core compiled for user space. The last points are those before the first "
                "failure, at which a table grows.")
    kinds = {"inet": ("IPv4 hosts", 1, "pt 7 ps 0.5 lw 2"),
             "inet6": ("IPv6 hosts", 3, "pt 5 ps 0.5 lw 1.7")}
    for family, (words, n, marks) in kinds.items():
        cases = [c for c in m.select("insert", family=family) if "load" in c.params]
        rows = [(c.params["load"], f.median, f.low, f.high)
                for c in sorted(cases, key=lambda c: c.params["load"])
                for f in [c.figure("ipcuckoo")]]
        plot.line(rows, words, f"{colour(n)} {marks}")
    plot.set('set xlabel "load factor"', 'set ylabel "ns"', "set logscale y",
             "set xrange [0:1]")
    return plot


RATES = {"0": 0, "1k": 1, "100k": 2, "flat out": 3}
READERS = {"inet": ("IPv4", 1, "pt 7 ps 0.7 lw 2"), "inet6": ("IPv6", 3, "pt 5 ps 0.7 lw 1.7")}


def cost_plot(m):
    plot = Plot("writer-cost", "A reader beside a writer: cost of a look-up",
                "Two threads on two processors, the core compiled for user space, misses "
                "among 1M entries; the writer deletes and adds.")
    for family, (words, n, marks) in READERS.items():
        rows = []
        for case in m.select("writer", what="cost", family=family, where="user space"):
            at = RATES.get(case.params.get("rate"))
            if at is not None:
                f = case.figure("ipcuckoo")
                rows.append((at, f.median, f.low, f.high))
        plot.line(sorted(rows), words, f"{colour(n)} {marks}")
    tics = ", ".join(f'"{rate}" {at}' for rate, at in RATES.items())
    plot.set(f"set xtics ({tics})", "set xrange [-0.2:3.2]",
             'set xlabel "updates a second that are asked for"', 'set ylabel "ns"',
             "set yrange [0:*]")
    return plot


def retries_plot(m, where, text):
    """Against the rate that the writer achieved, which differs much when it is unlimited"""
    plot = Plot(f"writer-retries-{where.split()[0]}",
                f"A reader beside a writer: look-ups begun again, {where}", text)
    for family, (words, n, marks) in READERS.items():
        rates = {c.params["rate"]: c.figure("ipcuckoo").median
                 for c in m.select("writer", what="updates", family=family, where=where)}
        rows = []
        for case in m.select("writer", what="retries", family=family, where=where):
            f = case.figure("ipcuckoo")
            # A logarithmic axis cannot show 0.
            if rates.get(case.params["rate"]) and f.median:
                rows.append((rates[case.params["rate"]], f.median, f.low or None, f.high))
        plot.line(sorted(rows), words, f"{colour(n)} {marks}")
    plot.set("set logscale xy", "set xrange [300:2e7]", 'set format y "%g"',
             'set xtics ("1k" 1e3, "10k" 1e4, "100k" 1e5, "1M" 1e6, "10M" 1e7)',
             'set xlabel "updates a second that were made"', 'set ylabel "of a million"')
    return plot


def writer_plots(m):
    yield cost_plot(m)
    common = ("Of a million misses, how many met a change and had to be repeated, against the "
              "changes made; rates at which half of the rounds saw none are left out. ")
    yield retries_plot(m, "user space", common +
                       "Two threads, among 1M entries, as in the plot of costs.")
    yield retries_plot(m, "kernel", common +
                       "The stock kernel, emulated, among 100k entries, changed through /proc: "
                       "reader and writer are slowed down, each in its own way.")


def packets_plot(m, answer, title, text, **params):
    """Groups are places, because subjects at one place are compared with each other."""
    plot = Plot(f"pps-{answer}-{params['traffic']}-{params['type'].partition(':')[2]}", title, text)
    groups = {}
    for case in m.select("pps", answer=answer, **params):
        for subject in case.samples:
            name, place = split_place(subject)
            groups.setdefault(PLACES.get(place, "not filtered"), {})[name] = case.figure(subject)
    order = [*PLACES.values(), "not filtered"]
    grouped(plot, sorted(groups.items(), key=lambda g: order.index(g[0])))
    plot.size = (1140, 360)
    plot.set('set ylabel "million packets a second"')
    return plot


def packets_plots(m):
    million = {"entries": 1_000_000, "family": "inet", "type": "hash:ip", "traffic": "frames"}
    yield packets_plot(m, "hit", "Drops a second, 1M IPv4 hosts",
                       "Each frame is from another member. What drops everything shows how fast "
                       "dropping can be.", **million)
    yield packets_plot(m, "miss", "Deliveries a second, 1M IPv4 hosts",
                       "The same with non-members, which a socket gets.", **million)
    yield packets_plot(m, "hit", "Drops a second, the countries' prefixes",
                       "Each frame is from another address, of all prefixes.",
                       lists="countries", family="inet", type="hash:net", traffic="frames")


def all_plots(m):
    """Sections of plots: (heading, [Plot])."""
    return [
        ("What a packet pays", [*look_up_plots(m), length_plot(m), traffic_plot(m)]),
        ("Packets a second", [*packets_plots(m)]),
        ("What the operator waits for", [*control_plots(m)]),
        ("Memory", [memory_plot(m), kinds_plot(m)]),
        ("Under change", [insert_plot(m), *writer_plots(m)]),
    ]
