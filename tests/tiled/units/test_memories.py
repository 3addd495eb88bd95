"""The ranks of a tile's ports are the order of the text, and every client has one."""

from tests.tiled.units.bench import chip_of
from tilesim.tiled.units.memories import NarrowReadRank, NarrowWriteRank, TileMemories, WideRank


def test_clients_by_falling_priority() -> None:
    sides = ("NORTH", "EAST", "SOUTH", "WEST")
    assert [rank.name for rank in sorted(WideRank)] == [
        "RING_COMMIT", "RING_PRODUCER", *(f"MESH_IN_{side}" for side in sides), *(f"MESH_OUT_{side}" for side in sides),
        "NARROW_TO_WIDE", "WIDE_TO_NARROW", "SUM_WRITE", "SUM_READ", "WEIGHT_READ",
    ]  # fmt: skip
    assert [rank.name for rank in sorted(NarrowReadRank)] == [
        *(f"MESH_OUT_{side}" for side in sides), "NARROW_TO_WIDE", "TENSOR",
    ]  # fmt: skip
    assert [rank.name for rank in sorted(NarrowWriteRank)] == [
        *(f"MESH_IN_{side}" for side in sides), "WIDE_TO_NARROW", "OUTPUT",
    ]  # fmt: skip


def test_the_ports_have_the_capacity_of_the_topology() -> None:
    memories = TileMemories("tile", chip_of(wide_memory={"ports": 2}), samples=3)
    assert memories.wide_port.free(WideRank.WEIGHT_READ, 0)[0] == 2
    assert memories.narrow_read.free(NarrowReadRank.TENSOR, 0)[0] == 1
    assert memories.narrow_write.free(NarrowWriteRank.OUTPUT, 0)[0] == 1
    assert memories.narrow.bytes.shape == (3, 192 * 1024)
    assert memories.wide.bytes.shape == (3, 512 * 1024)
