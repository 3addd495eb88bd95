"""The statistics document as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesim


@pytest.fixture(scope="module")
def statistics() -> dict[str, Any]:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    return tilesim.simulate(program, np.zeros((1, 4, 4, 4), np.int8)).statistics


def test_every_link_and_stop_is_among_the_links_and_nothing_twice(statistics: dict[str, Any]) -> None:
    tracks = [each["track"] for each in (*statistics["links"], *statistics["units"])]
    links = {each["track"] for each in statistics["links"]}
    assert len(set(tracks)) == len(tracks)
    assert {*(f"chip.ring.link{k}" for k in range(5)), *(f"chip.instruction_bus.stop{k}" for k in range(3))} <= links
    assert {
        track for track in tracks if track.startswith(("chip.ring.", "chip.mesh.", "chip.instruction_bus."))
    } == links
    for each in (*statistics["links"], *statistics["units"]):
        assert each["busy_cycles"] + sum(each["stall_cycles"].values()) + each["idle_cycles"] == statistics["cycles"]


@pytest.mark.parametrize("bus", ["ring", "mesh", "instruction_bus"])
def test_links_carry_what_the_totals_say(statistics: dict[str, Any], bus: str) -> None:
    carried = sum(each["bytes"] for each in statistics["links"] if each["track"].startswith(f"chip.{bus}."))
    assert statistics["bytes"][bus]["carried"] == carried >= statistics["bytes"][bus]["entered"]
    for how in ("entered", "carried"):
        assert sum(layer["bytes"][bus][how] for layer in statistics["layers"]) <= statistics["bytes"][bus][how]


def test_energy_by_units_by_layers_and_by_actions_is_that_of_the_run(statistics: dict[str, Any]) -> None:
    energy = statistics["energy"]
    layers = [*energy["layers"], energy["outside_layers"]]
    assert len(energy["layers"]) == len(statistics["layers"])
    for parts, name in ((energy["units"], "pj"), (layers, "total_pj")):
        assert sum(part[name] for part in parts) == pytest.approx(energy["total_pj"], rel=1e-12)
        for part in parts:
            assert part[name] == pytest.approx(sum(each["pj"] for each in part["actions"].values()), rel=1e-12)
        for action, whole in energy["actions"].items():
            ours = [part["actions"][action] for part in parts if action in part["actions"]]
            assert [sum(each[key] for each in ours) for key in ("count", "bytes")] == [whole["count"], whole["bytes"]]


def test_what_buses_carry_is_what_their_hops_cost(statistics: dict[str, Any]) -> None:
    actions, moved = statistics["energy"]["actions"], statistics["bytes"]
    for action, bus in (("ring_hop", "ring"), ("instruction_hop", "instruction_bus"), ("host_transfer", "host")):
        assert actions[action]["bytes"] == moved[bus]["carried"] > 0
    assert actions["instruction_memory_read"]["bytes"] == moved["instruction_bus"]["entered"]
    assert actions["mac_8x8"]["count"] >= statistics["macs"]


def test_cells_multiply_what_is_useful_and_padding_but_no_more_than_they_can(statistics: dict[str, Any]) -> None:
    tile = statistics["chip"]["tile"]
    most = tile["lanes"] * tile["inputs_per_cycle"]
    for layer, energy in zip(statistics["layers"], statistics["energy"]["layers"], strict=True):
        done = energy["actions"].get("mac_8x8", {"count": 0})["count"]
        assert layer["macs"] <= done <= layer["mac_busy_cycles"] * most
