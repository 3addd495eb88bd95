"""What units are at in each cycle of a run, flags and queues beside: for text and JSON, a line a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.description import Description
from tilesim.printable import unknown
from tilesim.report.slices import STALL
from tilesim.report.tracks import role
from tilesim.sim.core.unit import Reason
from tilesim.sim.trace.signals import NONE, TEXTS, Signals
from tilesim.sim.trace.trace import Trace

FLAGS, FIFO, LINK, STOP = ".flags.", ".fifo", ".ring.link", ".ring.stop"
NO_WORK = Reason.WORK.kind


class Activity(NamedTuple):
    """What a unit does in a cycle: ``busy`` or the reason for which it waits, and the instruction that it is at."""

    state: str
    instruction: str


class Packet(NamedTuple):
    """A row on the ring: of which instruction, which one, and the node that it comes from."""

    instruction: str
    row: int
    master: int


class Passage(NamedTuple):
    """A stop of the ring in a cycle: what stands there first, what enters its link, and how many stand."""

    standing: Packet | None
    leaving: Packet | None
    packets: int


@dataclass(frozen=True)
class Watch:
    """The cycles of a state log, with the ``trace`` of the same: units that are at work in them and match ``patterns``.

    Without patterns links are left out that carry what others show, and what is recorded apart; the ring's are not.
    """

    trace: Trace
    signals: Signals
    description: Description
    patterns: Sequence[str] = ()

    @cached_property
    def units(self) -> list[str]:
        """Those that are at work in these cycles; of a stop of the ring, its link."""
        working = {self.trace.tracks[track] for track in np.unique(self.trace.track[self._shown]).tolist()}
        passed = {
            name.replace(STOP, LINK)
            for name, row in zip(self.signals.names, self._table, strict=True)
            if name in self._packets and (row != NONE).any()
        }
        known = self.signals.names or self.trace.tracks
        return [track for track in known if track in working | passed and self._wanted(track)]

    def unmatched(self, chip: str) -> Iterator[str]:
        """What each pattern must be that matches no unit or link of the ``chip``."""
        pairs = zip(self.signals.names, self.signals.kinds, strict=True)
        tracks = [name for name, kind in pairs if kind in TEXTS and STOP not in name] or [*self.trace.tracks]
        for pattern in self.patterns:
            if not any(fnmatchcase(track, pattern) for track in tracks):
                yield unknown(pattern, tracks, f"a unit or link of {chip}, or a pattern of such")

    @cached_property
    def flags(self) -> list[str]:
        """The flags of those whose units are shown."""
        owners = {name.rpartition(".")[0] for name in self.units} | set(self.units)
        return [name for name in self.signals.names if FLAGS in name and name.partition(FLAGS)[0] in owners]

    @cached_property
    def queues(self) -> list[str]:
        """Queues of which no unit that is shown is the only reader."""
        fills = [name for name, kind in zip(self.signals.names, self.signals.kinds, strict=True) if kind == "fill"]
        return [
            name
            for name in fills
            if name.removesuffix(FIFO) not in self._tracks
            and self._wanted(name)
            and name.removesuffix(FIFO) not in self._packets
        ]

    def counts(self) -> tuple[list[str], list[str]]:
        """All flags, and all queues but the ring's, or those of them that match a pattern."""
        names = [name for name in self.signals.names if not self.patterns or self._matches(name)]
        queues = [name for name in names if self.signals.kinds[self._places[name]] == "fill"]
        return [name for name in names if FLAGS in name], [name for name in queues if STOP not in name]

    def _matches(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def activity(self, unit: str) -> list[Activity | None]:
        """What a unit does in each cycle; None: nothing."""
        cycles: list[Activity | None] = [None] * len(self.signals.window)
        start = self.signals.window.start + self.trace.start
        for span in np.flatnonzero((self.trace.track == self._tracks[unit]) & self._shown).tolist():
            first = int(self.trace.start_cycle[span]) - start
            end = min(first + int(self.trace.cycles[span]), len(cycles))
            state = self.trace.kinds[self.trace.kind[span]].removeprefix(STALL)
            doing = Activity(state, self.trace.whats[self.trace.what[span]])
            cycles[max(first, 0) : end] = [doing] * (end - max(first, 0))
        return cycles

    def passage(self, link: str) -> list[Passage]:
        """What passes the stop of a ``link`` of the ring in each cycle."""
        stop = link.replace(LINK, STOP)
        rows = (self._packets_of(stop), self._packets_of(link), self.values(f"{stop}{FIFO}"))
        return [Passage(*one) for one in zip(*rows, strict=True)]

    @cached_property
    def instructions(self) -> dict[str, int]:
        """Those that are at work or on the ring in these cycles, each with the first place of the window."""
        first: dict[str, int] = {}
        for unit in self.units:
            for place, label in self._named(unit):
                first[label] = min(place, first.get(label, place))
        return dict(sorted(first.items(), key=lambda item: item[1]))

    def _named(self, unit: str) -> Iterator[tuple[int, str]]:
        if self.is_link(unit):
            for place, passage in enumerate(self.passage(unit)):
                yield from ((place, packet.instruction) for packet in passage[:2] if packet)
        else:
            yield from ((place, now.instruction) for place, now in enumerate(self.activity(unit)) if now)

    def is_link(self, unit: str) -> bool:
        """Whether it is one of the ring's."""
        return unit in self._packets

    def values(self, name: str) -> list[int]:
        """A signal in each cycle; 0 throughout if there is none."""
        place = self._places.get(name)
        return [0] * len(self.signals.window) if place is None else self._table[place].tolist()

    def _packets_of(self, name: str) -> list[Packet | None]:
        texts = (self.signals.text(self._places[name], value) for value in self.values(name))
        return [_packet(text) if text else None for text in texts]

    def _wanted(self, track: str) -> bool:
        if self.patterns:
            return self._matches(track)
        known = role(track, self.description)
        return track in self._packets or not (known.bus or known.apart)

    @cached_property
    def _shown(self) -> NDArray[np.bool_]:
        """The spans within the window that say anything."""
        names = np.array([kind != NO_WORK for kind in self.trace.kinds], bool)
        start = self.trace.start_cycle - self.trace.start
        window = self.signals.window
        within = (start < window.stop) & (start + self.trace.cycles > window.start)
        return names[self.trace.kind] & within if len(names) else within

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        return self.signals.table()

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.signals.names)}

    @cached_property
    def _tracks(self) -> Mapping[str, int]:
        return {track: place for place, track in enumerate(self.trace.tracks)}

    @cached_property
    def _packets(self) -> frozenset[str]:
        pairs = zip(self.signals.names, self.signals.kinds, strict=True)
        return frozenset(name for name, kind in pairs if kind == "packet")


def _packet(text: str) -> Packet:
    instruction, row, master = text.rsplit(" ", 2)
    return Packet(instruction, int(row), int(master))


def documents(watch: Watch) -> Iterator[dict[str, Any]]:
    """A document a cycle, as JSON holds it: what is not idle, empty or 0."""
    units = {unit: watch.activity(unit) for unit in watch.units if not watch.is_link(unit)}
    stops = {unit.replace(LINK, STOP): watch.passage(unit) for unit in watch.units if watch.is_link(unit)}
    flags, queues = ({name: watch.values(name) for name in names} for names in watch.counts())
    for place, cycle in enumerate(watch.signals.window):
        yield {
            "cycle": cycle,
            "units": {unit: now._asdict() for unit, doing in units.items() if (now := doing[place])},
            "ring": {stop: _passing(passing[place]) for stop, passing in stops.items() if any(passing[place])},
            "flags": {name: counts[place] for name, counts in flags.items() if counts[place]},
            "queues": {name: items[place] for name, items in queues.items() if items[place]},
        }


def _passing(passage: Passage) -> dict[str, Any]:
    standing, leaving, count = passage
    packets = {"standing": standing, "leaving": leaving}
    return {**{name: packet._asdict() for name, packet in packets.items() if packet}, "packets": count}
