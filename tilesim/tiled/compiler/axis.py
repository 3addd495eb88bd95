"""One axis of a map, cut along one side of the grid of tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

NOTHING = range(0)


class Axis(Struct, frozen=True, dict=True):
    """``size`` positions: ``own[i]`` are those of the tiles in row (or column) i of the grid, ``need[i]`` those that
    layers there read, which may run past the map into its border.

    What a tile needs and does not own comes from the neighbour on that side, which passes on what it has got itself
    if need be; so each tile holds one run of positions, ``hold[i]``. Tiles with less than a whole block compute one all
    the same, so that they can share an instruction with the others: ``reach[i]`` are the positions that they read.

    Along an axis that is ``apart`` nothing comes from neighbours: each tile owns everything on the map that it needs,
    so that tiles own some positions in common, and computes just that.
    """

    size: int
    own: tuple[range, ...]
    need: tuple[range, ...]
    reach: tuple[range, ...]
    apart: bool = False

    @staticmethod
    def cut(size: int, parts: int, length: int = 0) -> tuple[range, ...]:
        """Part i owns positions i * ``each`` to (i + 1) * ``each`` - 1, clipped; ceil(size / parts) if 0."""
        length = length or -(-size // parts)
        return tuple(range(min(k * length, size), min((k + 1) * length, size)) for k in range(parts))

    @staticmethod
    def thinned(own: tuple[range, ...], stride: int, size: int) -> tuple[range, ...] | None:
        """Where ``size`` positions are that are made of every ``stride``-th one of those in ``own``, of which each part
        has one at most: there, so that all parts read from the same distance. None if these are not so, or too few.
        """
        starts = [positions.start for positions in own if positions]
        covers = stride > 0 and (size - 1) * stride < len(starts)
        if max(map(len, own)) > 1 or starts != list(range(len(starts))) or not covers:
            return None
        firsts = [min(size, -(-positions.start // stride)) for positions in own]
        return tuple(
            range(first, first + (bool(positions) and first < size and positions.start == first * stride))
            for first, positions in zip(firsts, own, strict=True)
        )

    def with_need(self, need: tuple[range, ...]) -> Axis:
        """The axis with more that is needed."""
        return replace(self, need=tuple(hull(both) for both in zip(self.need, need, strict=True)))

    def with_reach(self, reach: tuple[range, ...]) -> Axis:
        """The axis with more that is read, by all of its parts or, without ``reach``, none."""
        return replace(self, reach=tuple(hull(both) for both in zip(self.reach, reach or self.reach, strict=True)))

    @cached_property
    def blocks(self) -> tuple[range, ...]:
        """What each tile computes: as much as the one that owns most."""
        if self.apart:
            return self.own
        most = max(map(len, self.own))
        return tuple(range(own.start, own.start + most) if own else own for own in self.own)

    @cached_property
    def hold(self) -> tuple[range, ...]:
        if self.apart:
            return tuple(hull(both) for both in zip(self.own, self.need, strict=True))
        held = []
        for i, (own, need) in enumerate(zip(self.own, self.need, strict=True)):
            passed = [*(max(0, n.start) for n in self.need[i + 1 :] if n), *([need.start] if need else ())]
            brought = [*(min(self.size, n.stop) for n in self.need[:i] if n), *([need.stop] if need else ())]
            held.append(range(min([own.start, *passed]), max([own.stop, *brought])))
        return tuple(held)

    @cached_property
    def margin(self) -> int:
        """Positions that lie before the first own one in a tile's memory: the most that any tile needs."""
        return max(own.start - hull((own, hold, reach)).start for own, hold, reach in self._frames() if hold or reach)

    @cached_property
    def length(self) -> int:
        """Positions in a tile's memory, alike in all tiles."""
        return self.margin + max(max(hold.stop, reach.stop) - own.start for own, hold, reach in self._frames())

    def _frames(self) -> Iterator[tuple[range, range, range]]:
        return zip(self.own, self.hold, self.reach, strict=True)

    def border(self, i: int, before: bool) -> range:
        """Positions off the map that i needs, ``before`` its first or behind its last one."""
        need = self.need[i]
        return clip(need, need.start, 0) if before else clip(need, self.size, need.stop)

    def received(self, i: int, before: bool) -> range:
        """Positions that come to i from the neighbour before (or behind) it."""
        own, hold = self.own[i], self.hold[i]
        return (
            range(max(0, hold.start), own.start)
            if before
            else range(own.stop, max(own.stop, min(self.size, hold.stop)))
        )

    def sent(self, i: int, before: bool) -> range:
        """Positions that i sends to the neighbour before (or behind) it."""
        other = i - 1 if before else i + 1
        return self.received(other, not before) if 0 <= other < len(self.own) else NOTHING

    @cached_property
    def exchanges(self) -> bool:
        """Whether anything has to come from a neighbour."""
        return any(self.received(i, before) for i in range(len(self.own)) for before in (True, False))


def clip(positions: range, start: int, stop: int) -> range:
    """Those of ``positions`` that are from ``start`` to ``stop`` - 1."""
    first = max(positions.start, start)
    return range(first, max(first, min(positions.stop, stop)))


def hull(ranges: Iterable[range]) -> range:
    """The shortest run that covers all of them."""
    used = [positions for positions in ranges if positions]
    return (
        range(min(positions.start for positions in used), max(positions.stop for positions in used))
        if used
        else NOTHING
    )
