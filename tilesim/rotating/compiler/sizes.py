"""How long the blocks of each tensor are: settled until all layers agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilesim.network.graph import Tensor
from tilesim.network.operators import Padding
from tilesim.rotating.compiler.blocks import block_size, least_words, slots
from tilesim.rotating.compiler.task import MapShape, Task
from tilesim.rotating.topology import Topology


@dataclass
class Sizes:
    """``words``: the fewest that a block of each tensor must have; ``blocks``: how many it has; ``parts``: into how
    many the layer that makes a tensor cuts those that it reads.
    """

    tasks: Sequence[Task]
    topology: Topology
    in_parts: bool = True
    """Whether layers cut blocks in parts at all, of which each pass fills some."""
    tensors: dict[int, Tensor] = field(default_factory=dict)
    shapes: dict[int, MapShape] = field(default_factory=dict)
    words: dict[int, int] = field(default_factory=dict)
    blocks: dict[int, int] = field(default_factory=dict)
    parts: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for task in self.tasks:
            for tensor, shape in zip((*task.inputs, task.output), (*task.maps, task.made), strict=True):
                self.tensors[tensor.index] = tensor
                self.shapes[tensor.index] = shape
        self.words = {index: self._least(index) for index in self.tensors}

    def settle(self) -> None:
        """Blocks that are too small for what follows grow, until there are none."""
        made = {task.output.index for task in self.tasks}
        given = [index for index, tensor in self.tensors.items() if index not in made and tensor.data is None]
        while True:
            self.blocks = {index: self._smallest(index) for index in given}
            if all(self._goes_on(task) for task in self.tasks):
                return

    def count(self, index: int) -> int:
        """Blocks of a row."""
        return self.topology.units.count // self.blocks[index]

    def groups(self, index: int) -> int:
        """Rows of a line."""
        return -(-self.shapes[index][2] // self.count(index))

    def _least(self, index: int) -> int:
        """Of all that read it, those that elements are combined with included."""
        lines, width, _ = self.shapes[index]
        readers = [task for task in self.tasks if any(tensor.index == index for tensor in task.inputs)]
        windows = [task.window for task in readers]
        reaches = [window.reach for window in windows] or [Padding()]
        vector = lines == width == 1 and not any(reach.left or reach.right for reach in reaches)
        made = [(window.output[1] - 1) * window.strides[1] + 1 for window in windows]
        return max(made + [least_words(width, reach, vector, self.topology) for reach in reaches])

    def _smallest(self, index: int) -> int:
        units = self.topology.units.count
        size = block_size(self.words[index], units)
        assert size is not None, "wider maps are cut into stripes before"
        return size

    def _goes_on(self, task: Task) -> bool:
        """Whether the blocks of what a layer reads leave room for what it makes; if not, they must grow."""
        output = task.output.index
        if task.family == "rewriting":
            self.blocks[output] = self._smallest(output)
            return True
        read = [tensor.index for tensor in task.inputs if tensor.data is None]
        needed = max([self.words[output], *(self.blocks[index] for index in read)] if len(read) > 1 else [0])
        if small := [index for index in read if self.blocks[index] < needed]:
            return self._grow(small, needed)
        parts = self._parts(task, read[0])
        if not parts:
            return self._grow(read, self.words[output])
        self.parts[output] = parts
        self.blocks[output] = self.blocks[read[0]] // parts
        for tensor in task.inputs:
            self.blocks.setdefault(tensor.index, self.blocks[read[0]])
        return True

    def _grow(self, indices: Sequence[int], words: int) -> bool:
        for index in indices:
            self.words[index] = max(self.words[index], words)
            self._smallest(index)
        return False

    def _parts(self, task: Task, read: int) -> int:
        """Layers that keep their channels in place fill parts with those of other rows; if there are none, with
        nothing.
        """
        stride = task.window.strides[1] if task.window.output[1] > 1 else 1
        most = (stride if task.family == "mixing" else self.groups(read)) if self.in_parts else 1
        return slots(self.blocks[read], stride, self.words[task.output.index], most)
