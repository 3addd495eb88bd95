"""Where rows of weights and parameters stand: from the start, if there is room; else they come during the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilesim.errors import CapacityError


@dataclass(frozen=True)
class Residence:
    """The first row of each part; which of them are ``streamed``: these take turns in ``turns`` stretches of rows."""

    rows: tuple[int, ...]
    streamed: tuple[int, ...] = ()
    turns: int = 2

    def before(self, number: int) -> int | None:
        """The streamed part that stood where streamed part ``number`` comes to stand; None if there was none."""
        return self.streamed[number - self.turns] if number >= self.turns else None


def reside(sizes: Sequence[int], capacity: int, what: str) -> Residence:
    """Rows for parts of these ``sizes``, in the order in which they are used.

    As few rows are streamed as can be, through two stretches if there is room for two; who is streamed stands in the
    first, the second, the first again.

    Raises:
        CapacityError: a part that finds no room; ``what`` is whose they are.
    """
    if sum(sizes) <= capacity:
        return Residence(_stacked(sizes, range(len(sizes)), 0))
    for turns in (2, 1):
        ways = [_streamed(sizes, capacity, stretch, turns) for stretch in sorted(set(sizes))]
        if known := [way for way in ways if way is not None]:
            stretch, streamed = min(known, key=lambda way: sum(sizes[part] for part in way[1]))
            return _in_turns(sizes, stretch, streamed, turns)
    raise CapacityError(
        f"{what} must have passes whose weights and parameters fit the weight RAM of {capacity:,} rows, and one has "
        f"{max(sizes):,}"
    )


def _streamed(sizes: Sequence[int], capacity: int, stretch: int, turns: int) -> tuple[int, list[int]] | None:
    """The parts to stream through stretches of so many rows: the largest that go in, until the others fit."""
    beyond = sum(sizes) + turns * stretch - capacity
    chosen: list[int] = []
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part]):
        if beyond > 0 and sizes[part] <= stretch:
            chosen.append(part)
            beyond -= sizes[part]
    for part in reversed(chosen):
        if beyond + sizes[part] <= 0:
            chosen.remove(part)
            beyond += sizes[part]
    return (stretch, sorted(chosen)) if beyond <= 0 else None


def _in_turns(sizes: Sequence[int], stretch: int, streamed: Sequence[int], turns: int) -> Residence:
    chosen = set(streamed)
    stay = [part for part in range(len(sizes)) if part not in chosen]
    rows = list(_stacked(sizes, stay, turns * stretch))
    for number, part in enumerate(streamed):
        rows[part] = number % turns * stretch
    return Residence(tuple(rows), tuple(streamed), turns)


def _stacked(sizes: Sequence[int], parts: Sequence[int], first: int) -> tuple[int, ...]:
    """The rows of ``parts``, one behind the other."""
    rows = [0] * len(sizes)
    for part in parts:
        rows[part] = first
        first += sizes[part]
    return tuple(rows)
