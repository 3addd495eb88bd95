"""A network's layers as the instructions of all units, in the order in which they work."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np

from tilesim.errors import CapacityError
from tilesim.machines.program import DataSegment
from tilesim.network.graph import Tensor
from tilesim.rotating.compiler.arrivals import Arrival, Coming, Origin, lines_of
from tilesim.rotating.compiler.call import Call, Part, PartPlace, Placed
from tilesim.rotating.compiler.emitter import Writer
from tilesim.rotating.compiler.ends import Departing, leaving, written_rows
from tilesim.rotating.compiler.layouts import Apart, Layouts, layouts_of
from tilesim.rotating.compiler.lower.chunks import chunks
from tilesim.rotating.compiler.lower.convolution import filter_row
from tilesim.rotating.compiler.lower.operators import OPERATORS
from tilesim.rotating.compiler.pieces import rows_before, together, whole_of
from tilesim.rotating.compiler.plan import RowPlan, tasks_of, with_copy
from tilesim.rotating.compiler.rings import (
    SUMS,
    WHOLE,
    Rooms,
    held_rows,
    layouts_of_calls,
    ring_period,
    source_lines,
)
from tilesim.rotating.compiler.rows import Key
from tilesim.rotating.compiler.streaming import Need, Residence, reside
from tilesim.rotating.compiler.stripes import Striped, in_stripes
from tilesim.rotating.compiler.task import MIXING, Task
from tilesim.rotating.compiler.weights import Rows
from tilesim.rotating.isa.model.instructions import (
    Counter,
    Halt,
    Instruction,
    Ram,
    ReadHostMemory,
)
from tilesim.rotating.layout import rows_of
from tilesim.rotating.topology import Topology

RESIDENT, STREAMED, CONSTANT = "weights", "streamed weights", "constants"
"""What the host's data are called."""


@dataclass
class Stream:
    """``calls`` are the layers in order, ``firsts`` the number of the first part of each; ``rooms`` and ``rows`` say
    where tensors stand, ``residence`` where parts do.
    """

    plan: RowPlan
    topology: Topology
    calls: list[Call]
    parts: list[Part]
    firsts: list[int]
    residence: Residence
    rooms: Rooms
    rows: Mapping[Key, int]
    writer: Writer
    ends: list[int] = field(default_factory=list)
    """Rows written at the end of each layer."""
    begins: dict[int, int] = field(default_factory=dict)
    """Outs issued when the pass of each part begins."""

    @classmethod
    def of(cls, plan: RowPlan, topology: Topology) -> Stream:
        """Everything chosen, nothing written yet: rows of all words if there is room; else rings without spare lines,
        and blocks that no layer cuts in parts, for what is made in parts must stand whole.

        Raises:
            CapacityError: there is no room even so.
        """
        for in_parts, ahead in ((True, True), (True, False), (False, True)):
            try:
                return cls._of(plan, topology, in_parts, ahead)
            except CapacityError:
                continue
        return cls._of(plan, topology, in_parts=False, ahead=False)

    @classmethod
    def _of(cls, plan: RowPlan, topology: Topology, in_parts: bool, ahead: bool) -> Stream:
        name = plan.network.name
        striped = in_stripes(name, tasks_of(plan), topology)
        tasks, layouts = _settled(striped, topology, in_parts)
        calls = []
        for task in tasks:
            inputs = tuple(layouts.of[tensor.index] for tensor in task.inputs)
            parts = layouts.parts.get(task.output.index, 1)
            calls.append(Call(task, topology, inputs, layouts.of[task.output.index], parts, ahead=ahead))
        cut = weights_of(calls, topology, name)
        rooms = Rooms(calls, cut.steps, [sink.stored.index for sink in plan.sinks], topology, striped.pieces)
        rows = rooms.settle(name)
        for step in cut.steps:
            calls[step].partial = rows[SUMS, step]
        return cls(plan, topology, calls, cut.parts, cut.firsts, cut.residence, rooms, rows, Writer(topology))

    def __post_init__(self) -> None:
        pieces, layouts = self.rooms.pieces, layouts_of_calls(self.calls)
        self.rows_before = rows_before(layouts, pieces)
        layouts |= together(layouts, pieces)
        self.layouts = layouts
        self.placed = {index: Placed(layouts[index], row) for (index, step), row in self.rows.items() if step == WHOLE}
        self.origins, self.departing = self._far()
        self.arrivals = sorted([*self._streamed(), *self._inputs(), *self._lines()], key=lambda one: one.order)

    def _far(self) -> tuple[dict[int, Origin], dict[int, Placed]]:
        """Where the host has maps that go through rings; and from where those leave that layers make, by the step."""
        origins: dict[int, Origin] = {}
        for number, source in enumerate(self.plan.sources):
            if source.stored.index in self.rooms.far:
                origins[source.stored.index] = Origin("input", number)
        departing: dict[int, Placed] = {}
        left = 0
        for step, call in enumerate(self.calls):
            index = call.task.output.index
            if index in self.rooms.far:
                origins[index] = Origin("scratch", len(departing), left)
                ring = ring_period(call)
                departing[step] = Placed(call.output, self.rows[index, step], ring=ring, left=left)
                left += call.output.rows
        return origins, departing

    def _streamed(self) -> Iterator[Arrival]:
        offset, segment = 0, self._segment(STREAMED) if self.residence.streamed else 0
        for number, part in enumerate(self.residence.streamed):
            step = bisect_right(self.firsts, part) - 1
            rows = self.parts[part].rows
            op = ReadHostMemory(
                label=f"weights{part}", source="data", tensor=segment, offset=offset, rows=rows,
                ram=Ram.WEIGHT, row=self.residence.rows[part],
            )  # fmt: skip
            order = (step, self._pass_of(step, part), 0) if number else (-2,)
            yield Arrival(op, order, part=number)
            offset += rows

    def _pass_of(self, step: int, part: int) -> int:
        """The pass of a layer that needs a part."""
        end = self.firsts[step + 1] if step + 1 < len(self.firsts) else len(self.parts)
        each = max(1, (end - self.firsts[step]) // len(self.calls[step].passes))
        return (part - self.firsts[step]) // each

    def _inputs(self) -> Iterator[Arrival]:
        """Inputs that stand whole come after the weights that are needed first."""
        for number, source in enumerate(self.plan.sources):
            placed = self.placed.get(source.stored.index)
            if placed is not None:
                rows = placed.layout.rows
                yield Arrival(ReadHostMemory(label=f"input{number}", tensor=number, rows=rows, row=placed.row), (-1,))

    def _lines(self) -> Iterator[Arrival]:
        for step, call in enumerate(self.calls):
            for index in dict.fromkeys(tensor.index for tensor in call.task.inputs):
                if index in self.rooms.far:
                    yield from lines_of(call, step, index, self.origins[index], self.rows[index, step])

    def write(self) -> None:
        """The array's instructions."""
        arrived = self._arrived()
        sets = cycle((0, 1))
        for step, call in enumerate(self.calls):
            first, task = self.firsts[step], call.task
            end = self.firsts[step + 1] if step + 1 < len(self.firsts) else len(self.parts)
            call.places = tuple(self._place(part, arrived) for part in range(first, end))
            call.sources = tuple(self._source(step, tensor.index) for tensor in task.inputs)
            call.target = self.departing.get(step) or self._standing(task.output.index)
            call.sets, call.begun = sets, partial(self._begun, first)
            self.writer.begin(task.label, task.layer)
            OPERATORS[type(task.node.operator)].lower(call, self.writer)
            self._settle(step)
            self.ends.append(self.writer.written)

    def _source(self, step: int, index: int) -> Placed:
        if index not in self.rooms.far:
            return self._standing(index)
        call = self.calls[step]
        far = {tensor.index for tensor in call.task.inputs} & self.rooms.far
        pitch = sum(held_rows(call, tensor) for tensor in far)
        before = tuple(self.before[step, index, turn] for turn in range(len(call.passes)))
        return Placed(self.layouts[index], self.rows[index, step], before, source_lines(call), pitch)

    def _standing(self, index: int) -> Placed:
        """Where a tensor stands in which nothing is rewritten, or a stripe of it."""
        if index not in self.rooms.pieces:
            return self.placed[index]
        whole = self.placed[self.whole(index)]
        return whole.stripe_of(self.layouts[index], self.rows_before[index])

    def whole(self, index: int) -> int:
        """The tensor that another one is a stripe of; itself, if it is none."""
        return whole_of(index, self.rooms.pieces)

    def _begun(self, first: int, number: int) -> None:
        self.begins[first + number] = self.writer.outs

    def _arrived(self) -> dict[int, int]:
        """How many rows DMA in has written once each streamed part is there; and before each input, and before each
        map of a pass.
        """
        arrived, rows = dict[int, int](), 0
        self.before: dict[tuple[int, int, int], int] = {}
        inputs = {f"input{number}": source.stored.index for number, source in enumerate(self.plan.sources)}
        for arrival in self.arrivals:
            if arrival.line is not None:
                self.before.setdefault(arrival.line[:3], rows)
            elif arrival.part is None:
                index = inputs[arrival.op.label]
                self.placed[index] = replace(self.placed[index], before=(rows,))
            rows += arrival.op.rows
            if arrival.part is not None:
                arrived[self.residence.streamed[arrival.part]] = rows
        return arrived

    def _place(self, part: int, arrived: Mapping[int, int]) -> PartPlace:
        row = self.residence.rows[part]
        return PartPlace(row, row + len(self.parts[part].weights), arrived.get(part, 0))

    def _settle(self, step: int) -> None:
        """Behind the last layer that reads an input, all of it must have come, and all of what leaves from a ring have
        left: their rows become those of others.
        """
        call = self.calls[step]
        later = {tensor.index for other in self.calls[step + 1 :] for tensor in other.task.inputs}
        for tensor, placed in zip(call.task.inputs, call.sources, strict=True):
            if placed.ring:
                rows = (placed.layout.height - 1) * placed.pitch + call.held
                self.writer.wait(Counter.DMA_IN, placed.before[-1] + rows)
            elif placed.before and tensor.index not in later:
                self.writer.wait(Counter.DMA_IN, placed.before[0] + placed.span)
        if step in self.departing:
            self.writer.wait(Counter.DMA_OUT, self.departing[step].left + call.output.rows)

    def run(self) -> Iterator[Instruction]:
        """All queues: what comes, what the array does, what leaves."""
        sent = [call.output.rows if step in self.departing else 0 for step, call in enumerate(self.calls)]
        gone = [sum(sent[:step]) for step in range(len(sent))]
        yield from Coming(self.calls, self.ends, gone, self._freed).queue(self.arrivals)
        yield from self.writer.instructions
        sinks = [sink.stored.index for sink in self.plan.sinks]
        for number, (step, placed) in enumerate(self.departing.items()):
            index, before = self.calls[step].task.output.index, self.ends[step - 1] if step else 0
            if index in sinks:
                yield from Departing(placed, "output", sinks.index(index), before).queue()
            else:
                yield from Departing(placed, "scratch", number, before).queue()
        whole = {number: self.placed[index] for number, index in enumerate(sinks) if index in self.placed}
        yield from leaving(whole, written_rows(self.writer.instructions))
        yield Halt(label="end")

    def _freed(self, number: int) -> int | None:
        """Outs after which nobody needs any more what stood where a streamed part comes to stand."""
        before = self.residence.before(number)
        return None if before is None else self.begins[before + 1]

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
        streamed = set(self.residence.streamed)
        return [part for part in range(len(self.parts)) if part not in streamed]

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


def _settled(striped: Striped, topology: Topology, in_parts: bool) -> tuple[list[Task], Layouts]:
    """The layouts, and copies where one map can't be what all readers want.

    Raises:
        CapacityError: copies do not help either.
    """
    tasks = striped.tasks
    for _ in range(3 * len(tasks) + 1):
        try:
            return tasks, layouts_of(tasks, topology, in_parts, striped.pieces)
        except Apart as apart:
            tasks, reader = with_copy(tasks, apart.task, apart.tensor), apart.task
    raise CapacityError(f"{reader.title} must read tensors whose channels stand in the same blocks")


class Weights(NamedTuple):
    """All parts, the number of the first of each layer, where they stand, and layers whose passes are cut."""

    parts: list[Part]
    firsts: list[int]
    residence: Residence
    steps: set[int]


def weights_of(calls: Sequence[Call], topology: Topology, name: str) -> Weights:
    """Where a pass has no room, passes are cut to half of it.

    Raises:
        CapacityError: there is no room even so.
    """
    capacity = topology.weight_ram.rows
    try:
        return _weights(calls, topology, name)
    except CapacityError:
        for call in calls:
            call.most_rows = capacity // 2
        return _weights(calls, topology, name)


def _weights(calls: Sequence[Call], topology: Topology, name: str) -> Weights:
    own = [list(OPERATORS[type(call.task.node.operator)].parts(call)) for call in calls]
    firsts = [sum(map(len, own[:number])) for number in range(len(calls))]
    parts = [part for some in own for part in some]
    needs = [Need(part.rows, part.clocks) for part in parts]
    residence = reside(needs, topology.weight_ram.rows, topology.link_cycles, name)
    return Weights(parts, firsts, residence, {step for step, call in enumerate(calls) if is_cut(call)})


def is_cut(call: Call) -> bool:
    """Whether passes of a layer are cut, so that sums wait."""
    op = call.task.node.operator
    return isinstance(op, MIXING) and len(chunks(call, filter_row(call))) > 1
