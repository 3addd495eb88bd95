"""What of a network runs where: on the tiles, in the classifier, or at the host."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct, structs

from tilesim.arithmetic.table import inputs as every_input
from tilesim.errors import CapacityError
from tilesim.lowering.classifying import CHOICES, CLASSIFYING, Classifying
from tilesim.lowering.operator_plan import NetworkInput, NetworkOutput, OperatorPlan, network_inputs, nodes_and_root
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators.arg_max import ArgMax
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.reshape import Reshape
from tilesim.network.operators.softmax import Softmax
from tilesim.network.operators.table import Table
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.operators import OPERATORS
from tilesim.tiled.compiler.task import ELEMENT_TYPES

BYTES = {np.dtype(np.int8), np.dtype(np.uint8)}
FLATTENING = {"fullyconnected", "reshape"}
"""Layers that read a vector wherever its elements lie in a map."""
WEIGHTED = Convolution | DepthwiseConvolution | FullyConnected
"""Operators that subtract a zero point from what they read."""
LEAVING = {"dequantise", "output"}
"""What gets a vector as whole rows, in any order."""


class TileOutput(NetworkOutput, frozen=True):
    """What the classifier and the host still do to what the tiles hold: the classifier a softmax or a choice over a
    vector, then the host one that is over a map or follows a softmax, a look-up, a dequantisation.
    """

    classifying: Classifying | None = None
    classifier_layer: int = -1
    lookup: tuple[int, ...] = ()
    at_host: Classifying | None = None

    @property
    def elements(self) -> int:
        """Elements that leave the tiles."""
        return prod(self.stored.shape)


class TilePlan(OperatorPlan[TileOutput], frozen=True, dict=True):
    """The network sorted by place. Layers that are ``shifted`` only move zero points, which what reads them does
    instead.
    """

    shifted: frozenset[int] = frozenset()

    @cached_property
    def steps(self) -> list[tuple[int, Node]]:
        """Layers and nodes for the tiles."""
        return list(self.nodes.items())

    def place(self, layer: int) -> str:
        """Where a layer runs, as :class:`~tilesim.tiled.isa.model.program.Layer` has it."""
        if layer in self.nodes:
            return "tiles"
        if any(layer == sink.classifier_layer for sink in self.sinks):
            return "classifier"
        aside = layer in self.shifted or isinstance(self.network.nodes[layer].operator, Reshape | Pad)
        return "nowhere" if aside else "host"

    def activations(self, node: Node) -> list[Tensor]:
        """The stored tensors that a node reads."""
        return [self.stored(i) for i in node.inputs if self.network.tensors[i].data is None]

    @cached_property
    def reading(self) -> dict[int, list[int]]:
        """The steps (the first is 1) that read each stored tensor."""
        steps: dict[int, list[int]] = {}
        for step, (_, node) in enumerate(self.steps, 1):
            for index in dict.fromkeys(tensor.index for tensor in self.activations(node)):
                steps.setdefault(index, []).append(step)
        return steps

    def readers(self, index: int) -> list[Node]:
        """The nodes on the tiles that read a stored tensor."""
        return [self.steps[step - 1][1] for step in self.reading.get(index, ())]


class PlanFault(Struct, frozen=True):
    """Why the chip can't do a network as it is: a sentence about the layer that makes a ``tensor``, or an input."""

    tensor: int
    sentence: str


def plan_operators(network: Network, word_bytes: int, absorbs: bool = False) -> TilePlan:
    """Sort the nodes by place. With ``absorbs`` layers that only move the zero point of a network's input run nowhere:
    what reads them subtracts another zero point.
    """
    plan, faults = sorted_operators(network, word_bytes, absorbs)
    if faults:
        raise CapacityError([fault.sentence for fault in faults])
    finishing = _finishing(network)
    return structs.replace(plan, sinks=[_output(plan, index, finishing) for index in network.outputs])


def sorted_operators(network: Network, word_bytes: int, absorbs: bool = False) -> tuple[TilePlan, list[PlanFault]]:
    """The nodes by place, without outputs, and what keeps the chip from doing them."""
    inputs, at_host = network_inputs(network)
    finishing = _finishing(network)
    nodes, root = nodes_and_root(network, at_host | finishing)
    after = absorb_shifts(network, nodes, {each.stored.index for each in inputs}) if absorbs else nodes
    plan = TilePlan(network, after, root, inputs, (), frozenset(nodes.keys() - after.keys()))
    faults = [
        *_shape_faults(network),
        *_input_faults(network, inputs),
        *(fault for node in plan.nodes.values() for fault in _faults(network, node, word_bytes)),
        *_reshape_faults(plan, word_bytes),
        *_classifier_faults(network, finishing),
    ]
    return plan, faults


def absorb_shifts(network: Network, nodes: Mapping[int, Node], sources: Container[int]) -> dict[int, Node]:
    """The nodes without those that turn int8 into uint8 of the same meaning, or back, at one of the ``sources``, and
    that only convolutions and fully connected layers read: these have another zero point instead, as their words may
    be of either type.
    """
    left = dict(nodes)
    for layer, node in nodes.items():
        op, index = node.operator, node.inputs[0]
        if not isinstance(op, Rescale) or index not in sources or node.output in network.outputs:
            continue
        readers = {k: other for k, other in left.items() if node.output in other.inputs}
        known = {id(reader) for reader in network.nodes if node.output in reader.inputs}
        before, after = network.tensors[index], network.tensors[node.output]
        shift = _shift(op, before.dtype) if {before.dtype, after.dtype} <= BYTES else None
        if shift is None or len(known) != len(readers) or not all(_shifts(r, node) for r in readers.values()):
            continue
        zero_points = {reader.operator.input_zero_point - shift for reader in readers.values()}  # type: ignore[attr-defined]
        if zero_points != {before.quantisation.zero_point if before.quantisation else 0}:
            continue
        del left[layer]
        left.update({k: _shifted(reader, index, zero_points) for k, reader in readers.items()})
    return left


def _shift(op: Rescale, dtype: np.dtype[Any]) -> int | None:
    """What a rescaling adds to each byte; None if it is not the same for all."""
    values = every_input(dtype)
    added = {int(out) - int(value) for value, out in zip(values, op.evaluate([values]), strict=True)}
    return added.pop() if len(added) == 1 else None


def _shifts(reader: Node, node: Node) -> bool:
    return isinstance(reader.operator, WEIGHTED) and reader.inputs[0] == node.output not in reader.inputs[1:]


def _shifted(reader: Node, index: int, zero_points: set[int]) -> Node:
    op = replace(reader.operator, input_zero_point=min(zero_points))  # type: ignore[type-var]
    return replace(reader, inputs=(index, *reader.inputs[1:]), operator=op)


TAIL = ((Dequantise,), (Rescale, Table), CHOICES, (Softmax,))
"""What the classifier and the host can do on the way out, from the output backwards."""


def _tail(network: Network, output: int) -> dict[int, Node]:
    """The nodes at an output that need not run on the tiles, from the last one backwards; a look-up that follows no
    softmax or choice is none of them, nor is a softmax over a map before a choice, as the host makes one of them only.
    """
    makers = {node.output: (layer, node) for layer, node in enumerate(network.nodes)}
    tail: dict[int, Node] = {}
    for kinds in TAIL:
        if output not in makers or not isinstance(makers[output][1].operator, kinds):
            continue
        layer, node = makers[output]
        if _chooses(tail) and _over_map(network, node):
            break
        tail[layer], output = node, node.inputs[0]
    if any(isinstance(node.operator, CLASSIFYING) for node in tail.values()):
        return tail
    return {layer: node for layer, node in tail.items() if isinstance(node.operator, Dequantise)}


def _chooses(tail: dict[int, Node]) -> bool:
    return any(isinstance(node.operator, CHOICES) for node in tail.values())


def _over_map(network: Network, node: Node) -> bool:
    """Whether it works on each pixel of several by itself."""
    return MapShape.of(network.tensors[node.inputs[0]].shape).pixels > 1


def _finishing(network: Network) -> set[int]:
    """Layers that the classifier or the host runs on the way out, as nothing on the tiles reads their results."""
    layers = {layer for output in network.outputs for layer in _tail(network, output)}
    while True:
        used = {i for layer, node in enumerate(network.nodes) if layer not in layers for i in node.inputs}
        kept = {layer for layer in layers if network.nodes[layer].output not in used}
        if kept == layers:
            return kept
        layers = kept


def _output(plan: TilePlan, index: int, finishing: set[int]) -> TileOutput:
    network = plan.network
    tail = [(layer, node) for layer, node in _tail(network, index).items() if layer in finishing]
    output = TileOutput(network.tensors[index], plan.stored(tail[-1][1].inputs[0] if tail else index))
    for layer, node in tail:
        op, source = node.operator, network.tensors[node.inputs[0]]
        if isinstance(op, Dequantise):
            output = structs.replace(output, dequantise=op)
        elif isinstance(op, CLASSIFYING) and (_over_map(network, node) or _follows_softmax(tail, op)):
            output = structs.replace(output, at_host=op)
        elif isinstance(op, CLASSIFYING):
            output = structs.replace(output, classifying=op, classifier_layer=layer)
        else:
            output = structs.replace(
                output, lookup=tuple(int(entry) for entry in op.evaluate([every_input(source.dtype)]))
            )
    return output


def _follows_softmax(tail: list[tuple[int, Node]], op: Classifying) -> bool:
    return isinstance(op, CHOICES) and any(isinstance(node.operator, Softmax) for _, node in tail)


def _faults(network: Network, node: Node, word_bytes: int) -> Iterator[PlanFault]:
    traits = OPERATORS.get(type(node.operator))
    faults = (
        ["must stand at an input or an output of the network, not between layers"]
        if traits is None
        else [*_type_faults(network, node), *traits.faults(network, node, word_bytes)]
    )
    subject = f"{network.name}: node {node.title} ({node.kind})"
    yield from (PlanFault(node.output, f"{subject} {fault}") for fault in faults)


def _type_faults(network: Network, node: Node) -> list[str]:
    """Parameters apart, tiles hold integers of 8 or 16 bits."""
    tensors = [network.tensors[index] for index in (*node.inputs, node.output)]
    wrong = {str(tensor.dtype) for tensor in tensors if tensor.data is None and tensor.dtype not in ELEMENT_TYPES}
    uneven = [
        f"must have a zero point of 0 in {tensor.title}, which is int16, not {tensor.quantisation.zero_point}"
        for tensor in tensors
        if tensor.data is None and tensor.dtype == np.int16 and tensor.quantisation and tensor.quantisation.zero_point
    ]
    return [*(f"must work on int8, uint8 or int16, not on {dtype}" for dtype in sorted(wrong)), *uneven]


def _input_faults(network: Network, inputs: Sequence[NetworkInput]) -> list[PlanFault]:
    return [
        PlanFault(
            each.model.index,
            f"{network.name}: input {each.model.title} must be int8, uint8 or int16, or quantised to them, not "
            f"{each.stored.dtype}",
        )
        for each in inputs
        if each.stored.dtype not in ELEMENT_TYPES
    ]


def _classifier_faults(network: Network, finishing: set[int]) -> list[PlanFault]:
    """Classifier and host choose among bytes."""
    nodes = [network.nodes[layer] for layer in sorted(finishing)]
    return [
        PlanFault(
            node.output, f"{network.name}: node {node.title} ({node.kind}) must work on int8 or uint8, not on int16"
        )
        for node in nodes
        if not isinstance(node.operator, Dequantise)
        and any(network.tensors[index].dtype == np.int16 for index in (node.inputs[0], node.output))
    ]


def _shape_faults(network: Network) -> list[PlanFault]:
    """A map is (1, height, width, channels), a vector (1, n)."""
    fixed = {index for index, tensor in network.tensors.items() if tensor.data is not None}
    made = [
        (network.tensors[node.output], f"node {node.title} ({node.kind})")
        for node in network.nodes
        if not isinstance(node.operator, ArgMax)  # which may make places without channels
    ]
    given = [(network.tensors[index], f"input {network.tensors[index].title}") for index in network.inputs]
    return [
        PlanFault(
            tensor.index,
            f"{network.name}: {who} must make one map (1, height, width, channels) or one vector (1, n), not "
            f"{tensor.shape}",
        )
        for tensor, who in (*given, *made)
        if tensor.index not in fixed
        and (len(tensor.shape) not in (1, 2, 4) or prod(tensor.shape[: -3 if len(tensor.shape) == 4 else -1]) != 1)
    ]


def _reshape_faults(plan: TilePlan, word_bytes: int) -> list[PlanFault]:
    """A reshape moves nothing, so its readers must be able to use the bytes where they lie."""
    network, faults = plan.network, []
    for node in network.nodes:
        if not isinstance(node.operator, Reshape):
            continue
        before, after = MapShape.of(plan.stored(node.output).shape), MapShape.of(network.tensors[node.output].shape)
        readers = {reader.kind for reader in network.nodes if node.output in reader.inputs}
        readers |= {"output"} if node.output in network.outputs else set()
        whole_words = before.channels % word_bytes == 0 or before.pixels == 1
        flattens = after.pixels == 1 and readers <= ({*LEAVING, *FLATTENING} if whole_words else FLATTENING)
        if before != after and not flattens:
            sentence = (
                f"{network.name}: node {node.title} (reshape) must leave its shape alone, flatten a map for fully "
                f"connected layers, or flatten one whose channels fill words of {word_bytes} bytes for an output, not "
                f"turn {before} into {after}"
            )
            faults.append(PlanFault(node.output, sentence))
    return faults
