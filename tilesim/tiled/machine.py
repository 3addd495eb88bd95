"""The multi-tile chip, as the house sees it. What takes long to import, and not every run needs, comes late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tilesim.lowering.equal_shapes import with_equal_shapes
from tilesim.machines import machine
from tilesim.machines.instructions import Explanation
from tilesim.machines.options import CompileOptions, RunOptions, Say
from tilesim.machines.policies import AUTO, CHANNEL, ONE, SPATIAL
from tilesim.machines.verify import COLLIDED, ENDED, hung
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.tiled.description import DESCRIPTION
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.link import link_programs
from tilesim.tiled.peak_bytes import peak_bytes
from tilesim.tiled.run import core
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes

if TYPE_CHECKING:
    from tilesim.assembly.files import Assembly
    from tilesim.machines.trial import Suite, Trial

WAYS = {SPATIAL: "be spread over rows and columns", CHANNEL: "be spread by channel", ONE: "be kept in one tile"}
ELSEWHERE = {
    "tiles": "it has nothing to spread",
    "classifier": "it runs in the classifier",
    "host": "it runs at the host",
    "nowhere": "there is nothing to do for it",
}
"""Why a layer that is not spread is not."""
LINK_RATES = ("host.to_chip_bytes_per_second", "host.from_chip_bytes_per_second")
RUN_TIME_KEYS = frozenset(
    (
        "clock_hz",
        *("host.bytes_per_cycle", "host.latency_cycles", "host.request_ns", "host.step_bytes_per_second"),
        *LINK_RATES,
        *("instruction_bus.width_bytes", "instruction_bus.hop_cycles", "ring.hop_cycles"),
        *("mesh.hop_cycles", "mesh.credits", "wide_memory.ports"),
        *("tile.output_fifo_groups", "tile.traversal", "tile.multiplier_cycles", "classifier.cycles_per_element"),
    )
)
"""Rates at which parameters come, data_memory.bytes_per_cycle and ring.width_bytes, are none of them, nor is that of
what neighbours exchange, mesh.width_bytes: they decide how layers are made.
"""


class Tiled(
    machine.Describes[Topology, Program],
    machine.Proves[Topology, Program],
    machine.TriesMasters[Topology, Program],
    machine.PlansCache[Topology, Program],
    machine.Spreads[Topology, Program],
    machine.RunsInTurn[Topology, Program],
    machine.Explains[Topology, Program],
    machine.SecondModel[Topology, Program],
):
    """The multi-tile chip."""

    name = "tiled"
    example = "edge-4x4"
    refuses: ClassVar[Mapping[str, str]] = {"batches": "tiles run one inference after the other"}
    run_time_keys = RUN_TIME_KEYS
    has_compiled_engine = True
    schema = Topology
    link = staticmethod(link_programs)
    description = DESCRIPTION
    peak_bytes = staticmethod(peak_bytes)

    @property
    def assembly(self) -> Assembly[Program]:
        from tilesim.tiled.isa.assembly import ASSEMBLY

        return ASSEMBLY

    def compile(self, networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Program]:
        from tilesim.tiled.compiler.compile import must_be_sound
        from tilesim.tiled.split_networks import compile_split

        split = compile_split([with_equal_shapes(network) for network in networks], topology, options)
        programs = [_of_model(program, network) for program, network in zip(split, networks, strict=True)]
        must_be_sound(programs)  # what tiles do was proven before the steps of the host were put around it
        return programs

    def simulate(self, program: Program, inputs: Sequence[machine.Array], options: RunOptions) -> Run:
        from tilesim.tiled.run.simulate import simulate

        return simulate(program, inputs, options)

    def simulate_requests(
        self,
        programs: Sequence[Program],
        order: Sequence[int],
        inputs: Sequence[Sequence[machine.Array]],
        options: RunOptions,
    ) -> Run:
        from tilesim.tiled.run.simulate import simulate_requests

        return simulate_requests(programs, order, inputs, options)

    def faults(self, program: Program) -> list[str]:
        return [] if program.is_known_sound else program.once(faults)

    def engines(self) -> dict[str, str]:
        return {"compiled": core.standing()}

    def summary(self, topology: Topology) -> dict[str, str]:
        return {
            "grid": f"{topology.grid.rows}x{topology.grid.columns}",
            "MACs": f"{topology.tiles * topology.macs_per_cycle:,}",
            **super().summary(topology),
            "narrow": format_bytes(topology.narrow_memory.size_bytes),
            "wide": format_bytes(topology.wide_memory.size_bytes),
        }

    def keys_at_run_time(self, topology: Topology) -> frozenset[str]:
        if not topology.host.sends_parameters:
            return RUN_TIME_KEYS
        return RUN_TIME_KEYS - {"clock_hz", "host.bytes_per_cycle", *LINK_RATES}  # rates at which parameters come

    def check(self, programs: Sequence[Program], masters: str, say: Say) -> machine.Check:
        from tilesim.tiled.counterexamples import seen
        from tilesim.tiled.rules.proof import proof_of
        from tilesim.tiled.rules.ring.readings import reading_of
        from tilesim.tiled.rules.tile.regions import overlaps_between

        reading = reading_of(masters)
        proofs = [proof_of(program, reading) for program in programs]
        say("looking for start times with which refuted transfers are seen")
        return machine.Check(tuple(seen(proof).document() for proof in proofs), tuple(overlaps_between(programs)))

    def try_masters(self, source: Path | str, masters: str) -> Trial:
        from tilesim.tiled.laboratory.scenario import read_scenario
        from tilesim.tiled.laboratory.suite import case_named
        from tilesim.tiled.laboratory.trial import tried
        from tilesim.tiled.rules.ring.readings import reading_of

        reading = reading_of(masters)
        if Path(source).suffix or "/" in str(source):
            return tried(read_scenario(Path(source)), Path(source).stem, reading)
        return tried(case_named(str(source)).scenario, str(source), reading)

    def masters_suite(self) -> Suite:
        from tilesim.tiled.laboratory.suite import suite

        return suite()

    def suggest(self, program: Program, masters: str, say: Say) -> machine.Suggestion[Program]:
        from tilesim.tiled.mending.suggestion import suggested
        from tilesim.tiled.rules.ring.readings import reading_of

        return suggested(program, reading_of(masters), say)

    def judge(self, packets: Path, masters: str) -> machine.Document:
        from tilesim.tiled.ring_trace import judged
        from tilesim.tiled.rules.ring.readings import reading_of

        return judged(packets, reading_of(masters))

    def cache_plan(
        self, networks: Mapping[str, Network], topology: Topology, options: CompileOptions
    ) -> machine.HasCacheDocument:
        from tilesim.tiled.cache_plan import plan_cache
        from tilesim.tiled.split_networks import chip_parts

        alike = {name: with_equal_shapes(network) for name, network in networks.items()}
        parts, asked = chip_parts(alike, topology, options)
        return plan_cache(parts, topology, asked)

    def unmet(self, program: Program, wishes: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        from tilesim.tiled.compiler.channels import IN_ONE_TILE

        for k, choice in sorted(wishes.items()):
            layer = program.layers[k]
            if choice not in {AUTO, layer.spread} and (choice, layer.reason) != (ONE, IN_ONE_TILE):
                yield k, f"could not {WAYS[choice]}: {layer.reason if layer.spread else ELSEWHERE[layer.place]}"

    def explain(self, program: Program) -> Sequence[Explanation]:
        from tilesim.tiled.explanations import explanations

        return explanations(program)

    def step(self, program: Program, inputs: Sequence[machine.Array], trace: bool) -> machine.ModelResult:
        from tilesim.tiled import stepped

        outcome = stepped.simulate(program, inputs, trace=trace)
        if outcome.collided:
            return machine.ModelResult(COLLIDED)
        if outcome.hung:
            return machine.ModelResult(hung(outcome.hung))
        spans = tuple(outcome.spans)
        return machine.ModelResult(ENDED, outcome.outputs, outcome.cycles, outcome.load_cycles, outcome.units, spans)


def _of_model(program: Program, network: Network) -> Program:
    """The program, of which no tensors can be read out that its model does not have."""
    if all(layout.index in network.tensors for layout in program.tensors):
        return program
    tensors = tuple(layout for layout in program.tensors if layout.index in network.tensors)
    pieces = tuple(piece for piece in program.pieces if piece.index in network.tensors)
    return replace(program, tensors=tensors, pieces=pieces)
