"""The public calls: four nouns (network, topology, program, run) and two verbs (compile, simulate)."""

from tilesim.api.compiling import (
    cache_plan,
    compile,  # noqa: A004  (always used with its module)
    compile_networks,
    plan_batches,
    support,
)
from tilesim.api.files import list_topologies, list_workloads, load_network, load_program, load_topology, save_program
from tilesim.api.running import check, judge, link, simulate, simulate_requests, suggest, verify

__all__ = [
    "cache_plan",
    "check",
    "compile",
    "compile_networks",
    "judge",
    "link",
    "list_topologies",
    "list_workloads",
    "load_network",
    "load_program",
    "load_topology",
    "plan_batches",
    "save_program",
    "simulate",
    "simulate_requests",
    "suggest",
    "support",
    "verify",
]
