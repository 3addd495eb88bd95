"""The activation unit: sums become the integers of the next layer.

Bias, multiplier and shift of the lanes follow one another in wide memory, as many bytes apart as 4 bytes for each of
``tile.lanes`` take: a row each, or several in a row that is larger. They stay in three registers of that size until
their address leaves those bytes or the instruction ends; of operands of 16 bits in four, as the bias takes two
(:mod:`~tilesim.tiled.units.tensor.sums`). Element-wise and pooling layers carry theirs in the instruction: also a leaky
ReLU, which has two multipliers. A table of 256 bytes, one for all lanes, is kept likewise, with the rest of its row.

Timing: none of its own; the registers cost a wide read for each row that some of them come from when they change: three
(or four) where each fills a row, one or two in larger rows, depending on where these end. A table costs as many as it
has rows. Weights have no register: each step reads their row anew, whether or not the one before it has read the same.
Source: US 19/025,090 [0028], [0050]; where the parameters stand and how often they are read are assumptions, the table
is from the Edge TPU as reported by others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import BLOCK_ELEMENTS
from tilesim.sim.core.action import Actions
from tilesim.tiled.isa.model.accesses import TABLE_BYTES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import LANE_BYTES
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.operands import AddressStream, Operands
from tilesim.tiled.units.tensor.operations import ARITHMETIC, Sums, rescaled, saturated, scaled
from tilesim.tiled.units.tensor.sums import from_registers

SCALE_REGISTERS = 2
"""Multiplier and shift."""


def parameter_registers(op: TensorOp) -> int:
    """Registers that a block of lanes has: of its bias, then multiplier and shift."""
    return op.sum_registers + SCALE_REGISTERS


def operations(op: TensorOp, results: int) -> Actions:
    """What the unit does for so many results; sums that are kept as they are do not come here."""
    per_output = {} if op.sums_out is not None else ARITHMETIC[op.operation].per_output
    return {action: count * results for action, count in per_output.items()}


class ActivationUnit:
    """Requantises, adds the output's zero point and clamps."""

    def __init__(self, memories: TileMemories) -> None:
        self._memories = memories

    def finish(self, op: TensorOp, operands: Operands, sums: Sums, first: int, end: int) -> NDArray[np.uint8]:
        """Output bytes (samples, groups, lanes times those of an element) of the groups ``first`` to ``end``."""
        if op.operation is Operation.TABLE:
            return self._looked_up(operands, sums, slice(first, end))
        if operands.parameters is None:
            return saturated(op, scaled(op, sums))
        return saturated(op, self._by_registers(op, operands.parameters, operands.lane_bound, sums, slice(first, end)))

    def reads(self, op: TensorOp, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many rows are read before each of the groups whose parameters stand at ``addresses``."""
        row, register = self._memories.row_bytes, self._memories.register_bytes
        unit, size = (
            (row, TABLE_BYTES) if op.operation is Operation.TABLE else (register, parameter_registers(op) * register)
        )
        starts = addresses - addresses % unit
        reads: NDArray[np.int64] = (starts + size - 1) // row + 1 - starts // row
        reads[1:][starts[1:] == starts[:-1]] = 0
        return reads

    def _looked_up(self, operands: Operands, values: Sums, groups: slice) -> NDArray[np.uint8]:
        assert operands.parameters is not None
        addresses, which = np.unique(operands.parameters.groups[groups], return_inverse=True)
        tables = self._memories.wide.words(addresses, TABLE_BYTES)
        samples = np.arange(len(tables))[:, None, None]
        return np.asarray(tables[samples, which[:, None], values & 0xFF])

    def _by_registers(self, op: TensorOp, parameters: AddressStream, lanes: int, sums: Sums, groups: slice) -> Sums:
        addresses, which = np.unique(parameters.groups[groups], return_inverse=True)
        places = addresses[:, None] + np.arange(parameter_registers(op)) * self._memories.register_bytes
        values = self._memories.wide.operands(places, LANE_BYTES * lanes).view(np.int32)
        if len(values) == 1 and len(addresses) == 1:
            return biased(op, sums, values[0, 0])
        out = np.empty(sums.shape, np.int32)
        step = max(1, BLOCK_ELEMENTS // sums[:, :1].size)
        for start in range(0, sums.shape[1], step):
            block = slice(start, start + step)
            out[:, block] = biased(op, sums[:, block], values[:, which[block]])
        return out


def biased(op: TensorOp, sums: Sums, registers: NDArray[np.int32]) -> Sums:
    """Sums (..., lanes) with the bias in registers (..., registers, lanes), rescaled by what else is in these."""
    bias = from_registers(registers[..., : op.sum_registers, :])
    return rescaled(op, sums + bias, registers[..., -2, :], registers[..., -1, :])
