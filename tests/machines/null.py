"""The smallest machine that keeps the contract: one unit, which computes a layer an instruction with the golden
operators. It is what somebody writes first who adds a machine, and is registered from outside.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import simpy
from pydantic import Field

from tilesim.assembly.files import Assembly
from tilesim.assembly.records import Grammar
from tilesim.errors import refuse
from tilesim.machines import frame, host, program, statistics, topology
from tilesim.machines.accounts import accounts_of
from tilesim.machines.machine import Array, Machine
from tilesim.machines.options import CompileOptions, RunOptions
from tilesim.machines.program import DataSegment, Layer
from tilesim.network.graph import Network, macs
from tilesim.run import Run
from tilesim.sim.bottleneck import Bottleneck
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.statistics import LayerStatistics


class Topology(topology.Topology):
    machine: Annotated[Literal["null"], Field(description="the kind of chip that this is")]
    clock_hz: topology.Clock = 1_000_000
    layer_cycles: Annotated[int, Field(ge=1, description="cycles that any layer takes")] = 10


@dataclass(frozen=True)
class Evaluate:
    layer: int = -1
    label: str = ""
    mnemonic: ClassVar[str] = "evaluate"


@dataclass(frozen=True)
class HostTensor(program.HostTensor):
    scale = 0.01  # of what is made up for inputs of floats; the network quantises them itself


@dataclass(frozen=True, eq=False)
class Program(program.Program):
    topology: Topology = field(repr=False)
    load: tuple[Evaluate, ...] = field(repr=False)
    run: tuple[Evaluate, ...] = field(repr=False)
    inputs: tuple[HostTensor, ...] = field(default=(), repr=False)
    outputs: tuple[HostTensor, ...] = field(default=(), repr=False)


class Null(Machine[Topology, Program]):
    """Computes, and takes the same time for every layer."""

    name = "null"
    refuses: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("networks", "partition", "cache", "batches", "masters", "holds", "instant"),
        "a null machine has one unit and no choice",
    )
    schema = Topology
    directives: ClassVar = {".data": "data", ".input": "inputs", ".output": "outputs", ".layer": "layers"}
    assembly = Assembly(Program, (Evaluate,), directives, Grammar())

    def compile(self, networks: Sequence[Network], topology: Topology, _options: CompileOptions) -> list[Program]:
        [network] = networks
        run = tuple(Evaluate(k, f"layer{k}") for k in range(len(network.nodes)))
        data = (DataSegment("network", np.frombuffer(pickle.dumps(network), np.uint8)),)
        inputs, outputs = (tuple(_tensor(network, k) for k in ends) for ends in (network.inputs, network.outputs))
        layers = tuple(Layer(node.name, node.kind, macs(network, node)) for node in network.nodes)
        return [Program(network.name, topology, (), run, data, inputs, outputs, layers)]

    def faults(self, _program: Program) -> list[str]:
        return []

    def simulate(self, program: Program, inputs: Sequence[Array], options: RunOptions) -> Run:
        refuse(options.faults())
        host.samples_of(program.inputs, inputs)
        network: Network = pickle.loads(program.data[0].data.tobytes())  # noqa: S301  (the test wrote it)
        pairs = zip(network.inputs, inputs, strict=True)
        values = network.evaluate([network.tensors[index].from_model(array) for index, array in pairs])
        clock, recorder = Clock(), frame.recorder_of(options)
        unit = Unit(clock, "chip.evaluator", recorder)
        frame.must_match_tracks(options, program, [unit])
        if recorder:
            recorder.begin(0)
        clock.process(_work(unit, program))
        clock.run()
        trace = frame.trace_of(program, recorder)
        cycles, each = clock.cycle, program.topology.layer_cycles
        ends = {"start_cycle": 0, "end_cycle": cycles, "latency_cycles": cycles}
        request = {"network": program.name, **ends, "outputs": [*range(len(program.outputs))]}
        document = statistics.document(
            program, range(cycles), load_cycles=0, macs=network.macs, peak_macs_per_cycle=0,
            accounts=accounts_of(program, [unit]),
            bottleneck=Bottleneck(Counter(macs=cycles)),
            layers=[_layer(program, k, each) for k in range(len(program.layers))],
            requests=[request], throughput_per_second=program.topology.clock_hz / cycles, trace=trace,
        )  # fmt: skip
        tensors = {k: network.tensors[k].to_model(value) for k, value in values.items() if options.keep_tensors}
        outputs = [network.tensors[index].to_model(values[index]) for index in network.outputs]
        return Run(outputs, cycles, document, tensors, trace)


def _work(unit: Unit, program: Program) -> Generator[simpy.Event, Any, None]:
    for op in program.run:
        yield from unit.begin(op.label)
        yield unit.clock.timeout(program.topology.layer_cycles)
        unit.spend(BUSY)


def _layer(program: Program, number: int, cycles: int) -> LayerStatistics:
    layer = program.layers[number]
    return {
        "network": program.name, "name": layer.name, "kind": layer.kind, "macs": layer.macs, "tiles": 1,
        "start_cycle": number * cycles, "cycles": cycles, "mac_utilisation": 0.0, "mac_busy_cycles": cycles,
        "bytes": {}, "bound_by": "macs", "breakdown": {"macs": cycles},
    }  # fmt: skip


def _tensor(network: Network, index: int) -> HostTensor:
    tensor = network.tensors[index]
    shape = tuple(tensor.model_shape)
    return HostTensor(tensor.name, index, tensor.dtype.name, shape, tuple(range(len(shape))), "int8")
