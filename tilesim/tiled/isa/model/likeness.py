"""What of an instruction says what it does in a tile, whichever tile that is, and whenever: most instructions of a
program are alike in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from tilesim.tiled.isa.model.fields import Reference, Traversal
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Instruction
from tilesim.tiled.isa.model.program import Program

APART = frozenset({"tiles", "to", "layer", "label", "wait"})
"""Who does it and who gets it, for what and when: all that instructions may differ in that are alike."""


def likeness(op: Instruction) -> Hashable:
    """Equal for instructions that are alike."""
    return type(op), _RESTS[type(op)](op)


def shape(op: Instruction) -> Hashable:
    """Equal for instructions that are alike but for where their operands begin."""
    return type(op), tuple(map(_without_base, _RESTS[type(op)](op)))


def bases(op: Instruction) -> Iterator[int]:
    """Where its operands begin."""
    for value in _RESTS[type(op)](op):
        reference = value.reference if isinstance(value, Traversal) else value
        if isinstance(reference, Reference):
            yield reference.base


def base_of(op: Instruction, operand: str) -> int:
    """Where an operand begins."""
    value: Reference | Traversal = getattr(op, operand)
    return value.base if isinstance(value, Reference) else value.reference.base


def _without_base(value: Hashable) -> Hashable:
    if isinstance(value, Reference):
        return value.strides
    return (value.nest, value.reference.strides) if isinstance(value, Traversal) else value


def _rest(kind: type[Any]) -> Callable[[Instruction], tuple[Hashable, ...]]:
    names = [field.name for field in fields(kind) if field.name not in APART]
    return attrgetter("mnemonic", *names)


class Kinds:
    """The instructions of a program by number: those that are alike have the same one."""

    def __init__(self, _: Program) -> None:
        self._by_place: dict[int, int] = {}  # by id: the program keeps its instructions
        self._by_key: dict[Hashable, int] = {}

    def number(self, op: Instruction) -> int:
        """That of an instruction of the program."""
        number = self._by_place.get(id(op))
        if number is None:
            number = self._by_place[id(op)] = self._by_key.setdefault(self._key(op), len(self._by_key))
        return number

    def _key(self, op: Instruction) -> Hashable:
        return likeness(op)


class Forms(Kinds):
    """Likewise of those that are alike but for where their operands begin."""

    def _key(self, op: Instruction) -> Hashable:
        return shape(op)


_RESTS: Mapping[type, Callable[[Instruction], tuple[Hashable, ...]]] = {kind: _rest(kind) for kind in INSTRUCTIONS}
