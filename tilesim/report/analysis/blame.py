"""Who keeps whom waiting: every stalled cycle of a run, by the unit that stalls and the one that let it go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.description import Description, Resource
from tilesim.registry import description_of
from tilesim.report.analysis.contention import senders_of
from tilesim.report.analysis.spans import Words, busy_kind
from tilesim.report.tracks import accounts_of, role, tracks_where
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

Bools = NDArray[np.bool_]

ITSELF, UNKNOWN, UNRECORDED = -1, -2, -3
"""Culprits that are no other unit: the unit itself; whom the trace does not name; what is not in the trace at all."""
NOBODY = {ITSELF: "itself", UNKNOWN: "not known", UNRECORDED: "not recorded"}
DEFINITION = (
    "Each stalled cycle of each unit and link is in one cell: the row is who waits, the column who let it go on. Where "
    "something comes over a bus that has masters, that is the master that sent it. A unit keeps itself waiting where "
    "it waits for results or reads of its own, or has no more work. All cells together are the stalled cycles in "
    "run.json."
)


@dataclass(frozen=True)
class Stalls:
    """The recorded stalls of a run section, a row each: the places of who waits, and of who let it go on, among
    ``tracks`` (or below 0), its kind's in the trace, its cycles of the run, and the span that let it end, or -1.
    """

    tracks: tuple[str, ...]
    victim: Words
    culprit: Words
    kind: Words
    start: Words
    cycles: Words
    released_by: Words


@dataclass(frozen=True)
class Blame:
    """Stalled cycles by victim, culprit and kind, which are unique together, a row each.

    ``tracks`` are all units and links of the run, ``kinds`` those of its stalls, ``resources`` what there is to wait
    for; ``victim``, ``culprit`` (also below 0), ``kind`` and ``resource`` are places in them. The longest stall of a
    row begins in ``longest_start``, a cycle of the run, or -1 if none was recorded.
    """

    tracks: tuple[str, ...]
    kinds: tuple[str, ...]
    resources: tuple[str, ...]
    victim: Words
    culprit: Words
    kind: Words
    resource: Words
    cycles: Words
    longest_start: Words
    longest_cycles: Words


@dataclass(frozen=True)
class Blamed:
    """An instruction, by its label, and the cycles of all stalls that ended with something that it did."""

    label: str
    layer: str
    cycles: int
    victims: int
    """How many units waited."""


def blame(statistics: RunStatistics, trace: Trace | None, found: Stalls | None = None) -> Blame:
    """Who keeps whom waiting; without a trace, or as far as it lacks some, only who waits and why. ``found`` are its
    stalls, if they are known already.
    """
    accounts = accounts_of(statistics)
    tracks = tuple(unit["track"] for unit in accounts)
    machine = description_of(statistics["machine"])
    spent = {
        (place, f"stall:{reason}"): cycles
        for place, unit in enumerate(accounts)
        for reason, cycles in unit["stall_cycles"].items()
    }
    kinds = tuple(sorted({kind for _, kind in spent}))
    rows = np.zeros((6, 0), np.int64)
    if trace is not None:
        found = found or stalls(statistics, trace)
        rows = _summed(found, np.array([kinds.index(kind) if kind in kinds else -1 for kind in trace.kinds], np.int64))
    rows = np.concatenate([rows, _unrecorded(rows, spent, kinds)], axis=1)
    resources, resource = _resources(rows, tracks, kinds, machine)
    victim, culprit, kind, cycles, longest_start, longest = rows
    return Blame(tracks, kinds, resources, victim, culprit, kind, resource, cycles, longest_start, longest)


def stalls(statistics: RunStatistics, trace: Trace) -> Stalls:
    """What was recorded of the stalls of the run's units and links."""
    tracks = tuple(unit["track"] for unit in accounts_of(statistics))
    known = {track: place for place, track in enumerate(tracks)}
    place = np.array([known.get(track, UNKNOWN) for track in trace.tracks], np.int64)
    begin = trace.start_cycle - trace.start
    first, end = np.maximum(begin, 0), np.minimum(begin + trace.cycles, statistics["cycles"])
    some = np.flatnonzero((trace.kind != busy_kind(trace)) & (end > first))
    some = some[place[trace.track[some]] >= 0]
    victim, by = place[trace.track[some]], trace.released_by[some].astype(np.int64)
    culprit = np.where(by >= 0, _culprits(statistics, trace, place, known)[by], UNKNOWN)
    kind = trace.kind[some].astype(np.int64)
    culprit[culprit == victim] = ITSELF
    culprit[(culprit == UNKNOWN) & _is_own(statistics, trace, tracks, victim, kind)] = ITSELF
    return Stalls(tracks, victim, culprit, kind, first[some], (end - first)[some], by)


def _culprits(statistics: RunStatistics, trace: Trace, place: Words, known: Mapping[str, int]) -> Words:
    """For each span who is at work in it: of a link the master that sent what it carries, if the bus has masters."""
    culprits: Words = place[trace.track]
    links = tracks_where(trace.tracks, description_of(statistics["machine"]), lambda role: role.bus)
    for bus, masters in senders_of(statistics, trace).items():
        sender = np.array([known.get(master, UNKNOWN) for master in masters], np.int64)
        on_bus = np.isin(trace.track, [k for k, track in enumerate(trace.tracks) if links.get(track) == bus])
        sent = on_bus & (sender[trace.what] >= 0)
        culprits = np.where(sent, sender[trace.what], culprits)
    return culprits


def _summed(found: Stalls, kind_of: Words) -> Words:
    """Stalls by victim, culprit and kind: (these three, cycles, start and cycles of the longest; row)."""
    kind = kind_of[found.kind] if found.kind.size else found.kind
    code = (found.victim * (len(found.tracks) - UNRECORDED) + found.culprit - UNRECORDED) * (kind_of.size + 1) + kind
    order = np.argsort(code, kind="stable")
    code = code[order]
    first = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]])[: len(order)])
    cycles, start = found.cycles[order], found.start[order]
    sums = np.add.reduceat(cycles, first) if len(first) else cycles
    longest = np.maximum.reduceat(cycles, first) if len(first) else cycles
    candidates = np.where(
        cycles == np.repeat(longest, np.diff(first, append=len(order))), start, np.iinfo(np.int64).max
    )
    earliest = np.minimum.reduceat(candidates, first) if len(first) else start
    keys = (found.victim, found.culprit, kind)
    rows: Words = np.stack([*(key[order][first] for key in keys), sums, earliest, longest])
    return rows


def _is_whole(statistics: RunStatistics, trace: Trace) -> bool:
    """Whether all units and links that did anything were recorded."""
    active = {
        unit["track"] for unit in accounts_of(statistics) if unit["busy_cycles"] or any(unit["stall_cycles"].values())
    }
    return active <= {*trace.tracks}


def _is_own(statistics: RunStatistics, trace: Trace, tracks: Sequence[str], victim: Words, kind: Words) -> Bools:
    """Where it is a unit's own doing that it waits, if nobody is named; nobody knows unless all are recorded."""
    own = np.zeros((len(tracks), len(trace.kinds)), np.bool_)
    if _is_whole(statistics, trace):
        machine = description_of(statistics["machine"])
        stalled = np.bincount(victim * len(trace.kinds) + kind, minlength=own.size).reshape(own.shape)
        for unit, reason in np.argwhere(stalled).tolist():
            ending = role(tracks[unit], machine).ending
            own[unit, reason] = _resource(machine, ending, trace.kinds[reason], "").own
    return own[victim, kind]


def _unrecorded(rows: Words, spent: Mapping[tuple[int, str], int], kinds: Sequence[str]) -> Words:
    """What the ``rows`` lack of the cycles that were ``spent``."""
    recorded: dict[tuple[int, int], int] = {}
    for victim, _, kind, cycles, *_ in rows.T.tolist():
        recorded[victim, kind] = recorded.get((victim, kind), 0) + cycles
    left = (
        (victim, UNRECORDED, kinds.index(kind), cycles - recorded.get((victim, kinds.index(kind)), 0), -1, 0)
        for (victim, kind), cycles in spent.items()
    )
    return np.array([row for row in left if row[3]], np.int64).reshape(-1, 6).T


# ---- what they wait for


def _resources(
    rows: Words, tracks: Sequence[str], kinds: Sequence[str], machine: Description
) -> tuple[tuple[str, ...], Words]:
    """What there is to wait for, and which of it each row is."""
    endings = [role(track, machine).ending for track in tracks]
    words = [
        _resource(machine, endings[victim], kinds[kind], endings[culprit] if culprit >= 0 else "").words
        for victim, culprit, kind, *_ in rows.T.tolist()
    ]
    resources = tuple(dict.fromkeys(words))
    return resources, np.array([resources.index(each) for each in words], np.int64)


@cache
def _reasons(resources: tuple[Resource, ...]) -> dict[str, list[Resource]]:
    by_reason: dict[str, list[Resource]] = {}
    for resource in resources:
        by_reason.setdefault(f"stall:{resource.reason}", []).append(resource)
    return by_reason


def _resource(machine: Description, ending: str, kind: str, by: str) -> Resource:
    fitting = (
        resource
        for resource in _reasons(machine.resources).get(kind, ())
        if resource.ending in {"*", ending} and resource.by in {"*", by}
    )
    reason = kind.removeprefix("stall:")
    return next(fitting, Resource(reason, reason))


# ---- which instructions


def blamed(trace: Trace, found: Stalls) -> list[Blamed]:
    """The instructions with which stalls of others ended, the one that most cycles waited for first."""
    others = np.flatnonzero((found.released_by >= 0) & (found.culprit >= 0))
    what = trace.what[found.released_by[others]]
    pairs = np.unique(what.astype(np.int64) * len(found.tracks) + found.victim[others])
    cycles = np.bincount(what, found.cycles[others], len(trace.whats)).astype(np.int64)
    victims = np.bincount(pairs // max(1, len(found.tracks)), minlength=len(trace.whats))
    order = np.lexsort((np.arange(len(cycles)), -cycles))
    return [
        Blamed(trace.whats[k], _layer(trace, k), int(cycles[k]), int(victims[k]))
        for k in order.tolist()
        if cycles[k] and trace.whats[k]
    ]


def _layer(trace: Trace, what: int) -> str:
    layer = int(trace.layer_of[what])
    return trace.layers[layer] if layer >= 0 else ""
