"""The output unit: from captured accumulators to rows of the data RAM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from simpy import Event

from tilesim.rotating.datapath.conversion import Captured, converted, targets, written
from tilesim.rotating.datapath.words import Words
from tilesim.rotating.isa.model.instructions import Counter, Function
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.clock import Clock, Phase, Work
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.trace.recorder import Waker

SUM_BYTES = 4
CONVERTED: Mapping[Function, Actions] = {
    Function.REQUANTISE: {Action.ADD_32: 2, Action.MULTIPLY_32: 1},
    Function.RAW: {},
    Function.COMBINE: {Action.MULTIPLY_32: 3, Action.ADD_32: 2},
    Function.LOOKUP: {Action.LOOKUP: 1},
}
"""What a word costs, as in the vector unit of the systolic machine. Assumption."""


class _Row(NamedTuple):
    """Converted ``words``, (samples, units), to be written into ``row`` from cycle ``ready`` on."""

    captured: Captured
    row: int
    words: Words
    ready: int


class OutputUnit:
    """Converts what outs have captured, one after the other, and writes it.

    Timing: see :class:`~tilesim.rotating.isa.model.instructions.Out`. A conversion does not begin in a cycle in which a
    row that is ready to be written is not, because DMA uses the port or writes a row into either RAM. Source: that
    activations or accumulators are written, US 10,509,765 B2, abstract; a buffer with a mask of words, US 10,282,348
    B2, abstract; the rest is an assumption.
    """

    def __init__(
        self,
        clock: Clock,
        unit: Unit,
        topology: Topology,
        ram: RowMemory,
        dma_writes: set[int],
        counts: FlagFile,
    ) -> None:
        self.unit = unit
        self.held = 0
        """Captures in its buffers."""
        self.rows_written = 0
        self.on_written: Callable[[int], None] | None = None
        """Hears how many rows have been written in the section, whenever one has."""
        self.on_held: Callable[[int], None] | None = None
        """Hears how many captures are held, whenever that has changed."""
        self._clock = clock
        self._topology = topology
        self._ram = ram
        self._dma_writes = dma_writes
        self._counts = counts
        self._captures: list[tuple[int, Captured]] = []
        self._rows: list[_Row] = []
        self._unwritten: dict[int, int] = {}
        self._denied: list[tuple[int, str]] = []
        """Cycles in which a row was ready and not written, and whose it was."""
        self._capture_came, self._row_came, self._freed, self._seen = (clock.event() for _ in range(4))

    def restart(self) -> None:
        """A section begins."""
        self.rows_written = 0

    @property
    def busy(self) -> bool:
        """Whether a row is on its way that can't be seen yet."""
        return bool(self._unwritten)

    def issue(self, captured: Captured) -> None:
        """Take what an out has captured, in the cycle after its issue."""
        self._hold(1)
        for row in captured.rows:
            self._unwritten[row] = self._unwritten.get(row, 0) + 1
        self._captures.append((self._clock.cycle, captured))
        _tell(self._capture_came)

    def is_unwritten(self, row: int) -> bool:
        """Whether the write of a row is on its way."""
        return row in self._unwritten

    def freed(self) -> Event:
        """When a buffer is free next."""
        self._freed = self._clock.event()
        return self._freed

    def seen(self) -> Event:
        """When a row that was written can be seen next."""
        self._seen = self._clock.event()
        return self._seen

    def convert(self) -> Work:
        """Convert captures, in order, for ever."""
        while True:
            if not self._captures:
                self._capture_came = self._clock.event()
                yield self._capture_came
            came_in, captured = self._captures.pop(0)
            yield from self._begin_at(max(came_in + 1, self._clock.cycle))
            yield from self._convert(captured)

    def _convert(self, captured: Captured) -> Work:
        cycles, latency = self._topology.conversion_cycles, self._topology.output.latency_cycles
        all_words = converted(captured, self._topology)
        for number, (row, words) in enumerate(zip(captured.rows, all_words, strict=True)):
            if number:
                yield from self._begin_at(self._clock.cycle)
            self.account(self._clock.cycle)
            self.unit.instruction = captured.op.label
            self.unit.add(BUSY, cycles)
            self._rows.append(_Row(captured, row, words, self._clock.cycle + cycles - 1 + latency))
            _tell(self._row_came)
            if number == len(all_words) - 1:
                self._clock.timeout(cycles).callbacks.append(self._free)
                self._act(captured, len(all_words))
            yield self._clock.phase(Phase.CLAIM, cycles)

    def _begin_at(self, cycle: int) -> Work:
        """Wait for the first cycle from ``cycle`` on in which a conversion may begin: for its phase after that of the
        writes.
        """
        yield self._clock.phase(Phase.CLAIM, cycle - self._clock.cycle)
        while self._denied and self._denied[-1][0] == self._clock.cycle:
            yield self._clock.phase(Phase.CLAIM, 1)

    def write(self) -> Work:
        """Write converted rows, in order, for ever."""
        while True:
            if not self._rows:
                self._row_came = self._clock.event()
                yield self._row_came
            row = self._rows.pop(0)
            yield self._clock.phase(Phase.ARBITRATE, max(0, row.ready - self._clock.cycle))
            while not self._may_write():
                self._denied.append((self._clock.cycle, row.captured.op.label))
                yield self._clock.phase(Phase.ARBITRATE, 1)
            self._write(row)
            yield self._clock.phase(Phase.ARBITRATE, 1)

    def _may_write(self) -> bool:
        now = self._clock.cycle
        return now not in self._dma_writes and self._ram.may_write(now)

    def _write(self, row: _Row) -> None:
        now, before = self._clock.cycle, self._ram.row(row.row)
        self._ram.use_for_writing(now)
        before[:] = written(row.captured, row.words, before, self._topology)
        self.rows_written += 1
        if self.on_written is not None:
            self.on_written(self.rows_written)
        self._clock.timeout(1).callbacks.append(partial(self._show, row))

    def _show(self, row: _Row, _: Event) -> None:
        """A cycle after its write a row can be seen."""
        self._unwritten[row.row] -= 1
        if not self._unwritten[row.row]:
            del self._unwritten[row.row]
        waker = Waker(self.unit.track, row.captured.op.label)
        self._counts.raise_by(Counter.OUTPUT, 1, waker)
        _tell(self._seen, waker)

    def _free(self, _: Event) -> None:
        self._hold(-1)
        _tell(self._freed, self.unit.waker)

    def _hold(self, more: int) -> None:
        self.held += more
        if self.on_held is not None:
            self.on_held(self.held)

    def _act(self, captured: Captured, rows: int) -> None:
        """What a capture costs: bytes of the sums, arithmetic by the word that is written, bytes of its rows."""
        words = len(targets(captured.mask, captured.op.place, self._topology.units.count)[0])
        self.unit.act(
            {
                Action.ACCUMULATOR_READ: SUM_BYTES * self._topology.units.count,
                **{action: count * words for action, count in CONVERTED[captured.op.function].items()},
                Action.BUFFER_WRITE: rows * self._topology.row_bytes,
            }
        )

    def account(self, until: int) -> None:
        """Account for cycles without a conversion: those in which a row waits for its port, and idle ones."""
        for cycle, label in self._denied:
            if self.unit.accounted_until <= cycle < until:
                self.unit.spend("idle", cycle)
                self.unit.instruction = label
                self.unit.add(Reason.PORT.kind, 1)
        self._denied = self._denied[-1:]
        if until > self.unit.accounted_until:
            self.unit.spend("idle", until)


def _tell(event: Event, value: object = None) -> None:
    """Those who wait for ``event``, if it has not happened."""
    if not event.triggered:
        event.succeed(value)
