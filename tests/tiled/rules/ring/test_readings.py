"""The readings of the rule for masters, strictest first."""

from __future__ import annotations

import pytest

from tilesim.errors import InputError
from tilesim.tiled.rules.ring.readings import Reading, reading_of


@pytest.mark.parametrize("sharing", [True, False])
def test_each_forbids_what_those_after_it_do(sharing: bool) -> None:
    forbidden = [reading.forbids_at_once(sharing) for reading in Reading]
    assert forbidden == [True, sharing, False]


def test_a_reading_has_a_name() -> None:
    assert [reading_of(word) for word in ("single", "disjoint", "meet")] == [*Reading]
    with pytest.raises(InputError, match="masters must be single, disjoint or meet, not 'both'"):
        reading_of("both")
