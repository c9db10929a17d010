# SPDX-License-Identifier: GPL-2.0
"""Shortens an episode that shows a difference, while it still shows one.

Each step proposes several shorter episodes and has all of them run at once, because loading the
other side's modules takes longer than running an episode.
"""


def without_chunks(items, size):
    """All ways to leave out one run of this many items; the last one may be shorter."""
    return [items[:at] + items[at + size:] for at in range(0, len(items), size)]


def shrink(items, fails, budget):
    """The fewest items found that still fail. fails([items, ...]) -> [bool, ...] runs proposals;
    budget() says whether there is time for more."""
    size = max(len(items) // 2, 1)
    while items and budget():
        proposals = [p for p in without_chunks(items, size) if p]
        failing = [p for p, failed in zip(proposals, fails(proposals)) if failed]
        if failing:
            items = min(failing, key=len)
            size = min(size, max(len(items) // 2, 1))
        elif size == 1:
            break
        else:
            size //= 2
    return items


def shrink_input(commands, at, fails, budget):
    """Leaves out lines of the standard input of one command."""
    def with_lines(lines):
        changed = commands[at]._replace(input="".join(lines))
        return commands[:at] + [changed] + commands[at + 1:]

    lines = shrink(commands[at].input.splitlines(keepends=True),
                   lambda proposals: fails([with_lines(p) for p in proposals]), budget)
    return with_lines(lines)


def minimise(commands, fails, budget):
    """Leaves out commands, then lines of their inputs."""
    commands = shrink(list(commands), fails, budget)
    for at, command in enumerate(commands):
        if command.input.count("\n") > 1:
            commands = shrink_input(commands, at, fails, budget)
    return commands
