"""Tiles in the FIFO, on their way in, and in the cells: who has a place when."""

from __future__ import annotations

import numpy as np

from tests.systolic.handmade import chip_of, multiply, times, topology
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import Unit
from tilesim.systolic.isa.model.instructions import Queue, ReadWeights
from tilesim.systolic.units.weight_path import WeightFifo, WeightPath, WeightTile


def tile(label: str) -> WeightTile:
    return WeightTile(np.zeros((4, 4), np.int8), 1, label)


def test_a_place_is_free_when_its_tile_has_been_shifted_in() -> None:
    chip = chip_of(topology(weight_fifo={"tiles": 1}))
    found = times(chip, ReadWeights(tiles=3), multiply(switch=True), multiply(switch=True), multiply(switch=True))
    come, shift, begin = 4, 4, 2
    one = begin + come + shift  # tile 1 is in the path, and taken at once; only now tile 2 may set out
    assert [found[f"matrix.{k}"][0] for k in range(3)] == [one, one + come + shift, one + 2 * (come + shift)]
    assert found["weight_fetcher.0"][1] == one + 2 * come + shift
    assert chip.issue_queues[Queue.WEIGHTS].unit.cycles["stall:fifo"] == 2 * shift


def test_the_next_tile_is_shifted_in_while_this_one_computes() -> None:
    chip = chip_of(topology())
    found = times(chip, ReadWeights(tiles=2), multiply(vectors=20, switch=True), multiply(switch=True))
    assert found["matrix.1"][0] == found["matrix.0"][0] + 20
    assert chip.path.unit.cycles["stall:fifo"] > 0


def test_tiles_that_come_in_one_cycle_keep_their_order() -> None:
    clock = Clock()
    fifo, got = WeightFifo(clock, 4), []
    for label in "abc":
        assert fifo.place().triggered
        fifo.bring(tile(label), 3)

    def take() -> object:
        while True:
            got.append(((yield fifo.head()).label, clock.cycle))

    clock.process(take())  # type: ignore[arg-type]
    clock.run()
    assert got == [("a", 3), ("b", 3), ("c", 3)]


def test_there_are_as_many_places_as_tiles() -> None:
    clock = Clock()
    fifo = WeightFifo(clock, 2)
    places = [fifo.place() for _ in range(3)]
    assert [place.triggered for place in places] == [True, True, False]
    fifo.free()
    clock.run()
    assert places[2].triggered


def test_a_path_is_full_until_it_is_taken() -> None:
    chip = topology()
    clock = Clock()
    fifo = WeightFifo(clock, 2)
    path = WeightPath(clock, Unit(clock, "path"), chip, fifo)
    clock.process(path.work())
    fifo.place()
    fifo.bring(tile("only"), 3)
    clock.run(until=7)
    assert (path.full, path.shifting) == (False, True)
    clock.run()
    assert (path.full, path.take().label, path.full, path.taken) == (True, "only", False, 1)
