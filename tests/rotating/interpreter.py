"""Programs carried out without time: each queue in order, DMA as early as syncs let it, or as late."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.rotating.host import output_of_rows, rows_of_input
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    Function,
    Instruction,
    Mask,
    Out,
    Parameters,
    Queue,
    Ram,
    ReadHostMemory,
    Set,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.isa.walk import queued, walk
from tilesim.rotating.layout import rows_in_words, values_of, words_in_rows

Words = NDArray[Any]
LIMITS = np.iinfo(np.int32)


class Interpreter:
    """``inputs`` are a model's, one sample of each; ``clocks`` counts the array's issue slots by mnemonic."""

    def __init__(self, program: Program, inputs: Sequence[Words], late: bool = False) -> None:
        self.program, self.late, topology = program, late, program.topology
        self.topology = topology
        units = topology.units.count
        self.rams = {
            Ram.DATA: np.full((topology.data_ram.rows, topology.row_bytes), 0x5A, np.uint8),
            Ram.WEIGHT: np.full((topology.weight_ram.rows, topology.row_bytes), 0xA5, np.uint8),
        }
        self.host: dict[tuple[str, int], NDArray[np.uint8]] = {}
        for number, (tensor, values) in enumerate(zip(program.inputs, inputs, strict=True)):
            self.host["input", number] = rows_of_input(tensor, values, topology)[0]
        for number, segment in enumerate(program.data):
            self.host["data", number] = segment.data.reshape(-1, topology.row_bytes)
        for number, tensor in enumerate(program.outputs):
            self.host["output", number] = np.zeros((tensor.layout.rows, topology.row_bytes), np.uint8)
        self.units = units
        self.clocks: Counts[str] = Counts()
        self.by_layer: Counts[int] = Counts()
        self.overhead: Counts[int] = Counts()
        self.tensors: dict[int, Words] = {}

    def run(self) -> None:
        for ops in (self.program.load, self.program.run):
            self._section(ops)

    def output(self, number: int) -> Words:
        """A model output, as the host makes it."""
        tensor = self.program.outputs[number]
        return output_of_rows(tensor, self.host["output", number][None], self.topology)

    def _section(self, ops: Sequence[Instruction]) -> None:
        self.counters = dict.fromkeys(Counter, 0)
        self.mux: Words = np.zeros(self.units, np.int64)
        self.shift = 0
        self.register: Words = np.zeros(self.units, np.int64)
        self.acc: Words = np.zeros(self.units, np.int64)
        self.sets: dict[int, tuple[Words, ...]] = {}
        self.table: Words | None = None
        self.set = Set()
        self.mask = Mask()
        self.dma = {queue: [op for _, op in queued(ops, queue)] for queue in (Queue.DMA_IN, Queue.DMA_OUT)}
        self._snapshots()
        if not self.late:
            self._move(Queue.DMA_IN)
        for _, op, counters in walk(ops):
            if isinstance(op, Sync):
                if op.queue is Queue.ARRAY:
                    strides = zip(op.strides, counters, strict=False)
                    self._until(op.until, op.count + sum(a * b for a, b in strides))
                continue
            self._array(op, counters)
            if not self.late and isinstance(op, Out):
                self._move(Queue.DMA_IN)
                self._move(Queue.DMA_OUT)
        self._move(Queue.DMA_IN)
        self._move(Queue.DMA_OUT)
        self._move(Queue.DMA_IN)
        assert not any(self.dma.values()), "a queue that is not done"

    def _until(self, until: Counter, count: int) -> None:
        while self.counters[until] < count:
            queue = {Counter.DMA_IN: Queue.DMA_IN, Counter.DMA_OUT: Queue.DMA_OUT}[until]
            if not self._one(queue):
                assert self._move(Queue.DMA_IN) | self._move(Queue.DMA_OUT), f"nobody brings {until} to {count}"

    def _move(self, queue: Queue) -> bool:
        moved = False
        while self._one(queue):
            moved = True
        return moved

    def _one(self, queue: Queue) -> bool:
        """Carry out the first instruction of a queue, if it may be."""
        if not self.dma[queue]:
            return False
        op = self.dma[queue][0]
        if isinstance(op, Sync):
            if self.counters[op.until] < op.count:
                return False
        elif isinstance(op, ReadHostMemory):
            rows = self.host[op.source, op.tensor][op.offset : op.offset + op.rows]
            assert len(rows) == op.rows
            self.rams[op.ram][op.row : op.row + op.rows] = rows
            self.counters[Counter.DMA_IN] += op.rows
        elif isinstance(op, WriteHostMemory):
            self._leave(op)
        del self.dma[queue][0]
        return True

    def _leave(self, op: WriteHostMemory) -> None:
        key = op.destination, op.tensor
        if op.destination == "scratch":
            there = self.host.get(key, np.zeros((0, self.topology.row_bytes), np.uint8))
            more = max(0, op.offset + op.rows - len(there))
            self.host[key] = np.concatenate([there, np.zeros((more, self.topology.row_bytes), np.uint8)])
        self.host[key][op.offset : op.offset + op.rows] = self.rams[Ram.DATA][op.row : op.row + op.rows]
        self.counters[Counter.DMA_OUT] += op.rows

    def _array(self, op: Instruction, counters: tuple[int, ...]) -> None:
        if isinstance(op, Step):
            self._steps(op, counters)
            self._count(op, op.repeat)
        elif isinstance(op, Out):
            if op.data is not None:
                self._load(op.data.address(counters))
            self._out(op, counters)
            self._count(op, 1)
        elif isinstance(op, Set | Mask | Parameters):
            self._count(op, 1)
            if isinstance(op, Set):
                self.set = op
            elif isinstance(op, Mask):
                self.mask = op
            else:
                self._fetch(op, counters)

    def _count(self, op: Instruction, slots: int) -> None:
        self.clocks[op.mnemonic] += slots
        (self.by_layer if isinstance(op, Step | Out) else self.overhead)[op.layer] += slots

    def _words(self, ram: Ram, row: int, how: str) -> Words:
        words = rows_in_words(self.rams[ram][row], self.topology)
        if how == "unsigned":
            words = words.view(words.dtype.str.replace("i", "u"))
        return words.astype(np.int64)

    def _load(self, row: int) -> None:
        self.mux, self.shift = self._words(Ram.DATA, row, self.set.data), 0

    @property
    def x(self) -> Words:
        """The mux-registers."""
        return np.roll(self.mux, self.shift) if self.shift else self.mux

    def _steps(self, op: Step, counters: tuple[int, ...]) -> None:
        way = 1 if self.topology.rotation.direction == "up" else -1
        if op.rotate:
            assert op.rotate in self.topology.rotation.reach
        if op.alu is Alu.NONE and op.weights is None and op.data is None:
            self.shift = (self.shift + way * op.rotate * op.repeat) % self.units
            return
        for k in range(op.repeat):
            if op.data is not None:
                self._load(op.data.address(counters, k))
            self.shift = (self.shift + way * op.rotate) % self.units
            if op.weights is not None:
                self.register = self._words(Ram.WEIGHT, op.weights.address(counters, k), self.set.weights)
            self._work(op)

    def _work(self, op: Step) -> None:
        x, zero = self.x, self.set.data_zero
        if op.alu is Alu.MULTIPLY_ADD:
            self.acc = self.acc + (x - zero) * (self.register - self.set.weight_zero)
        elif op.alu is Alu.ADD:
            self.acc = self.acc + x - zero
        elif op.alu is Alu.MAX:
            self.acc = np.maximum(self.acc, x)
        elif op.alu is Alu.COPY:
            self.acc = x
        elif op.alu is Alu.PLANE:
            byte = x & 255 if op.plane < 3 else x.astype(np.int8).astype(np.int64)
            self.acc = self.acc + (byte << 8 * op.plane)
        bits = self.topology.units.accumulator_bits
        assert bits == 32
        self.acc = np.clip(self.acc, LIMITS.min, LIMITS.max)

    def _fetch(self, op: Parameters, counters: tuple[int, ...]) -> None:
        row = op.row.address(counters)
        if op.table:
            rows = self.rams[Ram.WEIGHT][row : row + self.topology.table_rows]
            self.table = rows_in_words(rows, self.topology).reshape(-1)[:256].astype(np.int64)
            return
        rows = self.rams[Ram.WEIGHT][row : row + self.topology.parameter_rows]
        each = rows.reshape(len(rows), self.units, -1).transpose(1, 0, 2).reshape(self.units, -1)[:, :9]
        bias, multiplier = (np.ascontiguousarray(each[:, k : k + 4]).view("<i4")[:, 0] for k in (0, 4))
        self.sets[op.set] = bias.astype(np.int64), multiplier.astype(np.int32), each[:, 8].astype(np.int8)

    def _converted(self, op: Out) -> Words:
        if op.function is Function.REQUANTISE:
            bias, multiplier, shift = self.sets[op.set]
            sums = np.clip(self.acc + bias, LIMITS.min, LIMITS.max).astype(np.int32)
            scaled = requantise(self.set.rule, sums, multiplier, shift.astype(np.int32))
            return saturate(scaled, self.set.zero_point, self.set.clamp, np.int64)
        if op.function is Function.COMBINE:
            dtype = "i2" if self.topology.word_bytes == 2 else "i1" if self.set.data == "signed" else "u1"
            combine = add if self.set.combine == "add" else multiply
            made = combine(self.set.rule, self.acc.astype(dtype), self.x.astype(dtype), self.set.scaling)
            return saturate(made, 0, self.set.clamp, np.int64)
        assert self.table is not None
        return self.table[self.acc & 255]

    def _out(self, op: Out, counters: tuple[int, ...]) -> None:
        row = op.row.address(counters)
        if op.function is Function.RAW:
            planes = [(self.acc >> 8 * k) & 255 for k in range(3)] + [self.acc >> 24]
        else:
            planes = [self._converted(op)]
        for k, values in enumerate(planes):
            self._write(op, row + k, values)
        self.counters[Counter.ARRAY] += 1
        if op.clear != "no":
            self.acc = np.full(self.units, LIMITS.min if op.clear == "least" else 0, np.int64)
        self._seen()

    def _write(self, op: Out, row: int, values: Words) -> None:
        words = self._words(Ram.DATA, row, "signed")
        if op.outside == "fill":
            words[:] = op.fill
        sources, targets = self._places(op)
        assert len(set(targets.tolist())) == len(targets), "words that overlap"
        words[targets] = values[sources]
        self.rams[Ram.DATA][row] = words_in_rows(words, self.topology)
        self.counters[Counter.OUTPUT] += 1

    def _places(self, op: Out) -> tuple[Words, Words]:
        mask = self.mask
        if not mask.count or not mask.blocks:
            assert op.place is None
            return np.arange(self.units), np.arange(self.units)
        block = np.repeat(np.arange(mask.blocks), mask.count)
        index = np.tile(np.arange(mask.count), mask.blocks)
        source = mask.offset + block * mask.block + index * mask.stride
        target = source
        if op.place is not None:
            target = mask.offset + block * mask.block + op.place.slot * (mask.block // op.place.slots) + index
        return source % self.units, target % self.units

    def _snapshots(self) -> None:
        """Tensors to look at once so many rows are written; those of inputs with the others' first."""
        self.waiting = sorted(self.program.tensors, key=lambda place: place.rows_written)

    def _seen(self) -> None:
        while self.waiting and self.waiting[0].rows_written <= self.counters[Counter.OUTPUT]:
            place = self.waiting.pop(0)
            if place.rows_written:
                rows = self.rams[Ram.DATA][place.row : place.row + place.layout.rows]
                values = values_of(rows[None], place.layout, self.topology, place.dtype)
                self.tensors[place.index] = values.reshape(place.shape)
