"""What instructions that are alike may differ in."""

from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import pytest

from tests.assembly.machines import OP, SAMPLE
from tilesim.tiled.isa.model.fields import Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Broadcast, MeshIn, NarrowToWide, Side
from tilesim.tiled.isa.model.likeness import _OPERANDS, APART, Kinds, bases_of, form_numbers, likeness, shape


def test_who_does_it_for_what_and_when_does_not_matter() -> None:
    other = replace(OP, tiles=6, layer=3, label="else", wait=(Watcher(Flag.AVDATA, 9),))
    assert likeness(other) == likeness(OP)
    assert hash(likeness(other)) == hash(likeness(OP))


@pytest.mark.parametrize("name", sorted({field.name for field in fields(OP)} - APART))
def test_everything_else_does(name: str) -> None:
    other: Any = replace(OP, **{name: "other"})
    assert likeness(other) != likeness(OP)


def test_operands_are_all_fields_that_say_where_something_is() -> None:
    for kind in INSTRUCTIONS:
        hints = get_type_hints(kind)
        said = [name for name in hints if {Reference, Traversal} & {hints[name], *get_args(hints[name])}]
        assert [*_OPERANDS[kind]] == said, kind


def test_each_kind_has_its_own() -> None:
    assert likeness(Broadcast(tiles=1)) == likeness(Broadcast(tiles=2, label="b"))
    assert {field.name for kind in INSTRUCTIONS for field in fields(kind)} >= APART
    received = MeshIn(tiles=1, side=Side.NORTH, write=OP.nest)  # type: ignore[arg-type]
    assert likeness(received) != likeness(replace(received, side=Side.SOUTH))


def test_a_form_leaves_out_where_operands_begin_and_nothing_else() -> None:
    moved = replace(OP, input=OP.input._replace(base=OP.input.base + 64), label="moved")
    wider = replace(OP, input=OP.input._replace(strides=(("y", 128), ("z", -4))))
    assert shape(moved) == shape(OP) != shape(wider)
    assert form_numbers(replace(SAMPLE, load=(), run=(OP, moved, wider, OP))) == [0, 0, 1, 0]
    kinds = Kinds(SAMPLE)
    assert [kinds.number(op) for op in (OP, moved, wider, OP)] == [0, 1, 2, 0]


def test_where_operands_begin_is_told_of_all_that_have_the_same_form() -> None:
    moved = replace(OP, input=OP.input._replace(base=OP.input.base + 64))
    assert bases_of(OP, ["input"])(moved) == (OP.input.base + 64,)
    line = Traversal(Nest((Loop("r", 4),)), Reference(256, (("r", 64),)))
    copy = NarrowToWide(tiles=1, read=line, write=line._replace(reference=Reference(8, (("r", 64),))))
    assert bases_of(copy, ["write", "read"])(copy) == (8, 256)


@pytest.mark.parametrize("kind", [*INSTRUCTIONS])
def test_the_shape_of_each_kind_has_all_that_its_likeness_has_but_bases(kind: type[Any]) -> None:
    line = Traversal(Nest((Loop("r", 4),)), Reference(256, (("r", 64),)))
    made = {"Reference": Reference(64, (("r", 4),)), "Traversal": line}
    op = kind(**{each.name: made.get(str(each.type).partition(" |")[0], each.name) for each in fields(kind)})
    for name in sorted({each.name for each in fields(kind)} - APART - {*_OPERANDS[kind]}):
        assert shape(replace(op, **{name: "other"})) != shape(op), name
    for name in _OPERANDS[kind]:
        operand = getattr(op, name)
        of = operand if isinstance(operand, Reference) else operand.reference
        moved, stretched = of._replace(base=of.base + 4), of._replace(strides=(("r", 8),))
        both = [each if operand is of else operand._replace(reference=each) for each in (moved, stretched)]
        assert shape(replace(op, **{name: both[0]})) == shape(op) != shape(replace(op, **{name: both[1]})), name
        if operand is not of:
            longer = operand._replace(nest=Nest((Loop("r", 5),)))
            assert shape(replace(op, **{name: longer})) != shape(op), name
