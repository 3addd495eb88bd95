"""Oracle 15: a FIFO of 14 rows in wide memory, held by two flags that count what went in and what came out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program
from tests.tiled.units.bench import Bench
from tilesim.errors import HangError
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.program import DataSegment, Program
from tilesim.tiled.rules.tile.hazards import hazards

pytestmark = pytest.mark.usefixtures("on_simpy")

DEPTH, ITEMS, ROW = 14, 20, 16
DATA = np.random.default_rng(1).integers(0, 256, (ITEMS, ROW), np.uint8)


def fifo(first: int = 1 - DEPTH, held: str = "") -> Program:
    """Item k goes in once k + 1 - 14 have come out, and comes out once k + 1 have gone in; ``held`` holds that, too.

    The last 6 of 20 items take the places of the first.
    """
    push, pop = "ring_consume tiles=1 produce=n write", "wide_to_narrow tiles=1 produce=n read"
    text = f"""
    feed: infeed source=data rows={ITEMS} to=1
    push: {push}=[k:14,n:1 @0x100+k*16] wait=wide_to_narrow@k>={first}+1
    more: {push}=[k:6,n:1 @0x100+k*16] wait=wide_to_narrow@k>={first + 14}+1
    pop: {pop}=[k:14,n:1 @0x100+k*16] write=[w:56 @0x0+w*4] wait=ring_read_a@k>=1+1{held}
    rest: {pop}=[k:6,n:1 @0x100+k*16] write=[w:24 @0xe0+w*4] wait=ring_read_a@k>=15+1{held}
    """
    return replace(program(text, "pocket-2x1"), data=(DataSegment("items", DATA.reshape(-1), 0),))


def test_an_idle_consumer_lets_14_in_and_each_item_that_it_takes_one_more() -> None:
    """The consumer waits for one more of another flag before each item."""
    made = fifo()
    bench = Bench(made.topology)
    bench.chip.fill(made.data)
    pop = fifo(held=",avdata@k>=1+1").run[3]
    bench.run(*made.run[:3], pop)
    flags, accepted = bench.chip.tiles[0].flags, []
    for _ in range(7):
        accepted.append(flags.count(Flag.RING_READ_A))
        flags.raise_by(Flag.AVDATA)
        bench.clock.run()
    assert accepted == [14, 15, 16, 17, 18, 19, 20]
    assert np.array_equal(bench.narrow()[0, : 7 * ROW].reshape(-1, ROW), DATA[:7])


def test_all_items_come_out_in_their_order() -> None:
    """Data memory brings one in 8 + 1 cycles."""
    made = fifo()
    assert tilesim.simulate(made, []).cycles > ITEMS * (8 + 1)
    bench = Bench(made.topology)
    bench.chip.fill(made.data)
    bench.run(*made.run)
    assert np.array_equal(bench.narrow()[0, : ITEMS * ROW].reshape(-1, ROW), DATA)


@pytest.mark.parametrize(("first", "sound"), [(1 - DEPTH, True), (-DEPTH, False)])
def test_one_more_place_than_there_is_would_be_overwritten(first: int, sound: bool) -> None:
    found = hazards(fifo(first))
    assert (found == []) is sound
    assert sound or "nothing orders more (ring_consume)" in found[0]


def test_one_place_less_is_enough() -> None:
    assert tilesim.simulate(fifo(2 - DEPTH), []).cycles == tilesim.simulate(fifo(), []).cycles


def test_a_fifo_that_nobody_empties_hangs() -> None:
    with pytest.raises(HangError, match=r"push|more") as found:
        tilesim.simulate(fifo(held=",avdata>=1"), [])
    assert "chip.tile0.ring_consumer in more has waited" in str(found.value)
    assert "wide_to_narrow to reach 1; it stands at 0" in str(found.value)
