"""The names that `tilesim` itself has."""

from tilesim.api import (
    cache_plan,
    check,
    compile,  # noqa: A004  (always used with its module)
    compile_networks,
    list_topologies,
    list_workloads,
    load_network,
    load_program,
    load_topology,
    plan_batches,
    save_program,
    simulate,
    simulate_requests,
    support,
    verify,
)
from tilesim.errors import (
    AccessError,
    ArrayError,
    CapacityError,
    CollisionError,
    ConfigError,
    HangError,
    InputError,
    ModelError,
    ProgramError,
    RunError,
    TilesimError,
)
from tilesim.explore.api import sweep
from tilesim.machines.policies import CachePolicy, PartitionPolicy
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.registry import MACHINES
from tilesim.report.api import (
    SavedRun,
    compare,
    load_run,
    save_comparison,
    save_figures,
    save_report,
    save_trace,
)
from tilesim.report.exploration_api import save_sensitivity, save_sweep_report, sensitivity
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.signals import Signals
from tilesim.sim.trace.trace import Trace

__all__ = [
    "MACHINES",
    "AccessError",
    "ArrayError",
    "CachePolicy",
    "CapacityError",
    "CollisionError",
    "ConfigError",
    "HangError",
    "InputError",
    "ModelError",
    "Network",
    "PartitionPolicy",
    "Program",
    "ProgramError",
    "Recording",
    "Run",
    "RunError",
    "SavedRun",
    "Signals",
    "TilesimError",
    "Topology",
    "Trace",
    "cache_plan",
    "check",
    "compare",
    "compile",
    "compile_networks",
    "list_topologies",
    "list_workloads",
    "load_network",
    "load_program",
    "load_run",
    "load_topology",
    "plan_batches",
    "save_comparison",
    "save_figures",
    "save_program",
    "save_report",
    "save_sensitivity",
    "save_sweep_report",
    "save_trace",
    "sensitivity",
    "simulate",
    "simulate_requests",
    "support",
    "sweep",
    "verify",
]
