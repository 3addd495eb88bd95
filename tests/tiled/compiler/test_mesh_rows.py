"""Compiled programs where the mesh joins wide memories: what comes from where, through which rows, in what order."""

from pathlib import Path
from typing import Any

import pytest

import tilesim
from tilesim.tiled.compiler.mesh_rows import arrival_flag
from tilesim.tiled.isa.model.accesses import mesh_words
from tilesim.tiled.isa.model.fields import Flag, MemoryName, Side, bits
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut, TensorOp, WideToNarrow
from tilesim.tiled.isa.model.loops import addresses
from tilesim.tiled.isa.model.program import Program

ROW_WORDS = 64
PADDED = """
seed: 1
input: {shape: [1, 16, 16, 4], zero_point: 7}
layers:
 - {name: first, kind: convolution, filters: 4, kernel: [1, 1]}
 - {name: c, kind: convolution, filters: 4, kernel: [3, 3], input: first}
"""


def compiled(tmp_path: Path, **chip: Any) -> Program:
    path = tmp_path / "net.yaml"
    path.write_text(PADDED)
    keys = {"mesh.destination": "wide", **{key.replace("__", "."): value for key, value in chip.items()}}
    return tilesim.compile(tilesim.load_network(path), tilesim.load_topology("edge-4x4", keys))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return compiled(tmp_path)


def of(program: Program, kind: type) -> list[Any]:
    return [op for op in program.run if isinstance(op, kind)]


def test_what_tells_that_an_edge_has_come(program: Program) -> None:
    assert arrival_flag(program.topology, Side.NORTH) is Flag.WIDE_TO_NARROW
    assert arrival_flag(tilesim.load_topology("edge-4x4"), Side.NORTH) is Flag.MESH_NORTH_IN


def test_words_leave_narrow_memory_and_arrive_in_whole_rows(program: Program) -> None:
    """4 pixels of a word each at every side, 64 words in a row: a row each time."""
    sends, arrivals = of(program, MeshOut), [op for op in of(program, MeshIn) if op.fill is None]
    assert {op.memory for op in sends} == {MemoryName.NARROW}
    assert {mesh_words(op, program.topology) for op in (*sends, *arrivals)} == {ROW_WORDS}
    assert len(sends) == 2 + 2 * 3, "as many as between narrow memories"


def test_each_edge_goes_on_to_its_place_when_it_has_come(program: Program) -> None:
    """The row of a side is read by the copy that follows it, which waits for its arrival and nothing later."""
    ops = list(program.run)
    for place, op in enumerate(ops):
        if isinstance(op, MeshIn) and op.fill is None:
            unpack = next(later for later in ops[place:] if isinstance(later, WideToNarrow) and later.tiles == op.tiles)
            assert unpack.label.replace(".unpack", "") == op.label
            assert unpack.read.reference.base == op.write.reference.base
            assert Flag(f"mesh_{op.side}_in") in {watcher.flag for watcher in unpack.wait}


def test_a_border_is_filled_from_one_row_that_each_tile_makes_once(program: Program) -> None:
    [row] = {op.write.reference.base for op in of(program, MeshIn) if op.fill is not None}
    made = [tile for op in of(program, MeshIn) if op.fill is not None for tile in bits(op.tiles)]
    edge = {tile for tile in range(16) if not (0 < tile // 4 < 3 and 0 < tile % 4 < 3)}
    assert sorted(made) == sorted(edge), "those at an edge of the grid, and none twice"
    filled = [op for op in of(program, WideToNarrow) if op.read.reference.base == row]
    assert {tile for op in filled for tile in bits(op.tiles)} == edge
    assert all(not op.read.reference.strides for op in filled), "the same row again and again"


def test_a_place_is_used_again_when_all_of_it_has_gone_on(program: Program) -> None:
    """The own rows of a west neighbour, then the corners: into the same row, each after the one before has left it."""
    west = [op for op in of(program, MeshIn) if op.side is Side.WEST and op.fill is None]
    tile = next(tile for tile in bits(west[0].tiles) if west[1].tiles >> tile & 1)
    mine = [op for op in west if op.tiles >> tile & 1]
    assert len({op.write.reference.base for op in mine}) == 1
    assert not mine[0].wait
    assert all([watcher.flag for watcher in op.wait] == [Flag.WIDE_TO_NARROW] for op in mine[1:])


def test_nothing_but_the_edge_is_written(program: Program) -> None:
    """Not a word of the own part, of which the copies know nothing."""
    layer = of(program, TensorOp)[0]
    made = {*addresses(layer.nest, layer.output)}  # a word each
    for op in of(program, WideToNarrow):
        if not op.label.startswith("input"):
            assert not made & {*addresses(op.write.nest, op.write.reference)}


def test_layers_wait_for_the_copies(program: Program) -> None:
    second = of(program, TensorOp)[1]
    assert Flag.WIDE_TO_NARROW in {watcher.flag for watcher in second.wait}
    assert not {watcher.flag for watcher in second.wait} & {Flag(f"mesh_{side}_in") for side in Side}


def test_the_places_are_staging_rows_and_only_where_the_mesh_joins_wide_memories(tmp_path: Path) -> None:
    """One for each side and one for the zero point."""
    wide, narrow = compiled(tmp_path), compiled(tmp_path, mesh__destination="narrow")
    more = [region.bytes for region in wide.regions if region.name == "staging"]
    assert sum(more) - sum(region.bytes for region in narrow.regions if region.name == "staging") == 5 * 256


def test_without_room_for_the_rows_a_network_is_refused(tmp_path: Path) -> None:
    message = "rows for the tensors that cross the ring must fit the wide memory of edge-4x4"
    with pytest.raises(tilesim.CapacityError, match=message):
        compiled(tmp_path, wide_memory__size_bytes=1024)
