"""Both models of the chip on a small network, one chip at a time: outputs, cycles and every unit's account."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.hosted import hosted
from tilesim.tiled import stepped
from tilesim.tiled.stepped.core import Clock

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


SLOW = {"host.request_ns": 777, "host.to_chip_bytes_per_second": 3_000_000_001, "host.latency_cycles": 50}


@pytest.mark.parametrize("keys", [{}, SLOW, {"ring.hop_cycles": 3}, {"ring.width_bytes": 64}], ids=str)
@pytest.mark.parametrize("name", ["tail", "middle", "head"])
def test_the_cycles_that_are_not_asked_would_be_as_the_one_before(
    name: str, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, inputs = hosted(name)
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2", {"data_memory.bytes_per_cycle": 2, **keys}))
    asked = Counter[str]()

    def ask_in_every_cycle(clock: Clock) -> None:
        asked["all"] += 1
        clock.cycle += 1

    advance = Clock.advance
    monkeypatch.setattr(Clock, "advance", lambda clock: (asked.update(["some"]), advance(clock)))
    some = stepped.simulate(program, inputs, trace=True)
    monkeypatch.setattr(Clock, "advance", ask_in_every_cycle)
    every = stepped.simulate(program, inputs, trace=True)
    assert asked["some"] < 0.8 * asked["all"]
    assert all(np.array_equal(one, other) for one, other in zip(some.outputs, every.outputs, strict=True))
    assert replace(some, outputs=[]) == replace(every, outputs=[])
