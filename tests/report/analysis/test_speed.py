from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.report.analysis.speed import efficiency, not_efficient, speed_up, unlike

EDGE = {"lanes": 64, "inputs_per_cycle": 4, "vector_bytes": 4}


def tiled(tiles: int, cycles: int, clock_hz: int = 500, **tile: int) -> dict[str, Any]:
    """A run on a chip of so many tiles, in a column."""
    chip = {"grid": {"rows": tiles, "columns": 1}, "tile": EDGE | tile}
    units = [{"track": f"chip.tile{k}.mac_array"} for k in range(tiles)]
    return {"machine": "tiled", "chip": chip, "units": units, "cycles": cycles, "clock_hz": clock_hz}


def systolic(rows: int, columns: int, cycles: int) -> dict[str, Any]:
    chip = {"array": {"rows": rows, "columns": columns}}
    return {"machine": "systolic", "chip": chip, "units": [{"track": "chip.matrix"}], "cycles": cycles, "clock_hz": 500}


@given(st.integers(1, 64), st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 10**9))
def test_tiles_that_are_alike_have_the_share_of_the_speed_up_that_they_could_give(
    tiles: int, cycles: int, before: int, clock_hz: int
) -> None:
    run, first = tiled(tiles, cycles, clock_hz), tiled(1, before, clock_hz)
    assert speed_up(run, first) == pytest.approx(float(Fraction(before, cycles)))
    assert efficiency(run, first) == pytest.approx(float(Fraction(before, cycles * tiles)))
    assert efficiency(first, first) == 1


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (tiled(4, 300, lanes=128, inputs_per_cycle=2), ""),
        (tiled(4, 300, lanes=128), "other MACs an array"),
        (tiled(4, 300, vector_bytes=8), "other MACs an array"),
        (tiled(4, 300, 1000), "another clock"),
        (tiled(4, 300, 1000, lanes=8), "other MACs an array, another clock"),
        ({**tiled(4, 300), "chip": {}}, "other MACs an array"),
        (systolic(4, 4, 300), "another kind of machine"),
    ],
)
def test_of_arrays_that_are_not_alike_there_is_no_efficiency(run: dict[str, Any], words: str) -> None:
    first = tiled(1, 900)
    assert unlike(run, first) == unlike(first, run) == words
    assert (efficiency(run, first) is None) == bool(words)
    assert list(not_efficient("b", run, "a", first)) == [f"b has no efficiency over a: {words}"] * bool(words)


def test_speed_up_is_of_time() -> None:
    assert speed_up(tiled(4, 900, 1000), tiled(1, 900)) == 2


def test_systolic_arrays_are_alike_if_they_are_as_large() -> None:
    assert efficiency(systolic(4, 4, 300), systolic(4, 4, 600)) == 2
    assert efficiency(systolic(8, 8, 300), systolic(4, 4, 600)) is None
