"""Who is on which link of a bus when, and why units wait."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tilesim.registry import description_of
from tilesim.report.analysis.spans import TrackSpans, Words, busy_kind, edges_of, run_spans
from tilesim.report.tracks import accounts_of, master_hue, master_words, masters_of, role, tracks_where
from tilesim.sim.core.unit import BUSY
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics, UnitStatistics

BINS = 200
SHOWN_MASTERS = 6
"""Masters that a bus shows one by one, those that carry most; the rest together."""
OTHERS = "other masters"
UNKNOWN = "not known"
"""Who sent what no recorded unit, or more than one, sent."""

DEFINITION = (
    "Occupancy: cycles in which a link carries a word, a row or a part of an instruction, divided by the cycles of the "
    "bin. Waiting: cycles in which something stands at the link and cannot go on. All bins of a link together are its "
    "cycles in run.json."
)
MASTERS_DEFINITION = (
    "Master: the node that put the row on the bus; where several do so within a bin, each has its share."
)


@dataclass(frozen=True)
class Occupancy:
    """For each link and bin of time, cycles of the run.

    ``links`` are tracks, ``buses`` what each belongs to. ``edges``: bin b is the cycles from ``edges[b]`` to before
    ``edges[b + 1]``. ``carried`` and ``waiting`` are (link, bin). ``by_master`` is (master, link, bin): where a
    link's bus has masters, they add up to ``carried``; elsewhere there is nothing. ``hues`` has a colour for each
    master. ``expected`` is what run.json says that each link carried: more than here only if the trace does not have
    all of it.
    """

    links: tuple[str, ...]
    buses: tuple[str, ...]
    masters: tuple[str, ...]
    hues: tuple[str, ...]
    edges: Words
    carried: Words
    waiting: Words
    by_master: Words
    expected: Words

    @property
    def complete(self) -> bool:
        """Whether the trace has all that the links carried."""
        return bool((self.carried.sum(axis=1) == self.expected).all())


def occupancy(statistics: RunStatistics, trace: Trace, bins: int = BINS) -> Occupancy:
    """What the links of ``statistics`` carried when, in at most ``bins`` bins."""
    accounts = {unit["track"]: unit for unit in (*statistics["links"], *statistics["units"])}
    machine = description_of(statistics["machine"])
    links = tracks_where(accounts, machine, lambda role: role.bus)
    senders = tracks_where(accounts, machine, lambda role: role.sends_on)
    spans = run_spans(statistics, trace, (*links, *senders))
    edges = edges_of(statistics["cycles"], bins)
    busy = {track: of.where(of.kind == busy_kind(trace)) for track, of in spans.items()}
    masters, by_master = _by_master(links, busy, _masters(trace, busy, senders), edges)
    carried = _stacked([busy[link].per_bin(edges) for link in links], edges)
    every = _stacked([spans[link].per_bin(edges) for link in links], edges)
    expected = np.array([accounts[link]["busy_cycles"] for link in links], np.int64)
    return Occupancy(
        tuple(links), tuple(links.values()), masters, tuple(_hues(statistics, masters)), edges, carried,
        every - carried, by_master, expected,
    )  # fmt: skip


def _hues(statistics: RunStatistics, masters: Iterable[str]) -> Iterator[str]:
    numbers = masters_of(statistics)
    for master in masters:
        yield "master:other" if master in {OTHERS, UNKNOWN} else master_hue(numbers[master_words(master)])


def senders_of(statistics: RunStatistics, trace: Trace) -> dict[str, list[str]]:
    """For each bus that has masters, for each instruction's number, the unit that sent it there, or :data:`UNKNOWN`."""
    senders = tracks_where(trace.tracks, description_of(statistics["machine"]), lambda role: role.sends_on)
    spans = run_spans(statistics, trace, senders)
    return _masters(trace, {track: of.where(of.kind == busy_kind(trace)) for track, of in spans.items()}, senders)


def _stacked(rows: list[Words], edges: Words) -> Words:
    return np.array(rows, np.int64).reshape(len(rows), len(edges) - 1)


def _masters(trace: Trace, busy: Mapping[str, TrackSpans], senders: Mapping[str, str]) -> dict[str, list[str]]:
    """For each bus, for each instruction's number, the unit that sent it there; several: nobody can tell."""
    masters = {bus: [UNKNOWN] * len(trace.whats) for bus in senders.values()}
    taken: set[tuple[str, int]] = set()
    for track, bus in senders.items():
        for what in np.unique(busy[track].what).tolist():
            masters[bus][what] = UNKNOWN if (bus, what) in taken else track
            taken.add((bus, what))
    return masters


def _by_master(
    links: Mapping[str, str],
    busy: Mapping[str, TrackSpans],
    senders: Mapping[str, list[str]],
    edges: Words,
) -> tuple[tuple[str, ...], Words]:
    """The masters, those that carried most first, and each one's (link, bin)."""
    total: defaultdict[str, Words] = defaultdict(lambda: np.zeros((len(links), len(edges) - 1), np.int64))
    for place, (link, bus) in enumerate(links.items()):
        if bus not in senders:
            continue
        names = np.array(senders[bus])[busy[link].what]
        for name in np.unique(names).tolist():
            total[name][place] += busy[link].where(names == name).per_bin(edges)
    order = sorted(total, key=lambda name: (name == UNKNOWN, -int(total[name].sum()), name))
    shown = order if len(order) <= SHOWN_MASTERS + 1 else order[:SHOWN_MASTERS]
    rest = [total[name] for name in order[len(shown) :]]
    sums = [total[name] for name in shown] + ([np.sum(rest, axis=0)] if rest else [])
    named = (*shown, *([OTHERS] if rest else []))
    return named, np.array(sums, np.int64).reshape(len(named), len(links), len(edges) - 1)


@dataclass(frozen=True)
class KindAccount:
    """What ``tracks``, all of a role, did in their ``cycles``, by kind: busy, stalled for each reason, idle."""

    words: str
    tracks: tuple[str, ...]
    cycles: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.cycles.values())


def accounts(statistics: RunStatistics) -> list[tuple[KindAccount, list[KindAccount]]]:
    """For each role its account, and that of every unit and link of it; those that did anything at all."""
    machine = description_of(statistics["machine"])
    members: defaultdict[str, list[KindAccount]] = defaultdict(list)
    for unit in accounts_of(statistics):
        members[role(unit["track"], machine).words].append(_account(unit))
    return [(_together(words, units), units) for words, units in members.items()]


def _account(unit: UnitStatistics) -> KindAccount:
    stalls = {f"stall:{reason}": cycles for reason, cycles in unit["stall_cycles"].items()}
    cycles = {BUSY: unit["busy_cycles"], **stalls, "idle": unit["idle_cycles"]}
    return KindAccount(unit["track"], (unit["track"],), cycles)


def _together(words: str, units: list[KindAccount]) -> KindAccount:
    cycles: Counter[str] = Counter()
    for unit in units:
        cycles.update(unit.cycles)
    return KindAccount(words, tuple(track for unit in units for track in unit.tracks), cycles)
