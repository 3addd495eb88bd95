"""Layers that are spread by their output channels: which, over how many tiles, and how their maps are gathered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.networks import Weave, same
from tilesim.machines.policies import CHANNEL, ONE, SPATIAL, Wishes
from tilesim.network.graph import Network
from tilesim.network.operators import MaxPool, ResizeNearest
from tilesim.tiled.compiler.all_gather import gather_rows
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.axis import Axis
from tilesim.tiled.compiler.channels import channels_per_tile, outputs_per_tile, tiles_for
from tilesim.tiled.compiler.feature_map import FeatureMap, MapShape, padded
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.rows import copied_words, part_words, rows_for, sent
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.isa.model.loops import addresses
from tilesim.tiled.topology import Grid, Topology

CHIP = tilesim.load_topology("edge-4x4")


def net(tmp_path: Path, shape: str, *layers: str) -> Network:
    path = tmp_path / "net.yaml"
    path.write_text(f"seed: 1\ninput: {{shape: {shape}}}\nlayers: [{', '.join(f'{{{layer}}}' for layer in layers)}]\n")
    return tilesim.load_network(path)


def spread(network: Network, topology: Topology = CHIP, copy_bytes: int = 1 << 20, **layers: str) -> Partition:
    """The maps of a network all of whose layers are to be spread by channel, but for some, by ``layer3="spatial"``."""
    own = {int(name.removeprefix("layer")): choice for name, choice in layers.items()}
    return partition_network(plan_operators(network, 4), topology, (), Wishes(CHANNEL, own), copy_bytes)


def choices(partition: Partition) -> list[tuple[int, str]]:
    return [(how.block, how.reason) for how in partition.spreads.values()]


CONVOLUTION = "name: c, kind: convolution, filters: 64, kernel: [3, 3]"
DEPTHWISE = "name: d, kind: depthwise_convolution, kernel: [3, 3]"


def test_each_tile_makes_some_channels_of_the_whole_map_from_all_of_the_input(tmp_path: Path) -> None:
    partition = spread(
        net(tmp_path, "[1, 5, 6, 32]", CONVOLUTION, "name: e, kind: convolution, filters: 96, kernel: [1, 1]")
    )
    first, second = (partition.made(node) for node in partition.plan.network.nodes)
    for made, channels in ((first, 64), (second, 96)):
        parts = [part for _, part in made.parts()]
        assert [channel for part in parts for channel in part.channels] == list(range(channels))
        assert {(part.rows, part.columns) for part in parts} == {(range(5), range(6))}
    [source] = partition.plan.sources
    assert partition.whole[source.stored.index].tiles == first.tiles, "the input comes whole to each of them"
    reader = partition.plan.network.nodes[1]
    copy = partition.maps[partition.read(reader, partition.plan.activations(reader)[0])]
    assert (copy.block, copy.tiles) == (0, second.tiles), "and what they make is gathered for the next"
    assert partition.spreads[reader.output].reason == f"{second.block} channels a tile"


def test_layers_that_make_each_channel_from_one_stay_where_the_channels_are(tmp_path: Path) -> None:
    layers = (
        CONVOLUTION,
        DEPTHWISE,
        "name: p, kind: max_pool, window: [2, 2], strides: [2, 2]",
        "name: a, kind: add, other: p",
        "name: g, kind: average_pool, window: [3, 3], padding: valid",
    )
    partition = spread(net(tmp_path, "[1, 6, 6, 8]", *layers))
    assert len({(partition.made(node).block, partition.made(node).tiles) for node in partition.plan.network.nodes}) == 1
    assert not [name for name in partition.maps if name.startswith("copy")], "nothing is gathered"
    assert not any(map_.rows.exchanges or map_.columns.exchanges for map_ in partition.maps.values())


@pytest.mark.parametrize(
    ("shape", "layers", "reason"),
    [
        ("[1, 6, 6, 8]", (CONVOLUTION.replace("64", "4"),), "its 4 channels make no equal blocks of whole words"),
        ("[1, 6, 6, 8]", (CONVOLUTION.replace("64", "68"),), "its 68 channels make no equal blocks of whole words"),
        ("[1, 6, 6, 8]", (f"{CONVOLUTION}, groups: 2",), "its outputs read different channels, a group each"),
        ("[1, 6, 6, 8]", (f"{DEPTHWISE}, channel_multiplier: 2",), "it follows the grid, as its input does"),
        ("[1, 6, 6, 8]", ("name: s, kind: max_pool, window: [2, 2]",), "it follows the grid, as its input does"),
    ],
)
def test_what_makes_no_sense_is_spread_over_rows_and_columns(
    tmp_path: Path, shape: str, layers: tuple[str, ...], reason: str
) -> None:
    assert choices(spread(net(tmp_path, shape, *layers)))[-1] == (0, reason)


def test_a_depthwise_layer_that_makes_several_channels_of_one_gathers(tmp_path: Path) -> None:
    partition = spread(
        net(tmp_path, "[1, 6, 6, 4]", CONVOLUTION.replace("64", "8"), f"{DEPTHWISE}, channel_multiplier: 2")
    )
    assert choices(partition)[-1] == (0, "it makes 16 channels of 8")
    assert any(name.startswith("copy") for name in partition.maps)


def test_maps_that_are_spread_in_different_ways_are_added_over_the_grid(tmp_path: Path) -> None:
    layers = (CONVOLUTION, CONVOLUTION.replace("name: c", "name: e"), "name: a, kind: add, other: c")
    partition = spread(net(tmp_path, "[1, 6, 6, 8]", *layers), layer1="spatial")
    assert choices(partition)[1:] == [(0, "asked for"), (0, "its inputs are spread in different ways")]


def test_an_input_that_is_too_large_for_every_tile_is_not_copied(tmp_path: Path) -> None:
    network = net(tmp_path, "[1, 6, 6, 8]", CONVOLUTION)
    [(block, reason)] = choices(spread(network, copy_bytes=6 * 6 * 8 - 1))
    assert (block, reason) == (0, "its input, 288 B, is too much for every tile to have whole")
    assert choices(spread(network, copy_bytes=6 * 6 * 8))[0][0] > 0


def test_a_layer_may_be_left_out(tmp_path: Path) -> None:
    partition = spread(net(tmp_path, "[1, 6, 6, 8]", CONVOLUTION, DEPTHWISE), layer1="spatial")
    assert [block > 0 for block, _ in choices(partition)] == [True, False]
    assert choices(partition)[1][1] == "asked for"


def test_by_default_nothing_but_vectors_is_spread_by_channel(tmp_path: Path) -> None:
    network = net(tmp_path, "[1, 6, 6, 8]", CONVOLUTION, "name: f, kind: fully_connected, units: 640")
    partition = partition_network(plan_operators(network, 4), CHIP)
    assert [(how.choice, how.leads) for how in partition.spreads.values()] == [(SPATIAL, False), (CHANNEL, False)]


def test_an_unequal_cut_of_a_vector_is_no_cut_of_a_map() -> None:
    """A thousand outputs are blocks of 64, the last of 40: pixels of such blocks would have gaps in a copy."""
    weave = Weave()
    vector = weave.convolution(weave.input(1, 1, 512), 1000, 1)
    pooled = weave.add(MaxPool((1, 1), (1, 1), same(1), (-128, 127)), vector)
    network = weave.network(weave.add(ResizeNearest((0, 0), (0, 0)), pooled))
    made, follows, resized = partition_network(
        plan_operators(network, 4), CHIP, (), Wishes(CHANNEL), 1 << 20
    ).spreads.values()
    assert made.block == follows.block > 0
    assert (resized.block, resized.reason) == (0, "the 1000 channels of its input are cut in unequal blocks")


@pytest.mark.parametrize(("channels", "most"), [(8, 2), (12, 3), (64, 16), (96, 12), (100, 5), (4, 0), (68, 0), (1, 0)])
def test_blocks_are_equal_and_whole_words(channels: int, most: int) -> None:
    """A word for each of as many tiles as there may be, where a layer behind takes long for each."""
    block = channels_per_tile(MapShape(16, 16, channels), 225, CHIP)
    assert (channels // block if block else 0) == most
    assert block % 4 == 0


def test_fewer_tiles_where_gathering_costs_more_than_it_saves() -> None:
    """Four pixels of 64 channels are a wide row; those of 32 would fill half of one each."""
    assert channels_per_tile(MapShape(2, 2, 512), 1, CHIP) == 64
    assert channels_per_tile(MapShape(2, 4, 512), 1, CHIP) == 32


@st.composite
def cut(draw: st.DrawFn) -> tuple[FeatureMap, FeatureMap]:
    """A map by channel, and a copy of it with borders."""
    height, width, words, tiles = (draw(st.integers(1, most)) for most in (5, 6, 20, 5))
    tiles += tiles == 1
    shape = MapShape(height, width, 4 * words * tiles)
    places, used = Arrangement.plain(Grid(rows=tiles, columns=1)), (1 << tiles) - 1

    def axis(size: int, parts: int, before: int, after: int) -> Axis:
        own = (range(size),) * parts
        return Axis(size, own, (range(-before, size + after),) * parts, own)

    def made(pixel_bytes: int, block: int) -> FeatureMap:
        border = [draw(st.integers(0, 2)) for _ in range(4)]
        down, across = axis(height, tiles, *border[:2]), axis(width, 1, *border[2:])
        return FeatureMap(shape, down, across, used, pixel_bytes, places, block, address=4 * draw(st.integers(0, 9)))

    return made(4 * words, 4 * words), made(padded(shape.channels, 4), 0)


@given(cut(), st.sampled_from([16, 64, 256]))
def test_what_is_packed_tile_by_tile_is_unpacked_pixel_by_pixel(maps: tuple[FeatureMap, FeatureMap], row: int) -> None:
    """Each word of the copy is written last by the word of the map that belongs there."""
    map_, copy = maps
    packed = [address for tile in _tiles(map_) for address in _addresses(map_, copy, tile, row)]
    unpack = copied_words(map_, copy, 0, row, 4)
    written = addresses(unpack.nest, unpack.reference).tolist()
    assert len(written) == len(packed) == gather_rows(map_, copy, row) * row // 4
    last = dict(zip(written, packed, strict=True))
    for tile, part in map_.parts():
        for y in part.rows:
            for x in part.columns:
                for byte in range(0, part.pixel_bytes, 4):
                    target = copy.part(0).at(y, x) + part.channels.start + byte
                    assert last[target] == (tile, part.at(y, x) + byte)


def _tiles(map_: FeatureMap) -> list[int]:
    return [tile for tile, _ in map_.parts()]


def _addresses(map_: FeatureMap, copy: FeatureMap, tile: int, row: int) -> list[tuple[int, int]]:
    part = sent(map_, copy, tile)
    words = part_words(part, row, 4)
    visited = addresses(words.nest, words.reference)
    assert isinstance(visited, np.ndarray)
    assert visited.size * 4 == rows_for(part, row) * row
    return [(tile, address) for address in visited.tolist()]


def dense_tiles(inputs: int, outputs: int, *, delivered: bool = False, leaves: bool = False) -> int:
    return tiles_for(MapShape(1, 1, inputs), outputs, CHIP, delivered=delivered, leaves=leaves)


def test_one_block_of_lanes_stays_on_one_tile_and_so_does_what_is_not_worth_the_way() -> None:
    assert dense_tiles(4096, 64, delivered=True) == 1
    assert dense_tiles(128, 128) == 1


def test_a_fully_connected_layer_is_in_one_tile_where_that_is_asked_for(tmp_path: Path) -> None:
    network = net(tmp_path, "[1, 6, 6, 8]", CONVOLUTION, "name: f, kind: fully_connected, units: 640")
    asked = partition_network(plan_operators(network, 4), CHIP, (), Wishes(layers={1: ONE}))
    assert choices(asked)[1] == (0, "one tile is asked for")
    assert asked.made(network.nodes[-1]).tiles.bit_count() == 1
    assert partition_network(plan_operators(network, 4), CHIP).made(network.nodes[-1]).tiles.bit_count() == 10


def test_many_outputs_are_worth_the_way() -> None:
    assert dense_tiles(128, 640, leaves=True) == 10
    assert dense_tiles(512, 1100, delivered=True, leaves=True) == 9


def test_what_does_not_fit_one_tile_is_spread_whatever_the_way_costs() -> None:
    small = tilesim.load_topology("edge-4x4", {"wide_memory.size_bytes": "32 KiB"})
    assert tiles_for(MapShape(1, 1, 256), 128, small, delivered=False, leaves=False) == 2


def test_what_fits_nowhere_is_spread_over_all_tiles() -> None:
    small = tilesim.load_topology("edge-2x2", {"wide_memory.size_bytes": "16 KiB"})
    assert tiles_for(MapShape(1, 1, 256), 640, small, delivered=False, leaves=False) == 4


def test_what_is_reserved_is_no_room() -> None:
    """One tile has room for two blocks, and is fast enough."""
    room = {"wide_memory.size_bytes": "10 KiB"}
    for reserve, tiles in (({}, 1), ({"wide_memory.reserve_bytes": "1 KiB"}, 2)):
        chip = tilesim.load_topology("edge-4x4", room | reserve)
        assert tiles_for(MapShape(1, 1, 64), 128, chip, delivered=False, leaves=False) == tiles


def test_each_tile_has_whole_blocks() -> None:
    assert outputs_per_tile(1100, 9, 64) == 128
    assert outputs_per_tile(1100, 16, 64) == 128
    assert outputs_per_tile(100, 2, 64) == 64
