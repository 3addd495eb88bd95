"""Every reason for a stall has its words and its colour."""

import re

from tilesim.report.kinds import KINDS, kind_of
from tilesim.report.page.build import _asset
from tilesim.sim.core.unit import BUSY, Reason

CSS = _asset("base.css")


def test_every_kind_of_cycles_is_explained() -> None:
    assert {BUSY, *(reason.kind for reason in Reason)} == set(KINDS)
    assert all(kind.sentence.endswith(".") for kind in KINDS.values())


def test_every_kind_has_a_colour_in_the_light_and_in_the_dark() -> None:
    for kind in (*KINDS, "stall:other"):
        assert len(re.findall(f"--{kind.replace(':', '-')}: #", CSS)) == 2


def test_a_strange_reason_stands_for_itself() -> None:
    assert kind_of("stall:weights").words == "waits for weights"
