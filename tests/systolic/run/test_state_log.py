"""The state log of a systolic chip: what retired, what waits, and how full the weight FIFO is."""

from __future__ import annotations

from itertools import pairwise

import pytest

import tilesim
from tilesim.sim.trace.signals import Signals
from tilesim.systolic.isa.model.instructions import Queue
from tilesim.systolic.isa.model.program import Program


@pytest.fixture(scope="module")
def program() -> Program:
    made = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("systolic-4"))
    assert isinstance(made, Program)
    return made


@pytest.fixture(scope="module")
def signals(program: Program) -> Signals:
    found = tilesim.simulate(program, signals=range(1 << 40)).signals
    assert found is not None
    return found


def values(signals: Signals, name: str) -> list[int]:
    found: list[int] = signals.table()[signals.names.index(name)].tolist()
    return found


@pytest.mark.parametrize("queue", Queue)
def test_counts_rise_to_the_instructions_of_a_queue(signals: Signals, program: Program, queue: Queue) -> None:
    counts = values(signals, f"chip.{queue}.flags.retired")
    total = sum(op.queue is queue for op in program.run)
    assert counts[0] == 0
    assert all(before <= after for before, after in pairwise(counts))
    assert total - 1 <= counts[-1] <= total  # what retires as the run ends is counted in the cycle after


@pytest.mark.parametrize("queue", Queue)
def test_queues_hold_no_more_than_they_are_deep(signals: Signals, program: Program, queue: Queue) -> None:
    waiting = values(signals, f"chip.{queue}.fifo")
    assert 0 <= min(waiting) <= max(waiting) <= program.topology.sequencer.queue_depth
    assert waiting[-1] == 0


def test_the_weight_fifo_is_full_at_most(signals: Signals, program: Program) -> None:
    places = values(signals, "chip.weight_fifo")
    assert (places[0], max(places), places[-1]) == (0, program.topology.weight_fifo.tiles, 0)
