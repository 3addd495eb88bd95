"""What runs as one: a node, with those behind it that the vector unit does on the way from the accumulators."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.network.graph import Node, Tensor
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.mean import Mean
from tilesim.systolic.compiler.support import WEIGHTED

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
