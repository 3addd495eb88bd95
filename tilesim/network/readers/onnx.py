"""Reader of quantised ONNX models: integer (QLinear) graphs and graphs of QuantizeLinear/DequantizeLinear pairs.

A pair graph computes in reals between a DequantizeLinear and the next QuantizeLinear; what lies between is read as one
integer operator, as ONNX Runtime fuses it with its graph optimiser on (int8 activations on x86 need its session entry
``session.qdqisint8allowed``: without it they are computed in float32). Feature maps turn from NCHW to NHWC. An integer
tensor carries the name of the integer value in the file, and indices number the value names in order of appearance.

A layer is called as its node is: of a pair graph as the operator, not as the Relu or QuantizeLinear after it; one that
only quantises as its QuantizeLinear. Nodes need no names, and not all writers make them unlike: a layer whose node has
none of its own is called as its integers are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from tilesim.budgets import LARGEST_MODEL_BYTES, MOST_OPERATORS
from tilesim.errors import ModelError
from tilesim.files import read_bytes
from tilesim.network.graph import Network, Quantisation, titled
from tilesim.network.operators import Dequantise, Quantise
from tilesim.network.readers import name_of, onnx_graph
from tilesim.network.readers.builder import ACTIVATION_DTYPES, Built
from tilesim.network.readers.fault import ModelFault, collect, gather, in_file, no_model, wrong_type
from tilesim.network.readers.onnx_choices import CHOICES
from tilesim.network.readers.onnx_constants import SHAPE, folded
from tilesim.network.readers.onnx_dynamic import ARITHMETIC, DYNAMIC, arithmetic, is_of_reals
from tilesim.network.readers.onnx_file import check_counts
from tilesim.network.readers.onnx_functions import rescale
from tilesim.network.readers.onnx_graph import Graph, attribute
from tilesim.network.readers.onnx_layouts import settled
from tilesim.network.readers.onnx_moves import MOVES, move
from tilesim.network.readers.onnx_operands import bias_scale
from tilesim.network.readers.onnx_operators import ACTIVATIONS, INTEGER, MOVERS, REAL, activation
from tilesim.network.readers.onnx_values import Constant, Dequantised, Integers, Pending, Reals, Target, Value, target

_FAULTY = (onnx.checker.ValidationError, DecodeError, ValueError)
_SUPPORTED = {
    "QuantizeLinear",
    "DequantizeLinear",
    "Constant",
    SHAPE,
    *ACTIVATIONS,
    *CHOICES,
    *DYNAMIC,
    *MOVES,
    *REAL,
    *INTEGER,
}
_MOVES = dict.fromkeys(MOVES, move)
PRODUCTS = {"Gemm", "MatMul", "QGemm", "QLinearMatMul"}
_DOMAINS = {"", "ai.onnx", "com.microsoft"}


def read(path: Path) -> Network:
    """The network in a .onnx file.

    Raises:
        ModelError: every fault found, each naming the file and the node.
    """
    content = read_bytes(path, LARGEST_MODEL_BYTES, no_model)
    try:
        with np.errstate(over="ignore"):  # ratios of scales that leave float32 are refused
            model = _model(content)
            del content  # or else all weights would be there three times
            return _network(name_of(path), model)
    except ModelError as error:
        raise in_file(path, error) from error


def _model(content: bytes) -> onnx.ModelProto:
    check_counts(content)
    nodes: list[onnx.NodeProto] = []
    try:
        model = onnx.load_model_from_string(content)
        nodes += model.graph.node
        if len(nodes) > MOST_OPERATORS:
            raise ModelError(f"must have at most {MOST_OPERATORS} nodes, not {len(nodes)}")
        onnx.checker.check_model(content)
    except _FAULTY as error:
        # the checker stops at its first complaint, which may be an operator of which there are several
        unknown: list[str] = []
        for k, node in enumerate(nodes):
            if not _supported(node):
                collect(unknown, _where(k, node), _unsupported(node), node.op_type, _name(node))
        what = f"must be a valid ONNX model: {' '.join(str(error).split())}"
        raise ModelError(unknown or ModelFault(what, "form" if nodes else "file")) from error
    return model


def _unsupported(node: onnx.NodeProto) -> ModelError:
    custom = "" if node.domain in _DOMAINS else f"custom operator {node.domain}."
    return ModelError(ModelFault("the operator is not supported", "operator", f"{custom}{node.op_type}"))


def _supported(node: onnx.NodeProto) -> bool:
    return node.op_type in _SUPPORTED and node.domain in _DOMAINS


def _where(position: int, node: onnx.NodeProto) -> str:
    return f"node {position} ({node.op_type}{f' {titled(node.name)}' if node.name else ''})"


def _name(node: onnx.NodeProto) -> str:
    """What a node is called: as itself, or as its output."""
    return node.name or next(iter(node.output), "")


def _network(name: str, model: onnx.ModelProto) -> Network:
    faults: list[str] = []
    graph = Graph.of(model, faults)
    shapes = cache(partial(_shapes, model))
    for position, node in enumerate(model.graph.node):
        try:
            if not _supported(node):
                raise _unsupported(node)
            if graph.spoiled.isdisjoint(node.input):
                _read_node(graph, node)
                continue
            if _stands_in(graph, node, shapes):
                continue
        except ModelError as error:
            collect(faults, _where(position, node), error, node.op_type, _name(node))
        graph.spoiled.update(node.output)
    results = [value.name for value in model.graph.output if value.name not in graph.spoiled]
    outputs = gather(faults, results, partial(_output, graph))
    if faults:
        raise ModelError(faults)
    return graph.builder.network(name, tuple(graph.inputs), tuple(outputs))


def _stands_in(graph: Graph, node: onnx.NodeProto, shapes: Callable[[], Mapping[str, tuple[int, ...]]]) -> bool:
    """Let integers stand for what a node would have made of spoiled values, if the file says all of them: so that those
    who read them are looked at, too.
    """
    names = _quantisation_of(node)
    if len(node.output) != 1 or not names or not graph.values.keys() >= {name for name in names if name}:
        return False
    shape = shapes().get(node.output[0])
    try:
        return shape is not None and graph.stand_in(node.output[0], shape, graph.target(node.output[0], names))
    except ModelError:  # said already
        return False


def _quantisation_of(node: onnx.NodeProto) -> list[str]:
    """The names of scale and zero point of the integers that a node makes, if it makes such."""
    if node.op_type == "QuantizeLinear":
        return list(node.input[1:3])
    form = INTEGER.get(node.op_type)
    return list(node.input[form.output : form.output + 2]) if form else []


def _shapes(model: onnx.ModelProto) -> Mapping[str, tuple[int, ...]]:
    """Of values by name, as far as the file says or implies them; a free batch is one sample."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except (onnx.shape_inference.InferenceError, RuntimeError, *_FAULTY):
        return {}
    dims = {value.name: value.type.tensor_type.shape.dim for value in (*graph.value_info, *graph.output)}
    shapes = {name: tuple(d.dim_value or int(not k) for k, d in enumerate(dim)) for name, dim in dims.items()}
    return {name: shape for name, shape in shapes.items() if min(shape, default=0) > 0}


def _read_node(graph: Graph, node: onnx.NodeProto) -> None:
    if folded(graph, node):
        return
    of_reals = arithmetic if node.op_type in ARITHMETIC and is_of_reals(graph, node) else None
    if read := of_reals or CHOICES.get(node.op_type) or DYNAMIC.get(node.op_type) or _MOVES.get(node.op_type):
        read(graph, node)
        return
    if not node.output or not node.output[0] or any(node.output[1:]):
        raise ModelError(f"must have 1 output, not {len(list(filter(None, node.output)))}")
    output = node.output[0]
    if node.op_type == "Constant":
        graph.values[output] = Constant(onnx_graph.array_of(attribute(node, "value", onnx.TensorProto())))
    elif node.op_type == "QuantizeLinear":
        _quantise(graph, node)
    elif node.op_type == "DequantizeLinear":
        graph.values[output] = graph.operand(node.input, attribute(node, "axis", 1))
    elif node.op_type in INTEGER:
        _read_integer(graph, node)
    elif node.op_type in ACTIVATIONS:
        before = graph.value(node.input[0])
        pending = before if isinstance(before, Pending) else rescale(graph, node, [_operand(graph, node, 0)])
        graph.pend(output, activation(graph, node, pending))
    else:
        _read_real(graph, node)


def _read_real(graph: Graph, node: onnx.NodeProto) -> None:
    read, fewest, most = REAL[node.op_type]
    present = [position for position in range(min(most, len(node.input))) if node.input[position]]
    if len(present) < fewest or present != list(range(len(present))):
        raise ModelError(f"must have at least {fewest} inputs, not {len(present)}")
    if node.op_type in MOVERS and isinstance(value := graph.value(node.input[0]), Integers):
        tensor = graph.builder.tensors[settled(graph, value.index)]
        if tensor.dtype not in ACTIVATION_DTYPES:
            raise wrong_type(f"{tensor.title} must be int8 or uint8", tensor.dtype.name)
        known = tensor.quantisation or Quantisation(np.array(1.0), 0)
        operand = Dequantised(tensor.name, tensor.index, None, tensor.dtype, known)
        graph.emit(node.output[0], read(graph, node, [operand]), target(tensor.dtype, known))
        moved = graph.builder.tensors[graph.indices[node.output[0]]]
        graph.builder.tensors[moved.index] = replace(moved, quantisation=tensor.quantisation)  # unknown stays unknown
    else:
        graph.pend(node.output[0], read(graph, node, [_operand(graph, node, k) for k in present]))


def _operand(graph: Graph, node: onnx.NodeProto, position: int) -> Dequantised:
    value = graph.value(node.input[position])
    if not isinstance(value, Dequantised):
        sentence = f"{titled(node.input[position])} must come from a DequantizeLinear"
        raise ModelError(ModelFault(sentence, "form" if isinstance(value, Integers) else "type", _type_of(value)))
    return _settled(graph, node, value)


def _settled(graph: Graph, node: onnx.NodeProto, value: Dequantised) -> Dequantised:
    """An operand whose axes lie as usual; products may count those of a flattened map as they are."""
    if value.index < 0 or (value.index in graph.flattened and node.op_type in PRODUCTS):
        return value
    return replace(value, index=settled(graph, value.index))


def _type_of(value: Value) -> str:
    """The type of numbers that are not those of an operand."""
    if isinstance(value, Constant):
        return value.array.dtype.name
    return "" if isinstance(value, Integers) else "float32"


def _read_integer(graph: Graph, node: onnx.NodeProto) -> None:
    """An operator that carries its quantisation in its inputs."""
    form = INTEGER[node.op_type]
    names = [*node.input, *[""] * 9]
    # a channel's scale belongs to the output channel: axis 0 of a convolution, else the columns of the matrix
    axis = 0 if node.op_type == "QLinearConv" or attribute(node, "transB", 0) else 1
    starts = range(form.operands[0], len(node.input), 3) if form.several else form.operands
    operands = [_settled(graph, node, graph.operand(names[start : start + 3], axis)) for start in starts]
    if form.bias is not None and names[form.bias]:
        data = graph.constant(names[form.bias])
        step = Quantisation(bias_scale(*operands[:2]), 0)
        operands.append(Dequantised(names[form.bias], -1, data, data.dtype, step))
    if attribute(node, "channels_last", 0):
        raise ModelError("channels_last is not supported")
    wanted = graph.target(node.output[0], names[form.output : form.output + 2])
    graph.emit(node.output[0], form.reader(graph, node, operands), wanted)


def _quantise(graph: Graph, node: onnx.NodeProto) -> None:
    value, output = graph.value(node.input[0]), node.output[0]
    wanted = graph.quantised[output] = graph.target(output, node.input[1:])
    if isinstance(value, Pending):
        graph.emit(output, value, wanted)
    elif isinstance(value, Dequantised):
        _refuse_merged(graph, node, value, wanted)
        graph.emit(output, rescale(graph, node, [value]), wanted)
    elif isinstance(value, Reals):
        operator = Quantise(float(wanted.scale), wanted.zero_point, wanted.dtype, "even")
        index = settled(graph, value.index)
        graph.add(output, Built(operator, (index,), graph.builder.tensors[index].shape), wanted)
    else:
        raise ModelError(f"{titled(node.input[0])} must be reals that a node or an input gives")


def _refuse_merged(graph: Graph, node: onnx.NodeProto, x: Dequantised, wanted: Target) -> None:
    """Refuse to quantise again what only a DequantizeLinear came after: ONNX Runtime makes one of both pairs."""
    before, uses = graph.quantised.get(x.name), [*graph.uses[x.name], *graph.uses[node.input[0]]]
    if before is None or uses != ["DequantizeLinear", "QuantizeLinear"] or before.dtype != wanted.dtype:
        return
    if {*graph.uses[node.output[0]]} == {"DequantizeLinear"} and before != wanted:
        raise ModelError(f"{x.title} must not be quantised again: ONNX Runtime merges the two into one")


def _output(graph: Graph, name: str) -> int:
    value = graph.value(name)
    if isinstance(value, Integers):
        index = _counted(graph, name, value.index)
    elif isinstance(value, Dequantised) and value.index >= 0:
        source = settled(graph, value.index) if value.index in graph.flattened else value.index
        index = graph.add_reals(name, Dequantise(float(value.scale), value.zero_point), source)
    elif isinstance(value, Reals) and value.index not in graph.inputs:
        index = value.index
    else:
        raise ModelError(f"output {titled(name)}: must be integers, or come from a DequantizeLinear")
    return index


def _counted(graph: Graph, name: str, index: int) -> int:
    """An output that counts its elements as the file does."""
    if index not in graph.flattened:
        return index
    made = settled(graph, index)
    graph.builder.tensors[made] = replace(graph.builder.tensors[made], name=name)
    return made
