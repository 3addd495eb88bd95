"""What only moves elements: rows are loaded, rotated to where they belong, and written through masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Network, Node
from tilesim.network.operators import Concatenation, Pad, Reshape, ResizeNearest, Slice
from tilesim.rotating.compiler.call import Call, Line, Part, Traits
from tilesim.rotating.compiler.emitter import At, Index, Writer
from tilesim.rotating.compiler.lower.parameters import IDENTITY, one_for_all
from tilesim.rotating.compiler.moves import Copying, LineMoves, Move, Words
from tilesim.rotating.isa.model.instructions import Alu, Function, Mask
from tilesim.rotating.topology import Topology

VALUES = 1 << 20
"""Beyond all values that a pad may have."""
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(1 << 15), (1 << 15) - 1)}


class Stretch(NamedTuple):
    """``lines`` lines from ``line`` on that are made alike: from lines of the inputs that rise by ``rises``."""

    line: int
    lines: int
    made: LineMoves
    rises: tuple[int, ...]


def rewriting_parts(call: Call) -> list[Part]:
    return [Part(np.zeros((0, call.topology.row_bytes), np.uint8), one_for_all(call, IDENTITY))]


def wanted(call: Call) -> NDArray[np.int64]:
    """Which element of the inputs each of the output is, (lines, columns, channels); -1 where it is the fill."""
    first, numbers = 0, []
    shapes = call.task.shapes or tuple(tensor.shape for tensor in call.task.inputs)
    for own, shape in zip(call.task.maps, shapes, strict=True):
        count = int(np.prod(own))
        numbers.append(np.arange(VALUES + first, VALUES + first + count).reshape(shape))
        first += count
    made = np.asarray(call.task.node.operator.evaluate(numbers)).reshape(call.task.made)
    return np.where(made < VALUES, -1, made - VALUES)


def stretches(copying: Copying, row: int) -> list[Stretch]:
    """All lines of a row, those together that one loop makes."""
    made: list[Stretch] = []
    for line in range(copying.output.height):
        moves = copying.row(line, row)
        last = made[-1] if made else None
        if last is not None and last.made.moves == moves.moves:
            before = [a + (last.lines - 1) * b for a, b in zip(last.made.lines, last.rises, strict=True)]
            rises = tuple(now - then for now, then in zip(moves.lines, before, strict=True))
            if last.lines == 1 or rises == last.rises:
                made[-1] = last._replace(lines=last.lines + 1, rises=rises)
                continue
        made.append(Stretch(line, 1, moves, (0,) * len(moves.lines)))
    return made


def lower_rewriting(call: Call, writer: Writer) -> None:
    """The fill is the zero point of what is read and written, so that a row of nothing is a row of it."""
    fill = call.output.fill
    call.registers(
        writer, data_zero=fill, rule=IDENTITY.rule, zero_point=fill, clamp=RANGES[call.task.output.dtype.name]
    )
    copying = Copying(call.inputs, call.output, wanted(call), call.topology.units.count, call.up)
    chosen = call.fetch(writer, 0)
    for row in range(call.output.line_rows):
        for stretch in stretches(copying, row):
            for move, source, mask, first in _pieces(stretch):
                _move(call, writer, stretch, row, (move, source), mask, first, chosen)


Piece = tuple[Move | None, int, Words, bool]


def _pieces(stretch: Stretch) -> Iterator[Piece]:
    """Moves and masks in order, and whether each is the first; a mask of no words names all."""
    if not stretch.made.moves:
        yield None, 0, Words(0, 0, 1, 0, 1), False
    first = True
    for number, move in enumerate(stretch.made.moves):
        for mask in move.masks:
            yield move, number, mask, first
            first = False


def _move(
    call: Call, writer: Writer, stretch: Stretch, row: int, read: tuple[Move | None, int], mask: Words, first: bool,
    chosen: int,
) -> None:  # fmt: skip
    assert call.target is not None
    move, number = read
    offset, block, stride, count, blocks = mask
    writer.control(Mask, offset=offset, block=block, stride=stride, count=count, blocks=blocks)
    with writer.loop(stretch.lines) as line:
        if move is not None:
            _load(call, writer, move, stretch, number, line)
        target = At(call.target.row + stretch.line * call.target.groups + row, {line: call.target.groups})
        outside: dict[str, Any] = {"outside": "fill", "fill": call.output.fill} if first else {}
        writer.out(target, function=Function.REQUANTISE, set=chosen, clear="zero", **outside)


def _load(call: Call, writer: Writer, move: Move, stretch: Stretch, number: int, line: Index) -> None:
    source = call.sources[move.source]
    own = call.passes[0]
    spot = call.spot(source, own, Line(0, line, stretch.rises[number]), stretch.made.lines[number], move.row)
    call.wait(writer, spot)
    writer.step(data=spot.data, alu=Alu.NONE if move.distance else Alu.ADD)
    if move.distance:
        writer.turned(move.distance, Alu.ADD)


def rewriting_faults(network: Network, node: Node, _topology: Topology) -> Iterator[str]:
    if fixed := [network.tensors[index].title for index in node.inputs if network.tensors[index].data is not None]:
        yield f"must read tensors that are computed, not the constant {fixed[0]}"


OPERATORS = dict.fromkeys(
    (Concatenation, Pad, Reshape, ResizeNearest, Slice), Traits(rewriting_parts, lower_rewriting, rewriting_faults)
)
