"""What runs as one: a node, with those behind it that the vector unit does on the way from the accumulators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilesim.network.graph import Node, Tensor
from tilesim.network.operators import AveragePool, Convolution, DepthwiseConvolution, FullyConnected, MaxPool, Mean
from tilesim.systolic.isa.model.instructions import Element

Weighted: TypeAlias = Convolution | DepthwiseConvolution | FullyConnected
WEIGHTED = (Convolution, DepthwiseConvolution, FullyConnected)
"""Operators that run on the array."""
ELEMENTS: dict[str, Element] = {"int8": "int8", "uint8": "uint8", "int16": "int16"}
"""What the chip stores, by NumPy's name."""


def element_of(dtype: np.dtype[Any]) -> Element:
    return ELEMENTS[dtype.name]


def operand_indices(node: Node) -> tuple[int, ...]:
    """The tensors that a node reads: all but weights and biases."""
    return node.inputs[:1] if isinstance(node.operator, Weighted) else node.inputs


POOLS = (MaxPool, AveragePool, Mean)
"""What the vector unit can do once with sums, besides looking them up."""


@dataclass(frozen=True)
class OperatorTask:
    """The node ``layer`` and its ``followers``; ``inputs`` are the tensors that it reads, ``stored`` those that hold
    their bytes; ``made`` is what the node itself makes, ``output`` what is left in the end.
    """

    layer: int
    node: Node
    followers: tuple[Node, ...]
    inputs: tuple[Tensor, ...]
    stored: tuple[Tensor, ...]
    made: Tensor
    output: Tensor

    @property
    def weighted(self) -> bool:
        return isinstance(self.node.operator, WEIGHTED)
