from __future__ import annotations

import pytest

from tilesim.report.energy import FOR, energy_text, energy_words
from tilesim.sim.core.action import Action


def test_every_action_has_words() -> None:
    assert set(FOR) == {str(action) for action in Action}


@pytest.mark.parametrize(
    ("pj", "text"),
    [
        (0.25, "0.25 pJ"), (999, "999 pJ"), (1_310, "1.31 nJ"), (1.31072e6, "1.31 uJ"), (2.7e9, "2.7 mJ"),
        (4.5e12, "4,500 mJ"),
    ],
)  # fmt: skip
def test_an_energy_has_a_fitting_unit(pj: float, text: str) -> None:
    assert energy_text(pj) == text


def test_the_largest_share_is_named() -> None:
    actions = {"mac_8x8": {"pj": 300.0}, "wide_read": {"pj": 1700.0}}
    statistics = {"macs": 1000, "energy": {"actions": actions, "total_pj": 2000.0}}
    assert energy_words(statistics) == "2 nJ, 2 pJ a MAC; most, 85.0%, for reading wide memory"
    assert energy_words({**statistics, "macs": 0}) == "2 nJ; most, 85.0%, for reading wide memory"


def test_there_are_no_words_without_energy() -> None:
    assert energy_words({"macs": 7}) == ""
    assert energy_words({"macs": 7, "energy": {"actions": {}, "total_pj": 0.0}}) == ""
