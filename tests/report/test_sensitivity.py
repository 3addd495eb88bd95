"""The document: what each step changes, and in what order keys come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore.stepped import HZ, MADE, row, sensitivity
from tilesim.errors import InputError
from tilesim.report.sensitivity import (
    MEASURES,
    by_key,
    change_words,
    counts_words,
    effect,
    matters,
    must_be_sensitivity,
    sensitivity_document,
    value_words,
)

DOCUMENT = sensitivity_document(MADE)


def test_keys_come_by_their_largest_effect_on_time() -> None:
    assert [key["key"] for key in DOCUMENT["keys"]] == [
        *("tile.lanes", "clock_hz", "ring.width", "mesh.words", "idle_bytes", "hop_cycles")
    ]
    assert [(step["key"], step["value"]) for step in DOCUMENT["steps"]][:4] == [
        *(("tile.lanes", 32), ("tile.lanes", 128), ("clock_hz", 2 * HZ), ("ring.width", 4))
    ]
    assert {key["key"] for key, steps in by_key(DOCUMENT) if not matters(steps)} == {"idle_bytes", "hop_cycles"}


def test_ratios_are_by_the_base() -> None:
    steps = {(step["key"], step["value"]): step for step in DOCUMENT["steps"]}
    assert DOCUMENT["base"]["time_us"] == 100
    faster = steps["clock_hz", 2 * HZ]
    assert (faster["time_us"], faster["time_ratio"], faster["cycles_ratio"], faster["energy_ratio"]) == (50, 0.5, 1, 1)
    wider = steps["ring.width", 16]
    assert (wider["time_ratio"], wider["area_ratio"], wider["base"]) == (0.95, 1.25, 8)
    refused = steps["tile.lanes", 128]
    assert refused["reason"] == "no, not 128"
    assert {refused[of] for of in ("cycles", "time_us", "time_ratio", "energy_ratio", "area_mm2", "area_ratio")} == {
        None
    }
    assert refused["command"] == "tilesim run net -t chip"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("--set lanes=2: lanes must be 3, not 2", "lanes must be 3, not 2"),
        ("/a folder/chip.yaml:3:1: rows must be 4, not 2\nchip: no", "rows must be 4, not 2; no"),
        ("net on chip: a\nnet on chip: b\nnet on chip: c\nnet on chip: d", "a; b; and 2 more"),
        ("--set other=2: is bad", "--set other=2: is bad"),
    ],
)
def test_reasons_are_of_the_step_alone(reason: str, words: str) -> None:
    found = sensitivity_document(sensitivity([("lanes", 1, [(2, row(None, reason=reason))])]))
    assert found["steps"][0]["reason"] == words


def test_words() -> None:
    assert counts_words(DOCUMENT) == "8 steps of 6 keys, 4 with an effect, 1 step refused"
    assert [change_words(ratio) for ratio in (None, 1.0, 1.61, 0.5)] == ["-", "0", "+61.0%", "-50.0%"]
    assert [value_words("size_bytes", 2048), value_words("clock_hz", HZ), value_words("a", True)] == [
        *("2 KiB", "1 MHz", "true")
    ]


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(1, 1e6)), max_size=8))
def test_every_step_is_there_once_and_the_order_is_that_of_effects(numbers: list[tuple[int, float]]) -> None:
    rows = [(f"key{k}", k, [(k + 1, row(cycles, energy_pj))]) for k, (cycles, energy_pj) in enumerate(numbers)]
    found = sensitivity_document(sensitivity(rows))
    must_be_sensitivity(found)
    assert sorted(step["key"] for step in found["steps"]) == sorted(key for key, _, _ in rows)
    effects = [tuple(effect(steps, measure) for measure in MEASURES) for _, steps in by_key(found)]
    assert effects == sorted(effects, reverse=True)


def test_a_base_without_energy_has_no_ratio_of_it() -> None:
    found = sensitivity_document(sensitivity([("lanes", 1, [(2, row(50))])], base=row(100, energy_pj=0.0)))
    assert (found["steps"][0]["energy_ratio"], found["steps"][0]["time_ratio"]) == (None, 0.5)


def test_only_what_was_made_here_is_a_document() -> None:
    must_be_sensitivity(DOCUMENT)
    with pytest.raises(InputError, match=r"what tilesim\.sensitivity returns"):
        must_be_sensitivity([])
    with pytest.raises(InputError) as caught:
        must_be_sensitivity({**DOCUMENT, "network": 1, "keys": None})
    assert len(caught.value.faults) == 2
