"""The queue of DMA in: weights, inputs, and lines of maps that stay at the host, in the order of their use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tilesim.rotating.compiler.call import Call
from tilesim.rotating.compiler.rings import held_rows, source_lines
from tilesim.rotating.isa.model.instructions import Counter, Queue, ReadHostMemory, Sync

Order = tuple[int, ...]


@dataclass(frozen=True)
class Origin:
    """Where the host has a map that goes through rings: an input or a scratch; of one that the chip made, DMA out had
    sent ``left`` rows before it, and then sends it pass by pass.
    """

    source: Literal["input", "scratch"]
    tensor: int
    left: int = 0


Met = tuple[Counter, int]
"""What a counter must have come to."""


@dataclass(frozen=True)
class Arrival:
    """Something that comes, at its place in the ``order``: the streamed ``part`` of that number, or a ``line`` (step,
    tensor, pass, line) of a map, or a whole input.
    """

    op: ReadHostMemory
    order: Order
    part: int | None = None
    line: tuple[int, int, int, int] | None = None
    left: int = 0
    """Rows that DMA out must have sent before."""


def lines_of(call: Call, step: int, tensor: int, origin: Origin, row: int) -> Iterator[Arrival]:
    """All lines of a map, as often as a layer has passes."""
    number = [read.index for read in call.task.inputs].index(tensor)
    layout, ring, held = call.inputs[number], source_lines(call), held_rows(call, tensor)
    for turn, own in enumerate(call.passes):
        group = 0 if call.task.family == "mixing" else call.group(own)
        for y in range(layout.height):
            op = ReadHostMemory(
                label=f"{origin.source}{origin.tensor}.{step}.{turn}.{y}", source=origin.source, tensor=origin.tensor,
                offset=y * layout.line_rows + group, rows=held, row=row + y % ring * held, layer=call.task.layer,
            )  # fmt: skip
            last = layout.height * (group + held - 1) + y + 1
            left = origin.left + last if origin.source == "scratch" else 0
            yield Arrival(op, (step, turn, 1, y, number), line=(step, tensor, turn, y), left=left)


@dataclass
class Coming:
    """What each arrival waits for, once the array's instructions are written: ``ends`` has the rows written at the end
    of each step, ``gone`` those that have left from rings before it, ``freed`` the outs after which the place of a
    streamed part is free.
    """

    calls: Sequence[Call]
    ends: Sequence[int]
    gone: Sequence[int]
    freed: Callable[[int], int | None]

    def queue(self, arrivals: Sequence[Arrival]) -> Iterator[Sync | ReadHostMemory]:
        """The instructions of DMA in; it waits for nothing twice."""
        met: dict[Counter, int] = {}
        for arrival in arrivals:
            for counter, count in self._before(arrival):
                if count > met.get(counter, 0):
                    yield Sync(unit=Queue.DMA_IN, until=counter, count=count)
                    met[counter] = count
            yield arrival.op

    def _before(self, arrival: Arrival) -> Iterator[Met]:
        if arrival.part is not None:
            freed = self.freed(arrival.part)
            if freed is not None:
                yield Counter.ARRAY, freed
        if arrival.left:
            yield Counter.DMA_OUT, arrival.left
        if arrival.line is not None:
            yield from self._place_free(*arrival.line)

    def _place_free(self, step: int, tensor: int, turn: int, y: int) -> Iterator[Met]:
        """Whoever read last what stood in the line's place must have, and what was written there be written, or have
        left.
        """
        call = self.calls[step]
        number = [read.index for read in call.task.inputs].index(tensor)
        ring, height = source_lines(call), call.inputs[number].height
        before = y - ring
        if before < 0:
            if turn == 0:
                yield Counter.OUTPUT, self.ends[step - 1] if step else 0
                yield Counter.DMA_OUT, self.gone[step]
                return
            turn -= 1
            before = height - 1 - (height - 1 - y) % ring
        window = call.task.window
        last = min(window.output[0] - 1, (before + window.padding.top) // window.strides[0])
        yield Counter.ARRAY, call.started[turn] + last + 1
