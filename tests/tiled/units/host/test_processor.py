"""The host's processor: one step after the other, each when its rows have come; what it makes is on the link then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import mul

import numpy as np
import pytest
from msgspec.structs import replace

from tests.tiled.units.bench import Bench, chip_of
from tests.tiled.units.test_ring_engines import ROW, TILE, consume, queue
from tilesim.sim.core.clock import Work
from tilesim.sim.core.memory import Bytes
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.units.host.processor import HostProcessor
from tilesim.tiled.units.host.sendings import MadeRow, MadeRows
from tilesim.tiled.units.host.task import HostTask

RATE = 8
"""Bytes of a row that the link carries a cycle."""


class Host:
    """A processor with the links of a chip; rows of outputs leave the chip from given cycles on."""

    def __init__(self, *tasks: HostTask, latency: int = 0) -> None:
        self.bench = Bench(chip_of(host={"latency_cycles": latency, "bytes_per_cycle": RATE}))
        chip = self.bench.chip
        self.done: list[tuple[str, int]] = []
        self.unit = Unit(chip.clock, "chip.host.processor")
        tasks = tuple(replace(task, work=self._doing(task)) for task in tasks)
        self.processor = HostProcessor(chip.clock, self.unit, chip.host_outfeed, tasks)
        self.processor.start()

    def _doing(self, task: HostTask) -> Callable[[], None]:
        return lambda: self.done.append((task.label, self.bench.clock.cycle))

    def leave(self, output: int, rows: int, after: int) -> None:
        """So many rows, one after the other, on the link."""

        def work() -> Work:
            yield self.bench.clock.timeout(after)
            for _ in range(rows):
                yield from self.bench.chip.host_outfeed.receive(output, np.zeros((1, ROW), np.uint8), "out")

        self.bench.clock.process(work())


def task(label: str, cycles: int, awaits: dict[int, int], gives: Sequence[tuple[MadeRows, int]] = ()) -> HostTask:
    rows: list[Bytes] = [np.full((1, ROW), 7, np.uint8)]
    given = [(made, partial(mul, rows, count)) for made, count in gives]
    return HostTask(label, cycles, 40, awaits, lambda: None, given)


@pytest.mark.parametrize("latency", [0, 7])
@pytest.mark.parametrize("cycles", [0, 13])
def test_a_step_begins_with_the_last_of_its_rows(cycles: int, latency: int) -> None:
    """t = the last of its rows at the host, and ends at t + cycles."""
    host = Host(task("a", cycles, {0: 3}), latency=latency)
    host.leave(0, 3, after=5)
    host.bench.clock.run()
    there = 5 + 3 * ROW // RATE + latency
    assert host.processor.began == {"a": there}
    assert host.done == [("a", there + cycles)]
    assert (host.unit.cycles.get("stall:fifo"), host.unit.cycles.get(BUSY, 0)) == (there, cycles)
    assert host.unit.moved == {"a": 40}


def test_one_step_is_done_after_the_other() -> None:
    """t = max(end of the one before, the last of its rows at the host); what has come already is not waited for."""
    host = Host(task("a", 100, {1: 1}), task("b", 10, {0: 1, 1: 1}), task("c", 5, {2: 1}))
    for output, after in ((0, 3), (1, 40), (2, 500)):
        host.leave(output, 1, after)
    host.bench.clock.run()
    row = ROW // RATE
    assert host.processor.began == {"a": 40 + row, "b": 140 + row, "c": 500 + row}
    assert host.unit.cycles == {"stall:fifo": 40 + row + 500 - 150, BUSY: 115}


def test_a_step_without_rows_begins_with_the_run() -> None:
    host = Host(task("a", 4, {}), task("b", 0, {}))
    host.bench.clock.run()
    assert host.done == [("a", 4), ("b", 4)]


@pytest.mark.parametrize("latency", [0, 7])
def test_what_is_made_is_on_the_link_at_once_and_all_else_behind_it(latency: int) -> None:
    """Row k of it is at the infeed at the step's end + (k + 1) * row cycles + latency."""
    made = MadeRows("x")
    host = Host(task("a", 20, {}, [(made, 2)]), latency=latency)
    chip = host.bench.chip
    queue(host.bench, chip.infeed.buffer, Infeed(source="host", rows=3, to=TILE, label="send"))
    host.bench.deliver(consume(3))
    plain = np.full((1, ROW), 9, np.uint8)
    chip.host_infeed.start([MadeRow(made, 0), MadeRow(made, 1), plain])
    host.bench.clock.run()
    taken = [start + n for start, cycles, _, _ in host.bench.spans("ring.link0") for n in range(cycles)]
    assert taken == [20 + (k + 1) * ROW // RATE + latency for k in range(3)]
    assert chip.host_infeed.unit.cycles["stall:host"] == 20
