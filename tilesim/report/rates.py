"""What buses carry and MAC arrays compute a cycle, over a run in steps of equal length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tilesim.report.analysis.layers import mac_arrays
from tilesim.report.analysis.spans import busy_kind
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import LayerStatistics, RunStatistics

STEPS = 1000
"""A trace has at most about so many steps."""

Words = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Rate:
    """A quantity of the group of units ``path``: ``values`` between each of the ``edges`` and the next."""

    path: str
    name: str
    unit: str
    edges: Words
    values: Numbers

    def changes(self) -> Iterator[tuple[int, float]]:
        """The cycles in which it changes, and to what; 0 in the end."""
        values = np.append(self.values, 0.0)
        new = np.concatenate([[True], values[1:] != values[:-1]])
        return zip(self.edges[new].tolist(), values[new].tolist(), strict=True)


def rates(statistics: RunStatistics, trace: Trace) -> list[Rate]:
    """The bytes a cycle of each bus, all of its links together, and the utilisation of all MAC arrays: the MACs that
    they do for the layers, of those that they could do. Steps begin with the run, and are as long before it.
    """
    edges = steps(trace)
    return [*_buses(statistics, trace, edges), *_utilisation(statistics, trace, edges)]


def steps(trace: Trace) -> Words:
    """Where the steps of a trace begin, and where the last one ends."""
    end = int(max(trace.start_cycle + trace.cycles, default=trace.start + 1))
    width = _round(end / STEPS)
    return np.array([0, *range(trace.start % width or width, end + width, width)])


def spread(trace: Trace, spans: slice, amounts: Numbers, edges: Words) -> Numbers:
    """What falls between each of the ``edges`` and the next of the ``amounts`` of a track's spans, each spread evenly
    over its cycles.
    """
    starts, cycles = trace.start_cycle[spans], trace.cycles[spans]
    points = np.column_stack([starts, starts + cycles]).ravel()
    totals = np.cumsum(amounts)
    levels = np.column_stack([totals - amounts, totals]).ravel()
    return np.diff(np.interp(edges, points, levels)) if len(points) else np.zeros(len(edges) - 1)


def spans_of(trace: Trace, track: int) -> slice:
    """Where the spans of a track are in the columns."""
    first, end = np.searchsorted(trace.track, np.array([track, track + 1], trace.track.dtype)).tolist()
    return slice(first, end)


def _round(cycles: float) -> int:
    """At least ``cycles``, and a number that people count in."""
    return next(n for n in (digit * int(10**power) for power, digit in product(range(19), (1, 2, 5))) if n >= cycles)


def _buses(statistics: RunStatistics, trace: Trace, edges: Words) -> Iterator[Rate]:
    for bus in statistics["bytes"]:
        ours = [k for k, path in enumerate(trace.tracks) if path.split(".")[1:2] == [bus]]
        if not ours:
            continue
        path = ".".join(trace.tracks[ours[0]].split(".")[:2])
        moved = np.zeros(len(edges) - 1)
        for k in ours:
            spans = spans_of(trace, k)
            moved += spread(trace, spans, trace.bytes[spans].astype(np.float64), edges)
        yield Rate(path, f"{bus.replace('_', ' ')} bytes a cycle", "bytes/cycle", edges, moved / np.diff(edges))


def _utilisation(statistics: RunStatistics, trace: Trace, edges: Words) -> Iterator[Rate]:
    arrays = {unit["track"] for unit in mac_arrays(statistics)}
    ours = [k for k, path in enumerate(trace.tracks) if path in arrays]
    possible = statistics["cycles"] * statistics["mac_utilisation"]
    if not ours or not possible:
        return
    macs_of_what = _macs_of_whats(statistics["layers"], trace)
    done = np.zeros(len(edges) - 1)
    for k in ours:
        spans = spans_of(trace, k)
        macs = macs_of_what[trace.what[spans]] * trace.cycles[spans] * (trace.kind[spans] == busy_kind(trace))
        done += spread(trace, spans, macs, edges)
    peak = statistics["macs"] / possible
    path = trace.tracks[ours[0]].split(".")[0]
    yield Rate(path, "MAC utilisation", "%", edges, 100 * done / np.diff(edges) / peak)


def _macs_of_whats(layers: Sequence[LayerStatistics], trace: Trace) -> Numbers:
    """How many MACs a busy cycle of each instruction does, on average over its layer; where the trace does not have
    these layers, over all.
    """
    macs, busy = [layer["macs"] for layer in layers], [layer["mac_busy_cycles"] for layer in layers]
    if trace.layers != tuple(layer["name"] for layer in layers):
        return np.full(len(trace.whats), sum(macs) / max(1, sum(busy)))
    of_layers = [total / max(1, cycles) for total, cycles in zip(macs, busy, strict=True)]
    return np.array([*of_layers, 0.0])[trace.layer_of]  # -1, no layer, is the last one
