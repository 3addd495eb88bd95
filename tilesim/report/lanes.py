"""What a run was at when: its sections, and its layers or inferences, as spans in lanes without overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilesim.report.slices import layer_name
from tilesim.statistics import RunStatistics


class Episode(NamedTuple):
    """Cycles of a trace that have a name."""

    name: str
    start_cycle: int
    cycles: int

    @property
    def end(self) -> int:
        return self.start_cycle + self.cycles


class Lane(NamedTuple):
    """Episodes one after the other."""

    title: str
    episodes: list[Episode]


def lanes(statistics: RunStatistics, start: int) -> list[Lane]:
    """The sections of a run, which begins in cycle ``start`` of its trace; and its layers, or of several inferences
    these, which overlap and so take as many lanes as they need.
    """
    run = Episode("run", start, statistics["cycles"])
    loading = Episode("loading", 0, min(start, statistics["load_cycles"]))
    inferences = statistics["inferences"] > 1
    parts = _inferences(statistics, start) if inferences else _layers(statistics, start)
    return [
        Lane("section", [episode for episode in (loading, run) if episode.cycles]),
        *(Lane("inferences" if inferences else "layers", episodes) for episodes in apart(parts)),
    ]


def apart(episodes: Iterator[Episode]) -> list[list[Episode]]:
    """``episodes`` in as few lists as will do for none to overlap another of its list."""
    lists: list[list[Episode]] = []
    for episode in sorted(episodes, key=lambda episode: (episode.start_cycle, episode.end)):
        free = next((lane for lane in lists if lane[-1].end <= episode.start_cycle), None)
        if free is None:
            lists.append([episode])
        else:
            free.append(episode)
    return lists


def _layers(statistics: RunStatistics, start: int) -> Iterator[Episode]:
    for layer in statistics["layers"]:
        if layer["cycles"]:
            yield Episode(layer_name(layer["name"]), start + layer["start_cycle"], layer["cycles"])


def _inferences(statistics: RunStatistics, start: int) -> Iterator[Episode]:
    for k, request in enumerate(statistics["requests"], 1):
        first, end = start + request["start_cycle"], start + request["end_cycle"]
        yield Episode(f"inference {k}: {request['network']}", first, end - first)
