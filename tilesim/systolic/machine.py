"""The systolic machine, as the house sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from tilesim.batching.document import WeightSupply
from tilesim.errors import InputError, ProgramError
from tilesim.machines.instructions import Explanation
from tilesim.machines.machine import Array, Describes, Explains, PlansBatches, RunsInTurn
from tilesim.machines.options import CompileOptions, RunOptions
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.systolic.compiler.compile import compile_network, fastest, room_for
from tilesim.systolic.description import DESCRIPTION
from tilesim.systolic.isa.checks.hazards import hazards
from tilesim.systolic.isa.checks.program import faults
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.peak_bytes import peak_bytes
from tilesim.systolic.topology import Topology
from tilesim.units import format_bytes

if TYPE_CHECKING:
    from tilesim.assembly.files import Assembly

RUN_TIME_KEYS = frozenset(
    (
        *("host.bytes_per_cycle", "host.latency_cycles", "host.instruction_bytes_per_cycle"),
        *("sequencer.pipeline_cycles", "unified_buffer.width_bytes", "vector_unit.pipeline_cycles"),
    )
)
"""No clock is among them: how fast weights come decides how many vectors go through the array together."""


class Systolic(
    Describes[Topology, Program],
    PlansBatches[Topology, Program],
    RunsInTurn[Topology, Program],
    Explains[Topology, Program],
):
    """The weight-stationary array with its vector unit."""

    name = "systolic"
    example = "tpu-v1"
    refuses: ClassVar[Mapping[str, str]] = {
        "networks": "a systolic machine's program is of one",
        "partition": "a systolic machine has one array, and no tiles",
        "cache": "a systolic machine keeps parameters in weight memory",
        "on_packet": "packets are on a ring, and a systolic machine has none",
        "masters": "those are of a ring, and a systolic machine has none",
        "engine": "a systolic machine has no compiled engine",
    }
    run_time_keys = RUN_TIME_KEYS
    schema = Topology
    room = staticmethod(room_for)
    fastest = staticmethod(fastest)
    description = DESCRIPTION
    peak_bytes = staticmethod(peak_bytes)

    @property
    def assembly(self) -> Assembly[Program]:
        from tilesim.systolic.isa.assembly import ASSEMBLY

        return ASSEMBLY

    def compile(self, networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Program]:
        return [compile_network(network, topology, options.say, options.batches) for network in networks]

    def simulate(self, program: Program, inputs: Sequence[Array], options: RunOptions) -> Run:
        """A run of a program in which syncs order whatever meets in a memory."""
        from tilesim.systolic.run.simulate import simulate

        if wrong := program.once(_unsound):
            raise ProgramError(wrong)
        return simulate(program, inputs, options)

    def faults(self, program: Program) -> list[str]:
        return program.once(_unsound)

    def summary(self, topology: Topology) -> dict[str, str]:
        memory = topology.weight_memory
        return {
            "array": f"{topology.array.rows}x{topology.array.columns}",
            "MACs": f"{topology.macs_per_cycle:,}",
            **super().summary(topology),
            "buffer": format_bytes(topology.unified_buffer.size_bytes),
            "weights": f"{memory.clock_hz * memory.transfer_bytes / 1e9:,g} GB/s",
        }

    def link(self, programs: Sequence[Program], order: Sequence[int]) -> Program:
        """The one program, which is for all inferences."""
        [program] = programs[:1]
        if len(programs) > 1 or len(order) != program.inferences:
            raise InputError(
                f"{program.name}: the program is for {program.inferences} inferences of one network, not for "
                f"{len(order)}"
            )
        return program

    def simulate_requests(
        self, programs: Sequence[Program], order: Sequence[int], inputs: Sequence[Sequence[Array]], options: RunOptions
    ) -> Run:
        return self.simulate(self.link(programs, order), [array for arrays in inputs for array in arrays], options)

    def explain(self, program: Program) -> Sequence[Explanation]:
        from tilesim.systolic.explanations import explanations

        return explanations(program)

    def weight_supply(self, topology: Topology) -> WeightSupply:
        memory, array = topology.weight_memory, topology.array
        return {
            "rows": array.rows,
            "columns": array.columns,
            "tile_bytes": topology.weight_tile_bytes,
            "clock_hz": topology.clock_hz,
            "memory_clock_hz": memory.clock_hz,
            "channels": memory.channels,
            "channel_bytes": memory.channel_bytes,
        }

    def weight_tile_cycles(self, topology: Topology) -> Fraction:
        return topology.weight_tile_cycles


def _unsound(program: Program) -> list[str]:
    return program.once(faults) or hazards(program)
