"""What the ONNX operators ask of their operands: tensors, weights, biases, and how sums are scaled."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import magnitude
from tilesim.arithmetic.requantise import float_bits
from tilesim.errors import ModelError
from tilesim.network.graph import Array, Tensor
from tilesim.network.readers.builder import ACTIVATION_DTYPES, broadcast
from tilesim.network.readers.fault import wrong_type
from tilesim.network.readers.onnx_graph import Graph
from tilesim.network.readers.onnx_values import Dequantised, Target

Operands: TypeAlias = list[Dequantised]

SCALE_TOLERANCE = 1e-2, 1e-6
"""Relative and absolute: within it, ONNX Runtime takes a bias as it is, whatever its own scale."""

FARTHEST = (1 << 31) - 512
"""Below it, a float32 and a zero point are whole in int32."""


def quantisations(
    a: Dequantised, b: Dequantised, target: Target
) -> tuple[tuple[float, float, float], tuple[int, int, int]]:
    """Scales and zero points of two operands and of their result."""
    scales = float(a.scale), float(b.scale), float(target.scale)
    return scales, (a.zero_point, b.zero_point, target.zero_point)


def source_tensor(graph: Graph, operand: Dequantised, rank: int | None = None) -> Tensor:
    """An operand that is a tensor of the network in the network's order."""
    if operand.index < 0:
        raise ModelError(f"{operand.title} must not be a constant")
    tensor = graph.builder.tensors[operand.index]
    if operand.index in graph.flattened:
        raise ModelError(f"{operand.title} is a flattened map: only Gemm and MatMul may take it")
    if rank is not None and len(tensor.shape) != rank:
        raise ModelError(f"{operand.title} must have {rank} axes, not shape {list(tensor.model_shape)}")
    return tensor


def common_shape(graph: Graph, a: Dequantised, b: Dequantised) -> tuple[int, ...]:
    """The shape of what is computed of two tensors element by element."""
    tensors = source_tensor(graph, a), source_tensor(graph, b)
    shape = broadcast(*tensors)
    if len({len(tensor.shape) for tensor in tensors}) > 1:
        raise ModelError(f"{a.title} and {b.title} must have as many axes as each other")
    return shape


def constant_weights(x: Dequantised, operand: Dequantised, rank: int, channels_axis: int) -> Array:
    """An operand that is a constant and can be multiplied with ``x``, with one scale or one along its axis of output
    channels.
    """
    if operand.data is None:
        raise ModelError(f"weights {operand.title} must be constants of int8 or uint8")
    if operand.data.dtype not in ACTIVATION_DTYPES:
        raise wrong_type(f"weights {operand.title} must be constants of int8 or uint8", operand.data.dtype.name)
    if x.dtype == np.int8 and operand.data.dtype == np.uint8:
        raise ModelError(f"weights {operand.title} must be int8 like {x.title}: ONNX Runtime has no kernel for uint8")
    if operand.data.ndim != rank:
        raise ModelError(f"weights {operand.title} must have {rank} axes, not shape {list(operand.data.shape)}")
    scales, channels = operand.quantisation.scale, operand.data.shape[channels_axis]
    if scales.ndim and (scales.size != channels or operand.axis % rank != channels_axis):
        raise ModelError(f"weights {operand.title} must have 1 scale or {channels} along axis {channels_axis}")
    return operand.data


def bias_scale(x: Dequantised, w: Dequantised) -> NDArray[np.float64]:
    """What one step of a bias stands for: a step of the sum, or of each channel's."""
    return np.asarray(x.scale * w.quantisation.scale.astype(np.float32), np.float64)


def add_bias(graph: Graph, name: str, operands: Operands, channels: int) -> int:
    """The index of the third operand as a constant (channels,), or of zeros if there is none."""
    if len(operands) < 3:
        return graph.builder.constant(f"{name}/no_bias", np.zeros(channels, np.int32))
    x, w, bias = operands
    if bias.data is None or bias.data.dtype != np.int32 or bias.data.size != channels:
        raise ModelError(f"bias {bias.title} must be {channels} constants of int32")
    known, wanted = bias.quantisation, bias_scale(x, w)
    if known.zero_point or not np.isclose(known.scale, wanted, *SCALE_TOLERANCE).all():
        raise ModelError(f"bias {bias.title} must have zero point 0 and the scales of {x.title} times {w.title}")
    return graph.builder.constant(bias.name, bias.data.reshape(-1))


def scale_factors(
    x: Dequantised, w: Dequantised, target: Target, channels: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Multipliers and shifts of rule ``float``."""
    scale = finite(x.scale * w.quantisation.scale.astype(np.float32) / target.scale)
    return np.broadcast_to(float_bits(scale), channels).copy(), np.zeros(channels, np.int32)


def finite(ratio: NDArray[np.float32] | np.float32) -> NDArray[np.float32]:
    """A checked ratio of scales."""
    if not np.isfinite(ratio).all():
        raise ModelError("its scales must have a finite ratio")
    return np.asarray(ratio)


def convertible(largest: float | np.floating[Any]) -> None:
    """Check how far steps of the output may go before they become integers: beyond int32, x86 turns them into the
    lowest one.
    """
    if largest >= FARTHEST:
        raise ModelError(f"its results must stay below 2**31 steps of its output's scale, not reach {largest:.3g}")


def reach(x: Dequantised) -> int:
    """How far its integers may be from the zero point."""
    return magnitude(x.dtype, x.zero_point)


def fused(target: Target) -> None:
    """Check that the operator is one on integers: what its sum of reals would come to depends on their order."""
    if not target.fused:
        raise ModelError(
            "its activation must leave all of its output's range: ONNX Runtime would compute both in float32"
        )


def same_dtype(x: Dequantised, target: Target) -> None:
    if x.dtype != target.dtype:
        raise ModelError(f"its output must be {x.dtype} like {x.title}, not {target.dtype}")


def same_quantisation(x: Dequantised, target: Target) -> None:
    same_dtype(x, target)
    if (x.scale, x.zero_point) != (target.scale, target.zero_point):
        raise ModelError(
            f"its output must have the scale and zero point of {x.title}, {x.scale:g} and {x.zero_point}, "
            f"not {target.scale:g} and {target.zero_point}"
        )
