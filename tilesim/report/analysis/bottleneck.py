"""The bottleneck of a run in a sentence or two: what it is, where, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.printable import printable
from tilesim.registry import description_of
from tilesim.report.analysis.critical_path import NOT_RECORDED, ON_ITS_WAY, CriticalPath, Share, roles_of, shares
from tilesim.report.analysis.layers import arrays, computes, wait_words
from tilesim.report.tracks import kind_of
from tilesim.report.words import end_cause, end_words, kind_words, short_name
from tilesim.sim.core.unit import BUSY, Reason
from tilesim.statistics import LayerStatistics, RunStatistics

LAST_CYCLES = 100
"""Of a run that did not come to its end, those that are to be looked at."""
Chosen: TypeAlias = NDArray[np.bool_]
"""Which of the steps."""

NEXT_SHARES = 2
LEAST_SHARE = 0.03
"""Shares that are less are not worth a word."""
DOING = {
    BUSY: "at work",
    ON_ITS_WAY: "whose rows, words or instructions are on their way",
    NOT_RECORDED: "that the trace does not explain",
    Reason.TRAVERSAL.kind: "computing their first addresses",
    Reason.WORK.kind: "without more work",
    Reason.SHIFT.kind: "shifting weights in",
    Reason.HOLD.kind: "held by the user",
}
"""What units do in a kind of cycles; in others they wait, as the kind's own words say."""


@dataclass(frozen=True)
class Verdict:
    """The ``sentences``, and what to look at: cycles of the run, and a track if the trace names one."""

    sentences: tuple[str, ...]
    cycles: range
    track: str = ""


def verdict(statistics: RunStatistics, path: CriticalPath | None) -> Verdict | None:
    """What most of a run's critical path is or, without a trace, what most cycles of its MAC arrays went into; None
    where neither is known. Of a run that did not come to its end, first of all why.
    """
    traced = path is not None and path.cycles.size > 0
    found = _of_path(statistics, path) if path is not None and traced else _of_arrays(statistics)
    end = statistics.get("end")
    if end is None:
        return found
    first = f"The run {end_words(end)}: {printable(end_cause(end)).rstrip('.')}."
    last = range(max(0, end["cycle"] - LAST_CYCLES), end["cycle"] + 1)
    return Verdict((first, *([f"Until then: {found.sentences[0]}"] if traced and found else [])), last)


# ---- with a trace


def _of_path(statistics: RunStatistics, path: CriticalPath) -> Verdict:
    largest, *others = shares(statistics, path)
    whole = statistics["cycles"]
    chosen = _steps_of(statistics, path, largest)
    layer, where = _most(path, chosen)
    inside = np.flatnonzero(where)
    cycles = range(int(path.start[inside[0]]), int(path.start[inside[-1]] + path.cycles[inside[-1]]))
    longest = inside[np.argmax(path.cycles[inside])]
    first = f"{largest.cycles / whole:.0%} of the critical path is {_doing(largest, statistics)}"
    place = _layer_words(statistics, layer, _by_layer(path, chosen))
    sentence = f"{first}{place}, in cycles {cycles.start:,} to {cycles.stop:,}."
    track = path.tracks[path.track[longest]] if path.track[longest] >= 0 else ""
    return Verdict((sentence, *_next(statistics, others)), cycles, track)


def _steps_of(statistics: RunStatistics, path: CriticalPath, share: Share) -> Chosen:
    words = roles_of(statistics, path)
    ours = [place for place, units in words.items() if units == share.units]
    chosen: Chosen = np.isin(path.track, ours) & (path.kind == path.kinds.index(share.kind))
    return chosen


def _most(path: CriticalPath, chosen: Chosen) -> tuple[int, Chosen]:
    """The layer that most cycles of the ``chosen`` steps are for (-1: none), and which of them are."""
    sums = _by_layer(path, chosen)
    layer = max(sums, key=lambda layer: sums[layer])
    return layer, chosen & (path.layer == layer)


def _by_layer(path: CriticalPath, chosen: Chosen) -> dict[int, int]:
    """The cycles of the ``chosen`` steps by layer."""
    layers, place = np.unique(path.layer[chosen], return_inverse=True)
    sums = np.bincount(place, path.cycles[chosen]).astype(np.int64)
    return dict(zip(layers.tolist(), sums.tolist(), strict=True))


def _layer_words(statistics: RunStatistics, most: int, cycles: dict[int, int]) -> str:
    """The layers of the kind that has ``most`` of the ``cycles``, and the one that has."""
    layers, whole = statistics["layers"], sum(cycles.values())
    if not 0 <= most < len(layers):
        return ""
    alike = [k for k in cycles if 0 <= k < len(layers) and layers[k]["kind"] == layers[most]["kind"]]
    together = sum(cycles[k] for k in alike)
    part = "all" if together == whole else f"{together / whole:.0%}"
    kind = f", {part} of that for {len(alike)} {kind_words(layers[most]['kind'])} layers" if len(alike) > 1 else ""
    share = "all" if cycles[most] == whole else f"the most, {cycles[most] / whole:.0%},"
    return f"{kind}; {share} for {_named(layers[most])}"


def _named(layer: LayerStatistics) -> str:
    """A layer with its kind and how well it uses the MACs."""
    use = f", {layer['mac_utilisation']:.1%} of the MACs in use" if layer["macs"] and layer["cycles"] else ""
    return f"layer {printable(short_name(layer['name']))} ({kind_words(layer['kind'])}{use})"


def _next(statistics: RunStatistics, others: list[Share]) -> list[str]:
    told = [share for share in others if share.cycles >= LEAST_SHARE * statistics["cycles"]][:NEXT_SHARES]
    parts = [f"{share.cycles / statistics['cycles']:.0%} {_doing(share, statistics)}" for share in told]
    return [f"Next: {', '.join(parts)}."] if parts else []


def _doing(share: Share, statistics: RunStatistics) -> str:
    """Units and what they do, such as ``ring links waiting for a credit``."""
    computing = share.kind == BUSY and share.units in _computing(statistics)
    words = "computing" if computing else DOING.get(share.kind) or kind_of(share.kind).words.replace("waits", "waiting")
    return f"{share.units} {words}"


def _computing(statistics: RunStatistics) -> set[str]:
    """What a machine's MAC arrays are called."""
    description = description_of(statistics["machine"])
    ending = description.mac_arrays.lstrip(".")
    return {role.words for role in description.roles if role.ending == ending}


# ---- without a trace


def _of_arrays(statistics: RunStatistics) -> Verdict | None:
    cause, layers = statistics["bound_by"], statistics["layers"]
    spent = statistics["breakdown"].get(cause or "", 0)
    if cause is None or not spent or not layers or not statistics["cycles"]:
        return None
    most = max(layers, key=lambda layer: layer["breakdown"].get(cause, 0))
    what = "computing" if computes(cause, statistics) else wait_words(cause, statistics)
    share = spent / (statistics["cycles"] * arrays(statistics))
    start, end = most["start_cycle"], min(most["start_cycle"] + most["cycles"], statistics["cycles"])
    sentence = f"The MAC arrays spend {share:.0%} of their cycles {what}; most for {_named(most)}"
    when = f", in cycles {start:,} to {end:,}" if statistics["inferences"] == 1 else ""
    more = "What the run as a whole waits for, a trace tells: tilesim run with --trace."
    return Verdict((f"{sentence}{when}.", more), range(start, end))
