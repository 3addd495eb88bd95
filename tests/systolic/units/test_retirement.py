"""Instructions retire in order, results first, counts after."""

from __future__ import annotations

import pytest

from tests.systolic.test_laws import disorder
from tilesim.sim.core.clock import Clock
from tilesim.sim.trace.recorder import Waker
from tilesim.systolic.isa.model.instructions import Fill, Instruction, Nest, Queue
from tilesim.systolic.units.retirement import Retirement

NOBODY = Waker("chip.nobody", "")


def op(label: str) -> Instruction:
    return Fill(label=label, destination=Nest(0, 1), value=0)


def test_no_instruction_overtakes_one_of_its_queue() -> None:
    clock = Clock()
    retirement = Retirement(clock, lambda _: None)
    retirement.retire(Queue.MATRIX, op("slow"), 9, NOBODY)
    retirement.retire(Queue.MATRIX, op("sync"), 2, NOBODY)
    retirement.retire(Queue.VECTOR, op("other"), 3, NOBODY)
    clock.run()
    assert retirement.retired == {"other": 3, "slow": 9, "sync": 9}


@pytest.mark.parametrize("seed", range(5))
def test_results_of_a_cycle_are_written_queue_by_queue_and_then_counted(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    disorder(monkeypatch, seed)
    clock, seen = Clock(), []
    retirement = Retirement(clock, seen.append)
    for queue in (Queue.VECTOR, Queue.DMA_IN):
        retirement.retire(queue, op(queue), 5, NOBODY, lambda queue=queue: seen.append(f"{queue} writes"))  # type: ignore[misc]
    retirement.counts.reached(Queue.DMA_IN, 1).callbacks.append(lambda _: seen.append(f"counted at {clock.cycle}"))
    clock.run()
    assert seen == ["dma_in writes", "dma_in", "vector writes", "vector", "counted at 5"]


def test_all_is_drained_when_all_that_was_dispatched_has_retired() -> None:
    clock = Clock()
    retirement = Retirement(clock, lambda _: None)
    assert retirement.drained().triggered
    retirement.outstanding += 1
    drained = retirement.drained()
    assert (drained.triggered, retirement.outstanding) == (False, 1)
    retirement.retire(Queue.VECTOR, op("only"), 4, NOBODY)
    clock.run(until=drained)
    assert (clock.cycle, retirement.outstanding) == (4, 0)


def test_a_section_counts_from_nothing() -> None:
    clock = Clock()
    retirement = Retirement(clock, lambda _: None)
    retirement.retire(Queue.VECTOR, op("loads"), 4, NOBODY)
    clock.run()
    retirement.restart()
    assert (retirement.counts.count(Queue.VECTOR), retirement.retired) == (0, {})
