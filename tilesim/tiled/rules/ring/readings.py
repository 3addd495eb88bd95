"""Three readings of the rule for masters, strictest first.

A transfer is *under way* from the cycle in which its first row enters the ring at its master to that in which its last
row is taken at the last of its destinations; that last cycle does not count, so that another may begin in it. In
between, it is under way in every cycle, even in one in which none of its rows is on the ring.

Two transfers of one master leave it one after the other, whole, in the order of its queue. A reading is about those of
different masters; the tiles, the infeed and the classifier are masters.

What keeps to a reading keeps to all that come after it: transfers that are never under way at once are not so with a
node in common either, and two that meet at a stop both pass it, and are under way when they do.
"""

from __future__ import annotations

from enum import StrEnum

from tilesim.errors import InputError
from tilesim.printable import unknown


class Reading(StrEnum):
    """What two transfers of different masters must not do.

    ``single``: be under way at once, wherever. Source: US 2025/0265455 [0035], one producer at a time.
    ``disjoint``: be under way at once if they pass a node in common, master and last destination included. Source:
    [0036], two at once whose groups don't overlap.
    ``meet``: meet, that is, have a packet of one pass a stop between the first and the last one of the other; back to
    back is legal. Assumption.
    """

    SINGLE = "single"
    DISJOINT = "disjoint"
    MEET = "meet"

    def forbids_at_once(self, sharing: bool) -> bool:
        """Whether two transfers must not be under way at once, those that are ``sharing`` a node or others."""
        return self is Reading.SINGLE or (self is Reading.DISJOINT and sharing)


def reading_of(word: str) -> Reading:
    """The reading of that name. Raises InputError if there is none."""
    if word not in [*Reading]:
        raise InputError(f"masters {unknown(word, Reading)}")
    return Reading(word)
