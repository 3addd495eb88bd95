"""Transfers that take no time: what a run would save if they did not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tilesim.errors import refuse
from tilesim.machines.program import Program
from tilesim.printable import shown, unknown
from tilesim.statistics import RunStatistics

MOST_GUESSES = 3


def instants(program: Program, given: Sequence[str], obstacle: Callable[[Any], str]) -> frozenset[str]:
    """The labels of the instructions that the user has ``given``, as labels or patterns of such.

    ``obstacle`` says why an instruction can't take no time; nothing of one that can. A pattern stands for those that
    can.

    Raises:
        InputError: no such instruction, or one that can't; all at once.
    """
    labelled = {op.label: op for op in (*program.load, *program.run) if op.label}
    matching = {word: _matching(word, list(labelled)) for word in given}
    fitting = {word: [label for label in labels if not obstacle(labelled[label])] for word, labels in matching.items()}
    refuse(
        fault
        for word, labels in matching.items()
        if not fitting[word]
        for fault in _faults(word, list(labelled), [obstacle(labelled[label]) for label in labels])
    )
    return frozenset(label for labels in fitting.values() for label in labels)


def told(document: RunStatistics, instant: frozenset[str]) -> RunStatistics:
    """The document of a run, which says what took no time in it, if anything did."""
    return {**document, "instant": sorted(instant)} if instant else document


def _matching(word: str, labels: Sequence[str]) -> list[str]:
    return [word] if word in labels else [label for label in labels if fnmatchcase(label, word)]


def _faults(word: str, labels: Sequence[str], obstacles: Sequence[str]) -> Iterator[str]:
    if obstacles:
        yield f"instant {shown(word)}: {obstacles[0]}"
    elif longer := [label for label in labels if word in label][:MOST_GUESSES]:
        guesses = " or ".join(map(shown, longer))
        yield f"instant must be the label of an instruction, not {shown(word)}; did you mean {guesses}?"
    else:
        yield f"instant {unknown(word, labels, 'the label of an instruction')}"
