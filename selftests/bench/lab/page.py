# SPDX-License-Identifier: GPL-2.0
"""The page: a single file, with colours for light and dark backgrounds."""
import math
import re
from html import escape

from bars import MISSING, OK
from leads import least_leads, least_leads_words
from plots import all_plots, name_of

STYLE = """
:root { color-scheme: light dark;
  --paper: #fcfcfa; --ink: #23262b; --soft: #646a73; --grid: #dddfe2; --panel: #ffffff;
  --edge: #e3e4e6; --ours: #0a7d62; --ipset: #d1621b; --nft: #3f63c8; --nft-size: #8b6fd0; --filter: #8a7a1f;
  --bpf-hash: #a8407f; --bpf-filter: #5f8f2f; --bpf-lpm: #2f8fa8; --bpf-rhash: #7a5c3e;
  --lines: #80868f; --bar: #c0304a; --ok: #0a7d62; --short: #c0304a; --missing: #96690a; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #16181c; --ink: #e4e6ea; --soft: #9aa1ab; --grid: #33373e; --panel: #1d2025;
  --edge: #2d3138; --ours: #3fc8a2; --ipset: #f0904f; --nft: #86a4f4; --nft-size: #b9a2f2; --filter: #d3c15a;
  --bpf-hash: #e58ac4; --bpf-filter: #a5d06a; --bpf-lpm: #6cc6dd; --bpf-rhash: #d0b08c;
  --lines: #9aa1ab; --bar: #ff7a90; --ok: #3fc8a2; --short: #ff7a90; --missing: #e0b04c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.3rem; margin: 3rem 0 .8rem; }
h3 { font-size: 1.02rem; margin: 0; }
p { margin: .3rem 0; }
.lead { max-width: 50rem; color: var(--soft); }
.verdict { font-weight: 600; margin: 1.2rem 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .84rem; }
th, td { padding: .5rem .7rem; border-bottom: 1px solid var(--edge); vertical-align: middle; }
th:first-child, td:first-child { padding-left: 0; }
td.n, th.n { text-align: right; white-space: nowrap; }
td small { display: block; color: var(--soft); }
.value { font-weight: 600; }
.word { display: inline-block; min-width: 4.6rem; text-align: center; border-radius: 1rem;
  padding: .05rem .6rem; font-size: .86rem; font-weight: 600; border: 1px solid currentColor; }
.ok { color: var(--ok); } .short { color: var(--short); } .missing { color: var(--missing); }
.track { position: relative; height: .8rem; min-width: 9rem; border-radius: .25rem;
  background: var(--edge); }
.track i { position: absolute; left: 0; top: 0; bottom: 0; border-radius: .25rem;
  background: currentColor; }
.track b { position: absolute; top: -.3rem; bottom: -.3rem; width: 2px; background: var(--ink); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr));
  gap: 1.1rem; }
figure { margin: 0; background: var(--panel); border: 1px solid var(--edge);
  border-radius: .5rem; padding: 1rem 1.1rem .6rem; --paper: var(--panel); }
figure.wide { grid-column: 1 / -1; }
figure svg { display: block; width: 100%; height: auto; margin-top: .5rem; }
figcaption p { color: var(--soft); font-size: .92rem; }
figure .none { color: var(--missing); padding: 1.5rem 0; }
details { margin: 1rem 0; } summary { cursor: pointer; color: var(--soft); }
details td, details th { padding: .2rem .6rem; font-size: .86rem; }
ul { padding-left: 1.2rem; max-width: 50rem; } li { margin: .25rem 0; }
code { font-size: .92em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .6rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
"""

# The variables' values on a light background
LIGHT = dict(re.findall(r"(--[\w-]+): (#\w+)", STYLE.partition("@media")[0]))

LEFT_OUT = [
    "Look-ups and memory are measured on User Mode Linux, which runs kernel code at the "
    "processor's own speed, on one processor. Its kernel has no SMP: lock prefixes and most "
    "barriers are not compiled in, which favours subjects that take locks.",
    "It has no retpolines or other mitigations, which slow down indirect calls. The chains of "
    "netfilter and nftables consist of these: on a real machine they take longer.",
    "Its kernel does not map memory with huge pages; the host does. So the cost of address "
    "translation in large tables (ours, theirs, and the area of the line reads) may differ.",
    "No packet was sent over a wire: packets begin and end in the loop that measures.",
    "Packets a second are those of pktgen, on one processor: it hands them over as a driver does, but "
    "no driver does any work. XDP programs run in the kernel's generic mode, after a packet has got "
    "its buffer; in a driver they run before, and can drop more packets a second.",
    "Commands of operators are measured on the stock kernel in an emulated machine, which does not "
    "slow everything down by the same factor: ratios are indicative, with a margin of 3 to their "
    "bars, and seconds say nothing. On User Mode Linux the ratios "
    "would be many times better for us, and wrong: it makes system calls and page faults of "
    "programs a hundred times slower, and ipset checks /etc/resolv.conf for every "
    "entry that it reads.",
    "The cost of look-ups beside a writer is measured with the core compiled for user space, and a "
    "thread on each of two processors; locks of threads replace those of the kernel.",
]


# Also part of the printed table
ORDERS = ("By default, medians are of look-ups that overlap, as far as the processor "
          "can begin the next packet's before the last one's has ended; one at a time, each waits "
          "for the last. Of several boots the one with the worst median is shown.")


def number(value, digits=3):
    """So many significant digits, no exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


def share(verdict):
    """The positions of figure and bar on a common logarithmic scale, in percent"""
    value, limit = verdict.figure.median, verdict.bar.limit
    low, high = limit / 16, limit * 16
    def at(x):
        return 100 * math.log(min(max(x, low), high) / low) / math.log(high / low)
    return at(value), at(limit)


def bar_row(verdict):
    bar, figure = verdict.bar, verdict.figure
    name = f"<td>{escape(bar.name)}<small>{escape(bar.what)}</small></td>"
    word = f'<td class="n"><span class="word {verdict.word}">{verdict.word}</span></td>'
    limit = f'<td class="n">{escape(bar.bar_text())}</td>'
    beside = (f'<td class="n">{verdict.boots_text(number)}</td>'
              f'<td class="n">{verdict.median_text(number, verdict.alone)}</td>')
    if figure is None:
        return (f'<tr>{name}<td class="n">-</td>{beside}{limit}<td>{escape(verdict.reason)}</td>'
                f"{word}</tr>")
    at, mark = share(verdict)
    spread = verdict.spread_text(number)
    if figure.clamped:
        spread += f"<br>{figure.clamped} of {figure.rounds} rounds clamped"
    return (f'<tr>{name}<td class="n"><span class="value">{number(figure.median)}'
            f"{escape(bar.suffix())}</span><small>{spread}</small></td>{beside}{limit}"
            f'<td><div class="track {verdict.word}"><i style="width:{at:.1f}%"></i>'
            f'<b style="left:{mark:.1f}%"></b></div></td>{word}</tr>')


def bars_table(verdicts):
    counts = {w: sum(v.word == w for v in verdicts) for w in ("ok", "short", "missing")}
    if counts["ok"] == len(verdicts):
        said = f"All {len(verdicts)} bars hold."
    else:
        said = f"{counts['ok']} of {len(verdicts)} bars hold"
        said += "".join(f", {counts[w]} {'is' if counts[w] == 1 else 'are'} {w}"
                        for w in ("short", MISSING) if counts[w]) + "."
    rows = "\n".join(bar_row(v) for v in verdicts)
    return (f'<p class="verdict">{said}</p><div class="scroll"><table><thead><tr><th>What</th>'
            '<th class="n">Median<br>and quartiles</th><th class="n">Boots</th>'
            '<th class="n">One at<br>a time</th><th class="n">Bar</th>'
            '<th>Figure, and the bar as a mark<br>(logarithmic)</th><th></th></tr></thead>'
            f'<tbody>{rows}</tbody></table></div><p class="lead">{ORDERS}</p>')


def figure_of(plot):
    svg = plot.draw()
    wide = ' class="wide"' if plot.size[0] > 800 else ""
    body = svg or f'<p class="none">{nothing(plot)}</p>'
    return (f"<figure{wide}><figcaption><h3>{escape(plot.title)}</h3><p>{escape(plot.text)}</p>"
            f"</figcaption>{body}</figure>")


def nothing(plot):
    return "Not drawn: gnuplot is not installed." if plot.items else "Not measured in this run."


def leads_table(measurements):
    found = least_leads(measurements)
    rows = "".join(
        f'<tr><td class="n">{number(f.median)}x</td><td class="n">'
        f"{f.spread_text(number)}</td><td>{escape(lead.case.part)}</td>"
        f"<td>{escape(lead.case.title())}</td><td>{escape(name_of(lead.rival))}</td></tr>"
        for lead in found[0] for f in [lead.figure])
    table = ("<details open><summary>They are</summary><div class='scroll'><table><thead><tr>"
             "<th class='n'>So many times ours</th><th class='n'>Quartiles</th><th>Part</th>"
             f"<th>Case</th><th>Subject</th></tr></thead><tbody>{rows}</tbody></table></div>"
             "</details>") if rows else ""
    return f'<p class="lead">{least_leads_words(*found)}</p>{table}'


def details(measurements):
    """A table of all figures"""
    rows = []
    for case in measurements.cases.values():
        for subject in case.samples:
            f = case.figure(subject)
            rows.append(f"<tr><td>{escape(case.part)}</td><td>{escape(case.title())}</td>"
                        f"<td>{escape(name_of(subject))}</td>"
                        f'<td class="n">{number(f.median)}</td><td class="n">'
                        f"{f.spread_text(number)}</td><td>{escape(case.units[subject])}</td>"
                        f'<td class="n">{f.rounds}</td></tr>')
    return ("<details><summary>All figures</summary><div class='scroll'><table><thead><tr>"
            "<th>Part</th><th>Case</th><th>Subject</th><th class='n'>Median</th>"
            "<th class='n'>Quartiles</th><th>Unit</th><th class='n'>Rounds</th></tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div></details>")


def environment(measurements):
    parts = []
    for env in measurements.environments:
        pairs = "".join(f"<dt>{escape(str(k))}</dt><dd>{escape(str(v))}</dd>"
                        for k, v in env.items())
        parts.append(f"<dl>{pairs}</dl>")
    warning = measurements.warning()
    if warning:
        parts.insert(0, f'<p class="missing">{escape(warning)}</p>')
    return "".join(parts) or '<p class="missing">The measurements do not say where.</p>'


def page(measurements, verdicts):
    """The HTML of the page"""
    sections = "".join(
        f'<section><h2>{escape(heading)}</h2><div class="plots">'
        + "".join(figure_of(p) for p in plots) + "</div></section>"
        for heading, plots in all_plots(measurements.of_boot(1)))
    left_out = "".join(f"<li>{escape(text)}</li>" for text in LEFT_OUT)
    mark = "✓" if all(v.word == OK for v in verdicts) else "✗"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{mark} ipcuckoo: the laboratory</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<header>
<h1>ipcuckoo beside ipset and nftables</h1>
<p class="lead">The same packets, lists and commands, in one kernel, in one boot, in turns: a round
of ours, a round of each of the others, and again. Ratios are taken within a round; the median of
the rounds is the figure, and half of them lie within its quartiles. A <em>look-up</em> is what a
packet's way through the hook costs with the set, less what it costs with nothing attached.</p>
</header>
<section>{bars_table(verdicts)}</section>
{sections}
<section><h2>Where we do not lead</h2>{leads_table(measurements)}</section>
<section><h2>What this leaves out</h2><ul>{left_out}</ul></section>
<section><h2>Where and how</h2>{environment(measurements)}
<p><code>make bench</code> measures all of this again. The figures with all samples are in
<code>lab.json</code> beside this page.</p>{details(measurements)}</section>
</main>
</body>
</html>
"""
