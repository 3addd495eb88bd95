"""Transfers of a systolic chip that take no time: nothing but cycles changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.test_digits import MODEL as DIGITS
from tilesim import api
from tilesim.errors import InputError
from tilesim.report.tracks import accounts_of


@pytest.fixture(scope="module")
def program() -> Any:
    return api.compile(api.load_network(DIGITS), api.load_topology("systolic-32"))


@pytest.mark.parametrize(
    ("mnemonic", "section"), [("read_host_memory", "load"), ("write_host_memory", "run"), ("read_weights", "run")]
)
def test_each_kind_saves_cycles_and_nothing_else(mnemonic: str, section: str, program: Any) -> None:
    plain = api.simulate(program)
    chosen = [op.label for op in (*program.load, *program.run) if op.mnemonic == mnemonic]
    run = api.simulate(program, instant=chosen)
    for ours, theirs in zip(run.outputs, plain.outputs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert run.statistics["bytes"] == plain.statistics["bytes"]
    key = "load_cycles" if section == "load" else "cycles"
    assert run.statistics[key] < plain.statistics[key]
    assert max(run.cycles, run.statistics["load_cycles"]) <= max(plain.cycles, plain.statistics["load_cycles"])
    for unit in accounts_of(run.statistics):
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == run.cycles


def test_only_transfers_can(program: Any) -> None:
    multiply = next(op.label for op in program.run if op.mnemonic.startswith("matrix"))
    with pytest.raises(InputError, match=f"instant '{multiply}': must be a transfer, not a matrix"):
        api.simulate(program, instant=[multiply])
