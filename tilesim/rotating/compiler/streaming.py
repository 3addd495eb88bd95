"""Where rows of weights and parameters stand: from the start, if there is room; else they come during the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tilesim.errors import CapacityError


@dataclass(frozen=True)
class Need:
    """Of a part: ``rows``, for about ``clocks``."""

    rows: int
    clocks: int = 0


@dataclass(frozen=True)
class Residence:
    """The first row of each part; which of them are ``streamed``: these take turns in ``turns`` stretches of rows."""

    rows: tuple[int, ...]
    streamed: tuple[int, ...] = ()
    turns: int = 2

    def before(self, number: int) -> int | None:
        """The streamed part that stood where streamed part ``number`` comes to stand; None if there was none."""
        return self.streamed[number - self.turns] if number >= self.turns else None


ORDERS: tuple[Callable[[int, Need], tuple[int, ...]], ...] = (
    lambda part, need: (-need.rows, -part),
    lambda part, _: (-part,),
    lambda part, need: (need.rows - need.clocks, -part),
)
"""Who is streamed first: the largest; the last; who is used the longest for its size."""


def reside(parts: Sequence[Need], capacity: int, link_cycles: int, what: str) -> Residence:
    """Rows for parts, in the order in which they are used. If they don't all fit, some are streamed, through two
    stretches if there is room for two: those with which all would be done soonest, where the link takes
    ``link_cycles`` for a row.

    Raises:
        CapacityError: a part that finds no room; ``what`` is whose they are.
    """
    if sum(part.rows for part in parts) <= capacity:
        return Residence(_stacked(parts, range(len(parts)), 0))
    for turns in (2, 1):
        if ways := list(_ways(parts, capacity, turns)):
            return min(ways, key=lambda way: end(parts, way, link_cycles))
    most = max(part.rows for part in parts)
    raise CapacityError(
        f"{what} must have passes whose weights and parameters fit the weight RAM of {capacity:,} rows, and one has "
        f"{most:,}"
    )


def end(parts: Sequence[Need], way: Residence, link_cycles: int) -> int:
    """About when the last part is done: each works once it has come, and comes once there is room for it."""
    arrived, done = dict[int, int](), dict[int, int]()
    link = clock = 0
    number = 0
    for part, need in enumerate(parts):
        while number < len(way.streamed):
            before = way.before(number)
            if before is not None and before not in done:
                break
            link = max(link, 0 if before is None else done[before]) + parts[way.streamed[number]].rows * link_cycles
            arrived[way.streamed[number]] = link
            number += 1
        clock = max(clock, arrived.get(part, 0)) + need.clocks
        done[part] = clock
    return clock


def _ways(parts: Sequence[Need], capacity: int, turns: int) -> Iterator[Residence]:
    for stretch in sorted({part.rows for part in parts}):
        for order in ORDERS:
            streamed = _streamed(parts, capacity - turns * stretch, stretch, order)
            if streamed is not None:
                yield _in_turns(parts, stretch, streamed, turns)


def _streamed(
    parts: Sequence[Need], room: int, stretch: int, order: Callable[[int, Need], tuple[int, ...]]
) -> list[int] | None:
    """The parts to stream through stretches of so many rows, until there is ``room`` for the others."""
    beyond = sum(part.rows for part in parts) - room
    chosen: list[int] = []
    for part in sorted(range(len(parts)), key=lambda part: order(part, parts[part])):
        if beyond > 0 and parts[part].rows <= stretch:
            chosen.append(part)
            beyond -= parts[part].rows
    for part in reversed(chosen):
        if beyond + parts[part].rows <= 0:
            chosen.remove(part)
            beyond += parts[part].rows
    return sorted(chosen) if beyond <= 0 and room >= 0 else None


def _in_turns(parts: Sequence[Need], stretch: int, streamed: Sequence[int], turns: int) -> Residence:
    chosen = set(streamed)
    rows = list(_stacked(parts, [part for part in range(len(parts)) if part not in chosen], turns * stretch))
    for number, part in enumerate(streamed):
        rows[part] = number % turns * stretch
    return Residence(tuple(rows), tuple(streamed), turns)


def _stacked(parts: Sequence[Need], own: Sequence[int], first: int) -> tuple[int, ...]:
    """The rows of some parts, one behind the other."""
    rows = [0] * len(parts)
    for part in own:
        rows[part] = first
        first += parts[part].rows
    return tuple(rows)
