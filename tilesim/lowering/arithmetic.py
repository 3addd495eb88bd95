"""Arithmetic of networks that no machine has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilesim.network.graph import Network, Node

FOREIGN_RULES = {
    "double16": "with 15 bits of headroom",
    "shift": "by shifts, as scales that are powers of two ask for",
}
"""Rules of sums that no unit knows, and what they do."""


def arithmetic_faults(network: Network, node: Node) -> Iterator[str]:
    """Why no machine computes a node: sentences without their subject."""
    rule = getattr(node.operator, "rule", "")
    if rule in FOREIGN_RULES:
        yield f"must not add int16 {FOREIGN_RULES[rule]}, which no unit does"
    long = (network.tensors[index] for index in node.inputs if network.tensors[index].dtype == np.int64)
    yield from (f"must have a bias of int32, not {tensor.title} of int64" for tensor in long)
