"""What bound a layer, or all of them: everything that the cycles of the MACs went into, by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field

NO_LAYER = -1
"""In place of a layer, for cycles that belong to none."""


class Bottleneck(Struct):
    """Cycles by cause, and the first of them, where each belongs to one layer alone (else None)."""

    cycles: Counter[str] = field(default_factory=Counter)
    start: int | None = None

    def add(self, start: int, end: int, cause: str) -> None:
        """Add the cycles from ``start`` up to ``end``, if there are any."""
        if start < end:
            self.start = start if self.start is None else min(self.start, start)
            self.cycles[cause] += end - start

    @property
    def breakdown(self) -> dict[str, int]:
        """Cycles by cause, the largest first, equal ones by name."""
        return {cause: n for cause, n in sorted(self.cycles.items(), key=lambda item: (-item[1], item[0])) if n}

    def bound_by(self, ignoring: str = "") -> str | None:
        """The cause with the most cycles, other than the one that is ignored; None if there is none."""
        return next((cause for cause in self.breakdown if cause != ignoring), None)


def whole(layers: Iterable[Bottleneck]) -> Bottleneck:
    """All layers together."""
    return Bottleneck(sum((layer.cycles for layer in layers), Counter()))
