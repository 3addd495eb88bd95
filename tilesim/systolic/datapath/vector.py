"""What the vector unit's instructions do to the unified buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.classify import RULES
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.normalise import normalise
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.arithmetic.table import ENTRIES, look_up
from tilesim.systolic.datapath.memories import Commit, Memories, at, entries, maps, nest, writing
from tilesim.systolic.datapath.windows import pooled
from tilesim.systolic.isa.model import instructions as isa

Array = NDArray[Any]

_SUMS = {"add": add, "multiply": multiply}


def prepare(op: isa.VectorInstruction, memories: Memories) -> Commit:
    """Read the operands and compute now; what comes back writes the result.

    Raises:
        AccessError: an address that its memory does not have.
    """
    return _PREPARE[type(op)](op, memories)


def _activate(op: isa.Activate, memories: Memories) -> Commit:
    """Scale, look up, then normalise and pool, in the order that the instruction says."""
    values = _scaled(op, memories)
    if op.table >= 0:
        values = look_up(memories.buffer.row(op.table, ENTRIES)[0].view(op.element), values)
    if op.normalise and not op.pool_first:
        values = _normalised(op.normalise, values)
    if op.pool and op.window:
        shape = op.window.images, op.window.height, op.window.width, op.columns
        values = pooled(op.pool, op.window, values.reshape(len(values), *shape))
    if op.normalise and op.pool_first:
        values = _normalised(op.normalise, values)
    return _writing_vectors(op, memories, values)


def _scaled(op: isa.Activate, memories: Memories) -> Array:
    words = memories.buffer.row(op.scale.parameters, isa.PARAMETER_BYTES * op.columns)[0].view(np.int32)
    bias, multiplier, shift = words.reshape(3, op.columns)
    sums = entries(memories, op.accumulator, op.vectors, op.columns) + bias
    scaled = requantise(op.scale.rule, sums, multiplier, shift)
    return saturate(scaled, op.scale.zero_point, op.scale.clamp, np.dtype(op.element))


def _pool(op: isa.Pool, memories: Memories) -> Commit:
    values = pooled(op.pool, op.window, maps(memories.buffer, op.window, op.element))
    return _writing_vectors(op, memories, values)


def _writing_vectors(op: isa.Activate | isa.Pool, memories: Memories, values: Array) -> Commit:
    strides = op.stride_bytes, values.itemsize
    return writing(at(memories.buffer, op.address, values.shape[1:], strides, op.element), values)


def _normalisation(op: isa.Normalisation, memories: Memories) -> Commit:
    values = _normalised(op.normalise, nest(memories.buffer, op.source, op.element))
    return writing(nest(memories.buffer, op.destination, op.element), values)


def _normalised(how: isa.Normalise, x: Array) -> Array:
    """Normalised integers (..., channels), of their dtype."""
    return saturate(normalise(x, how.size, how.scaling), 0, how.clamp, x.dtype)


def _combine(op: isa.Combine, memories: Memories) -> Commit:
    a, b = (nest(memories.buffer, places, op.element) for places in (op.a, op.b))
    values = _SUMS[op.function](op.rule, a.reshape(len(a), -1), b.reshape(len(b), -1), op.scaling)
    return writing(nest(memories.buffer, op.destination, op.element), saturate(values, 0, op.clamp, a.dtype))


def _requantise(op: isa.Requantise, memories: Memories) -> Commit:
    """One multiplier and shift for all elements."""
    centred = nest(memories.buffer, op.source, op.element).astype(np.int32) - np.int32(op.input_zero_point)
    factors = np.array([op.multiplier], np.int32), np.array([op.shift], np.int32)
    values = saturate(requantise(op.rule, centred, *factors), op.zero_point, op.clamp, np.dtype(op.result))
    return writing(nest(memories.buffer, op.destination, op.result), values)


def _lookup(op: isa.Lookup, memories: Memories) -> Commit:
    """The table is that of all samples."""
    table = memories.buffer.row(op.table, ENTRIES)[0]
    return writing(nest(memories.buffer, op.destination), look_up(table, nest(memories.buffer, op.source)))


def _copy(op: isa.Copy, memories: Memories) -> Commit:
    """Read all, before any is written."""
    return writing(nest(memories.buffer, op.destination), nest(memories.buffer, op.source).copy())


def _fill(op: isa.Fill, memories: Memories) -> Commit:
    there = nest(memories.buffer, op.destination)
    return writing(there, np.broadcast_to(np.uint8(op.value), there.shape))


def _softmax(op: isa.RowSoftmax, memories: Memories) -> Commit:
    """Each innermost run by itself."""
    *bits, zero_point = op.scaling
    input_scale, output_scale = (float(scale) for scale in np.array(bits, np.int64).view(np.float64))
    x = nest(memories.buffer, op.source, op.element)
    values = RULES[op.rule](x, input_scale, output_scale, zero_point, op.clamp)
    return writing(nest(memories.buffer, op.destination, op.element), values)


_PREPARE: dict[type, Callable[[Any, Memories], Commit]] = {
    isa.Activate: _activate,
    isa.Combine: _combine,
    isa.Copy: _copy,
    isa.Fill: _fill,
    isa.Lookup: _lookup,
    isa.Normalisation: _normalisation,
    isa.Pool: _pool,
    isa.Requantise: _requantise,
    isa.RowSoftmax: _softmax,
}
