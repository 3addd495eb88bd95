"""The comparison of both models notices every small error of timing that somebody might make in one of them."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.tiled.mutants import MUTANTS, Mutant, at_large, tells

LEAST, LEAST_STEPPED = 30, 20


def test_there_are_enough_of_either_kind() -> None:
    stepped = sum(mutant.steps for mutant in MUTANTS)
    assert len(MUTANTS) >= LEAST
    assert LEAST_STEPPED <= stepped < len(MUTANTS)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def models() -> tuple[object, object]:
    return import_module("tilesim.tiled.run.event_driven"), import_module("tilesim.tiled.stepped")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    """By a program on which the models, as they should be, agree."""
    plain = models()
    with at_large(mutant):
        assert models() != plain
        told = next((number for number in mutant.numbers if tells(number, mutant)), None)
    assert models() == plain
    assert told is not None
    assert not tells(told, mutant)


def test_a_mutant_whose_code_has_changed_is_no_mutant() -> None:
    with pytest.raises(LookupError, match=r"ghost: units/ring/ring.py must have once, not 0 times: 'gone'"):
        Mutant("ghost", "units/ring/ring.py", "gone", "here").source()
