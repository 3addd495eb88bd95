"""tilesim: discrete-event simulation of multi-tile neural-network accelerators that carry the real data."""

from tilesim.api import (
    MACHINES,
    compile,  # noqa: A004  (always used with its module)
    list_topologies,
    list_workloads,
    load_network,
    load_program,
    load_topology,
    save_program,
    simulate,
)
from tilesim.errors import (
    AccessError,
    ArrayError,
    CapacityError,
    ConfigError,
    HangError,
    InputError,
    ModelError,
    ProgramError,
    RunError,
    TilesimError,
)
from tilesim.run import Run

__all__ = [
    "MACHINES",
    "AccessError",
    "ArrayError",
    "CapacityError",
    "ConfigError",
    "HangError",
    "InputError",
    "ModelError",
    "ProgramError",
    "Run",
    "RunError",
    "TilesimError",
    "compile",
    "list_topologies",
    "list_workloads",
    "load_network",
    "load_program",
    "load_topology",
    "save_program",
    "simulate",
]
