"""Oracle 16 in every engine, with flags that have to reach what is expected, and with flags that have to exceed it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.test_determinism import inputs
from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.tiled.isa.model.fields import Flag, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    Infeed,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Operation,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
    Work,
)

ROW, ROUNDS, WORDS = 256, 4, 64
WATCHER = Watcher(Flag.MESH_SOUTH_OUT, 3, "r", 2)
EVERY = 1000
"""Cycles from one rise of the flag to the next: longer than any round."""


def rows(base: int) -> Traversal:
    return Traversal(nest(r=ROUNDS, w=1), at(base, r=ROW))


def words() -> Traversal:
    return Traversal(nest(r=ROUNDS, w=WORDS), at(0x400, r=ROW, w=4))


ENGINES: dict[str, tuple[Work, Flag]] = {
    "tensor": (
        TensorOp(
            tiles=1,
            operation=Operation.MAXIMUM,
            nest=nest(r=ROUNDS, w=1, lane=4),
            input=at(0),
            output=at(0x100, r=4),
        ),
        Flag.AVDATA,
    ),
    "ring_consumer": (RingConsume(tiles=1, write=rows(0)), Flag.RING_READ_A),
    "ring_producer": (RingProduce(tiles=1, read=rows(0), to=4), Flag.RING_WRITE),
    "narrow_to_wide": (NarrowToWide(tiles=1, read=words(), write=rows(0)), Flag.NARROW_TO_WIDE),
    "wide_to_narrow": (WideToNarrow(tiles=1, read=rows(0), write=words()), Flag.WIDE_TO_NARROW),
    "mesh_in": (MeshIn(tiles=1, side=Side.EAST, write=words()), Flag.MESH_EAST_IN),
    "fill": (MeshIn(tiles=1, side=Side.WEST, write=words(), fill=3), Flag.MESH_WEST_IN),
    "mesh_out": (MeshOut(tiles=1, side=Side.EAST, read=words()), Flag.MESH_EAST_OUT),
}


def bench_with(op: Work, **tile: Any) -> Bench:
    """Tile 0 of two, the flag that rises once in :data:`EVERY` cycles, and whoever else it takes."""
    bench = Bench(chip_of(1, 2, tile=tile))
    bench.deliver(op)
    if isinstance(op, MeshIn) and op.fill is None:
        bench.deliver(MeshOut(tiles=2, side=Side.WEST, read=words()), tile=1)
    if isinstance(op, MeshOut):
        bench.deliver(MeshIn(tiles=2, side=Side.WEST, write=words()), tile=1)
    if isinstance(op, RingConsume):
        bench.chip.infeed.buffer.room()
        bench.chip.infeed.buffer.put(Infeed(source="data", rows=ROUNDS, to=1, label="feed"))
    for rise in range(1, 3 + 2 * ROUNDS):
        raised = bench.clock.timeout(rise * EVERY)
        raised.callbacks.append(lambda _: bench.chip.tiles[0].flags.raise_by(Flag.MESH_SOUTH_OUT))
    return bench


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ENGINES)
def test_round_k_waits_for_3_and_2_k(name: str, strict: bool) -> None:
    """A round raises the engine's own flag when it is over."""
    op, flag = ENGINES[name]
    bench = bench_with(replace(op, wait=(WATCHER,), produce="w", label="op"), strict_compare=strict)
    done = bench.chip.tiles[0].flags
    for round_ in range(ROUNDS):
        allowed = (3 + 2 * round_ + strict) * EVERY
        bench.clock.run(until=allowed)
        assert done.count(flag) == round_
        bench.clock.run(until=allowed + EVERY)
        assert done.count(flag) == round_ + 1
    assert bench.retired["op"] < allowed + EVERY


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ENGINES)
def test_an_instruction_as_a_whole_waits_too(name: str, strict: bool) -> None:
    op, _ = ENGINES[name]
    track = f"tile0.{op.engine}"
    bench = bench_with(replace(op, wait=(Watcher(Flag.MESH_SOUTH_OUT, 2),), label="op"), strict_compare=strict)
    bench.clock.run()
    assert bench.unit(track)["stall:flag"] == (2 + strict) * EVERY


def test_a_compiled_network_keeps_time_on_either_chip() -> None:
    """The compiler expects one less of a strict chip, so that the same happens in the same cycles."""
    network = tilesim.load_network("example-conv")
    runs = []
    for strict in (False, True):
        program = tilesim.compile(network, tilesim.load_topology("edge-2x2", {"tile.strict_compare": strict}))
        runs.append(tilesim.simulate(program, inputs(program)))
    assert runs[0].cycles == runs[1].cycles
    assert np.array_equal(runs[0].outputs[0], runs[1].outputs[0])
