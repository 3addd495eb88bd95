"""Whose cycles the core's accounts are."""

import pytest

import tilesim
from tilesim.tiled.flat.accounts import account_tracks
from tilesim.tiled.flat.columns import ACCOUNTS_A_TILE
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.counted import tracks
from tilesim.tiled.topology import Topology


@pytest.mark.parametrize("name", ["edge-1x1", "fig2-5x2", "edge-4x4"])
def test_all_units_of_a_chip_have_one(name: str) -> None:
    topology = tilesim.load_topology(name)
    assert isinstance(topology, Topology)
    accounts = account_tracks(topology)
    assert len(accounts) == topology.tiles * ACCOUNTS_A_TILE + topology.ring_links + topology.instruction_bus_stops + 6
    assert sorted(filter(None, accounts)) == sorted(tracks(Program("nothing", topology, load=(), run=())))
