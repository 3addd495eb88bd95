"""Who let a unit of the compiled engine go on that waited for a flag, a fence, or for the host's instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tilesim.sim.trace.wakeups import Wakeups
from tilesim.tiled.dataflow.cuts import RETIRED
from tilesim.tiled.flat.accounts import account_tracks
from tilesim.tiled.flat.columns import ACCOUNTS_A_TILE, KINDS, UNITS
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.rows import ENGINES
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import Engine, bits
from tilesim.tiled.isa.model.instructions import TileFence, Work
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.noted import BUSY, Noted, kinds
from tilesim.tiled.units.host.sendings import PROGRAM

FLAG, HOST = KINDS.index("flag"), KINDS.index("host")
OUTFEED_UNIT = len(Engine) + UNITS.index("outfeed")


class _Waker(NamedTuple):
    track: str
    op: int


def wakeups(program: Program, timing: Timing, noted: Noted) -> Wakeups:
    """All of a run that has come to its end."""
    controls = np.array([*_Controls(program, timing, noted).rows()], np.int64).reshape(-1, 5).T
    columns = zip(_of_engines(program, noted), controls, strict=True)
    track, cycle, by_track, by_what, kind = map(np.concatenate, columns)
    names, _ = kinds()
    whats = noted.works.whats
    return Wakeups(noted.tracks, [*whats, *names], track, cycle, by_track, by_what, len(whats) + kind)


def _of_engines(program: Program, noted: Noted) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Engines by those of their tile, who raised a flag; a tensor control waits with its MAC array."""
    ops = (*program.load, *program.run)
    engine_of = np.array([ENGINES[op.engine] if isinstance(op, Work) else 0 for op in ops], np.int64)
    places = {track: k for k, track in enumerate(noted.tracks)}
    place = np.array([places.get(track, -1) for track in account_tracks(program.topology)], np.int64)
    cycle, account, by = noted.wakes[noted.wakes[:, 2] >= 0].T  # not by a tail
    tile = account // ACCOUNTS_A_TILE * ACCOUNTS_A_TILE
    of_tensor = account - tile == len(Engine)
    some = np.concatenate([np.arange(len(by)), np.flatnonzero(of_tensor)])
    track = np.concatenate([account, tile[of_tensor] + ENGINES[Engine.TENSOR]])
    raiser = tile + engine_of[by]
    kind = np.full(len(some), FLAG)
    return place[track], cycle[some], place[raiser[some]], noted.works.what[by[some]], kind


class _Controls:
    """Who lets fences pass, and the controller go on."""

    def __init__(self, program: Program, timing: Timing, noted: Noted) -> None:
        assert timing.load is not None
        assert timing.run is not None
        self._noted, self._ops = noted, (*program.load, *program.run)
        self._places = {track: k for k, track in enumerate(noted.tracks)}
        events = np.concatenate([timing.load.events, timing.run.events])
        retired = events[events[:, 4] == RETIRED]
        self._of_outfeed = retired[retired[:, 3] == OUTFEED_UNIT]
        of_tiles = retired[(retired[:, 1] >= 0) & (retired[:, 3] < len(Engine))]
        keys = self._key(of_tiles[:, 1], of_tiles[:, 3], of_tiles[:, 2])
        order = np.argsort(keys)
        self._keys, self._ends = keys[order], of_tiles[order, 0] + 1

    def _key(self, tile: Numbers, engine: Numbers, op: Numbers | int) -> Numbers:
        return (tile * len(Engine) + engine) * len(self._ops) + op

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Who may have waited until when, who ended that with what, and what kind of wait it was."""
        fences = [(place, op) for place, op in enumerate(self._ops) if isinstance(op, TileFence)]
        last = self._last(fences)
        for place, op in fences:
            yield from self._by_fence(place, op, last)
        for cycle, _, place, *_ in self._of_outfeed.tolist():
            yield self._row("chip.controller", cycle, _Waker("chip.outfeed", place))
        yield from self._by_host()

    def _by_fence(
        self, place: int, op: TileFence, last: Iterator[tuple[int, int]]
    ) -> Iterator[tuple[int, int, int, int, int]]:
        """On each of its tiles it waits for one engine after the other that is still at work, and tells the controller
        when it is through. The next ones of ``last`` are its own.
        """
        for tile in bits(op.tiles):
            cycle = self._copied[f"chip.instruction_bus.stop{tile}", place]
            waker: _Waker | None = None
            engines = [(end, f"chip.tile{tile}.{engine}", by) for engine, (end, by) in zip(op.idle, last, strict=False)]
            while busy := next((engine for engine in engines if engine[0] > cycle), None):
                cycle, waker = busy[0], _Waker(*busy[1:])
            if waker is not None:
                yield self._row(f"chip.instruction_bus.stop{tile}", cycle, waker)
                if op.increment:
                    yield self._row("chip.controller", cycle, waker)

    def _last(self, fences: Sequence[tuple[int, TileFence]]) -> Iterator[tuple[int, int]]:
        """When each engine that fences wait for is through with the last instruction that it has got before, and with
        which; -1 if it has got none.
        """
        asked = [
            (tile, ENGINES[engine], place) for place, op in fences for tile in bits(op.tiles) for engine in op.idle
        ]
        tile, engine, place = np.array(asked, np.int64).reshape(-1, 3).T
        at = self._keys.searchsorted(self._key(tile, engine, place)) - 1
        is_there = at >= self._keys.searchsorted(self._key(tile, engine, 0))
        ends, ops = (np.append(column, -1)[at] for column in (self._ends, self._keys % len(self._ops)))
        return zip(np.where(is_there, ends, -1).tolist(), ops.tolist(), strict=True)

    @cached_property
    def _copied(self) -> dict[tuple[str, int], int]:
        """When a stop, by its track, has all of a fence."""
        is_fence = np.zeros(len(self._noted.works.what), np.bool_)
        is_fence[[place for place, op in enumerate(self._ops) if isinstance(op, TileFence)]] = True
        copied: dict[tuple[str, int], int] = {}
        for track in self._noted.tracks:
            if track.startswith("chip.instruction_bus."):
                own = self._noted.of(track)
                some = np.flatnonzero(is_fence[own.work] & (own.cause == BUSY))
                fences = zip(own.work[some].tolist(), own.end[some].tolist(), strict=True)
                copied.update(((track, work), end) for work, end in fences)
        return copied

    def _by_host(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Where the controller has waited for instructions from the host."""
        own, whats = self._noted.of("chip.controller"), self._noted.works.whats
        controller, infeed = (self._places[f"chip.{name}"] for name in ("controller", "host.infeed"))
        for end in own.end[own.cause == HOST].tolist():
            yield controller, end, infeed, whats.index(PROGRAM), HOST

    def _row(self, track: str, cycle: int, waker: _Waker) -> tuple[int, int, int, int, int]:
        return self._places[track], cycle, self._places[waker.track], int(self._noted.works.what[waker.op]), FLAG
