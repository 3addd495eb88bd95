"""The multi-tile chip, as the house sees it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilesim.errors import CapacityError, InputError
from tilesim.machines.machine import Machine, Options, Say
from tilesim.network.graph import Network
from tilesim.tiled.compiler.operators import is_known
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.program import Program as TiledProgram
from tilesim.tiled.partition_search import compile_networks
from tilesim.tiled.run.simulate import simulate, simulate_requests
from tilesim.tiled.topology import Topology as TiledTopology


def _compile(networks: Sequence[Network], topology: TiledTopology, options: Options, say: Say) -> list[TiledProgram]:
    if options.batches is not None:
        raise InputError(f"{topology.name}: batches are a systolic machine's; tiles run one inference after the other")
    check_operators(networks)
    return compile_networks(networks, topology, options.cache, options.partition, say)


def check_operators(networks: Sequence[Network]) -> None:
    """Refuse networks with operators that tiles have no unit for.

    Raises:
        CapacityError: all of them at once.
    """
    faults = [
        f"{network.name}: node {node.title} ({node.kind}) must be an operator that a tiled machine can run, which this "
        "one is not"
        for network in networks
        for node in network.nodes
        if not is_known(node.operator)
    ]
    if faults:
        raise CapacityError(faults)


def _any(_path: Path) -> bool:
    """What is nobody else's."""
    return True


TILED = Machine(
    TiledTopology, TiledProgram, _compile, simulate, simulate_requests, ASSEMBLY.save, ASSEMBLY.load, faults, _any
)
