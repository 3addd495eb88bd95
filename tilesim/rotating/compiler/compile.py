"""The compiler of the rotating machine: a network and a chip in, a program out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilesim.errors import CapacityError
from tilesim.lowering.operator_plan import axes_of
from tilesim.machines.options import Say, silent
from tilesim.network.graph import Network, macs
from tilesim.rotating.compiler.call import Call
from tilesim.rotating.compiler.ends import host_tensor
from tilesim.rotating.compiler.plan import RowPlan, plan_operators
from tilesim.rotating.compiler.stream import Stream
from tilesim.rotating.isa.model.program import Layer, Program, TensorPlace
from tilesim.rotating.topology import Topology


def compile_network(network: Network, topology: Topology, say: Say = silent) -> Program:
    """The program of one inference, layer by layer, each in as few passes as it takes.

    Maps stand whole in the data RAM while they are needed. Weights are in the weight RAM from the start; of those that
    it has no room for, a pass's come while the pass before works. ``say`` is told what was done.

    Raises:
        CapacityError: a network that does not fit, or has layers that this machine can't run.
    """
    _check_chip(topology)
    plan = plan_operators(network, topology)
    stream = Stream.of(plan, topology)
    stream.write()
    program = _program(plan, stream)
    _check_sequencer(program, stream)
    streamed = sum(stream.parts[part].rows for part in stream.residence.streamed)
    say(
        f"{network.name} on {topology.name}: {sum(part.rows for part in stream.parts)} rows of weights and parameters, "
        f"{streamed} of which come while it runs"
    )
    return program


def _program(plan: RowPlan, stream: Stream) -> Program:
    layout = stream.layouts
    return Program(
        name=plan.network.name,
        topology=stream.topology,
        load=tuple(stream.load()),
        run=tuple(stream.run()),
        data=stream.data(),
        inputs=tuple(host_tensor(source, layout[source.stored.index]) for source in plan.sources),
        outputs=tuple(host_tensor(sink, layout[sink.stored.index]) for sink in plan.sinks),
        layers=tuple(_layers(plan, stream.calls)),
        tensors=tuple(_tensors(plan, stream)),
    )


def _check_chip(topology: Topology) -> None:
    """What no program of the compiler is for."""
    if topology.units.segments > 1:
        raise CapacityError(
            f"{topology.name}: units.segments must be 1 for the compiler, not {topology.units.segments}"
        )
    if topology.weight_ram.shape != "rows":
        raise CapacityError(f"{topology.name}: weight_ram.shape must be rows for the compiler, not half_rows")


def _check_sequencer(program: Program, stream: Stream) -> None:
    """What the sequencer has no room for."""
    name, sequencer = f"{program.name} on {program.topology.name}", program.topology.sequencer
    needed = max(len(program.load), len(program.run))
    if needed > sequencer.instructions:
        raise CapacityError(
            f"{name}: must be at most {sequencer.instructions:,} instructions, what sequencer.instructions has room "
            f"for, not {needed:,}"
        )
    if stream.writer.depth > sequencer.loop_depth:
        raise CapacityError(
            f"{name}: sequencer.loop_depth must be at least the {stream.writer.depth} loops that stand in each other, "
            f"not {sequencer.loop_depth}"
        )


def _layers(plan: RowPlan, calls: Sequence[Call]) -> Iterator[Layer]:
    of_layer = {call.task.layer: call for call in calls if call.task.cut is None or call.task.cut.number == 0}
    for number, node in enumerate(plan.network.nodes):
        layer = Layer(node.name, node.kind, macs(plan.network, node))
        call = of_layer.get(number)
        yield layer if call is None else replace(layer, used_units=call.used_units, output_units=call.output_units)


def _tensors(plan: RowPlan, stream: Stream) -> Iterator[TensorPlace]:
    """All that can be read out: what comes from the host, and what each layer leaves, under each of its shapes."""
    after = {source.stored.index: 0 for source in plan.sources if source.stored.index in stream.placed}
    ends = zip(stream.calls, stream.ends, strict=True)
    after.update({stream.whole(call.task.output.index): end for call, end in ends})
    for tensor in plan.network.tensors.values():
        index = plan.stored(tensor.index).index
        if index in after and index in stream.placed:
            place = stream.placed[index]
            yield TensorPlace(
                tensor.index, tensor.name, place.row, after[index], place.layout, tensor.shape, axes_of(tensor),
                str(tensor.dtype),
            )  # fmt: skip
