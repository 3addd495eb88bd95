"""A layer for the array: its windows, and the blocks of outputs that are made one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Network, Tensor
from tilesim.network.operators import Convolution, DepthwiseConvolution, FullyConnected
from tilesim.systolic.compiler.boxes import windows_over
from tilesim.systolic.compiler.storage import Storage
from tilesim.systolic.compiler.task import WEIGHTED, OperatorTask, Weighted, element_of
from tilesim.systolic.compiler.weight_tiles import Portion, Tiling, tiling
from tilesim.systolic.isa.model.instructions import Element, Window
from tilesim.systolic.topology import Topology


@dataclass(frozen=True)
class OutputBlock:
    """``columns`` outputs from ``output`` on, made of ``channels`` of the input from ``channel`` on, portion by
    portion, of which each has a tile from number ``tile`` on; their scales are at ``parameters``.
    """

    channel: int
    channels: int
    output: int
    columns: int
    portions: tuple[Portion, ...]
    tile: int
    parameters: int


@dataclass(frozen=True)
class Product:
    """All that the array needs to know of a layer; its ``window`` is over one map at address 0."""

    window: Window
    tiling: Tiling
    blocks: tuple[OutputBlock, ...]
    op: Weighted
    activations: Element
    weights: Element
    address: int
    tile_bytes: int

    @property
    def tiles(self) -> int:
        return sum(len(block.portions) for block in self.blocks)


@dataclass(frozen=True)
class WeightLayout:
    """How a layer's weights are cut, before any memory is filled: ``weights`` (outputs, kernel height, kernel width,
    channels of a group).
    """

    tiling: Tiling
    weights: NDArray[Any]

    @property
    def size_bytes(self) -> int:
        return self.tiling.tiles * self.tiling.inputs * self.tiling.outputs * self.weights.itemsize


def layout_of(network: Network, task: OperatorTask, topology: Topology) -> WeightLayout:
    weights, groups = _grouped(network, task)
    return WeightLayout(tiling(weights.shape, groups, topology), weights)


def _grouped(network: Network, task: OperatorTask) -> tuple[NDArray[Any], int]:
    """A layer's weights as those of a grouped convolution, and the number of its groups."""
    op, weights = task.node.operator, network.tensors[task.node.inputs[1]].data
    assert weights is not None
    if isinstance(op, DepthwiseConvolution):
        return weights.transpose(2, 0, 1)[..., None], task.inputs[0].shape[-1]
    if isinstance(op, FullyConnected):
        return weights[:, None, None, :], 1
    assert isinstance(op, Convolution)
    return weights, op.groups


def product_of(network: Network, task: OperatorTask, layout: WeightLayout, address: int, storage: Storage) -> Product:
    """A layer whose tiles are at ``address`` of weight memory, and whose scales are kept in ``storage``."""
    op, cut = task.node.operator, layout.tiling
    assert isinstance(op, WEIGHTED)
    bias = network.tensors[task.node.inputs[2]].data
    assert bias is not None
    scales = np.stack([np.broadcast_to(values, bias.shape) for values in (bias, op.multiplier, op.shift)]).astype(
        np.int32
    )
    blocks, tile = [], 0
    for pack in cut.packs():
        portions = tuple(cut.portions(pack))
        for first, columns in cut.blocks(pack):
            output = pack.output + first
            kept = storage.keep(scales[:, output : output + columns])
            blocks.append(OutputBlock(pack.channel, pack.channels, output, columns, portions, tile, kept))
            tile += len(portions)
    return Product(
        _window(op, task.inputs[0], network.tensors[task.node.output], cut.shape),
        cut,
        tuple(blocks),
        op,
        element_of(task.inputs[0].dtype),
        element_of(layout.weights.dtype),
        address,
        cut.inputs * cut.outputs * layout.weights.itemsize,
    )


def _window(op: Weighted, source: Tensor, made: Tensor, weights: tuple[int, ...]) -> Window:
    """A fully connected layer is one window a vector."""
    size = source.dtype.itemsize
    if isinstance(op, FullyConnected):
        vectors = prod(source.shape) // weights[3]
        return windows_over((1, vectors, 1, weights[3]), (vectors, 1), size)
    return replace(
        windows_over(source.shape, (made.shape[1], made.shape[2]), size),
        kernel=(weights[1], weights[2]),
        strides=op.strides,
        dilations=op.dilations,
        padding=(op.padding.top, op.padding.left),
    )
