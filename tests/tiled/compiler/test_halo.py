"""What neighbours send each other, and what stands in the border."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import tilesim
from tilesim.tiled.isa.model.fields import Flag, Side, bits
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut, TensorOp
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program

PADDED = """
seed: 1
input: {shape: [1, 16, 16, 4], zero_point: 7}
layers:
 - {name: first, kind: convolution, filters: 4, kernel: [1, 1]}
 - {name: c, kind: convolution, filters: 4, kernel: [3, 3], input: first}
"""


def compiled(tmp_path: Path, text: str, topology: str = "edge-4x4") -> Program:
    path = tmp_path / "net.yaml"
    path.write_text(text)
    return tilesim.compile(tilesim.load_network(path), tilesim.load_topology(topology))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return compiled(tmp_path, PADDED)


def mesh(program: Program, kind: type, side: Side) -> Iterator[MeshIn | MeshOut]:
    return (op for op in program.run if isinstance(op, kind) and op.side is side)


def sent_words(op: MeshOut) -> int:
    return iterations(op.read.nest) * op.tiles.bit_count()


def tiles(ops: Iterator[MeshIn | MeshOut]) -> set[int]:
    return {tile for op in ops for tile in bits(op.tiles)}


def test_oracle_29_rows_come_from_neighbours_and_fills_from_nowhere(program: Program) -> None:
    last_row, first_column = {12, 13, 14, 15}, {0, 4, 8, 12}
    assert last_row <= tiles(mesh(program, MeshOut, Side.NORTH))
    assert tiles(op for op in mesh(program, MeshIn, Side.SOUTH) if op.fill is not None) == last_row
    assert first_column <= tiles(op for op in mesh(program, MeshIn, Side.EAST) if op.fill is None)
    assert first_column <= tiles(op for op in mesh(program, MeshIn, Side.WEST) if op.fill is not None)
    zero_points = {op.fill for op in program.run if isinstance(op, MeshIn) and op.fill is not None}
    first = next(op for op in program.run if isinstance(op, TensorOp))
    assert zero_points == {first.output_zero_point}


def test_oracle_29_corners_wait_for_the_vertical_exchange(program: Program) -> None:
    corners = [op for op in program.run if isinstance(op, MeshOut) and op.label.split(".")[1:3] == ["west", "north"]]
    assert corners
    assert all(watcher.flag is Flag.MESH_NORTH_IN for op in corners for watcher in op.wait)


def test_tiles_that_do_the_same_share_one_instruction(program: Program) -> None:
    """However many tiles: a layer is one tensorop, a side of the exchange one receive and one send for each band."""
    assert len([op for op in program.run if isinstance(op, TensorOp)]) == 2
    sends = [op for op in program.run if isinstance(op, MeshOut)]
    assert len(sends) == 2 + 2 * 3
    assert len({(op.side, op.read) for op in sends}) == len(sends)


def test_a_halo_moves_a_row_or_a_column_of_each_tile(program: Program) -> None:
    """4 x 4 pixels a tile, a word each; between 4 rows of 4 tiles 3 x 4 rows go north, and as many south."""
    words = {
        side: sum(iterations(op.read.nest) * op.tiles.bit_count() for op in mesh(program, MeshOut, side))
        for side in Side
    }
    assert words[Side.NORTH] == words[Side.SOUTH] == 12 * 4
    corners = 4 * (3 + 3)
    assert words[Side.EAST] == words[Side.WEST] == 12 * 4 + corners - 6


def test_own_rows_go_sideways_one_by_one_and_what_comes_last_is_awaited_last(program: Program) -> None:
    sideways = next(op for op in mesh(program, MeshOut, Side.EAST) if len(op.label.split(".")) == 3)
    assert [(w.flag, w.loop, w.stride) for w in sideways.wait] == [(Flag.AVDATA, "y", 1)]
    second = [op for op in program.run if isinstance(op, TensorOp)][1]
    assert dict(second.output.strides)["y"] < 0, "upwards: its first row needs what the neighbour below made first"
    late = {w.flag for w in second.wait if w.loop == "y"}
    assert late == {Flag.MESH_NORTH_IN, Flag.MESH_EAST_IN, Flag.MESH_WEST_IN}


def test_layers_of_different_heights_wait_for_the_last_row_each_for_itself(tmp_path: Path) -> None:
    """The same watcher in a loop ends at another count if the loop runs more often."""
    layers = """
 - {name: l0, kind: convolution, filters: 20, groups: 4, kernel: [4, 3], dilations: [3, 1], strides: [3, 1]}
 - {name: l1, kind: add, input: input, other: input}
 - {name: l3, kind: convolution, filters: 7, kernel: [1, 10], strides: [2, 2], input: l1}
"""
    text = f"seed: 0\ninput: {{shape: [1, 49, 10, 200], zero_point: -128}}\nlayers:{layers}"
    assert compiled(tmp_path, text).topology.tiles == 16
