"""What a machine says of single instructions, for people: what each moves, and what it waits for. Data, and no code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wait:
    """What holds an instruction back, in ``words``, and the places in its section of those ``by`` which it ends, as far
    as the program alone says that.
    """

    words: str
    by: tuple[int, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """What one instruction does.

    Attributes:
        operands: what it moves from where to where, or computes.
        unit: how the tracks of the units end that carry it out, but for a number at their end.
        tiles: those that it is for; none if the machine has no tiles, or it is for none.
        raises: the flag that it raises, and how often; empty if it raises none.
        waits: what it waits for before it begins, or while it goes on.
    """

    operands: str
    unit: str
    tiles: tuple[int, ...] = ()
    raises: str = ""
    waits: tuple[Wait, ...] = ()
