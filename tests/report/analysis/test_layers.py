"""The layers of a run, and what is beside them, are the run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tilesim.report.analysis.layers import DEFINITIONS, beside, causes, definitions, layers, total
from tilesim.report.document import SavedRun

RUNS = ["digits_run", "keywords_run"]


def energy(run: SavedRun) -> dict[str, Any]:
    """An energy document for a run: a picojoule a layer more than the one before."""

    def part(pj: float) -> dict[str, Any]:
        return {"actions": {"narrow_read": {"count": 1, "bytes": 4, "pj": pj}}, "total_pj": pj}

    each = [part(float(k)) for k in range(len(run.statistics["layers"]))]
    whole = sum(layer["total_pj"] for layer in each) + 5.5
    return {"layers": each, "outside_layers": part(5.5), "actions": part(whole)["actions"], "total_pj": whole}


@pytest.mark.parametrize("name", RUNS)
def test_with_what_is_beside_them_they_sum_to_the_run(name: str, request: pytest.FixtureRequest) -> None:
    run: SavedRun = request.getfixturevalue(name)
    found = layers(run.statistics)
    everything = [*found, beside(run.statistics, found)]
    whole = total(run.statistics)
    assert sum(each.macs for each in everything) == run.statistics["macs"]
    for figures in ("breakdown", "entered", "carried"):
        sums: Counter[str] = Counter()
        for each in everything:
            sums.update(getattr(each, figures))
        assert +sums == +Counter(getattr(whole, figures))
    arrays = whole.tiles * run.statistics["cycles"]
    assert sum(sum(each.breakdown.values()) for each in everything) == arrays


def test_without_energies_there_are_none(digits_run: SavedRun) -> None:
    run = {name: value for name, value in digits_run.statistics.items() if name != "energy"}
    found = layers(run)
    assert {each.energy_pj for each in (*found, beside(run, found), total(run))} == {None}
    assert all(each.action_bytes == {} for each in found)


def test_energies_sum_to_that_of_the_run(digits_run: SavedRun) -> None:
    run = {**digits_run.statistics, "energy": energy(digits_run)}
    found = layers(run)
    assert sum(each.energy_pj or 0 for each in (*found, beside(run, found))) == total(run).energy_pj
    assert found[3].energy_pj == 3.0
    assert found[3].action_bytes == {"narrow_read": 4}


def test_layers_are_told_apart_by_short_names(digits_run: SavedRun) -> None:
    first = layers(digits_run.statistics)[1]
    assert (first.index, first.name, first.kind) == (1, "stem.out", "convolution")
    assert first.full_name == "stem.out_QuantizeLinear_Output"


def test_causes_in_the_order_of_their_explanations_strange_ones_last() -> None:
    run = {"machine": "tiled", "breakdown": {"weights": 3, "ring": 2, "macs": 1}}
    assert list(causes(run).items()) == [
        ("macs", "the MAC array multiplies, or does the layer's other work"),
        ("ring", "rows come too late over the ring"),
        ("weights", "weights"),
    ]


def test_columns_mean_what_the_machine_says_of_them() -> None:
    assert definitions({"machine": "systolic"})["cycles"].startswith("Those of the matrix unit")
    assert definitions({"machine": "abacus"}) == DEFINITIONS
    assert {*definitions({"machine": "tiled"})} == {*DEFINITIONS}
