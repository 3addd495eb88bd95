"""Who takes what from the ring: where all tiles take the same it is known at once, and is what asking each gives."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.dataflow.ring import merged, said_alike

LINES = st.tuples(*(st.integers(0, most) for most in (3, 3, 2, 2, 2)), st.integers(1, 3))
"""Instruction, node, its first row, transfer, the first row of that, and how many."""


@given(st.lists(LINES, max_size=12))
def test_lines_are_alike_where_every_node_of_an_instruction_says_the_same_once(lines: list[tuple[int, ...]]) -> None:
    log = np.array(sorted(lines), np.int64).reshape(-1, 6)
    nodes: dict[int, list[int]] = defaultdict(list)
    said: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for place, node, *rest in log.tolist():
        nodes[place].append(node)
        said[place].add(tuple(rest))
    wanted = [len({*nodes[place]}) == len(nodes[place]) and len(said[place]) == 1 for place in log[:, 0].tolist()]
    assert said_alike(log).tolist() == wanted


@given(st.lists(LINES, max_size=12))
def test_merging_keeps_every_row(lines: list[tuple[int, ...]]) -> None:
    log = np.array(lines, np.int64).reshape(-1, 6)

    def rows(of: np.ndarray) -> list[tuple[int, ...]]:
        return sorted(
            (place, node, own + k, transfer, row + k)
            for place, node, own, transfer, row, count in of.tolist()
            for k in range(count)
        )

    made = merged(log)
    assert rows(made) == rows(log)
    assert len(made) <= len(log)
