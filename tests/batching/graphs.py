"""Graphs to make plans for: chains and, from a seed, any that there may be."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tilesim.batching.graph import GraphNode, LayerGraph

REUSES = (170 * 170, 28 * 28, 14 * 14, 14 * 14, 14 * 14, 7 * 7)
"""Six layers that, at 1500 uses of a weight, take 1, 2, 8, 8, 8 and 31 inferences."""


def chain(reuses: Sequence[int], makes_bytes: int = 10, weight_bytes: int = 100, input_bytes: int = 7) -> LayerGraph:
    """One layer after the other."""
    nodes = [GraphNode(f"layer{k}", (k - 1,), makes_bytes, reuse, weight_bytes) for k, reuse in enumerate(reuses)]
    return LayerGraph("chain", (input_bytes,), tuple(nodes))


@st.composite
def graphs(draw: st.DrawFn) -> LayerGraph:
    """Up to eight nodes, with and without weights, that read any of those before them or the two inputs."""
    count = draw(st.integers(1, 8))
    nodes = []
    for k in range(count):
        reads = draw(st.lists(st.integers(-2, k - 1), min_size=1, max_size=3, unique=True))
        reuse = draw(st.sampled_from((0, 0, 1, 2, 3, 5, 12))) if k else draw(st.integers(1, 12))
        nodes.append(GraphNode(f"n{k}", tuple(reads), draw(st.integers(1, 50)), reuse, 10**k if reuse else 0))
    return LayerGraph("any", (5, 3), tuple(nodes))
