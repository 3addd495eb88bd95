"""Weights and requantisation parameters as bytes of wide memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.compiler.feature_map import padded


def operand_stride(lanes: int, inputs: int) -> int:
    """Bytes from one reduction step's weights to the next: a power of two, so that no operand straddles a row."""
    return 1 << (lanes * inputs - 1).bit_length()


def lane_weights(weights: NDArray[Any], lanes: int, inputs: int, fill: int) -> NDArray[Any]:
    """Weights (O, kH, kW, C) as (blocks, kH, kW, steps, stride): in each step every lane finds its ``inputs`` bytes
    in a row.

    Lanes and channels that are not there have the weight ``fill``, the zero point.
    """
    outputs, height, width, channels = weights.shape
    blocks, steps = -(-outputs // lanes), -(-channels // inputs)
    whole = np.full((blocks * lanes, height, width, steps * inputs), fill, weights.dtype)
    whole[:outputs, :, :, :channels] = weights
    split = whole.reshape(blocks, lanes, height, width, steps, inputs).transpose(0, 2, 3, 4, 1, 5)
    flat = split.reshape(blocks, height, width, steps, lanes * inputs)
    spare = operand_stride(lanes, inputs) - lanes * inputs
    return np.pad(flat, ((0, 0),) * 4 + ((0, spare),), constant_values=fill)


def byte_weights(weights: NDArray[Any], block: int, fill: int) -> NDArray[Any]:
    """Depthwise weights (kH, kW, C) as (blocks, kH, kW, block)."""
    height, width, channels = weights.shape
    whole = np.full((height, width, padded(channels, block)), fill, weights.dtype)
    whole[:, :, :channels] = weights
    return whole.reshape(height, width, -1, block).transpose(2, 0, 1, 3)


def requantisation_rows(
    bias: NDArray[np.int32], multiplier: NDArray[np.int32], shift: NDArray[np.int32], block: int, row_bytes: int
) -> NDArray[np.int32]:
    """Bias, multiplier and shift as (blocks, 3, row) int32: three rows for each block of channels."""
    blocks = -(-bias.size // block)
    rows = np.zeros((blocks, 3, row_bytes // 4), np.int32)
    for k, values in enumerate((bias, multiplier, shift)):
        full = np.zeros(blocks * block, np.int32)
        full[: bias.size] = np.broadcast_to(values, bias.shape)
        rows[:, k, :block] = full.reshape(blocks, block)
    return rows
