"""The sheet has a row for every instruction; the ranks at ports are in the order of the text."""

from dataclasses import fields

from tilesim.tiled.isa.model.fields import Engine, Flag
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS
from tilesim.tiled.isa.model.sheet import CLIENTS, FLAGS, RANKS, SHEET, PortName

SIDES = ("north", "east", "south", "west")
MESH_IN, MESH_OUT = ([f"mesh_{way}_{side}" for side in SIDES] for way in ("in", "out"))


def test_a_row_an_instruction_with_fields_that_it_has() -> None:
    assert SHEET.keys() == {kind.mnemonic for kind in INSTRUCTIONS}
    for kind in INSTRUCTIONS:
        row = SHEET[kind.mnemonic]
        named = {operand.field for operand in row.operands} | ({row.counts} if row.counts else set())
        assert named <= {field.name for field in fields(kind)}


def test_every_engine_has_one_row_and_a_flag_of_its_own() -> None:
    assert FLAGS.keys() == set(Engine)
    assert sum(len(row.raises) for row in SHEET.values()) == len(set(FLAGS.values())) == len(Engine)
    assert FLAGS[Engine.MESH_IN_NORTH] is Flag.MESH_NORTH_IN


def test_clients_by_falling_priority() -> None:
    assert [engine for _, engine in CLIENTS[PortName.WIDE]] == [
        "ring_consumer", "ring_consumer_b", "ring_producer", *MESH_IN, *MESH_OUT, "narrow_to_wide", "wide_to_narrow",
        "tensor", "tensor", "tensor",
    ]  # fmt: skip
    assert [engine for _, engine in CLIENTS[PortName.NARROW_READ]] == [*MESH_OUT, "narrow_to_wide", "tensor"]
    assert [engine for _, engine in CLIENTS[PortName.NARROW_WRITE]] == [*MESH_IN, "wide_to_narrow", "tensor"]


def test_sums_are_written_before_they_are_read_and_weights_come_last() -> None:
    of_tensor = {field: rank for (engine, field, _), (_, rank) in RANKS.items() if engine is Engine.TENSOR}
    assert of_tensor["sums_out"] < of_tensor["sums_in"] == of_tensor["parameters"] < of_tensor["weights"]
