"""An ONNX graph while it is read: its values by name, and the network that grows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeVar

import numpy as np
import onnx
from numpy.typing import NDArray

from tilesim.errors import ModelError
from tilesim.network.graph import Array, Node, Operator, Quantisation, Tensor, titled
from tilesim.network.readers.builder import ACTIVATION_DTYPES, MAX_ELEMENTS, Built, NetworkBuilder, quantisation
from tilesim.network.readers.fault import ModelFault, gather, wrong_type
from tilesim.network.readers.onnx_values import Constant, Dequantised, Integers, Pending, Reals, Target, Value, target

MAP_AXES = (0, 3, 1, 2)
"""A map's model axes (N, C, H, W) among its canonical ones."""

NEXT_TO_NOTHING = float(np.finfo(np.float32).eps)

T = TypeVar("T")


@dataclass
class Graph:
    """Values by name, and the network so far."""

    builder: NetworkBuilder
    indices: dict[str, int]
    uses: dict[str, list[str]]
    """The operators that take each value, and ``""`` for an output."""
    opset: int
    """The version of ONNX's operators."""
    node_names: dict[str, str]
    """By the value that it makes, each node's name that no other node has, and no layer yet."""
    values: dict[str, Value] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    spoiled: set[str] = field(default_factory=set)
    """Names of values that a fault, already reported, has left without a value."""
    quantised: dict[str, Target] = field(default_factory=dict)
    """What each QuantizeLinear gives."""
    turned: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    """Tensors, by those that they were and by the order that their axes got."""
    flattened: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Vectors that a map (C, H, W) was flattened into: the file counts them by channel, the network by row."""

    @classmethod
    def of(cls, model: onnx.ModelProto, faults: list[str]) -> Graph:
        """A graph with its constants and inputs, before any node is read; ``faults`` gets what is wrong with them."""
        graph, opsets = model.graph, [known.version for known in model.opset_import if known.domain in {"", "ai.onnx"}]
        names = [value.name for value in graph.input]
        names += [name for node in graph.node for name in (*node.input, *node.output) if name]
        indices = {name: index for index, name in enumerate(dict.fromkeys(names))}
        uses: dict[str, list[str]] = {name: [] for name in indices}
        for name, kind in [(name, node.op_type) for node in graph.node for name in node.input if name]:
            uses[name].append(kind)
        for value in graph.output:
            uses.setdefault(value.name, []).append("")
        builder = NetworkBuilder({}, first_free=len(indices))
        reader = cls(builder, indices, uses, min(opsets, default=1), _node_names(graph.node))
        gather(faults, graph.initializer, reader._add_constant)
        constants = {initializer.name for initializer in graph.initializer}
        gather(faults, [value for value in graph.input if value.name not in constants], reader._add_input)
        reader.spoiled = constants.union(value.name for value in graph.input) - reader.values.keys()
        return reader

    def _add_constant(self, initializer: onnx.TensorProto) -> None:
        self.values[initializer.name] = Constant(array_of(initializer))

    def _add_input(self, value: onnx.ValueInfoProto) -> None:
        kind = value.type.tensor_type
        dtype = onnx_dtype(kind.elem_type)
        # a free batch is one sample
        model_shape = tuple(d.dim_value if d.dim_value > 0 or axis else 1 for axis, d in enumerate(kind.shape.dim))
        if min(model_shape, default=0) < 1 or prod(model_shape) > MAX_ELEMENTS:
            sentence = f"input {titled(value.name)}: must have a fixed shape, not {list(model_shape)}"
            raise ModelError(ModelFault(sentence, "shape", name=value.name))
        if dtype not in {*ACTIVATION_DTYPES, np.dtype(np.float32)}:
            raise wrong_type(f"input {titled(value.name)}: must be float32, int8 or uint8", dtype.name, value.name)
        index = self._tensor(value.name, dtype, _canonical(model_shape), None)
        self.values[value.name] = Reals(index) if dtype == np.float32 else Integers(index)
        self.inputs.append(index)

    def _tensor(
        self,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        known: Quantisation | None,
        axes: tuple[int, ...] | None = None,
    ) -> int:
        index = self.indices[name]
        if axes is None:
            axes = MAP_AXES if len(shape) == 4 else None
        elif axes == tuple(range(len(axes))):
            axes = None
        self.builder.tensors[index] = Tensor(index, name, dtype, shape, known, model_axes=axes)
        return index

    @property
    def real_inputs(self) -> list[int]:
        """The inputs that are float32."""
        return [index for index in self.inputs if self.builder.tensors[index].dtype == np.float32]

    def value(self, name: str) -> Value:
        if name not in self.values:
            raise ModelError(f"{titled(name) or 'an absent input'} must be a value that is ready")
        return self.values[name]

    def constant(self, name: str) -> Array:
        value = self.value(name)
        if not isinstance(value, Constant):
            raise ModelError(f"{titled(name)} must be a constant")
        return value.array

    def operand(self, names: Sequence[str], axis: int = 0) -> Dequantised:
        """What integers (value, scale and, unless absent, zero point) stand for."""
        value = self.value(names[0])
        if isinstance(value, Constant):
            known = self.quantisation(names[0], names[1:], value.array.dtype)
            return Dequantised(names[0], -1, value.array, value.array.dtype, known, axis)
        if not isinstance(value, Integers):
            raise ModelError(f"{titled(names[0])} must be integers")
        tensor = self.builder.tensors[value.index]
        known = self.quantisation(names[0], names[1:], tensor.dtype)
        if known.scale.ndim:
            raise ModelError(f"{tensor.title} must have one scale")
        before, zero_point = tensor.quantisation or known, known.zero_point
        if before.zero_point != zero_point:
            raise ModelError(f"{tensor.title} must have zero point {before.zero_point} here too, not {zero_point}")
        self.builder.tensors[tensor.index] = replace(tensor, quantisation=before)
        return Dequantised(names[0], value.index, None, tensor.dtype, known)

    def quantisation(self, of: str, names: Sequence[str], dtype: np.dtype[Any]) -> Quantisation:
        """The checked constants (scale, zero point if any) of value ``of``."""
        zero_points = self.constant(names[1]) if len(names) > 1 and names[1] else np.zeros(1, dtype)
        if dtype.kind not in "iu" or zero_points.dtype != dtype:
            kind = zero_points.dtype
            raise ModelError(f"{titled(of)} must be integers like its zero point's {kind}, not {dtype}")
        try:
            return quantisation(self.constant(names[0]), zero_points, dtype)
        except ModelError as error:
            raise ModelError(f"{titled(of)}: {fault}" for fault in error.faults) from None

    def target(self, name: str, names: Sequence[str]) -> Target:
        """What (scale, zero point if any) ask of the value ``name``."""
        dtype = self.constant(names[1]).dtype if len(names) > 1 and names[1] else np.dtype(np.uint8)
        if dtype not in ACTIVATION_DTYPES:
            raise wrong_type(f"{titled(name)} must be quantised to int8 or uint8", dtype.name)
        known = self.quantisation(name, names, dtype)
        if known.scale.ndim:
            raise ModelError(f"{titled(name)} must have one scale")
        return target(dtype, known)

    def pend(self, name: str, pending: Pending) -> None:
        """Keep an operator as the reals ``name`` until they are quantised."""
        shared = pending.shared or len(self.uses[name]) > 1
        self.values[name] = replace(pending, shared=shared, made=pending.made or name)

    def emit(self, name: str, pending: Pending, wanted: Target) -> None:
        """Finish an operator, now that its output's quantisation is known, as the integer value ``name``."""
        if not _leaves_all(pending, wanted):
            clamp = _bound(pending.low, wanted), _bound(pending.high, wanted)
            wanted = replace(wanted, clamp=clamp, fused=False)
        built = pending.build(replace(wanted, fused=wanted.fused and not pending.shared))
        self.add(name, built, wanted, pending.made, pending.axes)
        if pending.flattened is not None:
            self.flattened[self.indices[name]] = pending.flattened

    def add(self, name: str, built: Built, wanted: Target, made: str = "", axes: tuple[int, ...] | None = None) -> None:
        """Add a node that makes the integer value ``name``, of an operator that makes the reals ``made`` or nothing
        else.
        """
        if prod(built.shape) > MAX_ELEMENTS:
            raise ModelError(f"{titled(name)} must have at most {MAX_ELEMENTS} elements, not shape {list(built.shape)}")
        index = self._tensor(name, wanted.dtype, built.shape, wanted.quantisation, axes)
        self.builder.nodes.append(Node(self.node_names.pop(made or name, name), built.operator, built.inputs, index))
        self.values[name] = Integers(index)

    def stand_in(self, name: str, model_shape: tuple[int, ...], wanted: Target) -> bool:
        """Let the integer value ``name`` be there without a node that makes it, as a fault keeps that away."""
        if prod(model_shape) > MAX_ELEMENTS:
            return False
        self.values[name] = Integers(self._tensor(name, wanted.dtype, _canonical(model_shape), wanted.quantisation))
        return True

    def add_integers(
        self,
        name: str,
        built: Built,
        dtype: np.dtype[Any],
        known: Quantisation | None = None,
        axes: tuple[int, ...] | None = None,
    ) -> int:
        """Add a node that makes ``name``, integers of which no operator asks what they stand for unless that is
        ``known``.
        """
        index = self._tensor(name, dtype, built.shape, known, axes)
        self.builder.nodes.append(Node(self.node_names.pop(name, name), built.operator, built.inputs, index))
        self.values[name] = Integers(index)
        return index

    def add_derived(self, name: str, built: Built, like: Tensor, axes: tuple[int, ...]) -> int:
        """Add a node that makes integers which the file does not hold, as it holds the reals ``name`` instead."""
        index = self.builder.placed(f"{name}/integers", like, built.shape)
        own = None if axes == tuple(range(len(axes))) else axes
        self.builder.tensors[index] = replace(self.builder.tensors[index], model_axes=own)
        self.builder.nodes.append(Node(self.node_names.pop(name, name), built.operator, built.inputs, index))
        return index

    def add_reals(self, name: str, operator: Operator, source: int) -> int:
        """Add a node that makes the float32 output ``name`` of tensor ``source``."""
        before = self.builder.tensors[source]
        axes = before.model_axes or tuple(range(len(before.shape)))
        index = self._tensor(name, np.dtype(np.float32), before.shape, None, axes)
        self.builder.nodes.append(Node(self.node_names.pop(name, name), operator, (source,), index))
        return index


def _node_names(nodes: Iterable[onnx.NodeProto]) -> dict[str, str]:
    """By the value that each makes: the names of nodes that no other node has."""
    named = [(node.output[0], node.name) for node in nodes if node.output and node.name]
    counts = Counter(name for _, name in named)
    return {output: name for output, name in named if counts[name] == 1}


def _canonical(model_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Channels last."""
    return tuple(model_shape[axis] for axis in (0, 2, 3, 1)) if len(model_shape) == 4 else model_shape


def _leaves_all(pending: Pending, wanted: Target) -> bool:
    """Whether ONNX Runtime drops the activation: the ends of the range may lie beyond its bounds by next to nothing."""
    lowest, highest = (wanted.scale * np.float32(end - wanted.zero_point) for end in wanted.clamp)
    return bool(pending.low - lowest <= NEXT_TO_NOTHING and highest - pending.high <= NEXT_TO_NOTHING)


def _bound(real: float, wanted: Target) -> int:
    lowest, highest = wanted.clamp
    steps = float(np.rint(np.float32(np.clip(real, -1e30, 1e30)) / wanted.scale))
    return int(min(max(steps + wanted.zero_point, lowest), highest))


def onnx_dtype(code: int) -> np.dtype[Any]:
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code))
    except KeyError:
        raise ModelError(f"its type must be one that ONNX knows, not code {code}") from None


def array_of(tensor: onnx.TensorProto) -> NDArray[Any]:
    """A constant's numbers."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ModelError(f"constant {titled(tensor.name)}: must be inside the file, not in another")
    try:
        if (dtype := onnx_dtype(tensor.data_type)).kind not in "biuf":
            raise ModelError(f"constant {titled(tensor.name)}: must be of plain numbers, not of {dtype}")
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError) as error:
        raise ModelError(f"constant {titled(tensor.name)}: is damaged ({error})") from error


def attribute(node: onnx.NodeProto, name: str, default: T) -> T:
    """A node's attribute, of the default's type; lists become tuples."""
    for candidate in node.attribute:
        if candidate.name == name:
            value = onnx.helper.get_attribute_value(candidate)
            value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            value = value if isinstance(value, (str, int, float, onnx.TensorProto)) else tuple(value)
            if not isinstance(value, type(default)):
                raise ModelError(f"attribute {name} must be {type(default).__name__}, not {type(value).__name__}")
            return value
    return default
