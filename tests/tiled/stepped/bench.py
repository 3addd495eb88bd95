"""A program of a few lines on the stepped model alone, and when each unit did what."""

from __future__ import annotations

from dataclasses import dataclass

from tests.tiled.programs import program
from tilesim.tiled import stepped
from tilesim.tiled.stepped import Outcome


@dataclass(frozen=True)
class Times:
    """What the units did in the run section, in cycles from its beginning."""

    outcome: Outcome

    def spans(self, track: str, label: str = "") -> list[tuple[int, int, str]]:
        """First cycle, cycle after the last and kind of all that ``track`` did, in one instruction if need be."""
        start = self.outcome.run_start
        return [
            (first - start, first - start + cycles, kind)
            for where, first, cycles, kind, what in self.outcome.spans
            if where == f"chip.{track}" and first >= start and label in ("", what)
        ]

    def began(self, track: str, label: str = "") -> int:
        return self.spans(track, label)[0][0]

    def ended(self, track: str, label: str = "") -> int:
        return self.spans(track, label)[-1][1]

    def lasted(self, track: str, label: str = "") -> int:
        """Cycles from start to retirement."""
        return self.ended(track, label) - self.began(track, label)

    def busy(self, track: str, label: str = "") -> list[int]:
        """The cycles in which it was busy."""
        return [cycle for first, end, kind in self.spans(track, label) if kind == "busy" for cycle in range(first, end)]


def run(lines: str, chip: str = "pocket-2x1", **changes: object) -> Times:
    """Runs the instructions, a line each, on a shipped chip with some keys changed."""
    outcome = stepped.simulate(program(lines, chip, **changes), [], trace=True)
    assert (outcome.hung, outcome.collided) == ("", False)
    return Times(outcome)
