"""Whose cycles the core's accounts are."""

from __future__ import annotations

from tilesim.tiled.flat.columns import ACCOUNTS_A_TILE, KINDS
from tilesim.tiled.isa.model.fields import Engine, Side, neighbour
from tilesim.tiled.topology import Topology

SPENT = tuple(kind if kind in ("idle", "busy") else f"stall:{kind}" for kind in KINDS)
"""What accounts and traces call the kinds of cycles."""
PROCESSOR = "chip.host.processor"
"""The track of the host's own processor, which the core has no account of: when its steps begin says it all."""


def account_tracks(topology: Topology) -> list[str]:
    """The tracks in the order of the core's accounts; empty where the chip has no such unit."""
    tracks = []
    for tile in range(topology.tiles):
        there = [side for side in Side if neighbour(topology.grid, tile, side) is not None]
        absent = {f"mesh_out_{side}" for side in Side if side not in there} | {Engine.RING_CONSUMER_B}
        tracks += ["" if engine in absent else f"chip.tile{tile}.{engine}" for engine in Engine]
        tracks += [f"chip.tile{tile}.mac_array"]
        tracks += [f"chip.mesh.tile{tile}.{side}" if side in there else "" for side in Side]
    assert len(tracks) == topology.tiles * ACCOUNTS_A_TILE
    tracks += [f"chip.ring.link{node}" for node in range(topology.ring_links)]
    tracks += [f"chip.instruction_bus.stop{stop}" for stop in range(topology.instruction_bus_stops)]
    names = ("host.infeed", "host.outfeed", "infeed", "outfeed", "classifier", "controller")
    return [*tracks, *(f"chip.{name}" for name in names)]
