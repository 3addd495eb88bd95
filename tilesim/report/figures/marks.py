"""Markers that cover none of each other, and labels beside them; all places and sizes in points of a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import hypot, sqrt
from typing import Any

from numpy.typing import NDArray

from tilesim.report.analysis.roofline import Dot

Place = tuple[float, float]

LABEL_POINTS = 6.0
LEAST_RADIUS, GREATEST_RADIUS = 1.6, 5.5
GAP = 0.5
"""Between markers."""
NAMED = 3
"""Layers of a marker that are named; of more the number is given."""
LETTER = 0.6
"""How wide a letter is, of its height."""
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
ROUNDS = 5
"""How many times as far from a marker its label may be as the nearest place beside it."""


@dataclass
class Mark:
    """Layers of one kind and bound that stand in one place."""

    place: Place
    kind: str
    bound_by: str | None
    share: float
    """Of the greatest cycles of a layer."""
    numbers: list[int] = field(default_factory=list)

    @property
    def radius(self) -> float:
        """Its area is in proportion to the cycles, as far as it can be seen."""
        return min(GREATEST_RADIUS, max(LEAST_RADIUS, GREATEST_RADIUS * sqrt(self.share)))

    @property
    def words(self) -> str:
        more = f" +{len(self.numbers) - NAMED}" if len(self.numbers) > NAMED else ""
        return ", ".join(map(str, sorted(self.numbers)[:NAMED])) + more


def merged(dots: Sequence[Dot], places: NDArray[Any]) -> list[Mark]:
    """The marks of layers: those with most cycles first, each in its place or as near beside it as it covers no other;
    the others join one of their kind and bound that they would cover.
    """
    most = max((dot.layer.cycles for dot in dots), default=0) or 1
    marks: list[Mark] = []
    for dot, (x, y) in sorted(zip(dots, places.tolist(), strict=True), key=lambda pair: -pair[0].layer.cycles):
        layer, share = dot.layer, dot.layer.cycles / most
        mine = Mark((x, y), layer.kind, layer.bound_by, share)
        near = (mark for mark in marks if (mark.kind, mark.bound_by) == (mine.kind, mine.bound_by))
        mark = next((mark for mark in near if _covers(mark, mine)), mine)
        if mark is mine:
            marks.append(mine)
        else:
            mark.share += share
        mark.numbers.append(layer.index or 0)
    for k, mark in enumerate(marks):
        x, y = mark.place
        steps = (step * side for step in count() for side in (1, -1))
        shifted = ((x + step, y) for step in steps)
        mark.place = next(
            place for place in shifted if not any(_covers(replace(mark, place=place), m) for m in marks[:k])
        )
    return marks


def _covers(mark: Mark, other: Mark) -> bool:
    apart = hypot(mark.place[0] - other.place[0], mark.place[1] - other.place[1])
    return apart < mark.radius + other.radius + GAP


@dataclass(frozen=True)
class Box:
    """What a label takes."""

    left: float
    bottom: float
    right: float
    top: float

    def covers(self, other: Box) -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.top <= other.bottom or other.top <= self.bottom)

    def within(self, other: Box) -> bool:
        inside = self.left >= other.left and self.right <= other.right
        return inside and self.bottom >= other.bottom and self.top <= other.top


def label_places(marks: Sequence[Mark], inside: Box, others: Sequence[Box]) -> list[Place | None]:
    """The middle of each mark's label, where it covers no marker, no other label and none of the ``others``; None where
    there is no room.
    """
    taken = [*others, *(around(mark.place, mark.radius, mark.radius) for mark in marks)]
    found: list[Place | None] = []
    for mark in marks:
        width, height = LABEL_POINTS * LETTER * len(mark.words) / 2, LABEL_POINTS / 2
        boxes = ((place, around(place, width, height)) for place in _beside(mark, width, height))
        free = ((place, box) for place, box in boxes if box.within(inside) and not any(map(box.covers, taken)))
        place, box = next(free, (None, None))
        found.append(place)
        if box is not None:
            taken.append(box)
    return found


def _beside(mark: Mark, width: float, height: float) -> Iterator[Place]:
    """Places for a label so large on either side, the nearest first."""
    for distance in range(1, ROUNDS + 1):
        for x, y in SIDES:
            along, up = mark.radius + width + distance, mark.radius + height + distance - 1
            yield mark.place[0] + x * along * (0.75 if y else 1), mark.place[1] + y * up


def around(place: Place, width: float, height: float) -> Box:
    """The box with its middle there, so far to either side."""
    x, y = place
    return Box(x - width, y - height, x + width, y + height)
