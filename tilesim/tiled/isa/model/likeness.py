"""What of an instruction says what it does in a tile, whichever tile that is, and whenever: most instructions of a
program are alike in it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeAlias

from tilesim.tiled.isa.model.fields import Reference, Traversal
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Instruction
from tilesim.tiled.isa.model.program import Program

Operand: TypeAlias = Reference | Traversal
OPERANDS = ("Reference", "Reference | None", "Traversal", "Traversal | None")
"""What the fields of operands are annotated with."""
PARTS: Mapping[str, Sequence[str]] = {"Reference": ["strides"], "Traversal": ["nest", "reference.strides"]}
"""What there is of an operand, which none lacks, but for where it begins."""
APART = frozenset({"tiles", "to", "layer", "label", "wait"})
"""Who does it and who gets it, for what and when: all that instructions may differ in that are alike."""


def likeness(op: Instruction) -> Hashable:
    """Equal for instructions that are alike."""
    return _LIKENESSES[type(op)](op)


def shape(op: Instruction) -> Hashable:
    """Equal for instructions that are alike but for where their operands begin."""
    return _SHAPES[type(op)](op)


def form_numbers(program: Program) -> Sequence[int]:
    """A number for each instruction of load and run: those of one shape have the same one."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(shape(op), len(numbers)) for op in (*program.load, *program.run)]


def operands(op: Instruction) -> Iterator[Operand | None]:
    """What says where its operands are, None for one that it does not have."""
    return (getattr(op, name) for name in _OPERANDS[type(op)])


def bases(op: Instruction) -> Iterator[int]:
    """Where its operands begin."""
    for operand in operands(op):
        if operand is not None:
            yield _reference(operand).base


def bases_of(op: Instruction, operands: Sequence[str]) -> Callable[[Any], Sequence[int]]:
    """Tells of instructions of the shape of ``op`` where some operands begin."""
    whole = ("base" if isinstance(getattr(op, name), Reference) else "reference.base" for name in operands)
    where: Callable[[Any], Any] = attrgetter(*(".".join(path) for path in zip(operands, whole, strict=True)))
    return where if len(operands) > 1 else lambda op: (where(op),)


def _reference(operand: Operand) -> Reference:
    return operand if isinstance(operand, Reference) else operand.reference


def _without_base(operand: Operand | None) -> Hashable:
    if operand is None or isinstance(operand, Reference):
        return operand and operand.strides
    return operand.nest, operand.reference.strides


def _operands(kind: type[Any]) -> tuple[str, ...]:
    return tuple([field.name for field in fields(kind) if field.type in OPERANDS])


def _fields(kind: type[Any], apart: Container[str]) -> list[str]:
    return ["mnemonic", *(field.name for field in fields(kind) if field.name not in apart)]


def _shape_of(kind: type[Any]) -> Callable[[Any], Hashable]:
    """In one step for those that have all their operands."""
    rest, parts = _fields(kind, {*APART, *_OPERANDS[kind]}), list[str]()
    for field in fields(kind):
        if field.type in OPERANDS[1::2]:  # some lack it
            of_rest = attrgetter(*rest)
            return lambda op: (of_rest(op), *map(_without_base, operands(op)))
        parts += [f"{field.name}.{part}" for part in PARTS.get(str(field.type), ())]
    return attrgetter(*rest, *parts)


class Kinds:
    """The instructions of a program by number: those that are alike have the same one."""

    def __init__(self, _: Program) -> None:
        self._by_place: dict[int, int] = {}  # by id: the program keeps its instructions
        self._by_likeness: dict[Hashable, int] = {}

    def number(self, op: Instruction) -> int:
        """That of an instruction of the program."""
        number = self._by_place.get(id(op))
        if number is None:
            number = self._by_place[id(op)] = self._by_likeness.setdefault(likeness(op), len(self._by_likeness))
        return number


_OPERANDS: Mapping[type, Sequence[str]] = {kind: _operands(kind) for kind in INSTRUCTIONS}
_LIKENESSES: Mapping[type, Callable[[Any], Hashable]] = {
    kind: attrgetter(*_fields(kind, APART)) for kind in INSTRUCTIONS
}
_SHAPES: Mapping[type, Callable[[Any], Hashable]] = {kind: _shape_of(kind) for kind in INSTRUCTIONS}
