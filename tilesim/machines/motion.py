"""What a machine says of the words that move past its units, for pictures: data, and no code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
NONE = -1
"""No row, no channel, no mask."""


@dataclass(frozen=True)
class MovingOp:
    """An instruction that issues slots: in each, units get other words if it ``loads``, words go ``rotate`` units
    further, and units ``work`` with them (empty if they don't) and, if it brings any, with weights, which are
    ``weight_step`` rows further each time.
    """

    label: str
    kind: str
    layer: int
    loads: bool = False
    rotate: int = 0
    work: str = ""
    brings_weights: bool = False
    weight_step: int = 0


@dataclass(frozen=True, eq=False)
class MovingRows:
    """Rows of words as units got them: of each the place of its name in ``names``, its ``line`` (of a tensor: of the
    map), where it says which words are elements (``map``, -1: none), and the place of its words in ``values`` (rows,
    units), -1 where these are known only as the run goes on.

    ``channel`` and ``column`` (maps, units) are those of the element that each unit gets, -1 of none; a map's blocks
    have ``block`` words, the first one from ``offset`` on.
    """

    names: tuple[str, ...]
    name: Numbers
    line: Numbers
    map: Numbers
    value: Numbers
    channel: Numbers
    column: Numbers
    block: Numbers
    offset: Numbers
    values: Numbers


@dataclass(frozen=True, eq=False)
class MovingSlots:
    """Issue slots, those of an instruction that follow one another in an element: the ``cycle`` of the first, how many
    (``slots``), the instruction's place in the table (``op``), and after the first of them: which ``row`` is in the
    units (-1: none yet), how many units it has ``moved`` on, which ``weight`` row is in the registers (-1: none yet),
    and where that stands in the table of weights (``weight + weight_shift``, below 0: unknown). ``mask`` is that of the
    next row that is written, -1 if none is. Units see all of that a cycle later, and work then.
    """

    cycle: Numbers
    slots: Numbers
    op: Numbers
    row: Numbers
    moved: Numbers
    weight: Numbers
    weight_shift: Numbers
    mask: Numbers

    def only(self, kept: NDArray[Any]) -> MovingSlots:
        """Those elements that are ``kept``."""
        return MovingSlots(**{name: column[kept] for name, column in vars(self).items()})


@dataclass(frozen=True, eq=False)
class Hops:
    """How words came to where they were worked with: an element for each layer (-1: none), number of ``words`` that
    they went on in one go, and of ``slots`` which that took; ``count`` is how often.
    """

    layer: Numbers
    words: Numbers
    slots: Numbers
    count: Numbers


@dataclass(frozen=True, eq=False)
class Motion:
    """Which word was in which unit when.

    ``rings`` (rings, units of one) has the units in the order in which words go on, the last one's to the first;
    ``distances`` are those that a cycle can bring them on by. ``masks`` (masks, units) name the words that are written,
    ``mask_frames`` (masks, 3) how these stand: offset, words of a block, blocks; 0 words if all are named. ``weights``
    (rows, units) are those that are known before the run. ``is_timed``: cycles are those of the run; else slots are
    counted as if none had waited.
    """

    rings: Numbers
    distances: tuple[int, ...]
    ops: tuple[MovingOp, ...]
    slots: MovingSlots
    rows: MovingRows
    masks: NDArray[np.bool_]
    mask_frames: Numbers
    weights: Numbers
    hops: Hops
    is_timed: bool

    @property
    def units(self) -> int:
        return int(self.rings.size)
