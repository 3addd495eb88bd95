"""Which sets go over the mesh, by estimate."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tiled.units.bench import chip_of
from tilesim.machines.policies import CachePolicy
from tilesim.tiled.caching import Decision, Home, ParameterSet, Run
from tilesim.tiled.compiler.parameter_ways import mesh_cycles, over_mesh, ring_cycles
from tilesim.tiled.compiler.parameters import SetKey
from tilesim.tiled.compiler.wide_layout import StreamBuffer
from tilesim.tiled.topology import Topology

ROW = 256
KEYS = [SetKey(layer, 0, "set") for layer in range(3)]


def chip(ring_bytes: int = ROW, **mesh: Any) -> Topology:
    return chip_of(1, 2, mesh={"destination": "wide", **mesh}, ring={"width_bytes": ring_bytes})


def decision(home: Home, rows: int = 10, *runs: Run) -> Decision:
    wanted = ParameterSet(0, 0, 0, "set", rows * ROW, per_tile=False, tiles=3)
    return Decision(wanted, home, 0 if home is Home.HOME_TILE else None, runs=runs)


def chosen(topology: Topology, decisions: list[Decision], cycles: int = 0, over: str = "auto") -> dict[int, int]:
    """The layers whose sets go over the mesh, and to which tiles: each is used in a round of so many ``cycles``, and
    may come in the one before.
    """
    known = dict(zip(KEYS, decisions, strict=False))
    buffers = {key: StreamBuffer(0, max(0, key.layer - 1), ()) for key in known}
    uses = {key: range(key.layer, key.layer + 1) for key in known}
    policy = CachePolicy(parameters_over=over)
    found = over_mesh(topology, policy, known, buffers, uses, dict.fromkeys(known, cycles))
    return {key.layer: tiles for key, tiles in found.items()}


@pytest.mark.parametrize(("width_bytes", "row_cycles"), [(ROW, 1), (64, 4), (1, 256)])
def test_the_ring_takes_its_cycles_for_each_row_and_a_hop_a_tile(width_bytes: int, row_cycles: int) -> None:
    topology = chip(width_bytes)
    assert ring_cycles(decision(Home.HOME_TILE), topology) == 10 * row_cycles + 2
    split = decision(Home.HOME_TILES, 10, Run(0, 0, 5 * ROW), Run(1, 5 * ROW, 5 * ROW))
    assert ring_cycles(split, topology) == 2 * (10 * row_cycles + 2)
    assert ring_cycles(decision(Home.STREAMED), topology) == max(10 * ROW / 2, 10 * row_cycles + 2)


@pytest.mark.parametrize(("mesh", "cycles"), [({}, 641), ({"width_bytes": 2}, 1281), ({"hop_cycles": 3}, 643)])
def test_the_mesh_takes_a_word_a_beat(mesh: dict[str, int], cycles: int) -> None:
    assert mesh_cycles(decision(Home.HOME_TILE), chip(**mesh)) == cycles


def test_a_wide_ring_has_all_and_a_narrow_one_shares_with_the_mesh() -> None:
    two = [decision(Home.HOME_TILE), decision(Home.HOME_TILE)]
    assert chosen(chip(), two) == {}
    assert chosen(chip(1), two) == {0: 0b10, 1: 0b10}
    assert chosen(chip(1), two, cycles=9_999) == {0: 0b10}  # the second has the first one's time to come
    assert chosen(chip(1), two, over="ring") == {}
    assert chosen(chip(), two, over="mesh") == {0: 0b10, 1: 0b10}


def test_what_is_not_needed_before_an_infeed_is_over_stays_on_the_ring() -> None:
    assert chosen(chip(), [decision(Home.STREAMED, 40), decision(Home.HOME_TILE, 1)]) == {}


@pytest.mark.parametrize("home", [Home.HOME_TILES, Home.STREAMED])
def test_what_has_no_single_home_tile_goes_over_the_ring(home: Home) -> None:
    runs = (Run(0, 0, 5 * ROW), Run(1, 5 * ROW, 5 * ROW)) if home is Home.HOME_TILES else ()
    assert chosen(chip(1), [decision(home, 10, *runs)], over="mesh") == {}


def test_a_mesh_between_narrow_memories_is_no_way() -> None:
    assert chosen(chip(1, destination="narrow"), [decision(Home.HOME_TILE)]) == {}
