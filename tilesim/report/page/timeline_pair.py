"""Two runs on one axis of time: their traces as one, and a timeline of both runs' tracks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np

from tilesim.report.document import SavedRun
from tilesim.report.page.build import EXACT, PageSection
from tilesim.report.page.timeline import SCRIPTS, idle_tracks, pack, run_data, trace_data
from tilesim.sim.trace.trace import Trace

UNLIKE_CLOCKS = (
    "The clocks of the runs have no common measure that a browser could count: the axis counts cycles of each."
)


@dataclass(frozen=True)
class _Side:
    """A run on the common axis: its ``places`` there of its tracks, and the ``factor`` of its cycles in ticks."""

    number: int
    name: str
    run: SavedRun
    trace: Trace
    tracks: tuple[str, ...]
    places: tuple[int, ...]
    factor: int

    def titled(self, words: str) -> str:
        """Which of the two it is, and what: names of runs are too long to stand beside every row."""
        return f"{self.number + 1}: {words}"


def timeline_pair(runs: Mapping[str, SavedRun]) -> PageSection | None:
    """The section of the first two ``runs`` by their names, if both were traced: in cycles, or where their clocks
    differ, in ticks of the longest time that is a part of both runs' cycles.
    """
    first_two = [*runs.items()][:2]
    traces = {name: run.trace for name, run in first_two if run.trace is not None}
    if len(traces) < 2:
        return None
    factors, ticks_hz = _ticks([run for _, run in first_two])
    sides = list(_sides(first_two, traces, factors))
    tracks = [f"{side.name} {track}" for side in sides for track in side.trace.tracks]
    tracks += [f"{side.name} {track}" for side in sides for track in side.tracks[len(side.trace.tracks) :]]
    trace = _together(sides)
    clocks_agree = ticks_hz is not None
    data = {**trace_data(trace, tracks), **_together_data(sides, clocks_agree), "ticks_hz": ticks_hz or 0}
    return PageSection("timeline", "Both runs on one axis", data, pack(trace, len(tracks)), SCRIPTS)


def _ticks(runs: Sequence[SavedRun]) -> tuple[list[int], int | None]:
    """How many ticks a cycle of each run is, and ticks a second: 0 where clocks agree, None where none will do."""
    clocks = [run.statistics["clock_hz"] for run in runs]
    if len(set(clocks)) == 1:
        return [1 for _ in clocks], 0
    ticks_hz = lcm(*clocks)
    factors = [ticks_hz // clock for clock in clocks]
    longest = max(_last(run) * factor for run, factor in zip(runs, factors, strict=True))
    return (factors, ticks_hz) if longest < EXACT // 4 else ([1 for _ in clocks], None)


def _last(run: SavedRun) -> int:
    """A bound of all cycles of a run, and of its loading."""
    trace = run.trace
    ends = trace.start_cycle + trace.cycles if trace is not None and trace.start_cycle.size else np.zeros(1, np.int64)
    return max(int(ends.max()), run.statistics["cycles"]) + (trace.start if trace is not None else 0)


def _sides(
    runs: Sequence[tuple[str, SavedRun]], traces: Mapping[str, Trace], factors: Sequence[int]
) -> Iterator[_Side]:
    """The traced tracks of all stand first, then those of each that were idle."""
    traced, idle = 0, sum(len(trace.tracks) for trace in traces.values())
    for number, ((name, run), factor) in enumerate(zip(runs, factors, strict=True)):
        trace = traces[name]
        others = idle_tracks(run.statistics, trace)
        places = (*range(traced, traced + len(trace.tracks)), *range(idle, idle + len(others)))
        yield _Side(number, name, run, trace, (*trace.tracks, *others), places, factor)
        traced += len(trace.tracks)
        idle += len(others)


def _together(sides: Sequence[_Side]) -> Trace:
    """All spans, from the beginning of each run on, in ticks."""
    kinds = tuple(dict.fromkeys(kind for side in sides for kind in side.trace.kinds))
    parts = [_moved(side, kinds, sides[: side.number]) for side in sides]
    joined: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Trace(
        tracks=tuple(track for side in sides for track in side.trace.tracks),
        kinds=kinds,
        whats=tuple(what for side in sides for what in side.trace.whats),
        layers=tuple(layer for side in sides for layer in side.trace.layers),
        **joined,
    )


def _moved(side: _Side, kinds: Sequence[str], before: Sequence[_Side]) -> dict[str, Any]:
    """The columns of a run, with the places that they have behind those of the runs ``before`` it."""
    trace, others = side.trace, [each.trace for each in before]
    spans, layers = sum(each.track.size for each in others), sum(len(each.layers) for each in others)
    kind_of = np.array([kinds.index(kind) for kind in trace.kinds] or [0], np.int32)
    return {
        "track": trace.track + np.int32(sum(len(each.tracks) for each in others)),
        "start_cycle": (trace.start_cycle - trace.start) * side.factor,
        "cycles": trace.cycles * side.factor,
        "kind": kind_of[trace.kind],
        "what": trace.what + np.int32(sum(len(each.whats) for each in others)),
        "bytes": trace.bytes,
        "released_by": np.where(trace.released_by < 0, -1, trace.released_by + spans).astype(np.int32),
        "layer_of": np.where(trace.layer_of < 0, -1, trace.layer_of + layers).astype(np.int32),
    }


def _together_data(sides: Sequence[_Side], clocks_agree: bool) -> dict[str, Any]:
    """What both runs say of their tracks."""
    each = [(side, run_data(side.run, side.trace, side.tracks)) for side in sides]
    width = sum(len(side.tracks) for side in sides)
    roles = [(side, words) for side, data in each for words in data["roles"]]
    started_by: list[list[int]] = [[] for _ in range(width)]
    role_of, shares, waits, factors = [0] * width, [0.0] * width, [0.0] * width, [1] * width
    for side, data in each:
        first_role = sum(len(other["roles"]) for _, other in each[: side.number])
        for local, place in enumerate(side.places):
            role_of[place] = first_role + data["role_of"][local]
            shares[place], waits[place] = data["shares"][local], data["waits"][local]
            factors[place] = side.factor
            started_by[place] = [side.places[starter] for starter in data["started_by"][local]]
    names = ", ".join(side.titled(side.name) for side in sides)
    notes = [side.titled(data["note"]) for side, data in each if data["note"]]
    counters = [_placed(side, part) for side, data in each for part in data["counters"]]
    titles = [part["title"][len("1: ") :] for part in counters]
    return {
        "note": " ".join([f"{names}.", *notes, *([] if clocks_agree else [UNLIKE_CLOCKS])]),
        "cycles": max(data["cycles"] * side.factor for side, data in each),
        "clock_hz": each[0][1]["clock_hz"],
        "roles": [side.titled(words) for side, words in roles],
        "role_of": role_of,
        "shares": shares,
        "waits": waits,
        "factors": factors,
        "started_by": started_by,
        "groups": [_placed(side, part) for side, data in each for part in data["groups"]],
        "counters": [part for _, part in sorted(zip(map(titles.index, titles), counters, strict=True), key=_place)],
        "lanes": [_later(side, lane) for side, data in each for lane in data["lanes"]],
        "lanes_words": "layers of 1, of 2",
        "findings": sorted((_noticed(side, mark) for side, data in each for mark in data["findings"]), key=_cycle),
    }


def _placed(side: _Side, part: Mapping[str, Any]) -> dict[str, Any]:
    """A group or a counter of a run."""
    tracks = [side.places[track] for track in part["tracks"]]
    return {**part, "title": side.titled(part["title"]), "tracks": tracks, "run": side.number}


def _later(side: _Side, lane: Mapping[str, Any]) -> dict[str, Any]:
    start, cycles = lane["start"] * side.factor, lane["cycles"] * side.factor
    return {**lane, "words": side.titled(lane["words"]), "start": start, "cycles": cycles, "run": side.number}


def _noticed(side: _Side, mark: Mapping[str, Any]) -> dict[str, Any]:
    tracks = [(side.places[track], hue) for track, hue in mark["tracks"]]
    return {**mark, "words": side.titled(mark["words"]), "cycle": mark["cycle"] * side.factor, "tracks": tracks}


def _place(pair: tuple[int, Any]) -> int:
    return pair[0]


def _cycle(mark: Mapping[str, Any]) -> int:
    return int(mark["cycle"])
