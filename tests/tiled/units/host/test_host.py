"""The host's links between inferences: rows that wait for a later one, and a controller that waits for results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiled.units.bench import Bench, chip_of
from tests.tiled.units.test_ring_engines import SINK, random_rows, send
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.instructions import Outfeed, ScalarFence
from tilesim.tiled.isa.model.program import DataSegment, Program

AFTER = ScalarFence(count=0, idle=("outfeed",), label="after")


@pytest.mark.parametrize(("parameter_bytes", "rows"), [(0, 12), (256, 11), (257, 10), (1024, 8)])
def test_rows_wait_where_data_memory_has_room(parameter_bytes: int, rows: int) -> None:
    """Four rows of data memory, less what parameters take, and eight beside it."""
    bench = Bench(chip_of(data_memory={"size_bytes": 1024}))
    bench.chip.fill((DataSegment("parameters", np.zeros(parameter_bytes, np.uint8), 0),))
    bench.chip.host_infeed.start(random_rows(bench, 20))
    bench.clock.run(until=2000)
    assert len(bench.chip.host_infeed.rows) == rows


@pytest.mark.parametrize("start", [0, 10, 40])
def test_the_controller_waits_for_the_outfeed(start: int) -> None:
    """It is through when its last row has left: taken after 3 hops, 1 cycle to the link, 32 on it."""
    bench = Bench()
    send(bench, random_rows(bench, 2), SINK, start)
    bench.run(Outfeed(output=0, rows=2, label="result"), AFTER)
    through = start + 3 + 2 * 33
    assert bench.spans("controller")[-1] == (through, 1, "busy", "after")
    assert bench.unit("controller")["stall:flag"] == through - 1


def test_an_outfeed_that_is_through_holds_nothing() -> None:
    bench = Bench()
    assert bench.run(AFTER) == 1


def test_an_outfeed_that_never_is_holds_for_ever() -> None:
    bench = Bench()
    bench.run(Outfeed(output=0, rows=1, label="result"), AFTER)
    waiting = bench.chip.sequencer.unit.waiting
    assert waiting is not None
    assert waiting.describe() == "the outfeed to be through with 1 instructions; so far it is with 0"


def test_only_the_outfeed_can_be_waited_for() -> None:
    fence = ScalarFence(count=0, idle=("infeed",), label="fence")
    assert faults(Program("test", chip_of(), (), (fence,))) == [
        "fence scalar_fence: idle must name the outfeed or nothing, not infeed"
    ]
