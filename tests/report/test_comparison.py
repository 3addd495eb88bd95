"""Runs side by side: what is matched, what sums up to what, and what is refused or said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.made import energy, layer, saved
from tilesim.errors import InputError
from tilesim.report.analysis.layers import outside, spent
from tilesim.report.comparison import UNLIKE, compared
from tilesim.report.document import SavedRun
from tilesim.report.page.compare import comparison_page


def found(*runs: SavedRun) -> dict[str, Any]:
    return compared(runs)


def test_causes_and_layers_are_those_of_the_average_mac_array() -> None:
    four = saved("b", 4, cycles=40, breakdown={"macs": 80, "no work": 80}, layers=[layer("l0", 4, macs=20)])
    of = found(saved("a"), four)
    assert [(run["name"], run["tiles"], run["cycles"]) for run in of["runs"]] == [("a", 1, 100), ("b", 4, 40)]
    assert {row["cause"]: row["cycles"] for row in of["causes"]} == {
        "macs": [70, 20],
        "ring": [10, 0],
        "port": [10, 0],
        "no work": [10, 20],
    }
    first, second = of["layers"]
    assert [part["cycles"] for part in first["runs"]] == [60, 20]
    assert first["runs"][0]["causes"] == {"macs": 50, "port": 10}
    assert second["runs"][1] is None
    assert of["outside"] == [{"no work": 10}, {"no work": 20}]


@given(
    arrays=st.integers(1, 12),
    cycles=st.integers(1, 10_000),
    layers=st.lists(st.dictionaries(st.sampled_from(["macs", "port", "ring", "no_work"]), st.integers(0, 99))),
    spare=st.integers(0, 500),
)
def test_parts_sum_up_to_the_run(arrays: int, cycles: int, layers: list[dict[str, int]], spare: int) -> None:
    """Whatever is in the breakdown: what it leaves out of the run is there, too."""
    whole: dict[str, int] = {"no work": spare}
    own = [layer(f"l{k}", arrays, **each) for k, each in enumerate(layers)]
    for each in own:
        for cause, n in each["breakdown"].items():
            whole[cause] = whole.get(cause, 0) + n
    run = saved("b", arrays, cycles=cycles, breakdown=whole, layers=own)
    of = found(saved("a"), run)
    assert sum(row["cycles"][1] for row in of["causes"]) == pytest.approx(cycles)
    in_layers = sum(each["runs"][1]["cycles"] for each in of["layers"] if each["runs"][1] is not None)
    assert in_layers + sum(of["outside"][1].values()) == pytest.approx(cycles)
    total = spent(run.statistics)
    for cause, n in outside(run.statistics).items():
        inside = sum(each["runs"][1]["causes"].get(cause, 0) for each in of["layers"] if each["runs"][1] is not None)
        assert n + inside == pytest.approx(total[cause])


def test_speed_up_is_of_time_and_efficiency_over_the_tiles() -> None:
    _, more, faster = found(saved("a", 2), saved("b", 4, cycles=80), saved("c", 4, cycles=50, clock_hz=2_000_000))[
        "runs"
    ]
    assert (more["speed_up"], more["efficiency"], more["time_us"]) == (1.25, 0.625, 80.0)
    assert (faster["speed_up"], faster["efficiency"], faster["time_us"]) == (4.0, None, 25.0)


def test_layers_are_matched_by_name_and_kind_and_the_k_th_of_these() -> None:
    names = [layer("twin", macs=1), layer("twin", macs=2), layer("twin", macs=3, kind="add")]
    others = [layer("new", macs=9), layer("twin", macs=4, kind="add"), layer("twin", macs=5)]
    of = found(saved("a", layers=names), saved("b", layers=others))
    parts = [(each["name"], each["kind"], *(p and p["number"] for p in each["runs"])) for each in of["layers"]]
    assert parts == [
        ("twin", "convolution", 0, 2),
        ("twin", "convolution", 1, None),
        ("twin", "add", 2, 1),
        ("new", "convolution", None, 0),
    ]
    assert of["notes"] == [
        "a lacks 1 of the 4 layers, by name and kind, that are compared",
        "b lacks 1 of the 4 layers, by name and kind, that are compared",
    ]


def test_what_was_set_otherwise_is_listed_and_what_was_not_is_not() -> None:
    chip = {"name": "other", "grid": {"rows": 1, "columns": 1}, "deep": {"flag": False, "new": 3}}
    streamed = [{**layer("l0"), "parameters": "streamed"}, {**layer("l1"), "parameters": ""}]
    of = found(saved("a"), saved("b", chip=chip, partition={"asked": "auto"}, layers=streamed))
    assert {row["key"]: row["values"] for row in of["differing"]} == {
        "deep.flag": ["true", "false"],
        "deep.new": [None, "3"],
        "partition": ["spatial", "auto"],
        "parameters": ["copy: 2", "streamed: 1"],
    }


def test_energies_stand_beside_if_runs_have_them() -> None:
    of = found(saved("a", energy=None), saved("b", energy=energy(500.0, 7.0)), saved("c", energy=energy(500.0, 7.0)))
    assert [run["energy_pj"] for run in of["runs"]] == [None, 500.0, 500.0]
    assert of["runs"][1]["energy_pj_by_action"] == {"wide_read": 500.0}
    assert [part["energy_pj"] for part in of["layers"][0]["runs"]] == [None, 7.0, 7.0]
    assert of["notes"] == ["a does not say what energy it took"]
    of = found(saved("b", energy=energy(500.0)), saved("c", energy=energy(500.0, wide_read=1)))
    assert of["notes"] == ["c and b take their energies from different tables"]


@pytest.mark.parametrize(
    ("change", "notes"),
    [
        ({"macs": 1_500}, ["b does 1,500 MACs, a 500: the networks are not the same"]),
        ({"instant": ["a.send"]}, ["in b, a.send took no time: so it is on no chip"]),
        (
            {"machine": "systolic"},
            [
                f"b ran on a systolic machine, a on a tiled one: {UNLIKE}",
                "b has no efficiency over a: another kind of machine",
            ],
        ),
        (
            {"clock_hz": 5},
            [
                "b has another clock than a: speed-ups are of time, not of cycles",
                "b has no efficiency over a: another clock",
            ],
        ),
    ],
)
def test_what_is_not_quite_alike_is_said(change: dict[str, Any], notes: list[str]) -> None:
    assert found(saved("a"), saved("b", **change))["notes"] == notes


def test_runs_that_cannot_be_compared_are_refused_all_at_once() -> None:
    runs = [saved("a"), saved("b", network="other"), saved("c", inferences=3), saved("d", cycles=0)]
    with pytest.raises(InputError) as caught:
        compared(runs)
    assert list(caught.value.faults) == [
        "b: must be a run of the network net, as a is, not of the network other",
        "c: must be a run of 1 inference, as a is, not of 3 inferences",
        "d: must have taken some cycles to be compared",
    ]
    with pytest.raises(InputError, match="at least two runs, not of 1"):
        compared(runs[:1])


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (("x/a", "x/b"), ("a", "b")),
        (("a/run", "b/run"), ("a/run", "b/run")),
        (("a", "a", "b"), ("a", "a (2)", "b")),
    ],
)
def test_names_tell_runs_apart(folders: tuple[str, ...], names: tuple[str, ...]) -> None:
    document = compared([saved(folder) for folder in folders])
    assert tuple(run["name"] for run in document["runs"]) == names


def test_of_runs_on_different_machines_what_is_comparable_is_compared() -> None:
    """Whether arrays compute or wait; settings that both have; no efficiency."""
    breakdown = {"useful MACs": 20, "unused MACs": 10, "RAW stall": 30, "other": 20}
    own = [{**layer("l0", macs=10), "breakdown": {"useful MACs": 10, "unused MACs": 5, "RAW stall": 5}}]
    chip = {"machine": "systolic", "grid": {"rows": 7}, "array": {"rows": 4}}
    units = [{"track": "chip.matrix", "busy_cycles": 30, "stall_cycles": {}, "idle_cycles": 50}]
    array = saved("b", machine="systolic", cycles=80, breakdown=breakdown, layers=own, chip=chip, units=units)
    of = found(saved("a"), array)
    assert {row["cause"]: row["cycles"] for row in of["causes"]} == {"macs": [70, 30], "waiting": [30, 50]}
    assert [part["causes"] for part in of["layers"][0]["runs"]] == [
        {"macs": 50, "waiting": 10},
        {"macs": 15, "waiting": 5},
    ]
    assert [run["efficiency"] for run in of["runs"]] == [1.0, None]
    assert {row["key"] for row in of["differing"]} == {"grid.rows", "parameters"}
    assert of["notes"][1:] == [
        "b ran on a systolic machine, a on a tiled one: only computing and waiting are compared of their causes",
        "b has no efficiency over a: another kind of machine",
    ]
    assert "<html" in comparison_page(of)
