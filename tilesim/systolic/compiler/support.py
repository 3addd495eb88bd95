"""What the machine can run, and why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators.add import Add
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.concatenation import Concatenation
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.mean import Mean
from tilesim.network.operators.multiply import Multiply
from tilesim.network.operators.normalise import Normalise
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.quantise import Quantise
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.resize_nearest import ResizeNearest
from tilesim.network.operators.slice import Slice
from tilesim.network.operators.softmax import Softmax
from tilesim.network.operators.table import Table
from tilesim.systolic.isa.model.instructions import Element

Weighted: TypeAlias = Convolution | DepthwiseConvolution | FullyConnected
WEIGHTED = (Convolution, DepthwiseConvolution, FullyConnected)
"""Operators that run on the array."""
ON_MAPS = (Convolution, DepthwiseConvolution, MaxPool, AveragePool, Mean, ResizeNearest)
"""Operators whose input is a map."""
OTHERS = (
    Add, AveragePool, Concatenation, MaxPool, Mean, Multiply, Normalise, Pad, Rescale, ResizeNearest, Slice, Softmax,
    Table,
)  # fmt: skip
"""Operators that run in the vector unit."""
ELEMENTS: dict[str, Element] = {"int8": "int8", "uint8": "uint8", "int16": "int16"}
"""What the chip stores, by NumPy's name."""


def element_of(dtype: np.dtype[Any]) -> Element:
    return ELEMENTS[dtype.name]


def node_faults(network: Network, node: Node) -> Iterator[str]:
    """Why the chip can't run a node: sentences without their subject."""
    op, output = node.operator, network.tensors[node.output]
    tensors = [network.tensors[index] for index in node.inputs]
    if isinstance(op, Quantise | Dequantise):
        yield "must stand at an input or an output of the network, not between layers"
        return
    if not isinstance(op, WEIGHTED + OTHERS):
        yield "must be a layer that this machine knows"
        return
    stored = [*(tensors[:1] if isinstance(op, WEIGHTED) else tensors), output]
    for wrong in sorted({str(tensor.dtype) for tensor in stored} - ELEMENTS.keys()):
        yield f"must work on int8, uint8 or int16, not on {wrong}"
    if isinstance(op, ON_MAPS) and len(tensors[0].shape) != 4:
        yield f"must work on a map (1, height, width, channels), not on {tensors[0].shape}"
    if many := [tensor.shape for tensor in stored if len(tensor.shape) > 1 and tensor.shape[0] != 1]:
        yield f"must work on one map or vector at a time, not on {many[0]}"
    if isinstance(op, WEIGHTED):
        yield from _weight_faults(tensors[1:])
    if isinstance(op, Table | Softmax | Pad) and output.dtype.itemsize + tensors[0].dtype.itemsize > 2:
        yield "must work on bytes, not on int16"


def _weight_faults(tensors: list[Tensor]) -> Iterator[str]:
    if open_ones := [tensor.title for tensor in tensors if tensor.data is None]:
        yield f"must have constant weights, not {open_ones[0]}"
    elif tensors[0].dtype.name not in ELEMENTS:
        yield f"must have weights of int8, uint8 or int16, not {tensors[0].dtype}"
