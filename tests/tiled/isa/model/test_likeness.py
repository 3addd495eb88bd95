"""What instructions that are alike may differ in."""

from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import pytest

from tests.assembly.machines import OP, SAMPLE
from tilesim.tiled.isa.model.fields import Flag, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Broadcast, MeshIn, Side
from tilesim.tiled.isa.model.likeness import _OPERANDS, APART, Forms, Kinds, base_of, likeness


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
    forms, kinds = Forms(SAMPLE), Kinds(SAMPLE)
    assert [forms.number(op) for op in (OP, moved, wider, OP)] == [0, 0, 1, 0]
    assert [kinds.number(op) for op in (OP, moved, wider, OP)] == [0, 1, 2, 0]
    assert (base_of(moved, "input"), base_of(OP, "input")) == (OP.input.base + 64, OP.input.base)
