"""Consumers that pick their part out of a multicast, in whole programs that send every part back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, chip_of
from tests.tiled.units.test_ring_engines import ROW, consume, random_rows, send
from tilesim import simulate
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import ByteFilter, Flag, Watcher
from tilesim.tiled.isa.model.program import Block, HostTensor, Program
from tilesim.tiled.isa.model.sheet import PortName


@dataclass(frozen=True)
class Part:
    """What one tile picks, and the block of the output that it is."""

    tile: int
    kept: str
    block: Block


def there_and_back(extent: tuple[int, int, int], blocks: list[Block], infeeds: list[int], parts: list[Part]) -> Program:
    """Block k of the input goes to the tiles ``infeeds[k]``; then each tile in turn sends its part to the sink."""
    sink, post = 1 << 17, "write=[r:1 @0x0] produce=r"
    lines = [f"ring_consume tiles={1 << part.tile} {post} filter=[{part.kept}]" for part in parts]
    lines += [f"infeed source=host rows={block.rows} to={to}" for block, to in zip(blocks, infeeds, strict=True)]
    lines.append(f"outfeed output=0 rows={len(parts)}")
    for turn, part in enumerate(parts):
        seen = sum(to >> part.tile != 0 for to in infeeds) + turn
        wait = f"ring_read_a>=1,ring_producer_a>={seen}"
        lines.append(f"ring_produce tiles={1 << part.tile} read=[r:1 @0x0] to={sink} wait={wait}")
    made = program("\n".join(lines), "edge-4x4", ring__byte_filter=True)
    tensors = [
        HostTensor("t", 0, "int8", (1, *extent), (0, 1, 2, 3), "i8", extent, tuple(way))
        for way in (blocks, [part.block for part in parts])
    ]
    return Program("p", made.topology, (), made.run, inputs=(tensors[0],), outputs=(tensors[1],))


def vector(first: int, size: int) -> Block:
    return Block((0, 0, first), (1, 1, size), size, -(-size // ROW))


def comes_back(made: Program, seed: int = 5) -> None:
    assert faults(made) == []
    text = ASSEMBLY.write(made)
    assert ASSEMBLY.write(ASSEMBLY.read(text, Path("p.tasm"))) == text
    [tensor] = made.inputs
    sample = np.random.default_rng(seed).integers(-128, 128, (2, *tensor.shape[1:])).astype(np.int8)
    assert np.array_equal(simulate(made, [sample]).outputs[0], sample)


def test_oracle_25_a_vector_of_272_bytes() -> None:
    """256 bytes to tiles 0 to 3, each of which keeps its 64, then 16 to tile 4."""
    parts = [Part(t, f"rows:1 first:{64 * t} keep:64 gap:192", vector(64 * t, 64)) for t in range(4)]
    parts.append(Part(4, "rows:1 first:0 keep:16 gap:240", vector(256, 16)))
    comes_back(there_and_back((1, 1, 272), [vector(0, 256), vector(256, 16)], [0x0F, 0x10], parts))


def test_oracle_25_a_vector_of_2304_bytes() -> None:
    """192 bytes a tile: three infeeds of 768 bytes, each for four tiles."""
    parts = [Part(t, f"rows:3 first:{192 * (t % 4)} keep:192 gap:576", vector(192 * t, 192)) for t in range(12)]
    blocks = [vector(768 * k, 768) for k in range(3)]
    comes_back(there_and_back((1, 1, 2304), blocks, [0x00F, 0x0F0, 0xF00], parts))


def test_a_whole_image_for_all_of_which_each_tile_keeps_its_rectangle() -> None:
    """16 x 20 pixels of 3 bytes in 4, over 4 x 4 tiles: what follows the last line of a rectangle is no matter."""
    height, width, pixel = 4, 5, 4
    parts = []
    for tile in range(16):
        y, x = tile // 4 * height, tile % 4 * width
        kept = f"rows:5 first:{(y * 20 + x) * pixel} keep:{width * pixel} gap:{(20 - width) * pixel}"
        parts.append(Part(tile, kept, Block((y, x, 0), (height, width, 3), pixel, 1)))
    comes_back(there_and_back((16, 20, 3), [Block((0, 0, 0), (16, 20, 3), pixel, 5)], [0xFFFF], parts))


def test_a_chip_without_the_filter_refuses_it() -> None:
    found = faults(program("ring_consume tiles=1 write=[r:1 @0x0] filter=[rows:1 first:0 keep:8 gap:0]"))
    assert found == ["run[0] ring_consume: filter must not be given on a chip without ring.byte_filter"]


@pytest.mark.parametrize(
    ("kept", "commits"),
    [
        (ByteFilter(4, 128, 256, 256), [1, 3]),  # 128 to 383, 640 to 895
        (ByteFilter(6, 256, 512, 9999), [1, 2]),  # the second and the third row, then nothing
        (ByteFilter(4, 0, 384, 9999), [0, 1]),  # the second one half
        (ByteFilter(2, 128, 320, 9999), [1, 2]),  # 128 to 447: both end in the second row
    ],
)
def test_a_row_takes_its_cycle_and_the_port_only_if_it_completes_one(kept: ByteFilter, commits: list[int]) -> None:
    bench = Bench(chip_of())
    bench.deliver(consume(2, filter=kept))
    send(bench, random_rows(bench, kept.rows), 1, 10)
    bench.clock.run()
    assert bench.retired == {"consume": 11 + max(kept.rows, commits[-1] + 1)}
    taken = bench.chip.tiles[0].memories.ports[PortName.WIDE].taken[0]
    found = [cycle for start, end in zip(taken.starts, taken.ends, strict=True) for cycle in range(start, end)]
    assert found == [11 + cycle for cycle in commits]
    assert bench.unit("tile0.ring_consumer")["busy"] == max(kept.rows, commits[-1] + 1)
    assert bench.chip.tiles[0].flags.count(Flag.RING_READ_A) == 2


def test_a_watcher_holds_the_row_that_would_complete_its_row() -> None:
    """Of four rows the second and the fourth complete one; only they have to wait."""
    bench = Bench(chip_of())
    flags = bench.chip.tiles[0].flags
    bench.deliver(consume(2, filter=ByteFilter(4, 128, 256, 256), wait=(Watcher(Flag.AVDATA, 1, "r", 1),)))
    for cycle in (40, 60):
        bench.clock.timeout(cycle).callbacks.append(lambda _: flags.raise_by(Flag.AVDATA))
    send(bench, random_rows(bench, 4), 1, 10)
    bench.clock.run()
    starts = bench.chip.tiles[0].memories.ports[PortName.WIDE].taken[0].starts
    assert list(starts) == [40, 60]
    assert bench.unit("tile0.ring_consumer")["stall:flag"] == (40 - 12) + (60 - 42)


def test_a_slower_stream_is_waited_for() -> None:
    bench = Bench(chip_of())
    rows = random_rows(bench, 2)
    bench.deliver(consume(1, filter=ByteFilter(2, 200, 100, 999)))
    send(bench, rows[:1], 1, 10)
    send(bench, rows[1:], 1, 30)
    bench.clock.run()
    stream = np.concatenate(rows, axis=1)[0, 200:300]
    assert np.array_equal(bench.wide()[0, 0x400 : 0x400 + 100], stream)
    assert not bench.wide()[0, 0x464 : 0x400 + ROW].any()
    assert bench.retired == {"consume": 32}


def test_rows_end_in_zeros_and_what_a_consumer_has_no_rows_for_is_dropped() -> None:
    bench = Bench(chip_of(), samples=2)
    bench.wide()[:] = 77
    rows = random_rows(bench, 3, 2)
    bench.deliver(consume(1, filter=ByteFilter(3, 8, ROW, 0)))
    send(bench, rows, 1, 10)
    bench.clock.run()
    assert np.array_equal(bench.wide()[:, 0x400 : 0x400 + ROW], np.concatenate(rows, axis=1)[:, 8 : 8 + ROW])
    assert (bench.wide()[:, 0x400 + ROW :] == 77).all()
    assert bench.retired == {"consume": 14}
