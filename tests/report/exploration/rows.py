"""Rows of a sweep that nobody ran: as many as one likes, the same each time, of chips that behave like chips."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice, product
from zlib import crc32

from tilesim.explore.point import Options, Point, Value
from tilesim.explore.row import LayerRow, Measures, Row, Status

GRIDS = ((1, 1), (1, 2), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8))
LANES = (16, 32, 64, 128)
RING_HOPS = (1, 2, 4)
WIDE_KIB = (512, 256, 128, 1024)
PARTITIONS = ("spatial", "channel", "auto")
KINDS = ("convolution", "depthwiseconvolution", "fullyconnected")
NETWORKS = {"tiny": 3, "kws": 13, "vww": 30}
"""Networks, and how many layers each has."""
HOMES = ("copy", "home tile", "streamed")
CLOCK_HZ = 500_000_000


def rows(
    count: int = 10_000, networks: Mapping[str, int] = NETWORKS, grids: Sequence[tuple[int, int]] = GRIDS
) -> list[Row]:
    """The first so many rows of a sweep over grids, lanes, memories, hops and partitions, of several networks; some are
    refused, fewer failed.
    """
    return list(islice(_rows(networks, grids), count))


def _rows(networks: Mapping[str, int], grids: Sequence[tuple[int, int]]) -> Iterator[Row]:
    clocks = range(CLOCK_HZ, CLOCK_HZ + 1_000_000_000, 50_000_000)
    for clock, partition, hop, kib, lanes, network, grid in product(
        clocks, PARTITIONS, RING_HOPS, WIDE_KIB, LANES, networks, grids
    ):
        chip = {"clock_hz": clock, "tile.lanes": lanes, "wide_memory.size_bytes": kib * 1024, "ring.hop_cycles": hop}
        yield row(network, grid, layers=networks[network], options=Options(partition), chip=chip)


def row(
    network: str = "net",
    grid: tuple[int, int] = (1, 1),
    layers: int = 3,
    chip: Mapping[str, Value] | None = None,
    options: Options | None = None,
    status: Status | None = None,
) -> Row:
    """A row of the network on a chip of a grid of tiles; where ``status`` is not given, small memories refuse it."""
    options = options or Options()
    keys: dict[str, Value] = {
        "clock_hz": CLOCK_HZ, "grid.rows": grid[0], "grid.columns": grid[1],
        "ring.hop_cycles": 1, "wide_memory.size_bytes": 512 * 1024, "tile.lanes": 64, **(chip or {}),
    }  # fmt: skip
    found = status or _status(layers, keys)
    point = Point(f"{network}.tflite", "chip", keys, options)
    return {
        "sources": "",
        "key": hashlib.sha256(point.command.encode()).hexdigest(),
        "network": network,
        "topology": "chip",
        "machine": "tiled",
        "chip": keys,
        "options": asdict(options),
        "area": {"MACs": 0.002 * _lanes(keys) * grid[0] * grid[1], "memories": 0.5 * grid[0] * grid[1]},
        "command": point.command,
        "status": found,
        "reason": REASONS[found],
        "measures": measures(grid, layers, keys, options) if found == "ran" else None,
    }


REASONS: Mapping[Status, str] = {
    "ran": "",
    "refused": "the wide memory of a tile must hold 300,000 bytes, not 262,144",
    "failed": "the run could not go on: tile 3 waits for a row that nobody sends",
}


def _status(layers: int, chip: Mapping[str, Value]) -> Status:
    if layers > 20 and int(chip["wide_memory.size_bytes"]) < 256 * 1024:
        return "refused"
    return "failed" if layers > 20 and _lanes(chip) == 16 and chip["ring.hop_cycles"] == 4 else "ran"


def _lanes(chip: Mapping[str, Value]) -> int:
    return int(chip["tile.lanes"])


def measures(grid: tuple[int, int], layers: int, chip: Mapping[str, Value], options: Options) -> Measures:
    """What such a run would give. Every cycle of every MAC array has a cause: they add up."""
    tiles = grid[0] * grid[1]
    mark = crc32(repr((grid, sorted(chip.items()), options)).encode())
    spent = [_layer(k, grid, chip, options, mark >> k % 24) for k in range(layers)]
    outside = 40 * tiles + 7
    total = outside + sum(sum(layer.values()) for layer in spent)
    outside += -total % tiles
    cycles = (total + -total % tiles) // tiles
    of_layers = [_layer_row(k, tiles, breakdown) for k, breakdown in enumerate(spent)]
    causes = {*(cause for breakdown in spent for cause in breakdown), "no work"}
    by_cause = {cause: sum(breakdown.get(cause, 0) for breakdown in spent) / tiles for cause in sorted(causes)}
    by_cause["no work"] += outside / tiles
    us = cycles * 1e6 / int(chip["clock_hz"])
    macs = sum(_macs(k) for k in range(layers))
    return {
        "tiles": tiles,
        "macs": macs,
        "cycles": cycles,
        "load_cycles": 1000,
        "latency_us": us / options.inferences,
        "throughput_per_second": options.inferences * 1e6 / us,
        "energy_pj": sum(layer["energy_pj"] for layer in of_layers) + 1000.0 * tiles,
        "mac_utilisation": macs / (cycles * tiles * 4 * _lanes(chip)),
        "bound_by": max(by_cause, key=lambda cause: by_cause[cause]),
        "breakdown": by_cause,
        "bytes": {"ring": 4096 * tiles, "mesh": 512 * (tiles - 1), "host": 9216},
        "peak_bytes": {"wide memory": 180_000 + 100_000 // tiles, "narrow memory": 90_000},
        "outputs_sha256": hashlib.sha256(str(layers).encode()).hexdigest(),
        "layers": of_layers,
    }


def _macs(layer: int) -> int:
    return 40_000 * (1 + layer % 5) * (8 if layer % 3 == 0 else 1)


def _layer(k: int, grid: tuple[int, int], chip: Mapping[str, Value], options: Options, mark: int) -> dict[str, int]:
    """Cycles of all MAC arrays together, no two chips quite alike. Every third layer runs on one tile, and every third
    has its parameters elsewhere.
    """
    tiles, hop = grid[0] * grid[1], int(chip["ring.hop_cycles"])
    serial, height = KINDS[k % 3] == "fullyconnected", 24 - k % 9
    rows, columns = (height, height) if serial else (-(-height // grid[0]), -(-height // grid[1]))
    busy = _macs(k) * rows * columns // (height * height * 4 * _lanes(chip)) + 3
    halo = 0 if tiles == 1 else (60 + 9 * k) * (1 if options.partition == "spatial" else 3)
    ring = (30 + 5 * k) * hop * (1 if HOMES[k % 3] == "copy" else 4)
    spent = {"macs": busy, "output write": 15, "port": busy // 9 + mark % 16, "mesh": halo, "ring": ring, "flags": 5}
    if serial:
        return {cause: cycles for cause, cycles in spent.items() if cause != "mesh"} | {"no work": 60 * (tiles - 1)}
    return {cause: cycles * tiles for cause, cycles in spent.items()}


def _layer_row(k: int, tiles: int, breakdown: Mapping[str, int]) -> LayerRow:
    serial = KINDS[k % 3] == "fullyconnected"
    return {
        "name": f"block_{k}/out",
        "kind": KINDS[k % 3],
        "tiles": 1 if serial else tiles,
        "parameters": HOMES[k % 3],
        "breakdown": {cause: cycles / tiles for cause, cycles in breakdown.items()},
        "energy_pj": 0.5 * _macs(k) + 800.0 * tiles,
    }
