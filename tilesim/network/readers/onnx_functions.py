"""ONNX operators that are functions of each element, products, and tensors put together.

A function of one byte is a table, as ONNX Runtime makes one.

Source: ONNX operator specification; ONNX Runtime on x86.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx

from tilesim.arithmetic.reals import Reals, real_scaling
from tilesim.arithmetic.requantise import float_bits
from tilesim.arithmetic.table import Mapped, identity, inputs, leaky, sigmoid, tabulate
from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Dequantise, Multiply, Quantise, Rescale, Table
from tilesim.network.readers import onnx_operands as operand
from tilesim.network.readers.builder import Built
from tilesim.network.readers.moving import joined
from tilesim.network.readers.onnx_graph import MAP_AXES, Graph, attribute
from tilesim.network.readers.onnx_values import Dequantised, Pending, Target


def multiply(graph: Graph, _node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    """The scales are multiplied and divided in float32; not so among reals, which are multiplied themselves."""
    a, b = operands
    shape = operand.common_shape(graph, a, b)

    def build(target: Target) -> Built:
        operand.same_dtype(a, target)
        operand.same_dtype(b, target)
        factor = operand.finite(np.float32(a.scale * b.scale) / target.scale)
        scaling: tuple[int, ...] = real_scaling(*operand.quantisations(a, b, target))
        if target.fused:
            operand.convertible(float(factor) * operand.reach(a) * operand.reach(b))
            scaling = a.zero_point, b.zero_point, target.zero_point, int(float_bits(factor)[0]), 0
        return Built(Multiply("float" if target.fused else "real", scaling, target.clamp), (a.index, b.index), shape)

    return Pending(build)


def logistic(graph: Graph, _node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    return _tabulated(graph, operands[0], "logistic", sigmoid)


def leaky_relu(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    return _tabulated(graph, operands[0], "leaky_relu", leaky(attribute(node, "alpha", 0.01)))


def _tabulated(graph: Graph, x: Dequantised, function: str, of_reals: Callable[[Reals], Reals]) -> Pending:
    shape = operand.source_tensor(graph, x).shape

    def build(target: Target) -> Built:
        return Built(_table(x, target, function, of_reals), (x.index,), shape)

    return Pending(build)


def _table(x: Dequantised, target: Target, function: str, of_reals: Callable[[Reals], Reals]) -> Table:
    operand.same_dtype(x, target)
    operand.finite(x.scale / target.scale)
    ends = Mapped(float(x.scale), x.zero_point, float(target.scale), target.zero_point, x.dtype)
    return Table(function, np.clip(tabulate(of_reals, ends, "even"), *target.clamp))


def rescale(graph: Graph, _node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    """From one quantisation to another, with an activation or with nothing in between."""
    x = operands[0]
    shape = operand.source_tensor(graph, x).shape
    return Pending(lambda target: Built(rescaling(x, target), (x.index,), shape))


def rescaling(x: Dequantised, target: Target) -> Rescale | Table:
    """What turns ``x`` into the integers of ``target``: a table, unless one factor gives the same for every integer."""
    every = inputs(x.dtype)
    reals = Dequantise(float(x.scale), x.zero_point).evaluate([every])
    rounded = Quantise(float(target.scale), target.zero_point, target.dtype, "even").evaluate([reals])
    entries = np.clip(rounded, *target.clamp)
    bits = int(float_bits(operand.finite(x.scale / target.scale))[0])
    factor = Rescale(x.zero_point, target.zero_point, "float", bits, 0, target.clamp, target.dtype)
    return factor if np.array_equal(factor.evaluate([every]), entries) else Table("rescale", entries)


def concatenation(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    """The inputs one after the other, those of other quantisations rescaled first."""
    sources = [operand.source_tensor(graph, x) for x in operands]
    axis = _canonical_axis(attribute(node, "axis", 1), sources)
    around = {(*source.shape[:axis], *source.shape[axis + 1 :]) for source in sources}
    if len(around) > 1:
        raise ModelError(f"its inputs must have shapes that agree but along axis {attribute(node, 'axis', 1)}")
    built = joined(sources, axis)

    def build(target: Target) -> Built:
        return replace(built, inputs=tuple(_alike(graph, x, target) for x in operands))

    return Pending(build)


def _canonical_axis(axis: int, sources: list[Tensor]) -> int:
    rank = len(sources[0].shape)
    if len({len(source.shape) for source in sources}) > 1 or not -rank <= axis < rank:
        raise ModelError(f"its inputs must have as many axes as each other, and axis be from {-rank} to {rank - 1}")
    return MAP_AXES[axis % rank] if rank == 4 else axis % rank


def _alike(graph: Graph, x: Dequantised, target: Target) -> int:
    """An input in the quantisation of the result."""
    operand.same_dtype(x, target)
    if (x.scale, x.zero_point) == (target.scale, target.zero_point) and target.whole:
        return x.index
    return graph.builder.between(
        f"{x.name}/rescaled", _table(x, target, "rescale", identity), x.index, target.quantisation
    )
