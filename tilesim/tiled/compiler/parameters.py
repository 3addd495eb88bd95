"""Weights and requantisation parameters as bytes of wide memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.compiler.feature_map import padded

Bytes = NDArray[np.uint8]


@dataclass
class Store:
    """Parameters in the order in which they were added, each on a row of its own; addresses are those in the store."""

    row_bytes: int
    chunks: list[Bytes] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, data: NDArray[Any]) -> int:
        """Append an array's bytes; the address of the first."""
        address = self.size_bytes
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self.chunks.append(np.pad(raw, (0, -raw.size % self.row_bytes)))
        self.size_bytes += self.chunks[-1].size
        return address

    def image(self) -> Bytes:
        return np.concatenate(self.chunks) if self.chunks else np.zeros(0, np.uint8)


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
