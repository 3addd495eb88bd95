"""The tensor control: one tensorop after the other through TTU, MAC array and activation unit."""

from __future__ import annotations

from collections import deque
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.stepped.activation_unit import ActivationUnit, split, whole
from tilesim.tiled.stepped.core import BUSY, FIFO, FLAG, HAZARD, IDLE, Fifo, UnitAccount
from tilesim.tiled.stepped.engine import Engine, TileContext
from tilesim.tiled.stepped.mac_array import MacArray, cycles_per_step
from tilesim.tiled.stepped.memory import Bytes, Port
from tilesim.tiled.stepped.operands import Operands, Place
from tilesim.tiled.stepped.ttu import Iteration, Watch


class ResultGroup(Struct):
    """A result group being made: what is still to be read, and what has come of it."""

    outer: Iteration
    lanes: int
    array: MacArray
    extras: deque[tuple[str, int]] = field(default_factory=deque)
    started: bool = False
    step: int = 0
    cycle: int = 0
    sums_in: list[NDArray[np.int32]] = field(default_factory=list)


class Result(Struct):
    """A finished group: the accesses that write it, each (address, bytes), or several in a row; and the places that
    they write.
    """

    outer: Iteration
    accesses: deque[list[tuple[int, Bytes]]]
    places: frozenset[Place]


class TensorControl(Engine):
    """Reads the operands of a reduction step a cycle, queues finished result groups, and writes them.

    A group first reads what else it needs: parameter rows that have changed, then its rows of sums. It begins when its
    loops' flags let it, fewer than ``tile.output_fifo_groups`` groups before it are unwritten, and none of these writes
    what it will read. It is written from the cycle after its last read on: narrow words, or rows of sums.

    Timing: in a cycle the write asks for its port first, then reads of parameters and sums, as many as the port has
    accesses left, then the issue, which gets all its ports or none. The last of the former and the first issue of a
    group share a cycle only if the wide port has one access more, whether or not the issue needs it.
    """

    op: TensorOp

    def __init__(self, tile: TileContext, account: UnitAccount, mac_account: UnitAccount, buffer: Fifo[Any]) -> None:
        super().__init__(tile, account, Flag.AVDATA, buffer)
        self.mac_account = mac_account

    def begin(self, op: TensorOp) -> None:
        self.flag = Flag.AVDATA if op.sums_out is None else Flag.PARTIAL_SUMS
        self._operands = Operands(op, self.memories, self.tile.topology.tile.inputs_per_cycle)
        self._watch = Watch(op.wait)
        self._cycles_per_step = cycles_per_step(op)
        self._sums_bytes = self.memories.sums_bytes * (2 if 16 in op.widths else 1)
        self._unit = ActivationUnit(op, self.memories.row_bytes, self.tile.topology.tile.lanes)
        self._results: deque[Result] = deque()
        self._group: ResultGroup | None = None
        self._next_group()

    def _next_group(self) -> None:
        outer = next(self._operands.groups, None)
        self._group = None
        if outer is None:
            return
        lanes = self._operands.lanes(outer)
        self._group = ResultGroup(outer, lanes, MacArray(self.op, lanes))
        self.gate(self._watch.gates(outer))
        if self.op.parameters:
            rows = self._unit.missing_rows(outer.address(self.op.parameters))
            self._group.extras.extend(("parameters", address) for address in rows)
        if self.op.sums_in:
            for first in self._operands.rows_of_sums(outer):
                reads = range(first, first + self._sums_bytes, self.memories.row_bytes)
                self._group.extras.extend(("sums", address) for address in reads)
        self._reads = self._operands.reads_where_it_writes(outer)

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self._extra = self._issue = False
        self.kind = self._holds()
        self._writes = bool(self._results) and self._write_port.take()
        if not self.kind:
            self._take_reads()
        self.kind = self.reason(self.kind, bool(self._results) and not self._writes)

    @property
    def _unit_bytes(self) -> int:
        """Results are written in words, or in as many bytes as lanes make, if these are fewer."""
        tile = self.tile.topology.tile
        lanes = tile.lanes if self.op.operation is Operation.CONVOLUTION else tile.vector_bytes
        return min(lanes * self.op.output_type.bytes, self.memories.word_bytes)

    @property
    def _write_port(self) -> Port:
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
                group.array.step(*self._operands.read(group.outer, self._operands.steps[group.step]))

    def _read_extra(self, group: ResultGroup) -> None:
        what, address = group.extras.popleft()
        group.started = True
        if what == "sums":
            sums = self.memories.wide.read(address, min(self._sums_bytes, self.memories.row_bytes))
            parts = sums.reshape(-1, self.memories.sums_bytes)
            group.sums_in.extend(part[: 4 * group.lanes].view(np.int32) for part in parts)
        else:
            self._unit.load(self.memories.wide.read(address, self.memories.row_bytes))

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

    def retire(self) -> None:
        super().retire()
        self.mac_account.note(self.clock.cycle + 1, IDLE)

    def _write(self) -> None:
        result = self._results[0]
        memory = self.memories.wide if self.op.sums_out else self.memories.narrow
        for address, data in result.accesses.popleft():
            memory.write(address, data)
        if not result.accesses:
            self._results.popleft()
            self.raise_flag(self.op.produce in {*result.outer.completes, *self._operands.reduction})

    def _advance_issue(self) -> None:
        group = self._group
        assert group is not None
        group.started = True
        group.cycle += 1
        if group.cycle < self._cycles_per_step:
            return
        group.cycle, group.step = 0, group.step + 1
        if group.step == len(self._operands.steps):
            self._results.append(self._finished(group))
            self._next_group()

    def _finished(self, group: ResultGroup) -> Result:
        op, outer = self.op, group.outer
        sums = group.array.result()
        registers = self._sums_bytes // self.memories.sums_bytes
        for k in range(0, len(group.sums_in), registers):
            sums = sums + whole(group.sums_in[k : k + registers])
        if op.sums_out:
            return self._sums_result(outer, outer.address(op.sums_out), split(sums))
        assert op.output is not None
        data = self._unit.finish(sums, outer.address(op.parameters) if op.parameters else None)
        unit = self._unit_bytes
        words = np.pad(data, (0, -len(data) % unit)).reshape(-1, unit)
        apart = dict(op.output.strides).get(op.nest.loops[-1].name, unit)
        first, word_bytes = outer.address(op.output), self.memories.word_bytes
        accesses = [[(first + k * apart, word)] for k, word in enumerate(words)]
        return Result(outer, deque(accesses), frozenset(("narrow", at // word_bytes) for [(at, _)] in accesses))

    def _sums_result(self, outer: Iteration, first: int, parts: list[Bytes]) -> Result:
        """As many parts in an access as lie in one row."""
        size, row_bytes = self.memories.sums_bytes, self.memories.row_bytes
        pieces = [(first + k * size, part) for k, part in enumerate(parts)]
        by_row = groupby(pieces, key=lambda piece: piece[0] // row_bytes)
        places = frozenset(("wide", at // size) for at, _ in pieces)
        return Result(outer, deque(list(together) for _, together in by_row), places)

    def through(self) -> bool:
        return self._group is None and not self._results
