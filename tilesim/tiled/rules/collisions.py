"""Two transfers that can meet: which, where, and why nothing keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilesim.tiled.isa.fields import Flag
from tilesim.tiled.rules.duties import Task
from tilesim.tiled.rules.play import Play
from tilesim.tiled.rules.transfers import Transfer, node_names
from tilesim.tiled.units.ring_monitor import node_name

NAMED = 3
"""Transfers that a sentence names; of more it gives the number."""


@dataclass(frozen=True)
class Collision:
    """A packet of ``other`` can pass ``stop`` before the last one of ``first`` has; but that has passed ``after`` by
    then, a node on its way, if there is one.
    """

    first: Transfer
    other: Transfer
    stop: int
    after: int | None
    reason: str

    @property
    def shared(self) -> list[int]:
        """The nodes that both pass."""
        return [node for node in self.first.path if self.other.passes(node)]

    def sentence(self, tiles: int) -> str:
        first, other = (f"{each}, on {node_names(each.path, tiles)}," for each in (self.first, self.other))
        return (
            f"{first} and {other} can meet at {node_name(self.stop, tiles)} (they share "
            f"{node_names(self.shared, tiles)}): {self.reason}"
        )


def reason(play: Play, first: Transfer, other: Transfer) -> str:
    """Why ``other`` begins in a play in which the tail of ``first`` is held."""
    waits = list(_waits(play, play.duties.senders[other.number]))
    if not waits:
        return f"no flag and no fence makes {other.name} wait for all of {first.name}"
    return f"{other.name} waits for {' and '.join(waits)}"


def half_way(first: Transfer, other: Transfer, stop: int, after: int, tiles: int) -> str:
    """Why it isn't enough that all of ``first`` has passed some stop."""
    passed = "are sent" if after == first.master else f"have passed {node_name(after, tiles)}"
    return (
        f"when {other.name} begins, all rows of {first.name} {passed}, but they need not have passed "
        f"{node_name(stop, tiles)}"
    )


def _waits(play: Play, task: Task) -> Iterator[str]:
    """What a task waited for, and why that has come."""
    for _, count, expected in task.holds:
        _, flag, _ = count
        if flag != Flag.RING_PRODUCER_A:
            yield f"{flag} to reach {expected}, which it does without that"
            continue
        assert task.transfer is not None
        passed = [each.name for each in play.passed(task.transfer.master) if each is not task.transfer]
        listed = ", ".join(passed[:NAMED]) + (f" and {len(passed) - NAMED} more" if len(passed) > NAMED else "")
        yield f"{expected} to have passed it, which {listed} can do without that"
