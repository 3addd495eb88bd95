"""The timeline's section: the trace's spans packed for the browser, and what to call everything on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.report.analysis.layers import bound_words
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.page.timeline_findings import hues_of, marks
from tilesim.report.page.timeline_tracks import active_cycles, tracks_data
from tilesim.report.tracks import accounts_of, kind_of, stacked
from tilesim.report.words import kind_word, kind_words, short_name
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

PARTS = (
    *("axis", "spans", "rows", "view", "paint", "head", "counters", "marks", "words", "search", "labels"),
    *("range", "chain", "findings", "path", "address", "frame", "hands"),
)
SCRIPTS = (*(f"timeline_{part}.js" for part in PARTS), "timeline.js")
NO_TRACE = "This run was not traced: `tilesim run ... --trace --out DIR` records what every unit does when."


def timeline(run: SavedRun) -> PageSection:
    """The section of what every unit and every link of a bus did in which cycle."""
    if run.trace is None:
        return PageSection("timeline", "Timeline", {"missing": NO_TRACE}, scripts=SCRIPTS)
    tracks = (*run.trace.tracks, *idle_tracks(run.statistics, run.trace))
    columns = pack(run.trace, len(tracks))
    data = {**trace_data(run.trace, tracks), **run_data(run, run.trace, tracks)}
    return PageSection("timeline", "Timeline", data, columns, SCRIPTS)


def idle_tracks(run: RunStatistics, trace: Trace) -> list[str]:
    """Units that never did anything, of which a trace has no spans."""
    idle = {unit["track"] for unit in accounts_of(run) if not active_cycles(unit)}
    return sorted(idle.difference(trace.tracks))


def pack(trace: Trace, tracks: int) -> dict[str, NDArray[Any]]:
    """The spans of so many ``tracks``, the trace's first, by track, then kind as :func:`stacked`, then start.

    A *series* is the spans of one track and kind. ``first`` are the places of the first span of each series, and the
    number of spans; ``gap`` the cycles from the end of the span before in its series to a span's start (of a series'
    first span: from the earliest of all starts); ``released_by`` are places in this order. From ``gap`` and ``cycles``
    follow the starts, and from the sums of ``cycles`` the share of a kind in any window.
    """
    ranks = np.argsort(np.argsort([stacked(trace.kinds).index(kind) for kind in trace.kinds]))
    series = trace.track.astype(np.int64) * len(trace.kinds) + ranks[trace.kind] if trace.kind.size else trace.track
    order = np.lexsort((trace.start_cycle, series))
    place = np.zeros(order.size, np.int64)
    place[order] = np.arange(order.size)
    sorted_, start, cycles = series[order], trace.start_cycle[order], trace.cycles[order]
    released = trace.released_by[order]
    return {
        "first": np.searchsorted(sorted_, np.arange(tracks * len(trace.kinds) + 1)),
        "gap": start - _ends_before(sorted_, start, cycles),
        "cycles": cycles,
        "what": trace.what[order],
        "bytes": trace.bytes[order],
        "released_by": np.where(released < 0, -1, place[released] if order.size else released),
        "layer_of": trace.layer_of,
    }


def _ends_before(series: NDArray[Any], start: NDArray[Any], cycles: NDArray[Any]) -> NDArray[Any]:
    """For each span the end of the one before in its series; for the first the earliest start of all."""
    if not start.size:
        return start
    before = np.empty_like(start)
    before[1:] = (start + cycles)[:-1]
    before[np.concatenate([[True], series[1:] != series[:-1]])] = start.min()
    return before


def trace_data(trace: Trace, tracks: Sequence[str]) -> dict[str, Any]:
    """What the columns point at, and where they begin."""
    return {
        "origin": int(trace.start_cycle.min()) - trace.start if trace.start_cycle.size else 0,
        "tracks": tracks,
        "kinds": [{"kind": kind, **kind_of(kind)._asdict()} for kind in stacked(trace.kinds)],
        "idle": kind_of("idle")._asdict(),
        "whats": trace.whats,
        "layers": [{"name": name, "short": short_name(name)} for name in trace.layers],
    }


def run_data(saved: SavedRun, trace: Trace, tracks: Sequence[str]) -> dict[str, Any]:
    """What a run says of its ``tracks``, the trace's first."""
    run = saved.statistics
    return {
        "note": _note(run, trace),
        "cycles": run["cycles"],
        "clock_hz": run["clock_hz"],
        **tracks_data(saved, tracks),
        "lanes": list(_requests(run) if run["inferences"] > 1 else _layers(run)),
        "findings": marks(run, trace, hues_of(run)),
    }


def _note(run: RunStatistics, trace: Trace) -> str | None:
    """What to know of a trace that does not hold all that the run's accounts do."""
    begins, ends = trace.start_cycle - trace.start, trace.start_cycle - trace.start + trace.cycles
    inside = np.minimum(ends, run["cycles"]) - np.maximum(begins, 0)
    sums = np.bincount(trace.track, np.maximum(inside, 0), len(trace.tracks))
    traced = dict(zip(trace.tracks, sums.tolist(), strict=True))
    accounts = {unit["track"]: active_cycles(unit) for unit in accounts_of(run)}
    if all(traced.get(track, 0) == cycles for track, cycles in accounts.items()):
        return None
    if not begins.size:
        return "The trace is empty: nothing happened in its window, or on its tracks."
    return (
        f"Only a part was traced: {len(trace.tracks)} of {len(accounts)} tracks, cycles {begins.min():,} to "
        f"{ends.max():,}. What looks idle beyond was not recorded."
    )


def _layers(run: RunStatistics) -> Iterator[dict[str, Any]]:
    """What stands in the lanes above the units: each layer from its start to its end."""
    for k, layer in enumerate(run["layers"]):
        if layer["cycles"]:
            kind, cause = kind_words(layer["kind"]), bound_words(layer, run)
            name = short_name(layer["name"])
            words = f"layer {k}, {kind}, bound by {cause}: {layer['name']}"
            yield _lane(k, name, kind_word(layer["kind"]), words, layer["start_cycle"], layer["cycles"])


def _requests(run: RunStatistics) -> Iterator[dict[str, Any]]:
    """Of several inferences, whose layers' cycles are sums: each inference."""
    for k, request in enumerate(run["requests"]):
        start, name = request["start_cycle"], request["network"]
        yield _lane(k, name, "", f"inference {k}, {name}", start, request["end_cycle"] - start)


def _lane(number: int, name: str, kind: str, words: str, start: int, cycles: int) -> dict[str, Any]:
    return {"number": str(number), "name": name, "kind": kind, "words": words, "start": start, "cycles": cycles}
