"""Bytes on the buses, by layer, counted by hand."""

from __future__ import annotations

import numpy as np

from tests.tiled.units.bench import Bench, chip_of, line
from tilesim.machines import traffic
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Outfeed, RingConsume, RingProduce, TileFence
from tilesim.tiled.isa.model.program import Layer, Program
from tilesim.tiled.run.traffic import buses as buses_of

ROW = 256
SINK = 1 << 3  # two tiles, the classifier, the sink


def moved(bus: str, *ops: Instruction, host_rows: int = 0) -> list[tuple[int, int]]:
    """What entered a bus of a chip of two tiles, and what its links carried: of the run, then of layers 0 and 1."""
    bench = Bench(chip_of(2, 1))
    bench.run(*ops, host_rows=[np.zeros((1, ROW), np.uint8)] * host_rows)
    buses = buses_of(bench.chip)
    layers = (Layer("a", "convolution", 0), Layer("b", "convolution", 0))
    found = [
        traffic.total(buses),
        *traffic.by_layer(Program("test", bench.chip.topology, (), ops, layers=layers), buses),
    ]
    return [(each[bus]["entered"], each[bus]["carried"]) for each in found]


def test_a_row_enters_the_ring_once_and_is_carried_to_its_last_stop() -> None:
    both = RingConsume(tiles=3, write=line(0, 3, ROW), layer=0, label="both")
    feed = Infeed(source="data", rows=3, to=3, layer=0, label="feed")
    send = RingProduce(tiles=1, read=line(0, 2, ROW), to=2, layer=1, label="send")
    take = RingConsume(tiles=2, write=line(0x1000, 2, ROW), layer=1, label="take")
    assert moved("ring", both, feed, take, send) == [
        (5 * ROW, 8 * ROW),
        (3 * ROW, 6 * ROW),  # source to tile 0, tile 0 to tile 1
        (2 * ROW, 2 * ROW),  # tile 0 to tile 1
    ]


def test_the_host_s_rows_belong_to_the_infeeds_and_outfeeds_that_move_them() -> None:
    take = RingConsume(tiles=1, write=line(0, 3, ROW), layer=0, label="take")
    feeds = [
        Infeed(source="host", rows=rows, to=1, layer=layer, label=f"feed{layer}") for rows, layer in ((2, 0), (1, 1))
    ]
    send = RingProduce(tiles=2, read=line(0, 4, ROW), to=SINK, layer=1, label="send")
    out = Outfeed(output=0, rows=4, layer=1, label="out")
    found = moved("host", take, *feeds, out, send, host_rows=3)
    assert found == [(7 * ROW, 7 * ROW), (2 * ROW, 2 * ROW), (5 * ROW, 5 * ROW)]
    assert moved("ring", take, *feeds, out, send, host_rows=3)[0] == (7 * ROW, 3 * ROW + 4 * 2 * ROW)


def test_an_instruction_enters_its_bus_once_and_no_width_changes_its_bytes() -> None:
    both = RingConsume(tiles=3, write=line(0, 1, ROW), layer=0, label="both")
    first = TileFence(tiles=1, layer=1, label="first")
    assert moved("instruction_bus", both, first) == [(80, 144), (64, 128), (16, 16)]
    narrow = Bench(chip_of(2, 1, instruction_bus={"width_bytes": 1}))
    narrow.run(both, first)
    assert traffic.total(buses_of(narrow.chip))["instruction_bus"] == {"entered": 80, "carried": 144}
