"""Over how many tiles fully connected layers go."""

import tilesim
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.spread import DenseLayer, outputs_per_tile, tiles_for

CHIP = tilesim.load_topology("edge-4x4")


def spread(inputs: int, outputs: int, *, delivered: bool = False, leaves: bool = False) -> int:
    return tiles_for(DenseLayer(MapShape(1, 1, inputs), outputs, delivered, leaves), CHIP)


def test_one_block_of_lanes_stays_on_one_tile_and_so_does_what_is_not_worth_the_way() -> None:
    assert spread(4096, 64, delivered=True) == 1
    assert spread(128, 128) == 1


def test_many_outputs_are_worth_the_way() -> None:
    assert spread(128, 640, leaves=True) == 10
    assert spread(512, 1100, delivered=True, leaves=True) == 9


def test_what_does_not_fit_one_tile_is_spread_whatever_the_way_costs() -> None:
    small = tilesim.load_topology("edge-4x4", {"wide_memory.size_bytes": "32 KiB"})
    assert tiles_for(DenseLayer(MapShape(1, 1, 256), 128, False, False), small) == 2


def test_what_fits_nowhere_is_spread_over_all_tiles() -> None:
    small = tilesim.load_topology("edge-2x2", {"wide_memory.size_bytes": "16 KiB"})
    assert tiles_for(DenseLayer(MapShape(1, 1, 256), 640, False, False), small) == 4


def test_what_is_reserved_is_no_room() -> None:
    """One tile has room for two blocks, and is fast enough."""
    layer, room = DenseLayer(MapShape(1, 1, 64), 128, False, False), {"wide_memory.size_bytes": "10 KiB"}
    assert tiles_for(layer, tilesim.load_topology("edge-4x4", room)) == 1
    assert tiles_for(layer, tilesim.load_topology("edge-4x4", room | {"wide_memory.reserve_bytes": "1 KiB"})) == 2


def test_each_tile_has_whole_blocks() -> None:
    assert outputs_per_tile(1100, 9, 64) == 128
    assert outputs_per_tile(1100, 16, 64) == 128
    assert outputs_per_tile(100, 2, 64) == 64
