"""Rows of the weight RAM: skewed weights, parameters of units, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.compiler.channels import Channels, meetings
from tilesim.rotating.isa.model.program import Stripe
from tilesim.rotating.layout import words_in_rows
from tilesim.rotating.topology import PARAMETER_BYTES, Topology

Rows = NDArray[np.uint8]
Words = NDArray[Any]


def in_frame(values: Words, units: Stripe) -> Words:
    """Values of each block, (blocks,), or of each word of each, (blocks, words), as those of all units."""
    if values.ndim == 1:
        values = np.repeat(values[:, None], units.block, axis=1)
    return np.roll(values.reshape(-1), units.offset)


def skewed(
    weights: Words,
    made: Channels,
    read: Sequence[Channels],
    steps: int,
    units: Stripe,
    zero: int,
    stride: int,
    up: bool,
) -> Words:
    """The weight rows of a pass, (groups, filter rows, steps, columns, units): units of block b work on channel
    ``made[b]``, on which each channel of the ``read`` rows bears once.

    Args:
        weights: (outputs, rows, columns, inputs).
        units: the blocks of units and where they stand.
        zero: what makes products zero.
        stride: from one output to the next, in words.
    """
    columns = weights.shape[2]
    met = np.stack([meetings(channels, steps, up) for channels in read])
    filters = np.array(made)
    chosen = weights[filters, :, :, met].transpose(0, 3, 1, 4, 2)
    chosen = np.where((met < 0)[:, None, :, None, :] | (filters < 0), zero, chosen)
    if up:
        chosen = chosen[:, :, :, ::-1]
    assert chosen.shape[3] == columns
    return spread(chosen, units, stride, zero)


def own(weights: Words, made: Channels, units: Stripe, stride: int, zero: int, up: bool) -> Words:
    """The weight rows of a pass, (filter rows, columns, units), in which units of block b work on channel ``made[b]``
    alone, with its ``weights`` (rows, columns, outputs).
    """
    chosen = np.where(np.array(made) < 0, zero, weights[:, :, np.array(made)])
    return spread(chosen[:, ::-1] if up else chosen, units, stride, zero)


def spread(chosen: Words, units: Stripe, stride: int, zero: int) -> Words:
    """A value of each block (..., blocks), at each word of it that makes an output, ``zero`` at others."""
    words = np.full((*chosen.shape, units.block), zero, chosen.dtype)
    words[..., : units.columns * stride : stride] = chosen[..., None]
    return np.roll(words.reshape(*chosen.shape[:-1], -1), units.offset, axis=-1)


def parameter_rows(bias: Words, multiplier: Words, shift: Words, topology: Topology) -> Rows:
    """The rows of a bias, a multiplier and a shift for each unit."""
    columns = [values.astype("<i4").view(np.uint8).reshape(-1, 4) for values in (bias, multiplier, shift)]
    together = np.concatenate(columns, axis=1)[:, :PARAMETER_BYTES]
    rows = np.zeros((topology.parameter_rows, topology.units.count, topology.word_bytes), np.uint8)
    for byte in range(PARAMETER_BYTES):
        row, within = divmod(byte, topology.word_bytes)
        rows[row, :, within] = together[:, byte]
    return rows.reshape(topology.parameter_rows, -1)


def table_rows(entries: Words, topology: Topology) -> Rows:
    """The rows of a table."""
    words = np.zeros(topology.table_rows * topology.units.count, np.int64)
    words[: entries.size] = entries
    return words_in_rows(words.reshape(topology.table_rows, -1), topology)


def weight_rows(words: Words, topology: Topology) -> Rows:
    """Words (..., units) as rows, in order."""
    return words_in_rows(words.reshape(-1, topology.units.count), topology)
