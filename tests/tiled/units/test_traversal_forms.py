"""Adders or multipliers: the same bytes, and a later start of every instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.test_determinism import inputs
from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim.tiled.isa.model.fields import Flag, Side, Watcher
from tilesim.tiled.isa.model.instructions import (
    Infeed,
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Operation,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
)

ROW = 256
TENSOR = TensorOp(
    tiles=1, operation=Operation.MAXIMUM, nest=nest(x=9, lane=4), input=at(0, x=4), output=at(0x100, x=4), label="op"
)
ENGINES: list[tuple[Instruction, ...]] = [
    (TENSOR,),
    (NarrowToWide(tiles=1, read=line(0, 64, 4), write=line(0, 1, ROW), label="op"),),
    (WideToNarrow(tiles=1, read=line(0, 1, ROW), write=line(0, 64, 4), label="op"),),
    (MeshIn(tiles=1, side=Side.EAST, write=line(0, 9, 4), fill=1, label="op"),),
    (RingProduce(tiles=1, read=line(0, 2, ROW), to=2, label="op"),),
    (RingConsume(tiles=1, write=line(0, 1, ROW), label="op"),),
]


def bench(**tile: Any) -> Bench:
    return Bench(chip_of(1, 2, tile=tile))


def retired(op: Instruction, **tile: Any) -> int:
    made = bench(**tile)
    if isinstance(op, RingConsume):
        made.chip.infeed.buffer.room()
        made.chip.infeed.buffer.put(Infeed(source="data", rows=1, to=1))
        made.deliver(op, after=1000)
    else:
        made.deliver(op)
    made.clock.run()
    return made.retired["op"]


@pytest.mark.parametrize("ops", ENGINES, ids=lambda ops: ops[0].mnemonic)
@pytest.mark.parametrize("cycles", [0, 1, 3])
def test_every_engine_starts_when_its_first_address_is_there(ops: tuple[Instruction], cycles: int) -> None:
    [op] = ops
    multiplied = retired(op, traversal="multiplier", multiplier_cycles=cycles)
    assert multiplied == retired(op, multiplier_cycles=cycles) + cycles


def test_both_ends_of_a_link_start_later() -> None:
    made = bench(traversal="multiplier", multiplier_cycles=5)
    made.deliver(MeshOut(tiles=1, side=Side.EAST, read=line(0, 9, 4), label="out"))
    made.deliver(MeshIn(tiles=2, side=Side.WEST, write=line(0, 9, 4), label="in"), tile=1)
    made.clock.run()
    assert made.retired == {"out": 5 + 9 + 1, "in": 5 + 9 + 1}


@pytest.mark.parametrize(("raised", "start"), [(2, 3), (3, 3), (8, 8)])
def test_a_flag_is_waited_for_meanwhile(raised: int, start: int) -> None:
    made = bench(traversal="multiplier", multiplier_cycles=3)
    made.deliver(NarrowToWide(tiles=1, read=line(0, 64, 4), write=line(0, 1, ROW), wait=(Watcher(Flag.AVDATA, 1),)))
    rise = made.clock.timeout(raised)
    rise.callbacks.append(lambda _: made.chip.tiles[0].flags.raise_by(Flag.AVDATA))
    made.clock.run()
    account = made.unit("tile0.narrow_to_wide")
    assert account == {"stall:traversal": 3, "busy": 65} | ({"stall:flag": start - 3} if start > 3 else {})


def test_the_mac_array_waits_too() -> None:
    made = bench(traversal="multiplier", multiplier_cycles=2)
    made.deliver(TENSOR)
    made.clock.run()
    assert made.unit("tile0.mac_array") == {"stall:traversal": 2, "busy": 9, "stall:fifo": 1}


@pytest.mark.parametrize("topology", ["edge-1x1", "edge-2x2"])
def test_a_network_comes_out_the_same_only_later(topology: str) -> None:
    network = tilesim.load_network("example-conv")
    runs = []
    for form in ("adder", "multiplier"):
        program = tilesim.compile(network, tilesim.load_topology(topology, {"tile.traversal": form}))
        runs.append(tilesim.simulate(program, inputs(program)))
    assert np.array_equal(runs[0].outputs[0], runs[1].outputs[0])
    assert runs[0].cycles < runs[1].cycles
