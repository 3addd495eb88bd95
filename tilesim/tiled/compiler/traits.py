"""What the passes of the compiler have to know of an operator; a row for each stands beside its lowering."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tilesim.network.graph import Network, Node
from tilesim.tiled.compiler.receptive_field import Fields, each_pixel
from tilesim.tiled.isa.model.instructions import TensorOp

Faults = Callable[[Network, Node, int], Iterable[str]]
"""Why tiles with words of so many bytes can't run a node: sentences without their subject."""


def no_constants(network: Network, node: Node, _word_bytes: int) -> list[str]:
    return _constants(network, node.inputs)


def constant_weights(network: Network, node: Node, _word_bytes: int) -> list[str]:
    return _constants(network, node.inputs[:1])


def _constants(network: Network, inputs: Iterable[int]) -> list[str]:
    tensors = (network.tensors[index] for index in inputs)
    return [
        f"must work on activations, not on the constant {tensor.title}" for tensor in tensors if tensor.data is not None
    ]


@dataclass(frozen=True)
class TileTraits:
    """How tiles run an operator.

    ``lower`` makes its tensorops from a task and the operator; ``fields`` says what of its input they read, given the
    shape of its weights, or ``()``. ``channel_wise``: it makes each channel from the same one of its inputs;
    ``row_by_row``: it is one tensorop, whose rows can be made in either direction, each of them raising the flag;
    ``in_chunks``: its outputs can be made some channels at a time, each with its own parameters; ``one_table``: its
    parameters are the same for all channels.
    """

    lower: Callable[..., list[TensorOp]]
    fields: Callable[[Any, tuple[int, ...]], Fields] = each_pixel
    faults: Faults = no_constants
    channel_wise: bool = False
    row_by_row: bool = False
    in_chunks: bool = False
    one_table: bool = False
