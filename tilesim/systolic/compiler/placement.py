"""Where the tensors of all inferences lie in the unified buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import Lifetime, allocate_by_orders, in_use
from tilesim.network.graph import Tensor
from tilesim.systolic.compiler.array_plan import ArrayPlan
from tilesim.systolic.compiler.steps import Turn

Image = tuple[int, int]
"""A tensor of an inference."""


@dataclass(frozen=True)
class BufferPlacement:
    """``addresses`` of images; ``bytes_in_use`` of maps in each turn; ``arrivals``: the inputs that are first needed in
    each turn; they may come ``ahead`` turns before.
    """

    addresses: dict[Image, int]
    bytes_in_use: tuple[int, ...]
    arrivals: tuple[tuple[Image, ...], ...]
    ahead: int


def size_of(tensor: Tensor) -> int:
    return prod(tensor.shape) * tensor.dtype.itemsize


def place(plan: ArrayPlan, turns: Sequence[Turn], start: int, capacity: int) -> BufferPlacement:
    """Find places from address ``start`` on: those of the images of a turn side by side and inputs a turn ahead, or, if
    there is no room, each image by itself, in the end no earlier and no longer than it must be there.

    Raises:
        CapacityError: not even so.
    """
    needs = _Needs(plan, turns)
    for ahead in (1, 0):
        lives = needs.alone(ahead)
        for groups in (needs.groups(), [[image] for image in needs.first]):
            addresses = allocate_by_orders([needs.life(group, ahead) for group in groups], capacity - start)
            if addresses is not None:
                used = tuple(int(used_bytes) for used_bytes in in_use(lives))
                return BufferPlacement(_addresses(plan, groups, addresses, start), used, needs.arrivals(), ahead)
    raise CapacityError(_lack(plan, turns, needs, start, capacity))


def _addresses(
    plan: ArrayPlan, groups: Sequence[Sequence[Image]], addresses: Sequence[int], start: int
) -> dict[Image, int]:
    return {
        image: start + address + number * size_of(plan.network.tensors[image[0]])
        for group, address in zip(groups, addresses, strict=True)
        for number, image in enumerate(group)
    }


def _lack(plan: ArrayPlan, turns: Sequence[Turn], needs: _Needs, start: int, capacity: int) -> str:
    used = [start + int(used_bytes) for used_bytes in in_use(needs.alone(0))]
    most = max(range(len(used)), key=used.__getitem__)
    node = turns[most].task.node.title
    apart = ", but what is free does not lie together" if used[most] <= capacity else ""
    return (
        f"{plan.network.name}: tensors must fit the unified buffer: with parameters, {start:,} bytes, they take "
        f"{used[most]:,} bytes at once, while node {node} runs, and there are {capacity:,}{apart}"
    )


class _Needs:
    """From which turn to which each image is needed."""

    def __init__(self, plan: ArrayPlan, turns: Sequence[Turn]) -> None:
        self.plan, self.turns = plan, turns
        self.first: dict[Image, int] = {}
        self.last: dict[Image, int] = {}
        self.given = {source.stored.index for source in plan.sources}
        self.leaving = {sink.stored.index for sink in plan.sinks}
        for number, turn in enumerate(turns):
            for image in self._images(turn):
                self.first.setdefault(image, number)
                unread = image[0] not in plan.readers  # but by those who look at it when its turn is over
                self.last[image] = number + unread

    def _images(self, turn: Turn) -> Iterator[Image]:
        for tensor in (*turn.task.stored, turn.task.output):
            if tensor.data is None:
                yield from ((tensor.index, inference) for inference in turn.inferences)

    def groups(self) -> list[list[Image]]:
        """The images of one tensor that are first needed in one turn."""
        groups: dict[Image, list[Image]] = {}
        for (tensor, inference), turn in self.first.items():
            groups.setdefault((tensor, turn), []).append((tensor, inference))
        return list(groups.values())

    def life(self, group: Sequence[Image], ahead: int) -> Lifetime:
        """What comes from the host is there ``ahead`` turns earlier, what goes there as much longer."""
        tensor = group[0][0]
        first = min(self.first[image] for image in group) - (ahead if tensor in self.given else 0)
        last = max(self.last[image] for image in group) + (ahead if tensor in self.leaving else 0)
        size = size_of(self.plan.network.tensors[tensor])
        return Lifetime(len(group) * size, max(first, 0), min(last, len(self.turns) - 1))

    def alone(self, ahead: int) -> list[Lifetime]:
        return [self.life([image], ahead) for image in self.first]

    def arrivals(self) -> tuple[tuple[Image, ...], ...]:
        arrivals: list[list[Image]] = [[] for _ in self.turns]
        for image, turn in self.first.items():
            if image[0] in self.given:
                arrivals[turn].append(image)
        return tuple(tuple(images) for images in arrivals)
