"""Thousands of random programs on random chips, each on both models: not a cycle differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from tests.tiled.corpus.programs import inputs_of, random_program
from tests.tiled.corpus.records import with_records
from tests.tiled.corpus.waits import AT_ODDS, CAN_ON_BOTH, undecided, waits
from tilesim.errors import ProgramError
from tilesim.machines.verify import COLLIDED, ENDED, differences, event_result
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled

NUMBERS = 5400
LEAST_PROGRAMS, LEAST_OF_EACH = 5000, 80
"""Programs, and those of them in which a kind of unit waits for something: each chunk must have its share."""
FEW = 80


@dataclass
class Tally:
    """What came of comparing some programs: how they ended, in how many a kind of unit had waited for something, and
    those on which the models differ.
    """

    ends: Counter[str] = field(default_factory=Counter)
    waited: Counter[tuple[str, str]] = field(default_factory=Counter)
    different: dict[int, str] = field(default_factory=dict)

    @property
    def programs(self) -> int:
        return self.ends.total()


def tally(numbers: Iterable[int], joins: Callable[[Program, int], Program] | None = None, queues: int = 1) -> Tally:
    """``joins``: what becomes of each program, by its number, before it runs. ``queues``: ring consumers a tile."""
    found = Tally()
    for number in numbers:
        program = random_program(number, queues=queues)
        program = joins(program, number) if joins else program
        inputs = inputs_of(program)
        try:
            event = event_result(Tiled(), program, inputs)
        except ProgramError:
            continue  # nothing orders two of its accesses: no program
        if different := differences(event, Tiled().step(program, inputs, trace=False)):
            found.different[number] = str(different[0])
        found.ends[event.end] += 1
        found.waited.update(waits(event.units or {}))
    return found


def test_every_wait_is_known_to_occur_or_not_to() -> None:
    assert not undecided()


def test_a_few_random_programs_agree() -> None:
    found = tally(range(NUMBERS, NUMBERS + FEW))
    assert not found.different
    assert found.programs > 0.8 * FEW
    assert {kind for kind, _ in found.waited} > {"tile.tensor", "ring.link", "mesh.tile", "controller", "outfeed"}


def test_a_few_random_programs_with_records_agree() -> None:
    numbers = range(NUMBERS + FEW, NUMBERS + 2 * FEW)
    found = tally(numbers, with_records)
    assert not found.different
    assert found.programs > 0.8 * FEW
    records = [
        op for number in numbers for op in with_records(random_program(number), number).run if op.mnemonic == "record"
    ]
    assert len(records) > FEW
    assert {op.words for op in records} >= {1, 2}


def test_a_few_random_programs_on_both_channels_agree() -> None:
    found = tally(range(NUMBERS + 2 * FEW, NUMBERS + 3 * FEW), queues=2)
    assert not found.different
    assert found.programs > 0.8 * FEW
    assert {reason for kind, reason in found.waited if kind == "tile.ring_consumer_b"} >= {"fifo", "flag"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chunk", "chunks"), [(7, 20), *(pytest.param(chunk, 4, marks=pytest.mark.soak) for chunk in range(4))]
)
def test_thousands_of_random_programs_on_both_channels_agree(chunk: int, chunks: int) -> None:
    found = tally(range(chunk, NUMBERS, chunks), queues=2)
    assert not found.different
    assert found.programs >= LEAST_PROGRAMS / chunks
    assert len(found.ends) == 3, "some must collide, and some hang"
    assert {*found.waited} - AT_ODDS == CAN_ON_BOTH
    assert min(found.waited[pair] for pair in CAN_ON_BOTH) >= LEAST_OF_EACH / chunks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chunk", "chunks"), [(5, 20), *(pytest.param(chunk, 4, marks=pytest.mark.soak) for chunk in range(4))]
)
def test_thousands_of_random_programs_with_records_agree(chunk: int, chunks: int) -> None:
    numbers = range(chunk, NUMBERS, chunks)
    found = tally(numbers, with_records)
    assert not found.different
    assert found.programs >= LEAST_PROGRAMS / chunks
    assert found.ends[ENDED] > 0.9 * found.programs
    assert len(found.ends) == 3, "some must collide, and some hang"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chunk", "chunks"),
    [(3, 20), *(pytest.param(chunk, 4, marks=pytest.mark.soak) for chunk in range(4))],
)
def test_thousands_of_random_programs_agree(chunk: int, chunks: int) -> None:
    """A chunk has its share of the programs and of every wait that there can be."""
    found = tally(range(chunk, NUMBERS, chunks))
    assert not found.different
    assert found.programs >= LEAST_PROGRAMS / chunks
    assert found.ends[ENDED] > 0.9 * found.programs
    assert found.ends[COLLIDED], "some must collide"
    assert len(found.ends) > 2, "some must hang"
    possible = {(kind, reason) for kind, reason in CAN_ON_BOTH if kind != "tile.ring_consumer_b"}
    assert {*found.waited} == possible
    rare = {pair: found.waited[pair] for pair in possible if found.waited[pair] < LEAST_OF_EACH / chunks}
    assert not rare
