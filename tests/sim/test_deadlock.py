"""Waits followed from one to the next: circles, ends, and what only waits for those."""

from __future__ import annotations

import pytest

from tilesim.sim.deadlock import Awaited, explain


def explained(waits: dict[str, str | None]) -> list[str]:
    """Of everybody who waits for somebody's word, or for what never comes."""
    return explain(waits, lambda here: Awaited(f"{waits[here] or 'none'}'s word", waits[here]))


@pytest.mark.parametrize(
    ("waits", "sentences"),
    [
        ({}, []),
        ({"a": None}, ["a waits for none's word"]),
        ({"a": "b", "b": None}, ["b waits for none's word"]),
        ({"a": "a"}, ["these wait in a circle: a waits for a's word"]),
        (
            {"a": "b", "b": "c", "c": "b"},
            ["these wait in a circle: b waits for c's word; c waits for b's word"],
        ),
        (
            {"a": "b", "b": "a", "c": None, "d": "c"},
            ["these wait in a circle: a waits for b's word; b waits for a's word", "c waits for none's word"],
        ),
    ],
)
def test_circles_and_ends_are_told_once(waits: dict[str, str | None], sentences: list[str]) -> None:
    assert explained(waits) == sentences


def test_of_many_the_first_are_told() -> None:
    assert explained(dict.fromkeys("abcdefghijk"))[7:] == ["h waits for none's word", "and 3 more"]
    [circle] = explained(dict(zip("abcdefghijk", "bcdefghijka", strict=True)))
    assert circle.endswith("h waits for i's word; and so on, through 3 more")
