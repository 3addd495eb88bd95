"""All operators that the chip runs, and what it can't do of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilesim.lowering.arithmetic import arithmetic_faults
from tilesim.lowering.classifying import CLASSIFYING
from tilesim.network.graph import Network, Node
from tilesim.network.operators import Dequantise, Quantise
from tilesim.rotating.compiler.call import Traits
from tilesim.rotating.compiler.lower import convolution, depthwise, elementwise, pool, rewriting
from tilesim.rotating.compiler.task import DTYPES, map_shape, operand_indices
from tilesim.rotating.topology import Topology

OPERATORS: Mapping[type[Any], Traits] = {
    **convolution.OPERATORS,
    **depthwise.OPERATORS,
    **elementwise.OPERATORS,
    **pool.OPERATORS,
    **rewriting.OPERATORS,
}


MOST_AXES = 4
"""Of a map; more have no place in rows."""


def node_faults(network: Network, node: Node, topology: Topology) -> Iterator[str]:
    """Why the chip can't run a node: sentences without their subject."""
    op, traits = node.operator, OPERATORS.get(type(node.operator))
    if isinstance(op, (Quantise, Dequantise, *CLASSIFYING)):
        yield "must stand at an input or an output of the network, not between layers"
        return
    if traits is None:
        yield "must be a layer that this machine knows"
        return
    read = [network.tensors[index] for index in operand_indices(node)]
    stored = [*read, network.tensors[node.output]]
    known = DTYPES[: 2 if topology.word_bytes == 1 else 3]
    for wrong in sorted({str(tensor.dtype) for tensor in stored} - set(known)):
        yield f"must work on {' or '.join(known)}, which words of {topology.units.word_bits} bits hold, not on {wrong}"
    if traits.on_map and len(read[0].shape) != 4:
        yield f"must work on a map (1, height, width, channels), not on {read[0].shape}"
    if many := [tensor.shape for tensor in stored if len(tensor.shape) > 1 and tensor.shape[0] != 1]:
        yield f"must work on one map or vector at a time, not on {many[0]}"
    if long := [tensor.shape for tensor in stored if len(tensor.shape) > MOST_AXES]:
        yield f"must work on tensors of at most {MOST_AXES} axes, not on {long[0]}"
        return
    yield from _place_faults(network, node, topology)
    yield from arithmetic_faults(network, node)
    yield from traits.faults(network, node, topology)


def _place_faults(network: Network, node: Node, topology: Topology) -> Iterator[str]:
    """Words that a stride leaves out, where none can move together."""
    _, stride = getattr(node.operator, "strides", (1, 1))
    width = map_shape(network.tensors[node.output].shape)[1]
    if topology.output.place == "none" and stride > 1 and width > 1:
        yield f"must keep every column, not one of {stride}, where output.place is none"
