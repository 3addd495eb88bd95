"""All tiles at once against each tile by itself: the order, and the tiles that are worth a closer look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program
from tilesim.tiled.isa.model.fields import Engine, Flag, bits
from tilesim.tiled.isa.model.instructions import Instruction, TileFence
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile import doubts
from tilesim.tiled.rules.tile import hazards as searching
from tilesim.tiled.rules.tile.clocks import Clocks
from tilesim.tiled.rules.tile.effects import Effects, effects_of
from tilesim.tiled.rules.tile.happens_before import HappensBefore
from tilesim.tiled.rules.tile.hazards import hazards
from tilesim.tiled.rules.tile.instances import ENGINES, NONE, Instances, before_in, fences_of

CHIPS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "digits on 4 tiles": ("digits", "edge-2x2", {}),
    "residual on 10 tiles": ("example-residual", "fig2-5x2", {}),
    "one queue": ("example-residual", "edge-2x4", {"ring.queue": "shared"}),
    "strict": ("pocket", "pocket-2x1", {"tile.strict_compare": True}),
    "tiles by channel": ("example-conv", "edge-4x4", {}),
}
each_chip = pytest.mark.parametrize("name", CHIPS)


@cache
def compiled(name: str) -> Program:
    network, chip, changes = CHIPS[name]
    made = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip, changes))
    assert isinstance(made, Program)
    return made


def clocks_of(made: Program) -> Clocks:
    sections = effects_of(made)
    works = [entry for section in sections for entry in section if isinstance(entry, Effects)]
    fences = list(fences_of(made.topology, sections))
    return Clocks(Instances(works, made.topology.tiles), fences, made.topology.ring.queue == "shared")


@each_chip
def test_so_many_instructions_of_each_engine_are_over_as_each_tile_says_itself(name: str) -> None:
    made = compiled(name)
    clocks = clocks_of(made)
    instances, before = clocks.instances, clocks.before
    assert not clocks.doubt.any()
    for tile in range(made.topology.tiles):
        order = HappensBefore(made.topology, effects_of(made), tile)
        own = np.flatnonzero(instances.tile == tile)
        assert len(own) == len(order.steps)
        for number, step in zip(own, order.steps, strict=True):
            counts = [(step.before & order.queues[engine]).bit_count() for engine in Engine]
            assert before[number].tolist() == counts, step
            assert clocks.raised[number] == step.raised_to
            assert all(order.steps[place].number < step.number for place in bits(step.before))


def searched(made: Program) -> list[str]:
    """What every tile says itself."""
    search = searching._Search(made.topology, effects_of(made))
    return [sentence for tile in range(made.topology.tiles) for sentence in search.sentences(tile)]


@each_chip
def test_a_compiled_program_leaves_no_doubt(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compiled(name)
    assert searched(made) == []
    monkeypatch.setattr(searching, "HappensBefore", None)
    assert hazards(replace(made)) == []


def _waits_changed(rng: Random, op: Any) -> Any:
    waits = list(op.wait)
    place = rng.randrange(len(waits))
    chosen = waits.pop(place)
    if rng.random() < 0.6:
        waits.insert(place, chosen._replace(expected=chosen.expected + rng.choice((-4, -2, -1, 1, 2, 100))))
    return replace(op, wait=tuple(waits))


def _fence(rng: Random, tiles: int) -> TileFence:
    idle, reset = rng.sample(list(Engine), rng.randrange(1, 9)), rng.sample(list(Flag), rng.randrange(3))
    return TileFence(tiles=rng.randrange(1, 1 << tiles), idle=tuple(idle), reset=tuple(reset))


def changed(rng: Random, ops: Sequence[Instruction], tiles: int) -> tuple[Instruction, ...]:
    """Something is missing, stands elsewhere, or waits for something else."""
    listed = list(ops)
    place, other = rng.randrange(len(listed)), rng.randrange(len(listed))
    op: Any = listed[place]
    changes: list[Callable[[], object]] = [
        lambda: listed.pop(place),
        lambda: listed.insert(other, listed.pop(place)),
        lambda: listed.insert(place, _fence(rng, tiles)),
    ]
    if getattr(op, "wait", ()):
        changes += [lambda: listed.__setitem__(place, _waits_changed(rng, op))] * 4
    if hasattr(op, "produce"):
        changes.append(lambda: listed.__setitem__(place, replace(op, produce=None)))
    rng.choice(changes)()
    return tuple(listed)


@pytest.mark.parametrize("count", [12, pytest.param(400, marks=pytest.mark.soak)])
@each_chip
def test_whatever_a_tile_finds_wrong_is_found(name: str, count: int) -> None:
    rng, made, found = Random(name), compiled(name), 0  # noqa: S311
    for _ in range(count):
        run = made.run
        for _ in range(rng.choice((1, 1, 2, 4))):
            run = changed(rng, run, made.topology.tiles)
        spoiled = replace(made, run=run)
        expected = searched(spoiled)
        assert hazards(spoiled) == expected
        found += bool(expected)
    assert found


WAITING = """a: mesh_in tiles=0x1 side=north write=[r:2 @0x0+r*4] fill=1 wait=wide_to_narrow>=1
b: wide_to_narrow tiles=0x1 read=[r:1 @0x0+r*16] write=[w:4 @0x0+w*4] produce=r"""
RESET = """b: wide_to_narrow tiles=0x1 read=[r:1 @0x0+r*16] write=[w:4 @0x0+w*4] produce=r
tile_fence tiles=0x1 idle=tensor reset=wide_to_narrow"""


@pytest.mark.parametrize("text", [WAITING, RESET, WAITING.replace(">=1", ">=9")])
def test_what_waits_for_a_later_one_or_for_nothing_or_is_reset_too_early_is_in_doubt(text: str) -> None:
    made = program(text)
    assert clocks_of(made).doubt.tolist() == [True, *[False] * (made.topology.tiles - 1)]


def test_too_many_pairs_are_left_to_each_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    made = program(WAITING.replace(" wait=wide_to_narrow>=1", ""))
    search = searching._Search(made.topology, effects_of(made))
    assert search.doubtful() == [0]
    monkeypatch.setattr(doubts, "MOST_PAIRS", 0)
    assert search.doubtful() == list(range(made.topology.tiles))
    monkeypatch.setattr(doubts, "MOST_PAIRS", 10)
    monkeypatch.setattr(doubts, "AT_ONCE", 1)
    assert search.doubtful() == [0]


def test_nothing_for_tiles_leaves_no_doubt() -> None:
    assert hazards(program("")) == []


def test_the_last_equal_one_in_front() -> None:
    assert before_in(np.array([3, 1, 3, 3, 1, 2])).tolist() == [NONE, NONE, 0, 2, 1, NONE]


def test_instances_come_by_instruction_then_by_tile() -> None:
    made = program(WAITING.replace("tiles=0x1 read", "tiles=0x3 read"))
    [section] = [section for section in effects_of(made) if section]
    instances = Instances([entry for entry in section if isinstance(entry, Effects)], made.topology.tiles)
    assert list(zip(instances.op.tolist(), instances.tile.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1)]
    assert instances.starts.tolist() == [0, 1, 3]
    assert instances.rank.tolist() == [0, 0, 0]
    assert instances.issued(ENGINES[Engine.MESH_IN_NORTH]).tolist() == [0, 1, 0]
