"""A network's layers as the instructions of all units, in the order in which they work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle

import numpy as np

from tilesim.errors import CapacityError
from tilesim.machines.program import DataSegment
from tilesim.network.graph import Tensor
from tilesim.rotating.compiler.call import Call, Part, PartPlace, Placed
from tilesim.rotating.compiler.emitter import Writer
from tilesim.rotating.compiler.ends import leaving, written_rows
from tilesim.rotating.compiler.layouts import layouts_of
from tilesim.rotating.compiler.lower.chunks import chunks
from tilesim.rotating.compiler.lower.convolution import filter_row
from tilesim.rotating.compiler.lower.operators import OPERATORS
from tilesim.rotating.compiler.plan import RowPlan, tasks_of
from tilesim.rotating.compiler.rows import allocated, lifetimes, waiting_key
from tilesim.rotating.compiler.streaming import Need, Residence, reside
from tilesim.rotating.compiler.task import MIXING
from tilesim.rotating.compiler.weights import Rows
from tilesim.rotating.isa.model.instructions import (
    Counter,
    Halt,
    Instruction,
    Queue,
    Ram,
    ReadHostMemory,
    Sync,
)
from tilesim.rotating.layout import rows_of
from tilesim.rotating.topology import RAW_ROWS, Topology

RESIDENT, STREAMED, CONSTANT = "weights", "streamed weights", "constants"
"""What the host's data are called."""


@dataclass
class Stream:
    """``calls`` are the layers in order, ``firsts`` the number of the first part of each; ``placed`` says where tensors
    stand, ``residence`` where parts do.
    """

    plan: RowPlan
    topology: Topology
    calls: list[Call]
    parts: list[Part]
    firsts: list[int]
    residence: Residence
    placed: Mapping[int, Placed]
    writer: Writer
    ends: list[int] = field(default_factory=list)
    """Rows written at the end of each layer."""
    begins: dict[int, int] = field(default_factory=dict)
    """Outs issued when the pass of each part begins."""

    @classmethod
    def of(cls, plan: RowPlan, topology: Topology) -> Stream:
        """Everything chosen, nothing written yet."""
        tasks, name = tasks_of(plan), plan.network.name
        layouts = layouts_of(name, tasks, topology)
        calls = []
        for task in tasks:
            inputs = tuple(layouts.of[tensor.index] for tensor in task.inputs)
            parts = layouts.parts.get(task.layer, 1)
            calls.append(Call(task, topology, inputs, layouts.of[task.output.index], parts))
        parts_of, residence = weights_of(calls, topology, name)
        firsts = [sum(map(len, parts_of[:number])) for number in range(len(calls))]
        leave = {sink.stored.index for sink in plan.sinks}
        waiting = {step: RAW_ROWS * call.output.height for step, call in enumerate(calls) if is_cut(call)}
        rows = allocated(name, lifetimes(tasks, layouts.of, leave, waiting), topology)
        for step in waiting:
            calls[step].partial = rows.pop(waiting_key(step))
        placed = {index: Placed(layouts.of[index], row) for index, row in rows.items()}
        everything = [part for own in parts_of for part in own]
        return cls(plan, topology, calls, everything, firsts, residence, placed, Writer(topology))

    @property
    def arriving(self) -> list[tuple[ReadHostMemory, int | None]]:
        """The queue of DMA in, the weights that are needed first in front of the inputs; each with the streamed part
        that it is, if it is one.
        """
        streamed = list(self._streamed())
        inputs = [(op, None) for op in self._inputs()]
        return [*streamed[:1], *inputs, *streamed[1:]]

    def _streamed(self) -> Iterator[tuple[ReadHostMemory, int | None]]:
        offset = 0
        for number, part in enumerate(self.residence.streamed):
            rows = self.parts[part].rows
            yield (
                ReadHostMemory(
                    label=f"weights{part}", source="data", tensor=self._segment(STREAMED), offset=offset, rows=rows,
                    ram=Ram.WEIGHT, row=self.residence.rows[part],
                ),
                number,
            )  # fmt: skip
            offset += rows

    def _inputs(self) -> Iterator[ReadHostMemory]:
        for number, source in enumerate(self.plan.sources):
            placed = self.placed.get(source.stored.index)
            if placed is not None:
                yield ReadHostMemory(label=f"input{number}", tensor=number, rows=placed.layout.rows, row=placed.row)

    def write(self) -> None:
        """The array's instructions."""
        arrived = self._arrived()
        sets = cycle((0, 1))
        for number, call in enumerate(self.calls):
            first, task = self.firsts[number], call.task
            end = self.firsts[number + 1] if number + 1 < len(self.firsts) else len(self.parts)
            call.places = tuple(self._place(part, arrived) for part in range(first, end))
            call.sources = tuple(self.placed[tensor.index] for tensor in task.inputs)
            call.target = self.placed[task.output.index]
            call.sets, call.begun = sets, partial(self._begun, first)
            self.writer.begin(f"{task.node.kind}{task.layer}", task.layer)
            OPERATORS[type(task.node.operator)].lower(call, self.writer)
            self._settle(number)
            self.ends.append(self.writer.written)

    def _begun(self, first: int, number: int) -> None:
        self.begins[first + number] = self.writer.outs

    def _arrived(self) -> dict[int, int]:
        """How many rows DMA in has written once each streamed part is there; inputs learn how many come before."""
        arrived, rows, inputs = dict[int, int](), 0, dict[str, int]()
        for op, number in self.arriving:
            inputs[op.label] = rows
            rows += op.rows
            if number is not None:
                arrived[self.residence.streamed[number]] = rows
        for number, source in enumerate(self.plan.sources):
            index = source.stored.index
            if index in self.placed:
                self.placed = {**self.placed, index: replace(self.placed[index], before=(inputs[f"input{number}"],))}
        return arrived

    def _place(self, part: int, arrived: Mapping[int, int]) -> PartPlace:
        row = self.residence.rows[part]
        return PartPlace(row, row + len(self.parts[part].weights), arrived.get(part, 0))

    def _settle(self, number: int) -> None:
        """Behind the last layer that reads an input, all of it must have come: its rows become those of others."""
        later = {tensor.index for call in self.calls[number + 1 :] for tensor in call.task.inputs}
        for tensor in self.calls[number].task.inputs:
            placed = self.placed[tensor.index]
            if placed.before and tensor.index not in later:
                self.writer.wait(Counter.DMA_IN, placed.before[0] + placed.layout.rows)

    def run(self) -> Iterator[Instruction]:
        """All queues: what comes, what the array does, what leaves."""
        for op, number in self.arriving:
            before = None if number is None else self.residence.before(number)
            if before is not None:
                yield Sync(unit=Queue.DMA_IN, until=Counter.ARRAY, count=self.begins[before + 1])
            yield op
        yield from self.writer.instructions
        outputs = [self.placed[sink.stored.index] for sink in self.plan.sinks]
        yield from leaving(outputs, written_rows(self.writer.instructions))
        yield Halt(label="end")

    def load(self) -> Iterator[Instruction]:
        """What stays: weights and constants."""
        rows = 0
        for number, stretch in enumerate(self._resident()):
            first, count = stretch
            yield ReadHostMemory(
                label=f"weights.{number}", source="data", tensor=self._segment(RESIDENT), offset=rows, rows=count,
                ram=Ram.WEIGHT, row=first,
            )  # fmt: skip
            rows += count
        offset = 0
        for tensor in self._constants():
            placed = self.placed[tensor.index]
            yield ReadHostMemory(
                label=f"constant{tensor.index}", source="data", tensor=self._segment(CONSTANT), offset=offset,
                rows=placed.layout.rows, row=placed.row,
            )  # fmt: skip
            offset += placed.layout.rows
        yield Halt(label="loaded")

    def _resident(self) -> list[tuple[int, int]]:
        """Stretches of rows of parts that stay, which follow each other."""
        stay = self._staying()
        return [(self.residence.rows[stay[0]], sum(self.parts[part].rows for part in stay))] if stay else []

    def _staying(self) -> list[int]:
        return [part for part in range(len(self.parts)) if part not in set(self.residence.streamed)]

    def _constants(self) -> list[Tensor]:
        tensors = {tensor.index: tensor for call in self.calls for tensor in call.task.inputs}
        return [tensor for tensor in tensors.values() if tensor.data is not None]

    def _segment(self, name: str) -> int:
        return [segment for segment, _ in self._segments()].index(name)

    def _segments(self) -> list[tuple[str, Sequence[int] | Sequence[Tensor]]]:
        kinds: list[tuple[str, Sequence[int] | Sequence[Tensor]]] = [
            (RESIDENT, self._staying()),
            (STREAMED, self.residence.streamed),
            (CONSTANT, self._constants()),
        ]
        return [(name, held) for name, held in kinds if held]

    def data(self) -> tuple[DataSegment, ...]:
        """Rows of parameters, as the host has them."""
        segments = []
        for name, held in self._segments():
            rows = [self._rows(one) for one in held]
            segments.append(DataSegment(name, np.concatenate(rows).reshape(-1)))
        return tuple(segments)

    def _rows(self, held: int | Tensor) -> Rows:
        if isinstance(held, int):
            return self.parts[held].data
        layout = self.placed[held.index].layout
        assert held.data is not None
        shape = (1, layout.height, layout.width, layout.depth)
        data = held.data.reshape((1,) * (4 - held.data.ndim) + held.data.shape)
        rows: Rows = rows_of(np.broadcast_to(data, shape), layout, self.topology)[0]
        return rows


def weights_of(calls: Sequence[Call], topology: Topology, name: str) -> tuple[list[list[Part]], Residence]:
    """The parts of each layer, and where they stand; where a pass has no room, passes are cut to half of it.

    Raises:
        CapacityError: there is no room even so.
    """
    capacity = topology.weight_ram.rows
    try:
        parts = [list(OPERATORS[type(call.task.node.operator)].parts(call)) for call in calls]
        return parts, reside(_needs(parts), capacity, topology.link_cycles, name)
    except CapacityError:
        for call in calls:
            call.most_rows = capacity // 2
        parts = [list(OPERATORS[type(call.task.node.operator)].parts(call)) for call in calls]
        return parts, reside(_needs(parts), capacity, topology.link_cycles, name)


def _needs(parts: Sequence[Sequence[Part]]) -> list[Need]:
    return [Need(part.rows, part.clocks) for own in parts for part in own]


def is_cut(call: Call) -> bool:
    """Whether passes of a layer are cut, so that sums wait."""
    op = call.task.node.operator
    return isinstance(op, MIXING) and len(chunks(call, filter_row(call))) > 1
