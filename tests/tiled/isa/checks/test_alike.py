"""Faults of instructions that are alike are found out once: the sentences are those that each would get by itself."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import cache
from random import Random
from typing import Any

import pytest

import tilesim
from tilesim.tiled.isa.checks import program as checks
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.likeness import Kinds
from tilesim.tiled.isa.model.program import Program


@cache
def compiled(network: str, chip: str) -> Program:
    made = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip))
    assert isinstance(made, Program)
    return made


def spoiled(rng: Random, value: Any) -> Any:
    """A value that is another one somewhere, or too large, or missing."""
    if isinstance(value, int) and not isinstance(value, bool):
        return rng.choice((value + 1, value - 1, -value, value * 2, value + 4, value + 256, 1 << 33, 0, -1))
    if hasattr(value, "_fields"):
        name = rng.choice(value._fields)
        return value._replace(**{name: spoiled(rng, getattr(value, name))})
    if isinstance(value, tuple) and value:
        place = rng.randrange(len(value))
        new = (spoiled(rng, value[place]),) if rng.random() < 0.8 else ()
        return (*value[:place], *new, *value[place + 1 :])
    if is_dataclass(value) and not isinstance(value, type):
        chosen = rng.choice(fields(value))
        return replace(value, **{chosen.name: spoiled(rng, getattr(value, chosen.name))})
    return rng.choice(("zz", "y", "x", "r", value)) if type(value) is str else value


def with_spoiled(rng: Random, made: Program) -> Program:
    """The same value spoiled in one instruction, or in several of its kind."""
    run: list[Any] = list(made.run)
    for _ in range(rng.choice((1, 1, 2, 4))):
        op = rng.choice(run)
        name = rng.choice(fields(op)).name
        value = spoiled(rng, getattr(op, name))
        others = rng.choice((0.0, 0.3))
        run = [
            replace(each, **{name: value}) if each is op or (type(each) is type(op) and rng.random() < others) else each
            for each in run
        ]
    return replace(made, run=tuple(run))


def judged(made: Program) -> list[str]:
    """The faults; or what cannot even be judged, as a value is of another type."""
    try:
        return faults(made)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, ZeroDivisionError) as error:
        return [type(error).__name__]


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("network", "chip"), [("digits", "edge-2x2"), ("example-residual", "fig2-5x2")])
def test_each_instruction_is_told_what_it_would_be_told_alone(
    network: str, chip: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(network)  # noqa: S311
    programs = [with_spoiled(rng, compiled(network, chip)) for _ in range(count)]
    together = [judged(made) for made in programs]
    monkeypatch.setattr(Kinds, "number", lambda _, __: object())
    monkeypatch.setattr(checks, "_standing", lambda _: object())
    monkeypatch.setattr(checks, "shape", lambda _: object())
    assert together == [judged(made) for made in programs]
    assert sum(map(bool, together)) > count / 3
