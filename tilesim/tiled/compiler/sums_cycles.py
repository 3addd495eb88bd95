"""About how long sums of a map's parts take on their way, in cycles: estimates by which the compiler chooses."""

from __future__ import annotations

SEND_CYCLES = 4
"""About what a master takes for a row on the ring, with its turn."""
FENCE_CYCLES = 100
"""About what a fence takes, and what it lets through to arrive; what tiles have in hand meanwhile goes on."""


def together(parts: int, rows: int) -> int:
    """``rows`` of each part sent and added up where the mean is read."""
    return parts * (rows + SEND_CYCLES + 2 * rows)


def by_halves(parts: int, rows: int) -> int:
    """The same with the halves added up first, both at once; while a fence goes on."""
    half = -(-parts // 2)
    return half * (rows + SEND_CYCLES) + max(2 * half * rows, FENCE_CYCLES) + together(2, rows)


def halves_pay(parts: int, rows: int) -> bool:
    return by_halves(parts, rows) < together(parts, rows)


def exchange(parts: int, rows: int) -> int:
    return min(by_halves(parts, rows), together(parts, rows))
