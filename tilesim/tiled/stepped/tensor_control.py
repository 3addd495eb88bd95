"""The tensor control: one tensorop after the other through TTU, MAC array and activation unit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tilesim.tiled.isa.fields import Flag, Nest, Reference
from tilesim.tiled.isa.instructions import Operation, TensorOp
from tilesim.tiled.stepped.account import BUSY, FIFO, FLAG, HAZARD, IDLE, PORT, Account
from tilesim.tiled.stepped.activation_unit import ActivationUnit
from tilesim.tiled.stepped.engine import Buffer, Engine, Tile
from tilesim.tiled.stepped.mac_array import MacArray, Sums, cycles_per_step
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ttu import Step, Watch, walk

Place = tuple[str, int]
"""A memory and the number of a word (narrow) or row (wide) in it."""


@dataclass
class Group:
    """A result group being made: what is still to be read, and what has come of it."""

    outer: Step
    lanes: int
    array: MacArray
    extras: deque[tuple[str, int]] = field(default_factory=deque)
    started: bool = False
    step: int = 0
    cycle: int = 0
    sums_in: Sums | None = None


@dataclass
class Result:
    """A finished group: the accesses that write it, (address, bytes) each, and the places that they write."""

    outer: Step
    accesses: deque[tuple[int, Bytes]]
    places: frozenset[Place]


class TensorControl(Engine):
    """Reads the operands of a reduction step a cycle, queues finished result groups, and writes them.

    A group first reads what else it needs: parameter rows that have changed, then its row of sums. It begins when its
    loops' flags let it, fewer than ``tile.output_fifo_groups`` groups before it are unwritten, and none of these writes
    what it will read. It is written from the cycle after its last read on: narrow words, or one row of sums.

    Timing: in a cycle the write asks for its port first, then reads of parameters and sums, as many as the port has
    accesses left, then the issue, which gets all its ports or none. The last of the former and the first issue of a
    group share a cycle only if the wide port has one access more, whether or not the issue needs it.
    """

    op: TensorOp

    def __init__(self, tile: Tile, account: Account, mac_account: Account, buffer: Buffer) -> None:
        super().__init__(tile, account, Flag.AVDATA, buffer)
        self.mac_account = mac_account

    def begin(self, op: TensorOp) -> None:
        outer = op.nest.loops[: len(op.nest.loops) - 1 - len(op.reduce)]
        inner = op.nest.loops[len(outer) : -1]
        self.flag = Flag.AVDATA if op.sums_out is None else Flag.PARTIAL_SUMS
        self._outer: Iterator[Step] = walk(Nest(outer))
        self._inner = list(walk(Nest(inner)))
        self._completes_each = {loop.name for loop in inner}
        self._watch = Watch(op.wait)
        self._cycles_per_step = cycles_per_step(op)
        self._unit = ActivationUnit(op, self.memories.row_bytes)
        self._results: deque[Result] = deque()
        self._group: Group | None = None
        self._next_group()

    def _next_group(self) -> None:
        outer = next(self._outer, None)
        self._group = None
        if outer is None:
            return
        self._group = Group(outer, lanes := self._lanes(outer), MacArray(self.op, lanes))
        self.gate(self._watch.gates(outer))
        if self.op.parameters and self.op.output:
            rows = self._unit.missing_rows(outer.address(self.op.parameters))
            self._group.extras.extend(("parameters", address) for address in rows)
        if self.op.sums_in:
            self._group.extras.append(("sums", outer.address(self.op.sums_in)))
        self._reads = self._places_read()

    def _lanes(self, outer: Step) -> int:
        """The innermost bound, or the alternate limit in the last iteration of its loop."""
        nest = self.op.nest
        bounds = {loop.name: loop.bound for loop in nest.loops}
        if nest.alternate and outer.counters[nest.alternate.loop] == bounds[nest.alternate.loop] - 1:
            return nest.alternate.limit
        return nest.loops[-1].bound

    # ---- what the group needs -------------------------------------------------------------------------------------

    def _operand_bytes(self, lanes: int) -> int:
        return self.tile.topology.tile.inputs_per_cycle if self.op.operation is Operation.CONVOLUTION else lanes

    def _address(self, reference: Reference, inner: Step) -> int:
        assert self._group is not None
        return self._group.outer.address(reference) + inner.address(reference) - reference.base

    def _places_read(self) -> frozenset[Place]:
        """What the group will read of the memory that the instruction writes."""
        assert self._group is not None
        found: set[Place] = set()
        op, memories = self.op, self.memories
        if op.output:
            size = self._operand_bytes(self._group.lanes)
            for reference in filter(None, (op.input, op.input_b)):
                for inner in self._inner:
                    address = self._address(reference, inner)
                    words = range(address // memories.word_bytes, (address + size - 1) // memories.word_bytes + 1)
                    found.update(("narrow", word) for word in words)
        elif op.weights:
            found.update(("wide", self._address(op.weights, inner) // memories.row_bytes) for inner in self._inner)
        if op.sums_out and op.sums_in:
            found.add(("wide", self._group.outer.address(op.sums_in) // memories.row_bytes))
        return frozenset(found)

    # ---- a cycle ---------------------------------------------------------------------------------------------------

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self._extra = self._issue = False
        self.kind = self._holds()
        self._writes = bool(self._results) and self._write_port.take()
        if not self.kind:
            self._take_reads()
            self.kind = PORT
        elif self.kind == FIFO and self._results and not self._writes:
            self.kind = PORT

    @property
    def _write_port(self):  # type: ignore[no-untyped-def]
        return self.memories.wide_port if self.op.sums_out else self.memories.narrow_write

    def _holds(self) -> str:
        """Why the group can't be read on, whatever the ports."""
        group = self._group
        if group is None:
            return FIFO
        if group.started:
            return ""
        if not self.passes_gates():
            return FLAG
        if len(self._results) >= self.tile.topology.tile.output_fifo_groups:
            return FIFO
        return HAZARD if any(not self._reads.isdisjoint(result.places) for result in self._results) else ""

    def _take_reads(self) -> None:
        group = self._group
        assert group is not None
        memories = self.memories
        while group.extras and memories.wide_port.take():
            self._extra = True
            self._read_extra(group)
        if group.extras or (self._extra and not memories.wide_port.free):
            return
        if memories.narrow_read.free and (self.op.weights is None or memories.wide_port.free):
            self._issue = memories.narrow_read.take() and (self.op.weights is None or memories.wide_port.take())
            if group.cycle == 0:
                self._read_operands(group)

    def _read_extra(self, group: Group) -> None:
        what, address = group.extras.popleft()
        row = self.memories.wide.read(address, self.memories.row_bytes)
        group.started = True
        if what == "sums":
            group.sums_in = row[: 4 * group.lanes].view(np.int32)
        else:
            self._unit.load(row)

    def _read_operands(self, group: Group) -> None:
        inner = self._inner[group.step]
        op, size = self.op, self._operand_bytes(group.lanes)
        x = self.memories.narrow.read(self._address(op.input, inner), size)
        y = None
        if op.input_b:
            y = self.memories.narrow.read(self._address(op.input_b, inner), size)
        elif op.weights:
            width = size * group.lanes if op.operation is Operation.CONVOLUTION else size
            y = self.memories.wide.read(self._address(op.weights, inner), width)
        group.array.step(x, y)

    def advance(self) -> str:
        if self._writes:
            self._write()
        if self._issue:
            self._advance_issue()
        if self._issue or self._extra or self._writes:
            self.clock.stir()
        self.mac_account.note(self.clock.cycle, BUSY if self._issue else self.kind, self.op.label)
        return BUSY if self._issue or self._extra or self._writes else self.kind

    def commit(self) -> None:
        if self.op is not None and not self.begun:
            self.mac_account.note(self.clock.cycle, self.kind, self.op.label)
        super().commit()
        if self.op is None:
            self.mac_account.note(self.clock.cycle + 1, IDLE)

    def _write(self) -> None:
        result = self._results[0]
        address, data = result.accesses.popleft()
        memory = self.memories.wide if self.op.sums_out else self.memories.narrow
        memory.write(address, data)
        if not result.accesses:
            self._results.popleft()
            self.raise_flag(self.op.produce in result.outer.completes or self.op.produce in self._completes_each)

    def _advance_issue(self) -> None:
        group = self._group
        assert group is not None
        group.started = True
        group.cycle += 1
        if group.cycle < self._cycles_per_step:
            return
        group.cycle, group.step = 0, group.step + 1
        if group.step == len(self._inner):
            self._results.append(self._finished(group))
            self._next_group()

    def _finished(self, group: Group) -> Result:
        op, outer = self.op, group.outer
        sums = group.array.result()
        if group.sums_in is not None:
            sums = sums + group.sums_in
        if op.sums_out:
            row = sums.astype(np.int32).view(np.uint8)
            return self._result(outer, outer.address(op.sums_out), row, self.memories.row_bytes, "wide")
        assert op.output is not None
        data = self._unit.finish(sums, outer.address(op.parameters) if op.parameters else None)
        words = np.zeros(-(-group.lanes // self.memories.word_bytes) * self.memories.word_bytes, np.uint8)
        words[: group.lanes] = data
        return self._result(outer, outer.address(op.output), words, self.memories.word_bytes, "narrow")

    def _result(self, outer: Step, address: int, data: Bytes, width: int, memory: str) -> Result:
        accesses = deque((address + at, data[at : at + width]) for at in range(0, len(data), width))
        return Result(outer, accesses, frozenset((memory, place // width) for place, _ in accesses))

    def through(self) -> bool:
        return self._group is None and not self._results
