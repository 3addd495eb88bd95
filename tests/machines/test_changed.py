"""An instruction like another one is what ``replace`` makes of that."""

from dataclasses import fields, replace

from tests.assembly.machines import CONSUME, OP
from tilesim.machines.changed import changed
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS


def test_fields_change_and_nothing_else() -> None:
    for op in (OP, CONSUME):
        before = dict(vars(op))
        other = changed(op, tiles=6, label="other")
        assert other == replace(op, tiles=6, label="other")
        assert hash(other) == hash(replace(op, tiles=6, label="other"))
        assert vars(op) == before
        assert list(vars(other)) == [field.name for field in fields(op)]


def test_instructions_have_nothing_but_fields_and_check_nothing() -> None:
    for kind in INSTRUCTIONS:
        assert not hasattr(kind, "__post_init__")
