"""Random programs that are refuted: of several masters, or proven ones that have lost waits or fences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import TypeVar

import tilesim
from tests.tiled.corpus.programs import random_program
from tests.tiled.rules.arena import chained, mixed
from tests.tiled.rules.row_waits import ordered
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, ScalarFence, TileFence, Work
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import proof_of
from tilesim.tiled.rules.ring.readings import Reading

LOST = (1, 1, 1, 2, 3)
"""Waits or fences that a program loses."""
MODELS = (("digits", "edge-1x2"), ("digits", "edge-2x2"), ("pocket", "pocket-2x1"), ("example-conv", "edge-1x2"))

Item = TypeVar("Item")


@dataclass(frozen=True)
class Refuted:
    """A program that is refuted where the rule for masters is read so, and the proven one that it was made from."""

    kind: str
    program: Program
    reading: Reading
    intact: Program | None = None


def refuted_programs(first: int = 0) -> Iterator[Refuted]:
    """One after the other, the same each time."""
    for seed in count(first):
        made = _refuted(Random(seed))  # noqa: S311  (no secret)
        if made is not None:
            yield made


def _refuted(random: Random) -> Refuted | None:
    _, make = random.choice(KINDS)
    made = make(random)
    return made if made is not None and not proof_of(made.program, made.reading).proven else None


def _masters(random: Random) -> Refuted:
    return Refuted("masters", mixed(random).program(), random.choice([*Reading]))


def _turns(random: Random) -> Refuted | None:
    reading = random.choice((Reading.MEET, Reading.MEET, Reading.DISJOINT, Reading.SINGLE))
    return _less("turns", chained(random).program(), reading, random)


def _rows(random: Random) -> Refuted | None:
    return _less("rows", ordered(random), Reading.MEET, random)


def _steps(random: Random) -> Refuted | None:
    return _less("steps", random_program(random.randrange(1 << 30)), Reading.MEET, random)


def _compiled(random: Random) -> Refuted | None:
    model, chip = random.choice(MODELS)
    program = tilesim.compile(tilesim.load_network(model), tilesim.load_topology(chip))
    assert isinstance(program, Program)
    return _less("compiled", program, Reading.MEET, random)


KINDS: tuple[tuple[str, Callable[[Random], Refuted | None]], ...] = (
    *(("masters", _masters),) * 4,
    *(("turns", _turns),) * 4,
    *(("rows", _rows),) * 3,
    *(("steps", _steps),) * 5,
    ("compiled", _compiled),
)


def _less(kind: str, intact: Program, reading: Reading, random: Random) -> Refuted | None:
    """Without some of its waits and fences, if it was proven with them."""
    if not proof_of(intact, reading).proven:
        return None
    run = list(intact.run)
    for _ in range(random.choice(LOST)):
        places = [place for place, op in enumerate(run) if _waits(op)]
        if places:
            _lose(run, random.choice(places), random)
    return Refuted(kind, replace(intact, run=tuple(run)), reading, intact)


def _waits(op: Instruction) -> bool:
    return isinstance(op, TileFence | ScalarFence) or bool(getattr(op, "wait", ()) or getattr(op, "turn", 0))


def _lose(run: list[Instruction], place: int, random: Random) -> None:
    """One watcher or turn; a fence, of a tile and the controller's behind it either or both."""
    op = run[place]
    if isinstance(op, Work):
        weak = random.randrange(len(op.wait))
        run[place] = replace(op, wait=(*op.wait[:weak], *op.wait[weak + 1 :]))
    elif isinstance(op, Infeed):
        run[place] = replace(op, turn=0)
    else:
        both = isinstance(op, TileFence) and place + 1 < len(run) and isinstance(run[place + 1], ScalarFence)
        del run[place : place + 1 + (both and random.random() < 0.7)]
