"""The multi-tile chip, as the house sees it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilesim.errors import InputError
from tilesim.machines.machine import Machine, Options, Say
from tilesim.network.graph import Network
from tilesim.tiled.isa import storage
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.program import Program as TiledProgram
from tilesim.tiled.partitioned import compile_networks
from tilesim.tiled.simulate import simulate, simulate_requests
from tilesim.tiled.topology import Topology as TiledTopology


def _compile(networks: Sequence[Network], topology: TiledTopology, options: Options, say: Say) -> list[TiledProgram]:
    if options.plan is not None:
        raise InputError(f"{topology.name}: batches are a systolic machine's; tiles run one inference after the other")
    return compile_networks(networks, topology, options.cache, options.partition, say)


def _any(_path: Path) -> bool:
    """What is nobody else's."""
    return True


TILED = Machine(
    TiledTopology, TiledProgram, _compile, simulate, simulate_requests, storage.save, storage.load, faults, _any
)
