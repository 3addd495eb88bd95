"""Sums of the accumulators become integers of the next tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.arithmetic.table import ENTRIES, look_up
from tilesim.systolic.datapath import normalise, pool
from tilesim.systolic.datapath.memories import Commit, Memories, at, entries, writing
from tilesim.systolic.isa.model.instructions import Activate


def prepare(op: Activate, memories: Memories) -> Commit:
    """Scale, look up, then normalise and pool, in the order that the instruction says."""
    values = _looked_up(op, memories, _scaled(op, memories))
    steps = [_normalised, _pooled]
    for step in reversed(steps) if op.pool_first else steps:
        values = step(op, values)
    shape, strides = values.shape[1:], (op.stride_bytes, values.itemsize)
    return writing(at(memories.buffer, op.address, shape, strides, op.element), values)


def _scaled(op: Activate, memories: Memories) -> NDArray[Any]:
    columns = op.columns
    words = memories.buffer.row(op.scale.parameters, 12 * columns)[0].view(np.int32)
    bias, multiplier, shift = words.reshape(3, columns)
    sums = entries(memories, op.accumulator, op.vectors, columns) + bias
    scaled = requantise(op.scale.rule, sums, multiplier, shift)
    return saturate(scaled, op.scale.zero_point, op.scale.clamp, np.dtype(op.element))


def _looked_up(op: Activate, memories: Memories, values: NDArray[Any]) -> NDArray[Any]:
    if op.table < 0:
        return values
    table = memories.buffer.row(op.table, ENTRIES)[0]
    return look_up(table.view(op.element), values)


def _normalised(op: Activate, values: NDArray[Any]) -> NDArray[Any]:
    return values if op.normalise is None else normalise.normalised(op.normalise, values)


def _pooled(op: Activate, values: NDArray[Any]) -> NDArray[Any]:
    if op.pool is None or op.window is None:
        return values
    shape = op.window.images, op.window.height, op.window.width, op.columns
    return pool.pooled(op.pool, op.window, values.reshape(len(values), *shape))
