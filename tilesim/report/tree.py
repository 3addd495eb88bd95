"""The tracks of a trace as a tree: a chip, its tiles and buses, their units and links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilesim.statistics import RunStatistics

DEEPEST = 8
"""Levels of the tree; what is deeper than a viewer can show is one name."""


@dataclass(frozen=True)
class Track:
    """A unit, link or group of these. ``number`` and ``parent`` (0: none) count from 1, parents first; ``place`` is
    the one among the parent's children.
    """

    number: int
    parent: int
    place: int
    path: str
    name: str


def in_order(statistics: RunStatistics, recorded: Iterable[str]) -> list[str]:
    """The paths of all units and links of a run, in the order in which its statistics list them; then those that only
    its trace knows. Where there is nothing, there is at least a chip.
    """
    listed = [unit["track"] for unit in (*statistics["units"], *statistics["links"])]
    return list(dict.fromkeys([*listed, *recorded])) or ["chip"]


def tree(paths: Iterable[str]) -> dict[str, Track]:
    """Each of the ``paths`` and the groups that it is in, by path: ``chip.tile3.tensor`` is in ``chip.tile3``."""
    nodes: dict[str, Track] = {}
    children: dict[str, int] = {}
    for path in paths:
        words = path.split(".", DEEPEST - 1)
        for depth, name in enumerate(words):
            group, own = ".".join(words[:depth]), ".".join(words[: depth + 1])
            if own in nodes:
                continue
            place = children[group] = children.get(group, -1) + 1
            parent = nodes[group].number if depth else 0
            nodes[own] = Track(len(nodes) + 1, parent, place, own, name)
    return nodes
