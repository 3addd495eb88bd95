"""What each tile does for each layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from tilesim.sim.core.port import NEVER
from tilesim.sim.core.unit import Words


class LayerShare(Struct):
    """A tile's part in a layer.

    It lasts from its first step at ``start`` to its last written word at ``end``. ``spent`` holds the MAC array's
    cycles in its tensorops: ``busy``, or what it waited for, a :class:`~tilesim.sim.core.unit.Reason` or, instead of
    ``flag``, the flag's own name. ``waits`` are the cycles from the end of the tensorop before (or the start of the
    run) to the beginning of each of the layer's; of several flags, each has those that it took longer than the ones
    before.
    """

    start: int = NEVER
    end: int = 0
    spent: Counter[str] = field(default_factory=Counter)
    waits: list[tuple[str, range]] = field(default_factory=list)

    def add_spans(self, kinds: Sequence[str], which: Words, cycles: Words, bytes_per_cycle: Sequence[int]) -> None:  # noqa: ARG002
        for kind, total in zip(kinds, np.bincount(which, cycles, len(kinds)).tolist(), strict=True):
            self.spent[kind] += int(total)


class RunPart(Struct, frozen=True):
    """A part of a run that begins in cycle ``start``: what each tile does in it for each layer."""

    start: int
    shares: list[dict[int, LayerShare]]
