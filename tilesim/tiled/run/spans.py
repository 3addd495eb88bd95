"""The trace of a run of the compiled engine, span for span that of the SimPy model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.classify import passes
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.spans import Names, Spans, joined, trace_of
from tilesim.sim.trace.trace import Trace
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import Classify, Infeed, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.noted import BUSY, Noted, kinds, noted
from tilesim.tiled.run.wakers import wakeups
from tilesim.tiled.run.wakeup_sources import wakeup_sources
from tilesim.tiled.units.host.sendings import takes_from_host

FETCH_CYCLES = 1
"""Cycles in which a ring producer reads a row, :class:`~tilesim.tiled.units.ring.ring_producer.RingProducer`."""


def trace_of_run(program: Program, timing: Timing, recording: Recording) -> Trace:
    """As much of a run that has come to its end as ``recording`` says."""
    all_of_it = noted(program, timing)
    track, spans = _recorded(program, all_of_it, recording, timing.start)
    names, kind_of = kinds()
    columns = spans._replace(kind=kind_of[spans.kind], what=all_of_it.works.what[spans.what])
    layer_of = {op.label: op.layer for op in (*program.load, *program.run)}
    tracks, whats = all_of_it.tracks, all_of_it.works.whats
    return trace_of(
        *joined(track, columns),
        Names(tracks, names, whats, [layer.name for layer in program.layers], layer_of),
        timing.start,
        wakeups(program, timing, all_of_it),
        wakeup_sources(program.topology, {*tracks}),
    )


def _recorded(program: Program, noted: Noted, recording: Recording, start: int) -> tuple[Numbers, Spans]:
    """Tracks and spans within the window, on the tracks that are wanted; kinds and whats as they are noted."""
    first, end, wanted = noted.start, noted.end, np.array([*map(recording.wants, noted.tracks)])
    if recording.window is not None:
        window = range(max(recording.window.start, 0) + start, recording.window.stop + start)
        first, end = np.clip(first, window.start, None), np.clip(end, None, window.stop)
    spans = Spans(first, end - first, noted.cause, noted.work, _Mover(program, noted).moved(first, end))
    if recording.window is None and wanted.all():
        return noted.track, spans
    some = np.flatnonzero((spans.cycles > 0) & wanted[noted.track])
    return noted.track[some], Spans(*(column[some] for column in spans))


class _Mover:
    """How many bytes spans move: those of ring and mesh so many a cycle, others all of what they work on.

    A master fetches each row, if it has to, and sends it then; a classifier takes and classifies rows before.
    """

    def __init__(self, program: Program, noted: Noted) -> None:
        chip = program.topology
        self._program, self._noted = program, noted
        self._row_cycles = chip.ring_row_cycles
        self._row_rate = chip.wide_memory.row_bytes // chip.ring_row_cycles
        self._beat_bytes = chip.narrow_memory.word_bytes // chip.mesh_beats
        self._rates = np.array([*map(self._rate, noted.tracks)], np.int64)

    def _rate(self, track: str) -> int:
        """Bytes in each cycle in which a unit is busy."""
        if track.startswith("chip.mesh."):
            return self._beat_bytes
        return self._row_rate if track.startswith("chip.ring.") or track.endswith(".ring_consumer") else 0

    def moved(self, first: Numbers, end: Numbers) -> Numbers:
        """The bytes of those cycles of each span that lie between ``first`` and ``end``."""
        busy = self._noted.cause == BUSY
        moved = np.zeros(len(busy), np.int64)
        some = np.flatnonzero(busy & self._on(lambda track: bool(self._rate(track))))
        moved[some] = self._rates[self._noted.track[some]] * (end[some] - first[some])
        some = np.flatnonzero(busy & self._on(_is_whole))
        lengths = self._noted.end[some] - self._noted.start[some]
        moved[some] = self._noted.works.bytes[self._noted.work[some]] * (end[some] - first[some]) // lengths
        some = np.flatnonzero(busy & self._on(_is_master))
        moved[some] = self._of_masters(some, end[some]) - self._of_masters(some, first[some])
        return moved

    def _on(self, of: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Which spans are on tracks of some sort."""
        return np.array([*map(of, self._noted.tracks)], np.bool_)[self._noted.track]

    def _of_masters(self, spans: Numbers, until: Numbers) -> Numbers:
        """What the instruction of each of some busy spans has sent ``until`` a cycle of the span."""
        start, work = self._noted.start[spans], self._noted.work[spans]
        before = np.cumsum(self._noted.end[spans] - start) - (self._noted.end[spans] - start)
        track = self._noted.track[spans]
        begins = np.ones(len(spans), np.bool_)
        begins[1:] = (work[1:] != work[:-1]) | (track[1:] != track[:-1])
        before -= before[begins][np.cumsum(begins) - 1]
        lead, fetch = self._before_rows
        cycles = np.maximum(before + until - start - lead[work], 0)
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


def _is_whole(track: str) -> bool:
    return track.startswith(("chip.instruction_bus.", "chip.host.")) or track in ("chip.controller", "chip.outfeed")


def _is_master(track: str) -> bool:
    return track in ("chip.infeed", "chip.classifier") or track.endswith(".ring_producer")
