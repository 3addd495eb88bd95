"""A program for the chip's part of a network, joined with what the host does of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from math import prod

from tilesim.errors import CapacityError
from tilesim.lowering.operator_plan import axes_of
from tilesim.machines.host_steps import HostConstant, HostStep, is_portable, settings_of
from tilesim.network.graph import Network, Node, Tensor, macs
from tilesim.tiled.compiler.host_split import HostSplit
from tilesim.tiled.isa.model.instructions import Instruction, Outfeed
from tilesim.tiled.isa.model.program import AT_HOST, GivenTensor, HostTensor, Layer, Program
from tilesim.tiled.topology import Topology


def unportable(network: Network, host: Iterable[int]) -> Iterator[str]:
    """Why the host can't do some layers: sentences."""
    for layer in sorted(host):
        node = network.nodes[layer]
        if not is_portable(node.operator):
            yield (
                f"{network.name}: node {node.title} ({node.kind}) must be an operator that a tiled machine can run, "
                "which this one is not"
            )


def joined(split: HostSplit, program: Program) -> Program:
    """The program of the whole network."""
    network = split.whole
    if not split.host:
        return program
    inputs = tuple(_input(network, index, program) for index in network.inputs)
    given = [tensor for tensor in program.inputs if tensor.index not in network.inputs]
    ends = split.part.outputs
    outputs = tuple(_output(network, index, program, ends) for index in network.outputs)
    kept = [place for place, index in enumerate(network.outputs) if index in ends]
    numbers = [*kept, *range(len(outputs), len(outputs) + len(ends) - len(kept))]
    layers = split.layers

    def moved(op: Instruction) -> Instruction:
        op = replace(op, layer=layers[op.layer]) if op.layer >= 0 else op
        return replace(op, output=numbers[op.output]) if isinstance(op, Outfeed) else op

    return replace(
        program,
        load=tuple(map(moved, program.load)),
        run=tuple(map(moved, program.run)),
        inputs=inputs,
        outputs=outputs,
        taken=program.outputs[len(kept) :],
        given=tuple(_given(tensor, len(inputs)) for tensor in given),
        steps=tuple(_step(network, layer) for layer in _in_order(split)),
        constants=tuple(_constants(split)),
        layers=tuple(_layers(split, program)),
    )


def without_chip(split: HostSplit, topology: Topology, partition: str) -> Program:
    """The program of a network that the host does alone."""
    bare = Program(name=split.whole.name, topology=topology, load=(), run=(), partition=partition)
    return joined(split, bare)


def _input(network: Network, index: int, program: Program) -> HostTensor:
    known = next((tensor for tensor in program.inputs if tensor.index == index), None)
    return known or _at_host(network.tensors[index])


def _output(network: Network, index: int, program: Program, ends: tuple[int, ...]) -> HostTensor:
    return program.outputs[ends.index(index)] if index in ends else _at_host(network.tensors[index])


def _given(tensor: HostTensor, behind: int) -> GivenTensor:
    return GivenTensor(**{member.name: getattr(tensor, member.name) for member in fields(HostTensor)}, behind=behind)


def _at_host(tensor: Tensor) -> HostTensor:
    """A tensor that does not cross the host's link."""
    return HostTensor(
        name=tensor.name,
        index=tensor.index,
        dtype=str(tensor.dtype),
        shape=tensor.model_shape,
        axes=axes_of(tensor),
        element=AT_HOST,
        extent=(1, 1, prod(tensor.shape)),
        blocks=(),
    )


def _in_order(split: HostSplit) -> list[int]:
    """The host's layers: first those that tiles wait for, so that none stands behind a result that comes last."""
    network, waited = split.whole, set(split.part.inputs)
    early: set[int] = set()
    for layer in sorted(split.host, reverse=True):
        if network.nodes[layer].output in waited:
            early.add(layer)
            waited.update(network.nodes[layer].inputs)
    return [*sorted(early), *sorted(split.host - early)]


def _step(network: Network, layer: int) -> HostStep:
    node = network.nodes[layer]
    made, read = network.tensors[node.output], [network.tensors[index] for index in node.inputs]
    return HostStep(
        label=f"{node.kind}{layer}.host",
        layer=layer,
        operator=node.kind,
        reads=node.inputs,
        makes=node.output,
        dtype=str(made.dtype),
        shape=made.shape,
        read_bytes=sum(prod(tensor.shape) * tensor.dtype.itemsize for tensor in read),
        settings=settings_of(node.operator),
    )


def _constants(split: HostSplit) -> Iterator[HostConstant]:
    """Those that the host's layers read."""
    network = split.whole
    read = dict.fromkeys(index for layer in sorted(split.host) for index in network.nodes[layer].inputs)
    for index in read:
        tensor = network.tensors[index]
        if tensor.data is not None:
            data = tensor.data.copy().reshape(-1).view("uint8")
            yield HostConstant(f"constant{index}", data, index, str(tensor.data.dtype), tensor.data.shape)


def _layers(split: HostSplit, program: Program) -> Iterator[Layer]:
    chip = dict(zip(split.layers, program.layers, strict=False))
    for layer, node in enumerate(split.whole.nodes):
        yield chip[layer] if layer in chip else _host_layer(split.whole, node)


def _host_layer(network: Network, node: Node) -> Layer:
    return Layer(node.name, node.kind, macs(network, node), "host")


def must_be_portable(splits: Iterable[HostSplit]) -> None:
    """Raises CapacityError: for each layer that neither tiles nor the host know a sentence."""
    if lacking := [sentence for split in splits for sentence in unportable(split.whole, split.host)]:
        raise CapacityError(lacking)
