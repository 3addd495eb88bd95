"""The trace of a run of the compiled engine, span for span that of the SimPy model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import ceil

import numpy as np

from tilesim.arithmetic.classify import passes
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.spans import Names, Spans, joined, trace_of
from tilesim.sim.trace.trace import Trace
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import Classify, Infeed, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.noted import BUSY, Column, Noted, OfTrack, kinds
from tilesim.tiled.run.wakers import wakeups
from tilesim.tiled.run.wakeup_sources import wakeup_sources
from tilesim.tiled.units.host.sendings import takes_from_host

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
    """Tracks and spans within the window, on the tracks that are wanted. One track after the other: so what comes of
    it on the way takes no memory that nobody has used before, whose pages cost more than all that is worked out.
    """
    window, mover, count = None, _Mover(program, noted), 0
    if recording.window is not None:
        window = range(max(recording.window.start, 0) + since, recording.window.stop + since)
    counts = [noted.count(track) if recording.wants(track) else 0 for track in noted.tracks]
    track, kind, what = np.empty((3, sum(counts)), np.int32)
    start, cycles, moved = np.empty((3, sum(counts)), np.int64)
    columns: Sequence[Column] = (start, cycles, kind, what, moved)
    for place in np.flatnonzero(counts).tolist():
        room = Spans(*(column[count:] for column in columns))
        spans = mover.spans(noted.tracks[place], window, room)
        part = slice(count, count + len(spans.start))
        track[part] = place
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

    def spans(self, track: str, window: range | None, room: Spans) -> Spans:
        """Those of a track, as far as they lie within the window; they stand in the ``room`` that there is for all of
        them, unless some are left out.
        """
        own = self._noted.of(track)
        first, end = own.start, own.end
        if window is not None:
            first, end = np.clip(first, window.start, None), np.clip(end, None, window.stop)
        spans = Spans(*(column[: len(first)] for column in room))
        spans.start[:] = first
        np.subtract(end, first, out=spans.cycles)
        self._kind_of.take(own.cause, out=spans.kind, mode="clip")
        self._noted.works.what.take(own.work, out=spans.what, mode="wrap")  # -1 is the last one
        spans.bytes[:] = self._moved(track, own, first, end)
        if window is not None:
            some = np.flatnonzero(spans.cycles > 0)
            spans = Spans(*(column[some] for column in spans))
        return joined(spans)

    def _moved(self, track: str, own: OfTrack, first: Numbers, end: Numbers) -> Numbers:
        """The bytes of those cycles of each span that lie between ``first`` and ``end``."""
        if rate := self._rate(track):
            return np.asarray(rate * (end - first) * (own.cause == BUSY))
        moved = np.zeros(len(first), np.int64)
        if not _is_whole(track) and not _is_master(track):
            return moved
        some = np.flatnonzero(own.cause == BUSY)
        first, end, start, work = first[some], end[some], own.start[some], own.work[some]
        if _is_whole(track):
            moved[some] = self._noted.works.bytes[work] * (end - first) // (own.end[some] - start)
        else:
            before = _before(work, own.end[some] - start) - start
            moved[some] = self._of_master(work, before + end) - self._of_master(work, before + first)
        return moved

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


def _before(work: Numbers, cycles: Numbers) -> Numbers:
    """For how many cycles a unit has been busy with each piece of work before each of its spans, of so many cycles."""
    before: Numbers = np.cumsum(cycles) - cycles
    begins = np.append(True, work[1:] != work[:-1])[: len(work)]
    before -= before[begins][np.cumsum(begins) - 1]
    return before


def _is_whole(track: str) -> bool:
    return track.startswith(("chip.instruction_bus.", "chip.host.")) or track in ("chip.controller", "chip.outfeed")


def _is_master(track: str) -> bool:
    return track in ("chip.infeed", "chip.classifier") or track.endswith(".ring_producer")
