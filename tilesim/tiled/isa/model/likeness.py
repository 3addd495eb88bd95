"""What of an instruction says what it does in a tile, whichever tile that is, and whenever: most instructions of a
program are alike in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeAlias

from tilesim.tiled.isa.model.fields import Reference, Traversal
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Instruction
from tilesim.tiled.isa.model.program import Program

Operand: TypeAlias = Reference | Traversal
OPERANDS = ("Reference", "Reference | None", "Traversal", "Traversal | None")
"""What the fields of operands are annotated with."""
APART = frozenset({"tiles", "to", "layer", "label", "wait"})
"""Who does it and who gets it, for what and when: all that instructions may differ in that are alike."""


def likeness(op: Instruction) -> Hashable:
    """Equal for instructions that are alike."""
    return (type(op), _RESTS[type(op)](op), *operands(op))


def shape(op: Instruction) -> Hashable:
    """Equal for instructions that are alike but for where their operands begin."""
    return (type(op), _RESTS[type(op)](op), *map(_without_base, operands(op)))


def operands(op: Instruction) -> Iterator[Operand | None]:
    """What says where its operands are, None for one that it does not have."""
    return (getattr(op, name) for name in _OPERANDS[type(op)])


def bases(op: Instruction) -> Iterator[int]:
    """Where its operands begin."""
    for operand in operands(op):
        if operand is not None:
            yield _reference(operand).base


def base_of(op: Instruction, operand: str) -> int:
    """Where an operand begins."""
    return _reference(getattr(op, operand)).base


def _reference(operand: Operand) -> Reference:
    return operand if isinstance(operand, Reference) else operand.reference


def _without_base(operand: Operand | None) -> Hashable:
    if operand is None or isinstance(operand, Reference):
        return operand and operand.strides
    return operand.nest, operand.reference.strides


def _operands(kind: type[Any]) -> tuple[str, ...]:
    return tuple([field.name for field in fields(kind) if field.type in OPERANDS])


def _rest(kind: type[Any]) -> Callable[[Instruction], Hashable]:
    apart = {*APART, *_operands(kind)}
    return attrgetter("mnemonic", *(field.name for field in fields(kind) if field.name not in apart))


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


_OPERANDS: Mapping[type, Sequence[str]] = {kind: _operands(kind) for kind in INSTRUCTIONS}
_RESTS: Mapping[type, Callable[[Instruction], Hashable]] = {kind: _rest(kind) for kind in INSTRUCTIONS}
