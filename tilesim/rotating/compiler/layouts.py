"""In which blocks and from which word on each map stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilesim.network.operators import DepthwiseConvolution, Pad, Slice
from tilesim.rotating.compiler.channels import Channels, groups_of, stretch
from tilesim.rotating.compiler.pairing import aligned, pairing
from tilesim.rotating.compiler.pieces import NO_PIECES, Piece, whole_of
from tilesim.rotating.compiler.sizes import Sizes
from tilesim.rotating.compiler.task import PAIRS, Task
from tilesim.rotating.isa.model.program import Layout, Stripe
from tilesim.rotating.topology import Topology


class Apart(Exception):
    """``task`` can't read ``tensor`` as others make or read it, but could a copy."""

    def __init__(self, task: Task, tensor: int) -> None:
        self.task, self.tensor = task, tensor
        super().__init__(task, tensor)


Blocks = tuple[int, int]
"""From the first block, which may be negative, up to the end."""


@dataclass(frozen=True)
class Layouts:
    """``of`` each tensor, and into how many ``parts`` the layer that makes it cuts blocks."""

    of: Mapping[int, Layout]
    parts: Mapping[int, int]


def layouts_of(
    tasks: Sequence[Task], topology: Topology, in_parts: bool = True, pieces: Mapping[int, Piece] = NO_PIECES
) -> Layouts:
    """The layouts of all tensors of a network, ``pieces`` of which are stripes of others.

    Raises:
        Apart: maps that can't be brought together.
    """
    sizes = Sizes(tasks, topology, in_parts)
    sizes.settle()
    maps = _Maps(sizes, _needed(sizes), pieces)
    for task in tasks:
        maps.make(task)
    return Layouts(maps.of, sizes.parts)


def _needed(sizes: Sizes) -> dict[int, Blocks | None]:
    """The blocks of each tensor that somebody needs, the last first; None: all."""
    needed: dict[int, Blocks | None] = {}
    up = sizes.topology.rotation.direction == "up"

    def need(index: int, blocks: Blocks | None) -> None:
        before = needed.get(index, blocks)
        both = (min(before[0], blocks[0]), max(before[1], blocks[1])) if before and blocks else None
        fits = both is not None and both[1] - both[0] <= sizes.count(index)
        needed[index] = both if fits else None

    for task in reversed(sizes.tasks):
        output = task.output.index
        if output not in needed:
            need(output, (0, sizes.shapes[output][2]))
        blocks, parts = needed[output], sizes.parts.get(output, 1)
        for tensor, (_, _, channels) in zip(task.inputs, task.maps, strict=True):
            own = blocks
            if task.family == "rewriting":
                own = (0, channels)
            elif task.family == "mixing" and blocks:
                units, more = (blocks[0] // parts, -(-blocks[1] // parts)), channels - 1
                own = (units[0] - more, units[1]) if up else (units[0], units[1] + more)
            elif channels != task.made[2] or parts > 1:
                own = None
            need(tensor.index, own)
    return needed


@dataclass
class _Maps:
    """Layouts, in the order of the layers."""

    sizes: Sizes
    needed: Mapping[int, Blocks | None]
    pieces: Mapping[int, Piece]
    of: dict[int, Layout] = field(default_factory=dict)
    partial: set[int] = field(default_factory=set)
    """Tensors of which not all blocks can be had."""

    def make(self, task: Task) -> None:
        for tensor in task.inputs:
            if tensor.index not in self.of and tensor.data is None:
                self._keep(tensor.index, 0, self._free(tensor.index, everywhere=True))
        if task.family == "rewriting":
            before = self.of[task.inputs[0].index].stripes[0].offset
            self._keep(task.output.index, before + _begin(task), self._free(task.output.index))
        elif task.family == "mixing":
            self._mix(task)
        elif task.family == "channelwise":
            self._keep(task.output.index, self._shifted(task), self._along(task), like=task.inputs[0].index)
        else:
            self._combine(task)

    def _keep(self, index: int, offset: int, channels: tuple[Channels, ...], like: int | None = None) -> None:
        lines, width, depth = self.sizes.shapes[index]
        block = self.sizes.blocks[index]
        stripe = Stripe(0, width, block, offset % self.sizes.topology.units.count, channels)
        self.of[index] = Layout(lines, width, depth, (stripe,), self._fill(index))
        if like in self.partial:
            self.partial.add(index)

    def _free(self, index: int, everywhere: bool = False, partly: bool = False) -> tuple[Channels, ...]:
        """The map of a tensor that can have any; ``everywhere``: in all blocks at no cost; ``partly``: in those only
        that are needed.
        """
        blocks, needed, channels = self.sizes.count(index), self.needed[index], self.sizes.shapes[index][2]
        if needed is None or (blocks % channels == 0 and not partly):
            return groups_of(channels, blocks)
        self.partial.add(index)
        return (stretch(channels, blocks, needed[0], needed[0] + blocks if everywhere else needed[1]),)

    def _mix(self, task: Task) -> None:
        partly = task.inputs[0].index in self.partial
        self._keep(task.output.index, self._shifted(task), self._free(task.output.index, partly=partly))

    def _shifted(self, task: Task) -> int:
        """Where what a window makes stands: offsets cost nothing, for the ring has no origin."""
        window, before = task.window, self.of[task.inputs[0].index].stripes[0].offset
        up = self.sizes.topology.rotation.direction == "up"
        return before + (window.kernel[1] - 1) * window.dilations[1] * up - window.padding.left

    def _along(self, task: Task) -> tuple[Channels, ...]:
        """Channels stay in their blocks; each row of a line makes as many as the multiplier says, or ``parts`` of them
        go into one.
        """
        before = self.of[task.inputs[0].index].stripes[0].channels
        parts = self.sizes.parts[task.output.index]
        if isinstance(task.node.operator, DepthwiseConvolution):
            copies = task.made[2] // task.maps[0][2]
            before = tuple(
                tuple(c * copies + k if c >= 0 else -1 for c in held) for held in before for k in range(copies)
            )
        none = (-1,) * len(before[0])
        rows = [before[k : k + parts] for k in range(0, len(before), parts)]
        together = [(*row, *(none,) * (parts - len(row))) for row in rows]
        return tuple(tuple(np.stack(row, axis=-1).reshape(-1).tolist()) for row in together)

    def _combine(self, task: Task) -> None:
        """Blocks that hold the same channels in all operands are combined. What has no layout yet is constant: it gets
        that of the other.
        """
        computed = [tensor.index for tensor in task.inputs if tensor.data is None]
        maps = [self.of[index].stripes[0].channels for index in computed]
        both = _agreeing(maps) if len(set(maps)) > 1 else maps[0]
        if not self._enough(task, both):
            raise Apart(task, next((index for index in computed if not self._is_copy(index)), computed[0]))
        first = next(k for k, tensor in enumerate(task.inputs) if tensor.data is None)
        offset = self.of[computed[0]].stripes[0].offset + task.skips[first]
        for tensor in task.inputs:
            if tensor.data is not None:
                self._keep(tensor.index, offset, both)
        self._keep(task.output.index, self._together(task), both)
        if both != maps[0] or self.partial & set(computed):
            self.partial.add(task.output.index)

    def _is_copy(self, index: int) -> bool:
        return any(task.is_copy and task.output.index == index for task in self.sizes.tasks)

    def _enough(self, task: Task, channels: tuple[Channels, ...]) -> bool:
        """Whether blocks hold all channels, and are those that readers need."""
        index = task.output.index
        if {channel for row in channels for channel in row} - {-1} != set(range(task.made[2])):
            return False
        needed = self.needed[index]
        if needed is None:
            return all(-1 not in row for row in channels) or len(channels) > 1
        blocks = self.sizes.count(index)
        return all(channels[0][block % blocks] >= 0 for block in range(*needed))

    def _together(self, task: Task) -> int:
        """Where elements stand that are made of those of one map, or of two."""
        op, offsets = task.node.operator, aligned(task, [self.of[tensor.index].stripes[0] for tensor in task.inputs])
        if not isinstance(op, PAIRS):
            return offsets[0]
        turned = pairing(op, (offsets[0], offsets[1]), self.sizes.topology).turned
        return offsets[1 - turned]

    def _fill(self, index: int) -> int:
        """What words without an element hold: what windows that reach over edges want there, else the zero point. It
        is the same in all stripes of a tensor.
        """
        whole = whole_of(index, self.pieces)
        readers = [task for task in self.sizes.tasks if self._reads(task, whole)]
        wanted = {pads for task in readers if (pads := task.pads) is not None}
        made = [task for task in self.sizes.tasks if whole_of(task.output.index, self.pieces) == whole]
        wanted |= {op.value for task in made for op in _borders(task)}
        if len(wanted) > 1:
            apart = next(task for task in readers if task.pads == min(wanted))
            raise Apart(apart, next(one.index for one in apart.inputs if whole_of(one.index, self.pieces) == whole))
        known = self.sizes.tensors[index].quantisation
        return wanted.pop() if wanted else known.zero_point if known else 0

    def _reads(self, task: Task, whole: int) -> bool:
        """Whether a layer reads a stripe of a tensor, or all of it."""
        return any(whole_of(tensor.index, self.pieces) == whole for tensor in task.inputs)


def _begin(task: Task) -> int:
    """How far behind the first input what is made of it begins, so that most of it need not be rotated."""
    op = task.node.operator
    if isinstance(op, Pad) and len(op.before) > 2:
        return -op.before[-2]
    return op.begin[-2] if isinstance(op, Slice) and len(op.begin) > 2 else 0


def _borders(task: Task) -> list[Pad]:
    """A border is of the value of words without an element."""
    return [task.node.operator] if isinstance(task.node.operator, Pad) else []


def _agreeing(maps: Sequence[tuple[Channels, ...]]) -> tuple[Channels, ...]:
    """The channels of those blocks that hold the same in all maps."""
    if len({len(rows) for rows in maps}) > 1:
        return ((-1,) * len(maps[0][0]),)
    return tuple(
        tuple(held[0] if len(set(held)) == 1 else -1 for held in zip(*rows, strict=True))
        for rows in zip(*maps, strict=True)
    )
