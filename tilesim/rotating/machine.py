"""The rotating machine, as the house sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from tilesim.machines.instructions import Explanation
from tilesim.machines.machine import Array, Describes, Explains, ModelResult, MovesWords, SecondModel
from tilesim.machines.motion import Motion
from tilesim.machines.options import CompileOptions, RunOptions
from tilesim.network.graph import Network
from tilesim.rotating.description import DESCRIPTION
from tilesim.rotating.isa.checks.program import faults
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.peak_bytes import peak_bytes
from tilesim.rotating.topology import Topology
from tilesim.run import Run
from tilesim.sim.trace.trace import Trace
from tilesim.units import format_bytes

if TYPE_CHECKING:
    from tilesim.assembly.files import Assembly

RUN_TIME_KEYS = frozenset(
    (
        *("data_ram.ports", "weight_ram.ports", "clock_hz"),
        *("output.words_per_cycle", "output.latency_cycles", "output.buffers"),
    )
)
"""No key of the host is among them: how long a row takes decides which weights are streamed."""


class Rotating(
    Describes[Topology, Program],
    Explains[Topology, Program],
    MovesWords[Topology, Program],
    SecondModel[Topology, Program],
):
    """Processing units in lock step, past which rows of words rotate."""

    name = "rotating"
    example = "nnu-1024"
    refuses: ClassVar[Mapping[str, str]] = {
        "networks": "a rotating machine's program is of one",
        "partition": "a rotating machine has one array, and no tiles",
        "cache": "a rotating machine keeps parameters in its weight RAM wherever they fit",
        "batches": "a rotating machine takes one inference at a time",
        "instant": "a rotating machine's transfers share the ports of its RAMs with the array",
        "on_packet": "packets are on a ring bus, and a rotating machine has none",
        "engine": "a rotating machine has no compiled engine",
        "masters": "those are of a ring bus, and a rotating machine has none",
    }
    run_time_keys = RUN_TIME_KEYS
    schema = Topology
    description = DESCRIPTION
    peak_bytes = staticmethod(peak_bytes)

    @property
    def assembly(self) -> Assembly[Program]:
        from tilesim.rotating.isa.assembly import ASSEMBLY

        return ASSEMBLY

    def compile(self, networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Program]:
        from tilesim.rotating.compiler.compile import compile_network

        return [compile_network(network, topology, options.say) for network in networks]

    def simulate(self, program: Program, inputs: Sequence[Array], options: RunOptions) -> Run:
        from tilesim.rotating.run.simulate import simulate

        return simulate(program, inputs, options)

    def faults(self, program: Program) -> list[str]:
        return program.once(faults)

    def summary(self, topology: Topology) -> dict[str, str]:
        return {
            "array": f"{topology.units.count:,} units",
            "MACs": f"{topology.macs_per_cycle:,}",
            **super().summary(topology),
            "buffer": format_bytes(topology.data_ram.rows * topology.row_bytes),
            "weights": format_bytes(topology.weight_ram.rows * topology.row_bytes),
        }

    def explain(self, program: Program) -> Sequence[Explanation]:
        from tilesim.rotating.explanations import explanations

        return explanations(program)

    def motion(self, program: Program, trace: Trace | None) -> Motion:
        from tilesim.rotating.motion import motion

        return motion(program, trace)

    def step(self, program: Program, inputs: Sequence[Array], trace: bool) -> ModelResult:
        from tilesim.rotating.stepped.simulate import step

        return step(program, inputs, trace)
