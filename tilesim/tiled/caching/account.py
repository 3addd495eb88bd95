"""What a plan comes to: the bytes in each tile, and what data memory must deliver."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from tilesim.tiled.caching.plan import Decision


@dataclass(frozen=True)
class CacheAccount:
    """Whose the bytes of one tile's wide memory are: the programs' reserve, the running network's at its peak, or
    cached parameters'.
    """

    tile: int
    capacity_bytes: int
    reserve_bytes: int
    peak_bytes: int
    cached_bytes: int

    @property
    def free_bytes(self) -> int:
        """Below zero where the peak alone is too much."""
        return self.capacity_bytes - self.reserve_bytes - self.peak_bytes - self.cached_bytes


def accounts(
    decisions: Sequence[Decision], capacity_bytes: int, reserve_bytes: int, peaks_bytes: Iterable[int]
) -> tuple[CacheAccount, ...]:
    """The account of each tile."""
    return tuple(
        CacheAccount(tile, capacity_bytes, reserve_bytes, peak, cached_bytes(decisions, tile))
        for tile, peak in enumerate(peaks_bytes)
    )


def cached_bytes(decisions: Iterable[Decision], tile: int) -> int:
    """Bytes of cached parameters in one tile."""
    return sum(decision.set.bytes_per_tile for decision in decisions if tile in decision.holders)


def load_bytes(decisions: Iterable[Decision]) -> int:
    """Bytes that leave data memory before the first inference: copies are multicast, so they count once."""
    return sum(decision.set.data_bytes for decision in decisions if decision.cached)


def streamed_bytes(decisions: Iterable[Decision]) -> int:
    """Bytes that leave data memory in every inference."""
    return sum(decision.set.data_bytes for decision in decisions if not decision.cached)


def delivery_cycles(size_bytes: int, bytes_per_cycle: int) -> int:
    """The cycles that data memory takes for so many bytes, if nothing keeps it waiting.

    **Timing**: ceil(size_bytes / bytes_per_cycle).
    """
    return -(-size_bytes // bytes_per_cycle)


Item = TypeVar("Item", bound=Hashable)


def descriptors(order: Iterable[Item], cached: Collection[Item]) -> int:
    """How many descriptors parameters need that lie in ``order``: one for each run that is cached, or is not.

    **Source**: US 2025/0265455 [0051]-[0053].
    """
    return sum(1 for _ in groupby(order, lambda item: item in cached))
