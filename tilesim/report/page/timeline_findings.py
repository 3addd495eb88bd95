"""What a run noticed, as marks of the timeline: in which cycle, on which tracks, in whose colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.findings import Finding, sentence
from tilesim.registry import description_of
from tilesim.report.analysis.spans import busy_kind
from tilesim.report.tracks import MASTER_HUES, masters_of, role
from tilesim.report.words import end_words
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import EndStatistics, RunStatistics

MOST_MARKS = 1000
"""Findings that the timeline marks; of more, the first."""


def marks(run: RunStatistics, trace: Trace, hues: Mapping[str, int]) -> list[dict[str, Any]]:
    """The findings of a run in the order of their cycles, with the colours of their masters by ``hues``.

    Of a mark, ``cycle`` is a run cycle; ``tracks`` are pairs of the place of a track in the trace and of a master's
    colour, -1: those of all its masters.
    """
    work = _Work(run, trace)
    found = [_mark(finding, work, hues) for finding in run.get("findings", [])[:MOST_MARKS]]
    found.sort(key=lambda mark: int(mark["cycle"]))
    if "end" not in run:
        return found
    end = _end(run["end"])
    met = [mark for mark in found if end["kind"] == "collision" and mark["cycle"] == end["cycle"]]
    if met:  # what ended the run: one step, not two
        met[-1]["words"] += f"; {end['words']}"
        return found
    return sorted([*found, end], key=lambda mark: int(mark["cycle"]))


def hues_of(run: RunStatistics) -> dict[str, int]:
    """The number of each master's colour."""
    return {master: number % MASTER_HUES for master, number in masters_of(run).items()}


class _Work:
    """Which spans are of which instruction, and of which units."""

    def __init__(self, run: RunStatistics, trace: Trace) -> None:
        machine = description_of(run["machine"])
        self.cycles = run["cycles"]
        self.trace = trace
        self.place = {what: k for k, what in reversed([*enumerate(trace.whats)])}
        self.is_link = np.array([bool(role(track, machine).bus) for track in trace.tracks], np.bool_)
        self.busy = trace.kind == busy_kind(trace)

    def spans(self, instruction: str, on_links: bool) -> NDArray[np.int64]:
        """Those in which units, or links of a bus, are busy with it."""
        if instruction not in self.place:
            return np.zeros(0, np.int64)
        ours = self.busy & (self.trace.what == self.place[instruction])
        ours &= self.is_link[self.trace.track] == on_links
        return np.flatnonzero(ours)

    def end(self, spans: NDArray[np.int64]) -> int:
        """The last cycle of the run in which any of them is; the run's last if there is none."""
        if not spans.size:
            return self.cycles
        return int((self.trace.start_cycle[spans] + self.trace.cycles[spans]).max()) - 1 - self.trace.start

    def unit(self, instruction: str) -> Iterator[int]:
        """The track of the unit that does it: of all that handle it, the last."""
        spans = self.spans(instruction, on_links=False)
        if spans.size:
            ends = self.trace.start_cycle[spans] + self.trace.cycles[spans]
            yield int(self.trace.track[spans[np.argmax(ends)]])

    def links(self, instruction: str, cycle: int) -> Iterator[int]:
        """The links that carry something of it in a cycle."""
        spans, at = self.spans(instruction, on_links=True), cycle + self.trace.start
        starts = self.trace.start_cycle[spans]
        there = (starts <= at) & (at < starts + self.trace.cycles[spans])
        yield from sorted(set(self.trace.track[spans[there]].tolist()))


def _mark(finding: Finding, work: _Work, hues: Mapping[str, int]) -> dict[str, Any]:
    masters = _masters(finding)
    colours = [hues.get(master, -1) for master in masters]
    cycle = _cycle(finding, work)
    return {
        "kind": finding["kind"],
        "cycle": cycle,
        "words": sentence(finding),
        "hues": colours,
        "masters": masters,
        "tracks": list(dict.fromkeys(_tracks(finding, cycle, work, colours))),
    }


def _end(end: EndStatistics) -> dict[str, Any]:
    """Where a run stood that did not come to its end."""
    words = f"the run {end_words(end)}"
    return {"kind": end["kind"], "cycle": end["cycle"], "words": words, "hues": [], "masters": [], "tracks": []}


def _instructions(finding: Finding) -> Sequence[str]:
    return finding.get("instructions", [finding["instruction"]] if "instruction" in finding else [])


def _masters(finding: Finding) -> list[str]:
    """The nodes that sent what it is about, in the order of its instructions."""
    if finding["kind"] == "mixed payload":
        return list(dict.fromkeys(part["master"] for part in finding.get("rows", [])))
    return finding.get("masters", [finding["master"]] if "master" in finding else [])


def _cycle(finding: Finding, work: _Work) -> int:
    """When it was; where the finding does not say, the last cycle in which anything of its instruction moved."""
    if "cycle" in finding:
        return finding["cycle"] - (work.trace.start if finding.get("section") == "load" else 0)
    instruction = finding.get("instruction", "")
    return work.end(work.spans(instruction, on_links=finding["kind"] == "floating packet"))


def _tracks(finding: Finding, cycle: int, work: _Work, colours: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The units of its instructions, in the colours of their masters; and in all, the link where the later was seen."""
    instructions = _instructions(finding)
    hues = [*colours, *[-1] * len(instructions)]
    for instruction, hue in zip(instructions, hues, strict=False):
        yield from ((track, hue) for track in work.unit(instruction))
    if "stop" in finding and instructions:
        yield from ((track, -1) for track in work.links(instructions[-1], cycle))
