"""Long sequences that repeat themselves, short: ``1, 1, 2, 1, 1, 2, 3`` as ``2 x (2 x 1, 2), 3``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

LONGEST = 64
"""Members of what repeats itself; longer repetitions are not looked for."""

Member: TypeAlias = "int | Repeated"


@dataclass(frozen=True)
class Repeated:
    """Members that come several times."""

    times: int
    members: tuple[Member, ...]


def folded(members: Sequence[Member]) -> tuple[Member, ...]:
    """What repeats itself once, the shortest repetitions first."""
    kept, size = tuple(members), 1
    while size <= min(LONGEST, len(kept) // 2):
        shorter = _folded_by(kept, size)
        size = size + 1 if len(shorter) == len(kept) else 1
        kept = shorter
    return kept


def _folded_by(members: tuple[Member, ...], size: int) -> tuple[Member, ...]:
    kept: list[Member] = []
    place = 0
    while place < len(members):
        times = _times(members, place, size)
        kept.append(Repeated(times, members[place : place + size]) if times > 1 else members[place])
        place += times * size if times > 1 else 1
    return tuple(kept)


def _times(members: tuple[Member, ...], place: int, size: int) -> int:
    """How often in a row the ``size`` members from ``place`` on come."""
    after = place + size
    if after >= len(members) or members[after] != members[place]:  # as mostly
        return 1
    block = members[place:after]
    while members[after : after + size] == block:
        after += size
    return (after - place) // size


def spelt(members: Sequence[Member]) -> str:
    """Members with commas between them."""
    return ", ".join(_spelt(member) for member in members)


def _spelt(member: Member) -> str:
    if isinstance(member, int):
        return str(member)
    inner = spelt(member.members)
    return f"{member.times} x {inner}" if len(member.members) == 1 else f"{member.times} x ({inner})"
