"""The array: vectors of activations times a tile of weights, added up in the accumulators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import exact_matmul, magnitude
from tilesim.systolic.datapath.memories import Commit, Memories, entries, maps
from tilesim.systolic.datapath.windows import unfolded
from tilesim.systolic.isa.model.instructions import MatrixMultiply


def prepare_multiply(op: MatrixMultiply, memories: Memories, tile: NDArray[Any]) -> Commit:
    """Read the activations and multiply them by ``tile``, the one in the cells; the sums wait to be added."""
    sums = multiply(op, memories, tile)
    return lambda: accumulate(op, memories, sums)


def multiply(op: MatrixMultiply, memories: Memories, tile: NDArray[Any]) -> NDArray[np.int32]:
    """What leaves the array: (samples, vectors, columns) of int32, wrapped around.

    Of ``tile``, (inputs, outputs) integers of :func:`~tilesim.systolic.datapath.memories.read_tile`, nothing is seen
    beyond the rows and columns of the instruction: rows beyond get no activations.
    """
    x = maps(memories.buffer, op.window, op.activations)
    vectors = unfolded(x, op.window, op.first, op.vectors, op.first_row, op.rows, op.activation_zero_point)
    weights = tile[: op.rows, : op.columns].view(op.weights).astype(np.float32)
    weights -= np.float32(op.weight_zero_point)
    bounds = magnitude(x.dtype, op.activation_zero_point), magnitude(np.dtype(op.weights), op.weight_zero_point)
    return exact_matmul(vectors, weights, *bounds)


def accumulate(op: MatrixMultiply, memories: Memories, sums: NDArray[np.int32]) -> None:
    """Put sums into their entries of the accumulators, or add them to what is there."""
    there = entries(memories, op.accumulator, op.vectors, op.columns)
    if op.accumulate:
        there += sums
    else:
        there[...] = sums
