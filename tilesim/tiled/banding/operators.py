"""What rows of its inputs an operator needs for some rows of its output, and the operator that makes these alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct

from tilesim.network.graph import Network, Node, Operator
from tilesim.network.operators import (
    Add,
    AveragePool,
    Concatenation,
    Convolution,
    DepthwiseConvolution,
    MaxPool,
    Multiply,
    Pad,
    Rescale,
    ResizeNearest,
    Slice,
    Subtract,
    Table,
)
from tilesim.network.operators.leaky_relu import LeakyRelu

ROWS = 1
"""The axis of rows."""


class BandOperator(Struct, frozen=True):
    """An ``operator`` that makes some rows of a node's output from the rows ``needs`` of each input that is a map."""

    operator: Operator
    needs: range


Maker = Callable[[Network, Node, range], BandOperator]


def band_operator(network: Network, node: Node, rows: range) -> BandOperator:
    """What makes ``rows`` of a node's output."""
    return MAKERS[type(node.operator)](network, node, rows)


def is_bandable(network: Network, node: Node) -> bool:
    """Whether some rows of a node's output, one of several, can be made from some rows of its inputs."""
    made = network.tensors[node.output].shape
    if type(node.operator) not in MAKERS or len(made) != 4 or made[0] != 1 or made[ROWS] == 1:
        return False
    if isinstance(node.operator, Concatenation | Slice | Pad):
        return _leaves_rows(network, node)
    return not (isinstance(node.operator, Add | Multiply | Subtract) and _has_constant_rows(network, node))


def _has_constant_rows(network: Network, node: Node) -> bool:
    """Whether a node takes a map of constants of several rows."""
    constants = [tensor for index in node.inputs if (tensor := network.tensors[index]).data is not None]
    return any(len(tensor.shape) > 2 and tensor.shape[-3] > 1 for tensor in constants)


def _leaves_rows(network: Network, node: Node) -> bool:
    """Whether an operator that moves bytes leaves the rows of all of its inputs where they are, or adds some."""
    if isinstance(node.operator, Pad):
        return True
    read = [network.tensors[index].shape for index in node.inputs]
    return all(len(shape) == 4 and shape[ROWS] == network.tensors[node.output].shape[ROWS] for shape in read)


def _same_rows(_network: Network, node: Node, rows: range) -> BandOperator:
    return BandOperator(node.operator, rows)


def _windows(network: Network, node: Node, rows: range) -> BandOperator:
    """Of convolutions and pools: rows off the map stay its border."""
    op: Any = node.operator
    window = getattr(op, "window", None) or network.tensors[node.inputs[1]].shape[-3:-1]
    reach = (window[0] - 1) * getattr(op, "dilations", (1, 1))[0] + 1
    first = rows.start * op.strides[0] - op.padding.top
    last = (rows.stop - 1) * op.strides[0] - op.padding.top + reach
    needs, top, bottom = _on_map(range(first, last), network.tensors[node.inputs[0]].shape[ROWS])
    return BandOperator(replace(op, padding=op.padding._replace(top=top, bottom=bottom)), needs)


def _on_map(rows: range, size: int) -> tuple[range, int, int]:
    """Those of some rows that are on a map, and how many lie before and behind it."""
    start, stop = min(size, max(0, rows.start)), max(0, min(size, rows.stop))
    return range(start, max(start, stop)), max(0, -rows.start), max(0, rows.stop - size)


def _padded(network: Network, node: Node, rows: range) -> BandOperator:
    op = node.operator
    assert isinstance(op, Pad)
    wanted = range(rows.start - op.before[ROWS], rows.stop - op.before[ROWS])
    needs, top, bottom = _on_map(wanted, network.tensors[node.inputs[0]].shape[ROWS])
    sides = ((*amounts[:ROWS], own, *amounts[ROWS + 1 :]) for amounts, own in ((op.before, top), (op.after, bottom)))
    before, after = sides
    return BandOperator(Pad(before, after, op.value), needs)


def _nearest(_network: Network, node: Node, rows: range) -> BandOperator:
    op = node.operator
    assert isinstance(op, ResizeNearest)
    copied = op.rows[rows.start : rows.stop]
    needs = range(min(copied), max(copied) + 1)
    return BandOperator(ResizeNearest(tuple(row - needs.start for row in copied), op.columns), needs)


def _sliced(_network: Network, node: Node, rows: range) -> BandOperator:
    op = node.operator
    assert isinstance(op, Slice)
    size = (*op.size[:ROWS], len(rows), *op.size[ROWS + 1 :])
    return BandOperator(replace(op, size=size), rows)


MAKERS: Mapping[type[Any], Maker] = {
    **dict.fromkeys((Convolution, DepthwiseConvolution, AveragePool, MaxPool), _windows),
    **dict.fromkeys((Add, Concatenation, LeakyRelu, Multiply, Rescale, Subtract, Table), _same_rows),
    Pad: _padded,
    ResizeNearest: _nearest,
    Slice: _sliced,
}
