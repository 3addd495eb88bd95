"""What a run would take if words could go on by other distances in a cycle: a closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.motion import Motion

SETS = ((1,), (1, 4), (1, 8), (1, 4, 16), tuple(range(1, 65)))
"""Distances to compare with the chip's own. Source: US 10,395,165 B2, abstract, for 1, 2^J and 2^K; up to 64 in a cycle
as Ncore has it (WikiChip).
"""
DEFINITION = (
    "Cycles by other distances: those of the run, and for each stretch of rotations up to the slot that works with the "
    "words, the fewest distances that add up to it, less the slots that it takes now. Stalls, blocks and layouts stay "
    "as they are."
)


@dataclass(frozen=True)
class Jump:
    """What slots there would be more (less: below 0) by ``distances``, in all, and of each layer."""

    distances: tuple[int, ...]
    words: str
    is_own: bool
    more: int
    of_layers: tuple[int, ...]


def jumps(motion: Motion, layers: int) -> list[Jump]:
    """By those of :data:`SETS` that the rings have room for, and the chip's own; the fewest slots last."""
    ring = motion.rings.shape[1]
    sets = {tuple(d for d in distances if d < max(2, ring)): None for distances in (*SETS, motion.distances)}
    made = [_jump(motion, distances, layers) for distances in sets]
    return sorted(made, key=lambda jump: (-jump.more, len(jump.distances), jump.distances))


def _jump(motion: Motion, distances: tuple[int, ...], layers: int) -> Jump:
    hops = motion.hops
    fewest = moves(distances, int(hops.words.max(initial=0)))
    more = (fewest[hops.words] - hops.slots) * hops.count
    inside = (hops.layer >= 0) & (hops.layer < layers)
    of_layers = np.bincount(hops.layer[inside], more[inside], layers)
    whole = tuple(int(slots) for slots in of_layers)
    return Jump(distances, distance_words(distances), distances == motion.distances, int(more.sum()), whole)


def moves(distances: Sequence[int], most: int) -> NDArray[np.int64]:
    """Of each number of words up to ``most``: the fewest ``distances`` that add up to it; 1 is one of these."""
    fewest = np.zeros(most + 1, np.int64)
    for words in range(1, most + 1):
        fewest[words] = 1 + min(fewest[words - d] for d in distances if d <= words)
    return fewest


def distance_words(distances: Sequence[int]) -> str:
    """As a chip's key has them: ``1 4 16``, ``1-64``."""
    if len(distances) > 2 and distances[-1] - distances[0] == len(distances) - 1:
        return f"{distances[0]}-{distances[-1]}"
    return " ".join(map(str, distances))
