"""Which operators have weights, and what the chip stores."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tilesim.network.graph import Node
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
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
