"""How maps are spread over tiles."""

from pathlib import Path

import tilesim
from tilesim.machines.policies import SPATIAL, Wishes
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.compiler.transfers import blocks_of


def spread(tmp_path: Path, text: str, topology: str) -> Partition:
    path = tmp_path / "net.yaml"
    path.write_text(text)
    return partition_network(
        plan_operators(tilesim.load_network(path), 4), tilesim.load_topology(topology), wishes=Wishes(SPATIAL)
    )


def test_oracle_27_four_rows_of_five_columns_on_two_by_two_tiles(tmp_path: Path) -> None:
    partition = spread(
        tmp_path,
        "seed: 1\ninput: {shape: [1, 4, 5, 8]}\nlayers: [{name: c, kind: convolution, filters: 32, kernel: [1, 1]}]\n",
        "edge-2x2",
    )
    output = partition.made(partition.plan.network.nodes[0])
    parts = dict(output.parts())
    sizes = [part.bytes for part in parts.values()]
    assert [sum(sizes[:k]) for k in range(4)] == [0, 192, 320, 512]
    across = {x: tile for tile in (0, 1) for x in parts[tile].columns}
    assert [across[x] for x in range(5)] == [0, 0, 0, 1, 1]
    assert [32 * (x - parts[across[x]].columns.start) for x in range(5)] == [0, 32, 64, 0, 32]
    assert [min(tile for tile, part in parts.items() if y in part.rows) for y in range(4)] == [0, 0, 2, 2]
    assert [block.origin for block in blocks_of(output, 256)] == [(0, 0, 0), (0, 3, 0), (2, 0, 0), (2, 3, 0)]


def test_small_maps_use_fewer_tiles_and_one_pixel_one(tmp_path: Path) -> None:
    partition = spread(
        tmp_path,
        "seed: 1\ninput: {shape: [1, 6, 3, 8]}\n"
        "layers:\n - {name: c, kind: convolution, filters: 8, kernel: [1, 1]}\n"
        " - {name: p, kind: average_pool, window: [6, 3], padding: valid}\n",
        "edge-4x4",
    )
    convolution, pool = (partition.made(node) for node in partition.plan.network.nodes)
    assert convolution.tiles == 0x777
    assert pool.tiles == 1
    pooling = partition.plan.network.nodes[1]
    read = partition.read(pooling, partition.plan.activations(pooling)[0])
    assert read.startswith("copy")
    assert partition.maps[read].tiles == 1


def test_fully_connected_outputs_are_spread_by_blocks_of_lanes(tmp_path: Path) -> None:
    """Oracle 24: 1,100 outputs are 18 blocks; two a tile fill 9 of 16 tiles, the last with 76."""
    partition = spread(
        tmp_path,
        "seed: 1\ninput: {shape: [1, 512]}\nlayers: [{name: f, kind: fully_connected, units: 1100}]\n",
        "edge-4x4",
    )
    parts = dict(partition.made(partition.plan.network.nodes[0]).parts())
    assert sorted(parts) == list(range(9))
    assert [len(part.channels) for part in parts.values()] == [128] * 8 + [76]
    [source] = partition.plan.sources
    assert partition.maps[f"tensor{source.stored.index}"].tiles == 0x1FF, "the input comes whole to each of them"
