"""Points run: compiled, simulated, and what came of it as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tilesim import api
from tilesim.batching import SCHEDULES, Plan
from tilesim.errors import InputError, RunError
from tilesim.explore.bench.area import area_of
from tilesim.explore.bench.digests import arrays_digest, sources_digest
from tilesim.explore.bench.task import Task, chip_values
from tilesim.explore.point import Options
from tilesim.explore.row import LayerRow, Measures, Row, Status
from tilesim.machines.machine import PlansBatches
from tilesim.machines.policies import CachePolicy
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.printable import printable, unknown
from tilesim.registry import can, machine_of, refusal
from tilesim.run import Run
from tilesim.statistics import CyclesByCause, LayerStatistics


class Bench:
    """Runs tasks, one after the other, and keeps the last program, which the next may share.

    It can be sent to other processes, without the program.
    """

    def __init__(self, networks: Mapping[str, Network]) -> None:
        self.networks = networks
        self._compiled = ""
        self._program: Program | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_compiled": "", "_program": None}

    def row(self, task: Task) -> Row:
        """The row of a task, whatever comes of it: nothing is raised.

        Inputs are those of ``tilesim run``: random ones of seed 0.
        """
        if task.topology is None:
            return self._row(task, "refused", task.reason, None)
        try:
            return self._row(task, "ran", "", self._measured(task, task.topology))
        except InputError as error:
            return self._row(task, "refused", "\n".join(error.faults), None)
        except RunError as error:
            return self._row(task, "failed", str(error), None)
        except MemoryError:
            self._compiled, self._program = "", None
            return self._row(task, "failed", "more memory is needed than a run may take", None)
        except Exception as error:  # noqa: BLE001  (a fault of tilesim's own costs its point, and not the sweep)
            return self._row(task, "failed", f"{type(error).__name__}: {printable(str(error))}", None)

    def failed(self, task: Task, reason: str) -> Row:
        """The row of a task that could not even be tried."""
        return self._row(task, "failed", reason, None)

    def _row(self, task: Task, status: Status, reason: str, measures: Measures | None) -> Row:
        point, topology = task.point, task.topology
        return {
            "key": task.key,
            "sources": sources_digest(),
            "network": self.networks[point.model].name,
            "topology": point.chip if topology is None else topology.name,
            "machine": "" if topology is None else topology.machine,
            "chip": dict(point.settings) if topology is None else chip_values(topology),
            "options": asdict(point.options),
            "area": {} if topology is None else area_of(topology),
            "command": point.command,
            "status": status,
            "reason": reason,
            "measures": measures,
        }

    def _measured(self, task: Task, topology: Topology) -> Measures:
        program = self._program_for(task, topology)
        inferences = task.point.options.inferences
        run = api.simulate(program) if inferences == 1 else api.simulate_requests([program], order=[0] * inferences)
        return measures(program, run)

    def _program_for(self, task: Task, topology: Topology) -> Program:
        """The task's program: the last one, on this chip, if that is the same."""
        if self._program is None or self._compiled != task.program:
            self._compiled, self._program = "", None  # the last one goes before the next one comes
            self._program = compiled(self.networks[task.point.model], topology, task.point.options)
            self._compiled = task.program
        elif self._program.topology != topology:
            self._program = self._program.retargeted(topology)
        return self._program


def compiled(network: Network, topology: Topology, options: Options) -> Program:
    """A network compiled as ``tilesim run`` would. Raises InputError."""
    plan = _plan(network, topology, options)
    [program] = api.compile_networks([network], topology, CachePolicy(options.cache), options.partition, batches=plan)
    return program


def _plan(network: Network, topology: Topology, options: Options) -> Plan | None:
    """The batches; None if there is nothing to plan."""
    schedule = next((known for known in SCHEDULES if known == options.schedule), None)
    if options.schedule and schedule is None:
        raise InputError(f"schedule {unknown(options.schedule, SCHEDULES)}")
    if not can(topology, PlansBatches):
        if schedule:
            raise refusal(topology, PlansBatches)
        return None
    if options.inferences == 1 and not schedule:
        return None
    return api.plan_batches(
        network, topology, options.inferences, schedule or ("none" if options.inferences == 1 else "fastest")
    )


def measures(program: Program, run: Run) -> Measures:
    """What a run of ``program`` gave."""
    statistics, arrays = run.statistics, program.topology.arrays
    energy = statistics.get("energy")
    return {
        "tiles": arrays,
        "macs": statistics["macs"],
        "cycles": statistics["cycles"],
        "load_cycles": statistics["load_cycles"],
        "latency_us": statistics["latency_us"],
        "throughput_per_second": statistics["throughput_per_second"],
        "energy_pj": energy["total_pj"] if energy else 0.0,
        "mac_utilisation": statistics["mac_utilisation"],
        "bound_by": statistics["bound_by"],
        "breakdown": _of_average(statistics["breakdown"], arrays),
        "bytes": {bus: counts["carried"] for bus, counts in statistics["bytes"].items()},
        "peak_bytes": dict(machine_of(program.topology).peak_bytes(program)),
        "outputs_sha256": arrays_digest(run.outputs),
        "layers": [
            _layer(layer, arrays, energy["layers"][k]["total_pj"] if energy else 0.0)
            for k, layer in enumerate(statistics["layers"])
        ],
    }


def _layer(layer: LayerStatistics, arrays: int, energy_pj: float) -> LayerRow:
    return {
        "name": layer["name"],
        "kind": layer["kind"],
        "tiles": layer["tiles"],
        "parameters": layer.get("parameters", ""),
        "breakdown": _of_average(layer["breakdown"], arrays),
        "energy_pj": energy_pj,
    }


def _of_average(breakdown: CyclesByCause, arrays: int) -> dict[str, float]:
    """Cycles by cause of the average array."""
    return {cause: cycles / arrays for cause, cycles in breakdown.items()}
