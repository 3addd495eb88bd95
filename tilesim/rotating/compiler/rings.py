"""Maps that the data RAM has no room for: they stay at the host, and lines of them go through rings of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import Lifetime, in_use
from tilesim.rotating.compiler.call import Call
from tilesim.rotating.compiler.pieces import Piece, whole_of
from tilesim.rotating.compiler.rows import Key, allocated
from tilesim.rotating.isa.model.program import Layout
from tilesim.rotating.topology import RAW_ROWS, Topology

LEAST = 4
"""Lines that a ring is ahead at least: one is read, one is written, and two cross the link."""
WHOLE = -1
"""The step of a map that stands in one place all the time."""
SUMS = -1
"""What stands for sums that wait, among the numbers of tensors."""


def ring_period(call: Call) -> int:
    """Output lines for which a ring of a layer is long enough: a window, and the lines that come meanwhile."""
    window = call.task.window
    reach = (window.kernel[0] - 1) * window.dilations[0] + 1
    least, spare = (LEAST, window.strides[0]) if call.ahead else (1, 0)
    lines = max(least, -(-(reach + spare) // window.strides[0]))
    return min(lines, -(-window.size[0] // window.strides[0]))


def source_lines(call: Call) -> int:
    """Lines of a ring of what a layer reads."""
    return ring_period(call) * call.task.window.strides[0]


def layouts_of_calls(calls: Sequence[Call]) -> dict[int, Layout]:
    """The layouts of all tensors that layers read or make."""
    layouts = {}
    for call in calls:
        layouts.update({tensor.index: own for tensor, own in zip(call.task.inputs, call.inputs, strict=True)})
        layouts[call.task.output.index] = call.output
    return layouts


def held_rows(call: Call, tensor: int) -> int:
    """Rows of a line that a pass reads."""
    number = [read.index for read in call.task.inputs].index(tensor)
    return call.inputs[number].line_rows if call.task.family == "mixing" else 1


@dataclass
class Rooms:
    """The rows of all maps: those that are ``far`` have rings where they are read and written."""

    calls: Sequence[Call]
    cut: set[int]
    """Layers, by their steps, whose sums wait."""
    leave: Sequence[int]
    """Tensors that the host takes."""
    topology: Topology
    pieces: Mapping[int, Piece] = field(default_factory=dict)
    """Tensors that are stripes of others: all stripes of one stand together, line by line."""
    far: frozenset[int] = frozenset()

    def settle(self, name: str) -> dict[Key, int]:
        """The first rows of all; what takes most of the room where most is taken goes far.

        Raises:
            CapacityError: there is no room even so.
        """
        while True:
            lives = self.lives()
            try:
                return allocated(name, lives, self.topology)
            except CapacityError:
                tensor = self._largest(lives)
                if tensor is None:
                    raise
                self.far |= {tensor}

    def lives(self) -> dict[Key, Lifetime]:
        """How long rows are needed: of inputs from the start, for they come when they come; of constants, and of what
        leaves, up to the end; of rings and of sums that wait, in a step only.
        """
        end = len(self.calls)
        made = {self._whole(call.task.output.index): step for step, call in reversed(list(enumerate(self.calls)))}
        rows = self._rows()
        lives: dict[Key, Lifetime] = {}
        for step, call in enumerate(self.calls):
            for tensor in (*call.task.inputs, call.task.output):
                index = tensor.index
                if index in self.far:
                    lives[index, step] = Lifetime(self.ring_rows(step, index), step, step, tensor.title)
                    continue
                index = self._whole(index)
                last = end if tensor.data is not None or index in self.leave else step
                lives[index, WHOLE] = Lifetime(rows[index], made.get(index, 0), last, tensor.title)
            if step in self.cut:
                lives[SUMS, step] = Lifetime(RAW_ROWS * call.output.height, step, step, "sums")
        return lives

    def _whole(self, index: int) -> int:
        return whole_of(index, self.pieces)

    def _rows(self) -> dict[int, int]:
        """Of each tensor that is no stripe, how many rows it has, with all of its stripes."""
        rows = dict[int, int]()
        for index, layout in layouts_of_calls(self.calls).items():
            rows[self._whole(index)] = rows.get(self._whole(index), 0) + layout.rows
        return rows

    def ring_rows(self, step: int, tensor: int) -> int:
        """Of the ring of a tensor in a step."""
        call = self.calls[step]
        if tensor == call.task.output.index:
            return ring_period(call)
        return source_lines(call) * held_rows(call, tensor)

    def _largest(self, lives: Mapping[Key, Lifetime]) -> int | None:
        """The tensor that frees most rows where most are taken, if it goes far."""
        peak = int(np.argmax(in_use(list(lives.values()))))
        savings = {}
        for (index, step), life in lives.items():
            if step == WHOLE and life.first <= peak <= life.last and self._may_go(index):
                savings[index] = life.size - self._ring_at(peak, index)
        if not savings or max(savings.values()) <= 0:
            return None
        return max(savings, key=lambda index: savings[index])

    def _ring_at(self, step: int, tensor: int) -> int:
        if step >= len(self.calls):
            return 0
        task = self.calls[step].task
        used = tensor in [task.output.index, *(read.index for read in task.inputs)]
        return self.ring_rows(step, tensor) if used else 0

    def _may_go(self, tensor: int) -> bool:
        """Whether all layers that make or read a tensor can do so line by line; what leaves, nobody else may read.
        Stripes stay.
        """
        if any(piece.whole == tensor for piece in self.pieces.values()):
            return False
        readers = 0
        for step, call in enumerate(self.calls):
            read = [one for one in call.task.inputs if one.index == tensor]
            if not read and call.task.output.index != tensor:
                continue
            readers += bool(read)
            whole = any(layout.height < call.output.height for layout in call.inputs if call.task.family == "elements")
            whole |= step in self.cut or call.task.family == "rewriting" or any(one.data is not None for one in read)
            if whole or (call.task.output.index == tensor and call.parts > 1):
                return False
        return tensor not in self.leave or (not readers and list(self.leave).count(tensor) == 1)
