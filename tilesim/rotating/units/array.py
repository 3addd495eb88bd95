"""The array: the sequencer, and the processing units in lock step."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Sequence

import numpy as np
from simpy import Event

from tilesim.rotating.datapath.accumulators import Accumulators, Operands
from tilesim.rotating.datapath.conversion import Captured
from tilesim.rotating.datapath.mux_registers import MuxRegisters
from tilesim.rotating.datapath.words import Words, words_of
from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.walk import walk
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.issue_slots import IssueSlots
from tilesim.rotating.units.output_unit import SUM_BYTES, OutputUnit
from tilesim.rotating.units.parameter_fetcher import ParameterFetcher
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.rotating.units.syncs import await_count
from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.logged import LoggedUnit
from tilesim.sim.core.unit import Reason

Counters = tuple[int, ...]
ARITHMETIC = {8: Action.MAC_8X8, 16: Action.MAC_16X16}


class Array:
    """Issues a slot a cycle. What an instruction does to registers and accumulators is done when it is reached, in
    program order; its cycles pass with those of its slots.

    Timing: see :mod:`tilesim.rotating.isa.model.instructions`. In each cycle the first of these holds it up: a sync
    (``input`` if for DMA in, else ``raw``), a set or table that is not there (``weights``), buffers of the output unit
    that are full (``fifo``), a row whose write is on its way (``raw``), a port. Source: US 10,417,560 B2, abstract,
    for the order; a pipeline of two stages is an assumption.
    """

    def __init__(
        self,
        clock: Clock,
        unit: LoggedUnit,
        topology: Topology,
        data_ram: RowMemory,
        weight_ram: RowMemory,
        output: OutputUnit,
        fetcher: ParameterFetcher,
        counts: FlagFile,
    ) -> None:
        self.unit = unit
        self.halted = False
        self._clock = clock
        self._topology = topology
        self._data_ram = data_ram
        self._weight_ram = weight_ram
        self._output = output
        self._fetcher = fetcher
        self._counts = counts
        self._slots = IssueSlots(clock, unit, data_ram, weight_ram, fetcher)

    def run(self, ops: Sequence[isa.Instruction]) -> Work:
        """Carry out ``ops`` up to a halt; over when the last slot's results can be seen."""
        self._reset()
        for place, op, counters in walk(ops):
            if self.unit.holds:
                yield from self._hold(op)
            if isinstance(op, isa.Step):
                self._steps[place] = self._steps.get(place, 0) + 1
                if op.data is None:
                    self._step(op, counters)
                else:
                    yield from self._load_steps(op, counters)
            elif isinstance(op, isa.Out):
                yield from self._out(op, counters)
            else:
                yield from self._control(op, counters)
        yield from self._slots.catch_up()
        while rows := self._fetched(lambda _: True):
            yield self._clock.timeout(rows)
        self._act(ops)
        yield self._clock.timeout(max(0, self._slots.issued_until + 1 - self._clock.cycle))

    def _reset(self) -> None:
        """Registers, accumulators and control registers as a section finds them."""
        samples = len(self._data_ram.rows)
        self.halted = False
        self.mux = MuxRegisters(self._topology, samples)
        self.sums = Accumulators(self._topology, samples)
        self._weights: Words = np.zeros((1, self._topology.units.count), np.int32)
        self._steps: dict[int, int] = {}
        self._apply(isa.Set())
        self._mask = isa.Mask()

    def _hold(self, op: isa.Instruction) -> Work:
        yield from self._slots.catch_up()
        yield from self.unit.begin(op.label)

    def _apply(self, control: isa.Set) -> None:
        self._set = control
        self._operands = Operands.of(control, self._topology)

    def _step(self, op: isa.Step, counters: Counters) -> None:
        """A step that loads no row of the data RAM."""
        self._slots.book(op, op.repeat, weights=op.weights is not None)
        if op.alu is isa.Alu.NONE and op.weights is None:
            self.mux.rotate(op.rotate * op.repeat)
            return
        for repetition in range(op.repeat):
            self.mux.rotate(op.rotate)
            self._compute(op, counters, repetition)

    def _load_steps(self, op: isa.Step, counters: Counters) -> Work:
        assert op.data is not None
        for repetition in range(op.repeat):
            yield from self._await_row(op, op.data.address(counters, repetition))
            self._slots.book(op, data=True, weights=op.weights is not None)
            self._compute(op, counters, repetition)

    def _compute(self, op: isa.Step, counters: Counters, repetition: int) -> None:
        if op.weights is not None:
            self._weights = self._weight_row(op.weights.address(counters, repetition))
        if op.alu is not isa.Alu.NONE:
            self.sums.work(op.alu, op.plane, self.mux.words, self._weights, self._operands, op.label)

    def _weight_row(self, address: int) -> Words:
        if self._topology.weight_ram.shape == "rows":
            return words_of(self._weight_ram.row(address), self._topology)
        row, half = divmod(address, 2)
        halves = words_of(self._weight_ram.row(row), self._topology)
        middle = halves.shape[-1] // 2
        chosen = halves[:, half * middle : (half + 1) * middle]
        return chosen.repeat(2, axis=0).reshape(len(halves), -1)

    def _await_row(self, op: isa.Instruction, row: int) -> Work:
        """Load ``row`` of the data RAM in the present cycle, or as soon as its write can be seen."""
        yield from self._slots.catch_up()
        self.unit.instruction = op.label
        while self._output.is_unwritten(row):
            yield from self._wait(self._output.seen(), Reason.RAW, f"the write of data row {row}")
        self.mux.load(words_of(self._data_ram.row(row), self._topology))

    def _out(self, op: isa.Out, counters: Counters) -> Work:
        yield from self._slots.catch_up()
        self.unit.instruction = op.label
        yield from self._await_set(op)
        yield from self._await_buffer()
        if op.data is not None:
            yield from self._await_row(op, op.data.address(counters))
        captured = self._capture(op, op.row.address(counters))
        self.sums.clear(op.clear)
        self._slots.book(op, data=op.data is not None)
        yield from self._slots.catch_up()
        self.unit.instruction = op.label
        self._output.issue(captured)
        self._counts.raise_by(isa.Counter.ARRAY, 1, self.unit.waker)

    def _capture(self, op: isa.Out, row: int) -> Captured:
        scales = self._fetcher.sets.get(op.set) if op.function is isa.Function.REQUANTISE else None
        table = self._fetcher.table if op.function is isa.Function.LOOKUP else None
        mux = self.mux.words.copy()
        return Captured(op, row, self.sums.sums, mux, self._set, self._mask, scales, table)

    def _await_set(self, op: isa.Out) -> Work:
        """Wait for what the output unit needs of the weight RAM."""
        if op.function not in {isa.Function.REQUANTISE, isa.Function.LOOKUP}:
            return
        by_table = op.function is isa.Function.LOOKUP

        def wanted(parameters: isa.Parameters) -> bool:
            return parameters.table if by_table else not parameters.table and parameters.set == op.set

        what = "the table" if by_table else f"set {op.set} of parameters"
        while rows := self._fetched(wanted):
            yield from self.unit.wait(self._clock.timeout(rows), Reason.WEIGHTS, lambda: what)
            self.unit.woken_by(self._fetcher.unit.waker)

    def _fetched(self, wanted: Callable[[isa.Parameters], bool]) -> int:
        """Rows that are still to be fetched until everything that is ``wanted`` is there."""
        self._fetcher.advance(self._clock.cycle)
        return self._fetcher.rows_until(wanted)

    def _await_buffer(self) -> Work:
        while self._output.held >= self._topology.output.buffers:
            yield from self._wait(self._output.freed(), Reason.FIFO, "a buffer of the output unit")

    def _wait(self, event: Event, reason: Reason, what: str) -> Work:
        """Wait for what the output unit does. If it does it in this very cycle, nobody has waited."""
        begun = self._clock.cycle
        waker = yield from self.unit.wait(event, reason, lambda: what)
        if self._clock.cycle > begun:
            self.unit.woken_by(waker)

    def _control(self, op: isa.Instruction, counters: Counters) -> Work:
        if isinstance(op, isa.Sync):
            yield from self._sync(op, counters)
        elif isinstance(op, isa.Parameters):
            yield from self._slots.catch_up()
            self._slots.book(op)
            self._fetcher.request(op, op.row.address(counters), self._clock.cycle + 1)
        elif isinstance(op, isa.Set):
            self._apply(op)
            self._slots.book(op)
        elif isinstance(op, isa.Mask):
            self._mask = op
            self._slots.book(op)
        elif isinstance(op, isa.Halt):
            self.halted = True

    def _sync(self, op: isa.Sync, counters: Counters) -> Work:
        yield from self._slots.catch_up()
        self.unit.instruction = op.label
        count = op.count + sum(stride * counter for stride, counter in zip(op.strides, counters, strict=False))
        reason = Reason.INPUT if op.until is isa.Counter.DMA_IN else Reason.RAW
        yield from await_count(self.unit, self._counts, op.until, count, reason)
        self.unit.instruction = ""

    def _act(self, ops: Sequence[isa.Instruction]) -> None:
        """Count what the steps cost that were carried out."""
        for place, times in self._steps.items():
            op = ops[place]
            assert isinstance(op, isa.Step)
            self.unit.instruction = op.label
            self.unit.act({action: count * times for action, count in actions(op, self._topology).items()})
        self.unit.instruction = ""


def actions(op: isa.Step, topology: Topology) -> Actions:
    """What a step costs: a multiplication in each unit, whether its product is needed or not, the bytes of its rows and
    of the accumulators, and a hop for each byte that moves on, however far. Both RAMs are on the chip. Assumption.
    """
    units, total = topology.units.count, Tally[Action]()
    total[Action.BUFFER_READ] = topology.row_bytes * ((op.data is not None) + (op.weights is not None))
    if op.rotate:
        total[Action.CELL_HOP] = topology.row_bytes
    if op.alu is not isa.Alu.NONE:
        total[_arithmetic(op.alu, topology)] = units
        total[Action.ACCUMULATOR_WRITE] = SUM_BYTES * units
        total[Action.ACCUMULATOR_READ] = 0 if op.alu is isa.Alu.COPY else SUM_BYTES * units
    return {action: count * op.repeat for action, count in total.items()}


def _arithmetic(alu: isa.Alu, topology: Topology) -> Action:
    if alu is isa.Alu.MULTIPLY_ADD:
        return ARITHMETIC[topology.units.word_bits]
    return Action.ADD_8 if alu in {isa.Alu.MAX, isa.Alu.COPY} else Action.ADD_32
