# SPDX-License-Identifier: GPL-2.0
"""Commands and episodes, and the text files that have them. An episode begins without sets.

In a file, a line is a command of ipset in the words of a shell, or one of these:

    == NAME            begins an episode
    NEEDS THING [N]    leaves the episode out if the kernel lacks a THING, which is ipv6 or a type
                       of sets, or if its own is older than revision N
    | TEXT             a line of the standard input of the command above
    ANY COMMAND        runs the command, but its result may differ
    $ PROGRAM WORD...  runs another program
    SLEEP              waits until timeouts of one second have expired
    CAT FILE           prints a file that a command above has written
    SEND SRC DST [N]   sends N packets (see net.py); prints how many arrive
    # TEXT             a comment
"""
import shlex
from collections import namedtuple

# is_compared: must the result be the same on both sides?
Command = namedtuple("Command", "words input is_compared", defaults=("", True))

# needs: pairs of a thing and its oldest revision
Episode = namedtuple("Episode", "name commands needs", defaults=((),))

# Commands that the runner executes itself
BUILT_IN = {"SLEEP", "CAT", "SEND", "$"}


def show(command):
    """The command as it stands in a file."""
    words = command.words
    lead = "" if command.is_compared else "ANY "
    if words and words[0] in BUILT_IN:
        text = " ".join((words[0], shlex.join(words[1:]))).rstrip()
    else:
        text = shlex.join(words)
    return "".join([lead + text + "\n"] + [f"| {line}\n" for line in command.input.splitlines()])


def parse_command(line):
    words = shlex.split(line)
    if words[0] == "ANY":
        return Command(tuple(words[1:]), is_compared=False)
    return Command(tuple(words))


def parse(text):
    """Yields the episodes of a file."""
    episode = None
    for line in text.splitlines():
        if line.startswith("== "):
            if episode:
                yield episode
            episode = Episode(line[3:], [], [])
        elif line.startswith("|"):
            last = episode.commands[-1]
            episode.commands[-1] = last._replace(input=last.input + line[2:] + "\n")
        elif line.startswith("NEEDS "):
            thing, revision = (line.split()[1:] + ["0"])[:2]
            episode.needs.append((thing, int(revision)))
        elif line.strip() and not line.startswith("#"):
            episode.commands.append(parse_command(line))
    if episode:
        yield episode


def substitute(episode, name, values):
    """The same episode with other words for some words, and another name"""
    commands = [c._replace(words=tuple(values.get(w, w) for w in c.words))
                for c in episode.commands]
    return episode._replace(name=name, commands=commands)
