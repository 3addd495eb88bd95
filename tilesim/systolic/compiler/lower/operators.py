"""All operators that the chip runs, and what it can't do of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilesim.lowering.arithmetic import arithmetic_faults
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators import Dequantise, Quantise
from tilesim.systolic.compiler.call import ArrayTraits, Item, TaskCall
from tilesim.systolic.compiler.lower import copy, elementwise, matrix, pool
from tilesim.systolic.compiler.task import ELEMENTS, WEIGHTED

OPERATORS: Mapping[type[Any], ArrayTraits] = {
    **copy.OPERATORS,
    **elementwise.OPERATORS,
    **matrix.OPERATORS,
    **pool.OPERATORS,
}


def lower(call: TaskCall) -> Iterator[Item]:
    """The instructions of a call, in order, without what keeps them apart."""
    op = call.task.node.operator
    return OPERATORS[type(op)].lower(call, op)


def node_faults(network: Network, node: Node) -> Iterator[str]:
    """Why the chip can't run a node: sentences without their subject."""
    op, output = node.operator, network.tensors[node.output]
    tensors = [network.tensors[index] for index in node.inputs]
    traits, weighted = OPERATORS.get(type(op)), isinstance(op, WEIGHTED)
    if isinstance(op, Quantise | Dequantise):
        yield "must stand at an input or an output of the network, not between layers"
        return
    if traits is None:
        yield "must be a layer that this machine knows"
        return
    yield from arithmetic_faults(network, node)
    stored = [*(tensors[:1] if weighted else tensors), output]
    for wrong in sorted({str(tensor.dtype) for tensor in stored} - ELEMENTS.keys()):
        yield f"must work on int8, uint8 or int16, not on {wrong}"
    if traits.on_map and len(tensors[0].shape) != 4:
        yield f"must work on a map (1, height, width, channels), not on {tensors[0].shape}"
    if many := [tensor.shape for tensor in stored if len(tensor.shape) > 1 and tensor.shape[0] != 1]:
        yield f"must work on one map or vector at a time, not on {many[0]}"
    if weighted:
        yield from _weight_faults(tensors[1:])
    if traits.bytes_only and output.dtype.itemsize + tensors[0].dtype.itemsize > 2:
        yield "must work on bytes, not on int16"


def _weight_faults(tensors: list[Tensor]) -> Iterator[str]:
    if open_ones := [tensor.title for tensor in tensors if tensor.data is None]:
        yield f"must have constant weights, not {open_ones[0]}"
    elif tensors[0].dtype.name not in ELEMENTS:
        yield f"must have weights of int8, uint8 or int16, not {tensors[0].dtype}"
