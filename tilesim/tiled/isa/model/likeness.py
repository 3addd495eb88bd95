"""What of an instruction says what it does in a tile, whichever tile that is, and whenever: most instructions of a
program are alike in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Instruction

APART = frozenset({"tiles", "to", "layer", "label", "wait"})
"""Who does it and who gets it, for what and when: all that instructions may differ in that are alike."""


def likeness(op: Instruction) -> Hashable:
    """Equal for instructions that are alike."""
    return type(op), _RESTS[type(op)](op)


def _rest(kind: type[Any]) -> Callable[[Instruction], Hashable]:
    names = [field.name for field in fields(kind) if field.name not in APART]
    return attrgetter("mnemonic", *names)


_RESTS: Mapping[type, Callable[[Instruction], Hashable]] = {kind: _rest(kind) for kind in INSTRUCTIONS}
