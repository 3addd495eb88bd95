"""What a unit may be doing, in words: the legend of every picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Kind(NamedTuple):
    """``words`` for a legend, and a ``sentence`` that defines them."""

    words: str
    sentence: str


KINDS = {
    "busy": Kind("busy", "Moves or computes something in this cycle; a link carries a word or row."),
    "stall:flag": Kind("waits for a flag", "What it works on is not there yet: another unit's sync flag has to rise."),
    "stall:port": Kind("waits for a memory port", "A unit of higher priority uses the memory in this cycle."),
    "stall:fifo": Kind("waits at a FIFO", "The queue that it reads is empty, or the one that it fills is full."),
    "stall:credit": Kind("waits for a credit", "The next stop of the bus has no place for what it wants to send."),
    "stall:hazard": Kind("waits for its own write", "It would read what it has itself not written yet."),
    "stall:host": Kind("waits for the host", "The host's words are still on their way."),
    "stall:traversal": Kind("computes its first address", "An instruction has begun; its first address is on the way."),
    "stall:work": Kind("has no more work", "The program has nothing more for this unit."),
    "stall:weights": Kind("waits for weights", "The next weights have not come from weight memory yet."),
    "stall:shift": Kind("shifts weights in", "The next weights are on their way into the array, which stands still."),
    "stall:raw": Kind("waits for a result", "It would read what another unit has not written yet."),
    "stall:input": Kind("waits for an input", "An input has not come from the host yet."),
    "stall:hold": Kind("is held", "The user has the instruction begin later."),
    "idle": Kind("idle", "Waits for an instruction with an empty buffer, or has nothing to carry."),
}
"""In the order in which pictures stack them; idle is what is left."""
ORDER = {name: place for place, name in enumerate(KINDS)}


def in_order(names: Iterable[str]) -> list[str]:
    """Names of kinds in the order in which pictures stack them, those that are not in the table last, without idle."""
    return sorted(set(names) - {"idle"}, key=lambda name: (ORDER.get(name, len(ORDER)), name))


def kind_of(name: str) -> Kind:
    """The words for a kind of cycles; a reason that is not in the table stands for itself."""
    reason = name.removeprefix("stall:")
    return KINDS.get(name) or Kind(f"waits for {reason}", f"Can't go on: {reason}.")
