"""What a unit may be doing, in words: the legend of every picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tilesim.sim.core.unit import BUSY, Reason


class Kind(NamedTuple):
    """``words`` for a legend, and a ``sentence`` that defines them."""

    words: str
    sentence: str


KINDS = {
    BUSY: Kind("busy", "Moves or computes something in this cycle; a link carries a word or row."),
    **{reason.kind: Kind(reason.words, reason.sentence) for reason in Reason},
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
