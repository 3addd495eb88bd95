"""All instructions of a run, in one order in which they would be right: turn by turn, with what comes and goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tilesim.lowering.operator_plan import axes_of
from tilesim.network.graph import Tensor
from tilesim.systolic.compiler.array_plan import ArrayPlan
from tilesim.systolic.compiler.call import Item, PendingMultiply, TaskCall
from tilesim.systolic.compiler.emitter import touched
from tilesim.systolic.compiler.lower.operators import lower
from tilesim.systolic.compiler.placement import BufferPlacement, Image, size_of
from tilesim.systolic.compiler.product import Product
from tilesim.systolic.compiler.steps import Turn
from tilesim.systolic.compiler.storage import AccumulatorRing, Storage
from tilesim.systolic.compiler.weight_tiles import cuts
from tilesim.systolic.isa.checks.footprints import MemoryAccess
from tilesim.systolic.isa.model.instructions import Instruction, ReadHostMemory, WriteHostMemory
from tilesim.systolic.isa.model.program import TensorPlace
from tilesim.systolic.topology import Topology

T = TypeVar("T")

MOST_PIECES = 8
"""An input comes in so many pieces, so that the first layer can begin with its first rows."""


@dataclass
class InstructionStream:
    """The stream in the making. ``ends``: the last instruction of each turn; ``arrived``: of each input."""

    plan: ArrayPlan
    topology: Topology
    turns: Sequence[Turn]
    placement: BufferPlacement
    products: Mapping[int, Product]
    storage: Storage
    items: list[Item] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    arrived: dict[Image, str] = field(default_factory=dict)

    def write(self) -> None:
        """Turn by turn; what runs in the vector unit alone begins while the turn before still runs. Inputs of the next
        one come meanwhile, if there is room. Outputs leave at the end, or, as many would fill the queue and hold all
        others, in the course of the next turn.
        """
        accumulators = AccumulatorRing(self.topology.accumulators.entries)
        ahead = self.placement.ahead
        names = _names(self.turns)
        leaving: list[Instruction] = []
        if ahead:
            self.items += self._arrivals(0)
        for number, turn in enumerate(self.turns):
            ops = lower(self._call(turn, accumulators))
            labelled = [_labelled(op, f"{names[number]}.{k}", turn.task.layer) for k, op in enumerate(ops)]
            if not ahead:
                self.items += self._arrivals(number)
            coming = self._arrivals(number + 1) if ahead else []
            if turn.task.weighted:
                self.items += mixed(mixed(labelled, coming), leaving)
            else:
                floor = max(self._end_of(number - 2), self._end_of(number - 3))  # turns may end in another order
                self.items[floor:] = [*hoisted(self.items[floor:], labelled, self.topology), *coming, *leaving]
            self.ends.append(f"{names[number]}.{len(labelled) - 1}")
            leaving = self._departures(turn)
            if not ahead or len(leaving) <= self.topology.sequencer.queue_depth // 2:
                self.items += leaving
                leaving = []
        self.items += leaving

    def _end_of(self, turn: int) -> int:
        """Behind the last instruction of a turn: what runs in the next but one may write over what it made."""
        label = self.ends[turn] if turn >= 0 else ""
        return next((k for k in range(len(self.items), 0, -1) if _label(self.items[k - 1]) == label), 0)

    def _call(self, turn: Turn, accumulators: AccumulatorRing) -> TaskCall:
        task = turn.task
        sources = tuple(self._addresses(tensor.index, turn) for tensor in task.stored)
        targets = self._addresses(task.output.index, turn)
        product = self.products.get(task.layer)
        return TaskCall(task, self.topology, self.storage, accumulators, sources, targets, product)

    def _addresses(self, tensor: int, turn: Turn) -> tuple[int, ...]:
        """Of each inference; a constant is the same for all."""
        data = self.plan.network.tensors[tensor].data
        if data is not None:
            return (self.storage.keep(data),) * turn.count
        return tuple(self.placement.addresses[tensor, inference] for inference in turn.inferences)

    def _arrivals(self, turn: int) -> list[Instruction]:
        """The inputs that are first needed in a turn: all of one inference, then those of the next."""
        images = sorted(self.placement.arrivals[turn], key=lambda image: image[1]) if turn < len(self.turns) else []
        pieces = max(1, min(MOST_PIECES, self.topology.sequencer.queue_depth // max(1, len(images))))
        return [op for image in images for op in self._arrival(image, pieces)]

    def _arrival(self, image: Image, pieces: int) -> Iterator[Instruction]:
        """Rows of an input that come together."""
        index, inference = image
        stored = self.plan.network.tensors[index]
        rows = stored.shape[1] if len(stored.shape) == 4 else 1
        row = size_of(stored) // rows
        number = next(k for k, source in enumerate(self.plan.sources) if source.stored.index == index)
        for part, (first, count) in enumerate(cuts(rows, -(-rows // pieces))):
            self.arrived[image] = f"input{number}.inference{inference}.{part}"
            yield ReadHostMemory(
                tensor=inference * len(self.plan.sources) + number,
                offset=first * row,
                address=self.placement.addresses[image] + first * row,
                bytes=count * row,
                label=self.arrived[image],
            )

    def _departures(self, turn: Turn) -> list[Instruction]:
        """The outputs that a turn makes, and those that are inputs as they came."""
        return [
            WriteHostMemory(
                tensor=inference * len(self.plan.sinks) + number,
                address=self.placement.addresses[sink.stored.index, inference],
                bytes=size_of(sink.stored),
                label=f"output{number}.inference{inference}",
                layer=turn.task.layer,
            )
            for inference in turn.inferences
            for number, sink in enumerate(self.plan.sinks)
            if sink.stored.index == turn.task.output.index
        ]

    def tensors(self) -> Iterator[TensorPlace]:
        """All that can be read out: what comes from the host, and what each turn leaves, under each of its shapes."""
        after = dict(self.arrived)
        for turn, end in zip(self.turns, self.ends, strict=True):
            after.update({(turn.task.output.index, inference): end for inference in turn.inferences})
        alike: dict[int, list[Tensor]] = {}
        for index, tensor in self.plan.network.tensors.items():
            alike.setdefault(self.plan.stored(index).index, []).append(tensor)
        for (index, inference), end in after.items():
            address = self.placement.addresses[index, inference]
            for tensor in alike[index]:
                axes, dtype = axes_of(tensor), str(tensor.dtype)
                yield TensorPlace(tensor.index, tensor.name, inference, end, address, tensor.shape, axes, dtype)


def _names(turns: Sequence[Turn]) -> list[str]:
    """What the labels of each turn begin with."""
    times, seen = Counter(turn.task.layer for turn in turns), Counter[int]()
    names = []
    for turn in turns:
        layer = turn.task.layer
        step = f".step{seen[layer]}" if times[layer] > 1 else ""
        names.append(f"{turn.task.node.kind}{layer}{step}")
        seen[layer] += 1
    return names


def _label(item: Item) -> str:
    return item.op.label if isinstance(item, PendingMultiply) else item.label


def _labelled(item: Item, label: str, layer: int) -> Item:
    if isinstance(item, PendingMultiply):
        return replace(item, op=replace(item.op, label=label, layer=layer))
    return replace(item, label=label, layer=layer)


def hoisted(stream: Sequence[Item], ops: Sequence[Item], topology: Topology) -> list[Item]:
    """A stream with ``ops``, in their order, each right behind the last instruction that it has to follow: the vector
    unit begins as early as what it uses is there, while the array still makes the rest of a map.
    """
    items = list(stream)
    accesses = [_touched(item, topology) for item in items]
    place = 0
    for op in ops:
        own = _touched(op, topology)
        place = max(place, next((k for k in range(len(items), place, -1) if _conflict(accesses[k - 1], own)), 0))
        items.insert(place, op)
        accesses.insert(place, own)
        place += 1
    return items


def _touched(item: Item, topology: Topology) -> list[MemoryAccess]:
    """Bytes that arrive count with those of their tensor before them, so that nothing takes its place before all of it
    was there, needed or not.
    """
    op = item.op if isinstance(item, PendingMultiply) else item
    accesses = touched(op, topology)
    if not isinstance(op, ReadHostMemory):
        return accesses
    return [replace(it, footprint=replace(it.footprint, first=it.footprint.first - op.offset)) for it in accesses]


def _conflict(some: Sequence[MemoryAccess], others: Sequence[MemoryAccess]) -> bool:
    """Whether one writes what the other reads or writes."""
    return any(
        (a.writes or b.writes)
        and a.memory == b.memory
        and a.footprint.first < b.footprint.end
        and b.footprint.first < a.footprint.end
        for a in some
        for b in others
    )


def mixed(many: Sequence[T], few: Sequence[T]) -> list[T]:
    """``few`` spread evenly among ``many``."""
    mixture: list[T] = []
    given = 0
    for number, item in enumerate(many, 1):
        mixture.append(item)
        until = len(few) * number // len(many)
        mixture += few[given:until]
        given = until
    return mixture + list(few[given:])
