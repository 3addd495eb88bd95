"""Both models of the chip on a small network, one chip at a time: outputs, cycles and every unit's account."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tilesim.tiled import stepped

ROOT = Path(__file__).parents[3]
CHIPS = [name for name in tilesim.list_topologies() if tilesim.load_topology(name).machine == "tiled"]
LARGE = "edge-32x32"


def accounts(statistics: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The accounts of a run as the stepped model gives them."""
    found = {}
    for unit in statistics["units"] + statistics["links"]:
        stalls = {f"stall:{reason}": cycles for reason, cycles in unit["stall_cycles"].items()}
        found[unit["track"]] = {"busy": unit["busy_cycles"], "idle": unit["idle_cycles"], **stalls}
    return {track: +Counter(kinds) for track, kinds in found.items()}


@pytest.mark.parametrize("chip", [pytest.param(c, marks=pytest.mark.soak if c == LARGE else ()) for c in CHIPS])
def test_both_models_agree(chip: str) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    [tensor] = program.inputs
    x = np.random.default_rng(5).integers(-128, 128, tensor.shape).astype(tensor.dtype)
    run, outcome = tilesim.simulate(program, [x]), stepped.simulate(program, [x])
    assert all(np.array_equal(a, b) for a, b in zip(run.outputs, outcome.outputs, strict=True))
    assert (outcome.cycles, outcome.load_cycles) == (run.cycles, run.statistics["load_cycles"])
    assert {track: +Counter(kinds) for track, kinds in outcome.units.items()} == accounts(run.statistics)
    assert {sum(kinds.values()) for kinds in outcome.units.values()} == {run.cycles}
