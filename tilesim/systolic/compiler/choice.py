"""Which plan of batches a network runs fastest by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tilesim.batching import Plan, ScheduleStep
from tilesim.errors import CapacityError
from tilesim.network.graph import Network
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.run.simulate import timed
from tilesim.systolic.topology import Topology


def fastest(network: Network, topology: Topology, plans: Sequence[Plan], say: Callable[[str], None]) -> Plan:
    """The plan whose program takes the fewest cycles, of equals the first; it knows what the others take.

    Cycles do not depend on data: each program runs without.

    Raises:
        CapacityError: there is no room for any of them; it is the first that says so.
    """
    cycles: dict[tuple[ScheduleStep, ...], int] = {}
    timed_plans: list[tuple[Plan, int]] = []
    lack: list[CapacityError] = []
    for plan in plans:
        say(f"{network.name} on {topology.name}: predicting schedule {plan.schedule}")
        try:
            if plan.steps not in cycles:
                cycles[plan.steps] = timed(compile_network(network, topology, plan=plan))
            timed_plans.append((plan, cycles[plan.steps]))
        except CapacityError as error:
            lack.append(error)
    if not timed_plans:
        raise lack[0]
    best, _ = min(timed_plans, key=lambda plan_cycles: plan_cycles[1])
    return replace(best, predicted=tuple((plan.schedule, count) for plan, count in timed_plans))
