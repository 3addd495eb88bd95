"""Who occupies which nodes of a ring when: a trial of bare transfers as a grid of nodes and cycles."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tilesim.machines.trial import TrialDocument, TrialTransfer
from tilesim.report.tracks import master_hue

MOST_CYCLES = 400
"""Of a longer run, only those around the first cycle in which the rule is broken are shown."""
BEFORE = 100


@dataclass(frozen=True)
class Cell:
    """One node in one cycle: the transfers of which a row passes, and those that are under way past it."""

    passing: tuple[str, ...] = ()
    under_way: tuple[str, ...] = ()


EMPTY = Cell()


@dataclass(frozen=True)
class Occupancy:
    """``cells`` by node and cycle, within the ``window`` of cycles."""

    window: range
    cells: dict[tuple[int, int], Cell]

    def at(self, node: int, cycle: int) -> Cell:
        return self.cells.get((node, cycle), EMPTY)


def occupancy(document: TrialDocument) -> Occupancy:
    """That of the run that is shown."""
    passing: dict[tuple[int, int], list[str]] = defaultdict(list)
    under_way: dict[tuple[int, int], list[str]] = defaultdict(list)
    for passage in document["picture"]["passages"]:
        passing[passage["node"], passage["cycle"]].append(passage["transfer"])
    window, paths = window_of(document), {transfer["name"]: transfer["path"] for transfer in document["transfers"]}
    for span in document["picture"]["under_way"]:
        for cycle in range(max(span["start"], window.start), min(span["end"], window.stop)):
            for node in paths[span["transfer"]]:
                under_way[node, cycle].append(span["transfer"])
    places = [*passing, *(place for place in under_way if place not in passing)]
    return Occupancy(window, {place: Cell(tuple(passing[place]), tuple(under_way[place])) for place in places})


def window_of(document: TrialDocument) -> range:
    """The cycles that are shown: those in which rows are on the ring, or some of them."""
    picture = document["picture"]
    cycles = [passage["cycle"] for passage in picture["passages"]] or [0]
    first, end = max(0, min(cycles) - 1), max(cycles) + 2
    if end - first > MOST_CYCLES:
        broken = min([breach["cycle"] for breach in picture["breaches"]], default=first)
        first = max(first, min(broken - BEFORE, end - MOST_CYCLES))
    return range(first, min(end, first + MOST_CYCLES))


def hues(document: TrialDocument) -> dict[str, str]:
    """The colour of each transfer: that of its master, whose number on every page is its node's."""
    return {transfer["name"]: master_hue(transfer["path"][0]) for transfer in document["transfers"]}


def letters(document: TrialDocument) -> dict[str, str]:
    """What pictures call each transfer."""
    return {transfer["name"]: transfer["letter"] for transfer in document["transfers"]}


def run_of_nodes(transfer: TrialTransfer, nodes: list[str]) -> str:
    """The first and the last node that a transfer passes."""
    return f"{nodes[transfer['path'][0]]} to {nodes[transfer['path'][-1]]}"
