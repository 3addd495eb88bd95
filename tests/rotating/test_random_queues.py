"""Queues that wait for each other at random: both models say the same of each, also of those that hang.

What these programs compute is no matter; most have hazards, and half of them wait for what never comes, so that nobody
checks them.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.rotating.programs import Bare, chip
from tests.rotating.run.test_simulate import disorder
from tests.soak import counts
from tilesim import verify
from tilesim.errors import HangError
from tilesim.machines.options import RunOptions
from tilesim.machines.verify import ENDED, hung
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    End,
    Function,
    Instruction,
    Loop,
    Out,
    Parameters,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run import simulate as module
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology
from tilesim.sim.trace.recorder import Recording

ROWS = 20
"""Rows of the data RAM that hold something at first; behind them come those of the host."""


@pytest.fixture(autouse=True)
def _unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what the checks would refuse."""
    monkeypatch.setattr(module, "faults", lambda _program: [])


def random_chip(rng: Random) -> Topology:
    return chip(
        8,
        host={"latency_cycles": rng.choice((0, 0, 1, 7)), "bytes_per_cycle": rng.choice((1, 4, 8))},
        output={
            "words_per_cycle": rng.choice((0, 1, 4)),
            "latency_cycles": rng.randint(1, 6),
            "buffers": rng.randint(1, 3),
        },
        data_ram={"ports": rng.choice(("single", "dual"))},
        weight_ram={"ports": rng.choice(("single", "dual"))},
    )


def sync(rng: Random, unit: Queue) -> Sync:
    return Sync(unit=unit, until=rng.choice(list(Counter)), count=rng.randint(0, 6))


def of_array(rng: Random) -> Instruction:
    kind = rng.choice(("step", "step", "step", "weights", "out", "out", "out", "parameters", "sync"))
    row = Rows(rng.randrange(ROWS))
    weights = Rows(rng.randrange(9)) if rng.random() < 0.5 else None
    if kind == "step":
        return Step(data=row, weights=weights, alu=Alu.COPY, repeat=rng.choice((1, 1, 3)))
    if kind == "weights":
        return Step(weights=weights, repeat=rng.choice((1, 6, 20)))
    if kind == "parameters":
        return Parameters(row=Rows(500))
    if kind == "sync":
        return sync(rng, Queue.ARRAY)
    function = rng.choice((Function.REQUANTISE, Function.RAW))
    return Out(row=Rows(rng.randrange(8)), data=row if rng.random() < 0.3 else None, function=function)


def of_dma(rng: Random) -> Instruction:
    unit, rows = rng.choice((Queue.DMA_IN, Queue.DMA_OUT)), rng.randint(1, 4)
    if rng.random() < 0.2:
        return sync(rng, unit)
    if unit is Queue.DMA_OUT:
        return WriteHostMemory(destination="scratch", rows=rows, row=rng.randint(0, 30))
    return ReadHostMemory(source="data", rows=rows, ram=rng.choice(list(Ram)), row=rng.randint(ROWS, 30))


def random_queues(seed: int) -> Program:
    rng = Random(seed)  # noqa: S311
    topology, array = random_chip(rng), [of_array(rng) for _ in range(rng.randint(0, 14))]
    if array and rng.random() < 0.3:
        first = rng.randrange(len(array))
        last = rng.randrange(first, len(array)) + 1
        array[first:last] = [Loop(count=rng.randint(1, 3)), *array[first:last], End()]
    dma = [of_dma(rng) for _ in range(rng.randint(0, 10))]
    rows, weights = ({k: [k] * 8 for k in range(count)} for count in (ROWS, 9))
    return Bare(topology, array, rows, weights, dma=dma).program()


@pytest.mark.parametrize("programs", counts(120, 3000))
def test_both_models_agree(programs: int) -> None:
    ends = set()
    for seed in range(programs):
        verdict = verify(random_queues(seed), [])
        assert verdict.agree, (seed, verdict.differences, verdict.divergence)
        ends.add(verdict.end)
    assert ends == {ENDED, hung("run")}


def outcome(seed: int) -> tuple[str, str]:
    """Everything that is said of a run, or of where it stood."""
    options = RunOptions(recording=Recording(), signals=range(1000))
    try:
        run = simulate(random_queues(seed), [], options)
    except HangError as error:
        return str(error), error.run.json()
    return "", run.json()


@pytest.mark.parametrize("programs", counts(60, 1000))
def test_the_order_of_events_within_a_phase_changes_nothing(monkeypatch: pytest.MonkeyPatch, programs: int) -> None:
    plain = [outcome(seed) for seed in range(programs)]
    disorder(monkeypatch, programs)
    for seed, before in enumerate(plain):
        assert outcome(seed) == before, seed
