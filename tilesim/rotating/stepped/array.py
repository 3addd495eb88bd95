"""The array: its sequencer, and units that all do the same in a cycle."""

from __future__ import annotations

from collections import Counter as Tally

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    Function,
    Halt,
    Instruction,
    Mask,
    Out,
    Parameters,
    Rows,
    Set,
    Step,
    Sync,
)
from tilesim.rotating.stepped.alu import Work, accumulate, least
from tilesim.rotating.stepped.convert import Job
from tilesim.rotating.stepped.core import BUSY, FIFO, INPUT, PORT, RAW, WEIGHTS, Account, Counters
from tilesim.rotating.stepped.memory import Ram, Words, words_of
from tilesim.rotating.stepped.output_unit import OutputUnit
from tilesim.rotating.stepped.parameters import TABLE, ParameterFetch
from tilesim.rotating.stepped.rings import taken_from
from tilesim.rotating.stepped.sequencer import Sequencer
from tilesim.rotating.topology import Topology

READY = ""


class Array:
    """Issues an instruction a cycle, unless it has to wait; a step as often as it is repeated.

    Timing: what is issued in t moves words into mux-registers and registers in t, which are seen from t + 1 on; the
    ALUs work with them in t + 1, and their accumulators are seen from t + 2 on.
    """

    def __init__(
        self,
        topology: Topology,
        instructions: list[Instruction],
        rams: tuple[Ram, Ram],
        output: OutputUnit,
        parameters: ParameterFetch,
        counters: Counters,
    ) -> None:
        self.account = Account("nnu.array")
        self.halted = False
        self.last_issue = -1
        self.mux, self.registers, self.sums = (np.zeros(topology.units.count, np.int64) for _ in range(3))
        self.counts: Tally[str] = Tally()
        """Slots of each mnemonic, rows read, rotations, and cycles in which the units multiply."""
        self._topology = topology
        self._sequencer = Sequencer(instructions)
        self._data_ram, self._weight_ram = rams
        self._output, self._parameters, self._counters = output, parameters, counters
        self._repetition = 0
        self._control, self._mask = Set(), Mask()
        self._work: Work | Out | None = None
        """What the ALUs do in this cycle: it was issued in the one before."""
        self._origins: dict[int, NDArray[np.intp]] = {}

    def act(self, cycle: int) -> None:
        self._compute()
        self._work = None
        op = self._pass_syncs()
        if self.halted or op is None:
            return
        reason = self._obstacle(op)
        self.account.note(cycle, reason or BUSY, op.label)
        if reason == READY:
            self.last_issue = cycle
            self.counts[op.mnemonic] += 1
            self._issue(op)

    def _compute(self) -> None:
        """The A stage of what was issued in the cycle before."""
        if isinstance(self._work, Work):
            self.sums = accumulate(self._work, self.sums, self.mux, self.registers, self._topology)
            self.counts["macs"] += self._work.step.alu is Alu.MULTIPLY_ADD
        elif self._work is not None and self._work.clear != "no":
            value = 0 if self._work.clear == "zero" else least(self._topology.units.accumulator_bits)
            self.sums = np.full_like(self.sums, value)

    def _pass_syncs(self) -> Instruction | None:
        """The instruction that it stands at in this cycle, behind all syncs that are met."""
        while isinstance(op := self._sequencer.op, Sync) and self._counters.met(op, self._sequencer.counters):
            self._sequencer.go_on()
        self.halted = isinstance(op, Halt)
        return op

    def _obstacle(self, op: Instruction) -> str:
        """Why it cannot go on in this cycle: the first reason that holds."""
        match op:
            case Sync():
                return INPUT if op.until is Counter.DMA_IN else RAW
            case Out():
                return self._output_obstacle(op) or self._row_obstacle(op.data, None)
            case Step():
                return self._row_obstacle(op.data, op.weights)
        return READY

    def _output_obstacle(self, op: Out) -> str:
        needed = {Function.REQUANTISE: op.set, Function.LOOKUP: TABLE}.get(op.function)
        if needed is not None and not self._parameters.has(needed):
            return WEIGHTS
        return FIFO if self._output.held >= self._topology.output.buffers else READY

    def _row_obstacle(self, data: Rows | None, weights: Rows | None) -> str:
        if data is not None and self._output.awaits(self._address(data)):
            return RAW
        denied = data is not None and not self._data_ram.can_read
        return PORT if denied or (weights is not None and not self._weight_ram.can_read) else READY

    def _issue(self, op: Instruction) -> None:
        match op:
            case Step():
                self._step(op)
            case Out():
                self._load(op.data)
                self._output.issue(self._job(op))
                self._counters.happen(Counter.ARRAY)
                self._work = op
            case Parameters():
                self._parameters.issue(op, self._address(op.row))
            case Set():
                self._control = op
            case Mask():
                self._mask = op
        self._repetition += 1
        if not isinstance(op, Step) or self._repetition == op.repeat:
            self._repetition = 0
            self._sequencer.go_on()

    def _step(self, op: Step) -> None:
        """The R stage of one repetition; the ALUs follow."""
        self._load(op.data)
        if op.rotate:
            self.mux = self.mux[self._origin(op.rotate)]
            self.counts["rotations"] += 1
        if op.weights is not None:
            self.registers = self._weights(self._address(op.weights))
            self.counts["weight_reads"] += 1
        self._work = Work(op, self._control)

    def _load(self, data: Rows | None) -> None:
        if data is not None:
            self.mux = self._words(self._data_ram.read(self._address(data)))
            self.counts["data_reads"] += 1

    def _weights(self, address: int) -> Words:
        """The registers from ``address``: a row, or half of one for either half of the units."""
        if self._topology.weight_ram.shape == "rows":
            return self._words(self._weight_ram.read(address))
        row, half = divmod(address, 2)
        return np.tile(np.split(self._words(self._weight_ram.read(row)), 2)[half], 2)

    def _job(self, op: Out) -> Job:
        """An out with what it takes along: parameters as they are now, control registers and mask as set before it."""
        parameters, needs = self._parameters.sets.get(op.set), op.function is Function.REQUANTISE
        table = self._parameters.table
        if (needs and parameters is None) or (op.function is Function.LOOKUP and table is None):
            what = f"set {op.set}" if needs else "a table"
            raise AccessError(f"{op.label} {op.mnemonic}: must have parameters fetched before it, not lack {what}")
        return Job(op, self._address(op.row), self._control, self._mask, parameters if needs else None, table)

    def _origin(self, distance: int) -> NDArray[np.intp]:
        if distance not in self._origins:
            self._origins[distance] = taken_from(self._topology, distance)
        return self._origins[distance]

    def _address(self, rows: Rows) -> int:
        return rows.address(self._sequencer.counters, self._repetition)

    def _words(self, row: NDArray[np.uint8]) -> Words:
        return words_of(row, self._topology.units.word_bits)
