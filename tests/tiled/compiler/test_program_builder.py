"""Instructions in the making."""

from __future__ import annotations

import pytest

import tilesim
from tilesim.tiled.compiler.partition import partition_network
from tilesim.tiled.compiler.placement import place
from tilesim.tiled.compiler.program_builder import SOURCE, Completion, ProgramBuilder
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.isa.model.fields import Channel, Engine, Flag, Loop, Nest, Reference, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import MeshIn, ScalarFence, TileFence


@pytest.fixture
def builder() -> ProgramBuilder:
    topology = tilesim.load_topology("edge-2x2")
    plan = plan_operators(tilesim.load_network("digits"), 4)
    partition = partition_network(plan, topology)
    return ProgramBuilder(topology, plan, partition, place(partition, topology))


def fill(words: int) -> MeshIn:
    target = Traversal(Nest((Loop("w", words),)), Reference(0, (("w", 4),)))
    return MeshIn(tiles=0, side=Side.NORTH, write=target, fill=0, produce="w")


def test_tiles_that_do_the_same_share_an_instruction(builder: ProgramBuilder) -> None:
    labels = builder.write("fill", {0: fill(2), 1: fill(3), 3: fill(2)})
    assert [(op.label, op.tiles) for op in builder.run if isinstance(op, MeshIn)] == [
        ("fill.t0", 0b1001),
        ("fill.t1", 0b10),
    ]
    assert labels == {0: "fill.t0", 3: "fill.t0", 1: "fill.t1"}
    assert builder.count(3, Flag.MESH_NORTH_IN) == Watcher(Flag.MESH_NORTH_IN, 1)
    assert builder.count(2, Flag.MESH_NORTH_IN) == Watcher(Flag.MESH_NORTH_IN, 0)


def test_first_instructions_are_issued_before_all_others(builder: ProgramBuilder) -> None:
    builder.write("second", {0: fill(2)})
    builder.write("first", {0: fill(2)}, first={0})
    assert [op.label for op in builder.run] == ["first", "second"]


def test_rows_are_known_to_be_made_one_by_one_in_their_order() -> None:
    upwards = Completion(Flag.AVDATA, 10, range(7, 3, -1))
    assert [upwards.row(row) for row in (7, 6, 5, 4)] == [7, 8, 9, 10]
    assert upwards.rows(range(5, 8)) == 9
    assert Completion(Flag.AVDATA, 10).rows(range(5, 8)) == 10


def test_a_master_waits_for_the_tail_of_the_last_transfer(builder: ProgramBuilder) -> None:
    assert builder.turn(2) == ()
    builder.send(SOURCE, 0b1000)
    builder.send(1, 1 << 4)
    assert builder.tails == {(Channel.A, stop): tails for stop, tails in {SOURCE: 1, 0: 1, 1: 2, 2: 2, 3: 2}.items()}
    assert builder.turn(2) == (Watcher(Flag.RING_PRODUCER_A, 2),)


def test_the_infeed_waits_for_another_master_but_not_for_itself(builder: ProgramBuilder) -> None:
    assert builder.infeed_turn() == 0
    builder.send(SOURCE, 0b1000)
    assert builder.infeed_turn() == 0
    builder.send(2, 0b0011)  # round by the source
    assert builder.infeed_turn() == 2
    assert builder.run == ()


def test_a_tail_that_does_not_pass_the_source_takes_a_fence(builder: ProgramBuilder) -> None:
    builder.send(1, 0b0100)
    assert builder.infeed_turn() == 0
    assert [type(op) for op in builder.run] == [TileFence, ScalarFence]


def test_where_the_tail_does_not_pass_a_fence_keeps_the_order(builder: ProgramBuilder) -> None:
    builder.send(2, 1 << 4)
    assert builder.turn(0) == ()
    fence, scalar = builder.run
    assert isinstance(fence, TileFence)
    assert (fence.tiles, fence.idle, fence.increment) == (0b100, (Engine.RING_PRODUCER,), 1)
    assert isinstance(scalar, ScalarFence)
    assert scalar.count == 1
