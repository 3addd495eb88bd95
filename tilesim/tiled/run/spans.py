"""The trace of a run of the compiled engine, span for span that of the SimPy model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import ceil

import numpy as np

from tilesim.arithmetic.classify import passes
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.spans import Names, Spans, adjoining, joined, trace_of
from tilesim.sim.trace.trace import PIECE, Trace
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import Classify, Infeed, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.noted import BUSY, Column, Noted, OfTracks, kinds
from tilesim.tiled.run.wakers import wakeups
from tilesim.tiled.run.wakeup_sources import wakeup_sources
from tilesim.tiled.units.host.sendings import takes_from_host

TOGETHER = PIECE // 8
"""About so many spans are worked out at once, or all of a track."""
FETCH_CYCLES = 1
"""Cycles in which a ring producer reads a row, :class:`~tilesim.tiled.units.ring.ring_producer.RingProducer`."""


def trace_of_run(program: Program, timing: Timing, recording: Recording) -> Trace:
    """As much of a run that has come to its end as ``recording`` says."""
    noted = Noted(program, timing)
    track, spans = _recorded(program, noted, recording, timing.start)
    layer_of = {op.label: op.layer for op in (*program.load, *program.run)}
    names, _ = kinds()
    return trace_of(
        track,
        spans,
        Names(noted.tracks, names, noted.works.whats, [layer.name for layer in program.layers], layer_of),
        timing.start,
        wakeups(program, timing, noted),
        wakeup_sources(program.topology, {*noted.tracks}),
    )


def _recorded(program: Program, noted: Noted, recording: Recording, since: int) -> tuple[Column, Spans]:
    """Tracks and spans within the window, on the tracks that are wanted. One track after the other, or some short ones:
    so what comes of them on the way takes no memory that nobody has used before, whose pages cost more than all that is
    worked out.
    """
    window, mover, count = None, _Mover(program, noted), 0
    if recording.window is not None:
        window = range(max(recording.window.start, 0) + since, recording.window.stop + since)
    most = np.array([noted.most(track) if recording.wants(track) else 0 for track in noted.tracks])
    track, kind, what = np.empty((3, most.sum()), np.int32)
    start, cycles, moved = np.empty((3, most.sum()), np.int64)
    columns: Sequence[Column] = (start, cycles, kind, what, moved)
    places = np.flatnonzero(most)
    parts = np.split(places, np.flatnonzero(np.diff(most[places].cumsum() // TOGETHER)) + 1) if len(places) else ()
    for some in parts:
        room = Spans(*(column[count:] for column in columns))
        spans, firsts = mover.spans([noted.tracks[place] for place in some.tolist()], window, room)
        part = slice(count, count + len(spans.start))
        track[part] = np.repeat(some.astype(np.int32), np.diff(firsts))
        if spans.start.base is not start.base:
            for column, own in zip(columns, spans, strict=True):
                column[part] = own
        count = part.stop
    return track[:count], Spans(*(column[:count] for column in columns))


class _Mover:
    """Makes spans of what was noted, with how many bytes they move: those of ring and mesh so many a cycle, others all
    of what they work on.

    A master fetches each row, if it has to, and sends it then; a classifier takes and classifies rows before.
    """

    def __init__(self, program: Program, noted: Noted) -> None:
        chip = program.topology
        self._program, self._noted = program, noted
        _, self._kind_of = kinds()
        self._row_cycles = chip.ring_row_cycles
        self._row_rate = chip.wide_memory.row_bytes // chip.ring_row_cycles
        self._beat_bytes = chip.narrow_memory.word_bytes // chip.mesh_beats

    def spans(self, tracks: Sequence[str], window: range | None, room: Spans) -> tuple[Spans, Numbers]:
        """Those of some tracks, as far as they lie within the window, and where each track's begin, and the last one's
        end; they stand in the ``room`` that there is for all of them, unless some are left out.
        """
        own = self._noted.of(*tracks)
        first, end, firsts = own.start, own.end, own.firsts
        if window is not None:
            first, end = np.clip(first, window.start, None), np.clip(end, None, window.stop)
        spans = Spans(*(column[: len(first)] for column in room))
        spans.start[:] = first
        np.subtract(end, first, out=spans.cycles)
        self._kind_of.take(own.cause, out=spans.kind, mode="clip")
        self._noted.works.what.take(own.work, out=spans.what, mode="wrap")  # -1 is the last one
        self._move(tracks, own, spans)
        if window is not None:
            some = np.flatnonzero(spans.cycles > 0)
            spans, firsts = Spans(*(column[some] for column in spans)), some.searchsorted(firsts)
        same = adjoining(spans)
        same[firsts[(firsts > 0) & (firsts < len(spans.start))] - 1] = False
        return joined(spans, same), firsts - np.flatnonzero(same).searchsorted(firsts)

    def _move(self, tracks: Sequence[str], own: OfTracks, spans: Spans) -> None:
        """Set the bytes that each span moves in its cycles."""
        spans.bytes[:] = 0
        rates, whole, master = ([*map(of, tracks)] for of in (self._rate, _is_whole, _is_master))
        if not any((*rates, *whole, *master)):
            return
        counts, busy = np.diff(own.firsts), own.cause == BUSY
        if any(rates):
            np.multiply(spans.cycles * busy, _each(rates, counts), out=spans.bytes)
        if any(whole):
            some = np.flatnonzero(busy & _each(whole, counts))
            of_all = self._noted.works.bytes[own.work[some]]
            spans.bytes[some] = of_all * spans.cycles[some] // (own.end[some] - own.start[some])
        if any(master):
            some = np.flatnonzero(busy & _each(master, counts))
            work, start, since = own.work[some], own.start[some], spans.start[some]
            whose = np.repeat(np.arange(len(tracks)), counts)[some]
            before = _before(work, whose, own.end[some] - start) - start + since
            by_end = self._of_master(work, before + spans.cycles[some])
            spans.bytes[some] = by_end - self._of_master(work, before)

    def _rate(self, track: str) -> int:
        """Bytes in each cycle in which a unit is busy."""
        if track.startswith("chip.mesh."):
            return self._beat_bytes
        return self._row_rate if track.startswith("chip.ring.") or track.endswith(".ring_consumer") else 0

    def _of_master(self, work: Numbers, busy_cycles: Numbers) -> Numbers:
        """What instructions have sent when they have been busy for so long."""
        lead, fetch = self._before_rows
        cycles = np.maximum(busy_cycles - lead[work], 0)
        rows, left = np.divmod(cycles, fetch[work] + self._row_cycles)
        return self._row_rate * (rows * self._row_cycles + np.maximum(left - fetch[work], 0))

    @cached_property
    def _before_rows(self) -> tuple[Numbers, Numbers]:
        """In how many cycles each instruction is busy before all rows that it sends, and before each of them."""
        chip = self._program.topology
        reads = ceil(chip.wide_memory.row_bytes / chip.data_memory.bytes_per_cycle)
        lead, fetch = np.zeros((2, len(self._noted.works.what)), np.int64)
        for k, op in enumerate((*self._program.load, *self._program.run)):
            if isinstance(op, RingProduce):
                fetch[k] = FETCH_CYCLES
            elif isinstance(op, Infeed) and op.source == "data" and not takes_from_host(op, chip):
                fetch[k] = reads
            elif isinstance(op, Classify):
                looks = op.elements * passes(op.function, op.scaling)
                lead[k] = op.rows * self._row_cycles + looks * chip.classifier.cycles_per_element
        return lead, fetch


def _each(values: Sequence[int], counts: Numbers) -> Numbers | int:
    """For each span what there is for its track, of which there are so many spans."""
    return np.repeat(values, counts) if len(values) > 1 else values[0]


def _before(work: Numbers, whose: Numbers, cycles: Numbers) -> Numbers:
    """For how many cycles a unit has been busy with each piece of work before each of its spans, of so many cycles."""
    before: Numbers = np.cumsum(cycles) - cycles
    begins = np.append(True, (work[1:] != work[:-1]) | (whose[1:] != whose[:-1]))[: len(work)]
    before -= before[begins][np.cumsum(begins) - 1]
    return before


def _is_whole(track: str) -> bool:
    return track.startswith(("chip.instruction_bus.", "chip.host.")) or track in ("chip.controller", "chip.outfeed")


def _is_master(track: str) -> bool:
    return track in ("chip.infeed", "chip.classifier") or track.endswith(".ring_producer")
