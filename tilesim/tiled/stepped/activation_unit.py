"""The activation unit: sums become the integers of the next layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.arithmetic.table import leaky_steps
from tilesim.tiled.isa.model.accesses import TABLE_BYTES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.stepped.mac_array import DTYPES, Sums
from tilesim.tiled.stepped.memory import Bytes

PARAMETERS = 3
"""Bias, multiplier and shift of the lanes: 4 bytes for each lane of the chip, one behind the other; a bias of 64 bits
takes two of them."""
ROUNDED = (Operation.ADD, Operation.MULTIPLY, Operation.AVERAGE)
"""Operations whose results have the output's zero point already."""


class ActivationUnit:
    """Keeps the parameters of one instruction until others are read, and finishes result groups with them."""

    def __init__(self, op: TensorOp, row_bytes: int, lanes: int) -> None:
        self._op = op
        self._row_bytes = row_bytes
        self._values_bytes = 4 * lanes
        self._count = PARAMETERS + (16 in op.widths)
        self._start = -1
        self._first_row = 0
        self._rows: list[Bytes] = []

    def missing_rows(self, address: int) -> list[int]:
        """The addresses of the rows that must be read before a group with parameters at ``address``."""
        is_table = self._op.operation is Operation.TABLE  # which may be longer than a row
        unit = self._row_bytes if is_table else self._values_bytes
        start = address - address % unit
        if start == self._start:
            return []
        end = start + (TABLE_BYTES if is_table else self._count * unit)
        self._start, self._first_row, self._rows = start, start - start % self._row_bytes, []
        return list(range(self._first_row, end, self._row_bytes))

    def load(self, row: Bytes) -> None:
        """The next of the missing rows."""
        self._rows.append(row)

    def finish(self, sums: Sums, address: int | None) -> Bytes:
        """The lanes' output bytes; ``address``: where their parameters stand."""
        op = self._op
        if op.operation is Operation.TABLE:
            assert address is not None
            table = np.concatenate(self._rows)[address - self._first_row :]
            return np.asarray(table[sums & 0xFF])
        if address is not None:
            held, at = np.concatenate(self._rows), address - self._first_row
            places = [at + k * self._values_bytes for k in range(self._count)]
            *bias, multiplier, shift = (held[place : place + 4 * len(sums)].view(np.int32) for place in places)
            sums = self._requantised(sums + whole(bias), multiplier, shift)
        elif op.operation is Operation.SUM:
            multiplier, shift = (np.array([value], np.int32) for value in op.scaling)
            sums = self._requantised(sums, multiplier, shift)
        elif op.operation is Operation.LEAKY_RELU:
            up, up_shift, down, down_shift = op.scaling
            sums = leaky_steps(op.rule, sums, (up, up_shift), (down, down_shift))
        zero_point = 0 if op.operation in ROUNDED else op.output_zero_point
        low, high = op.clamp
        return saturate(sums, zero_point, (low, high), DTYPES[op.output_type]).view(np.uint8)

    def _requantised(self, sums: Sums, multiplier: NDArray[np.int32], shift: NDArray[np.int32]) -> Sums:
        """Of 64 bits some rules take the lower 32."""
        lower = self._op.rule in ("double", "single", "divide")
        return requantise(self._op.rule, sums.astype(np.int32) if lower else sums, multiplier, shift)


def whole(words: Sequence[NDArray[np.int32]]) -> Sums:
    """Numbers of one word of 32 bits, or of two, the lower one first."""
    return words[0] if len(words) == 1 else (words[1].astype(np.int64) << 32) + words[0].view(np.uint32)


def split(sums: Sums) -> list[Bytes]:
    """The bytes of each of these words."""
    words = [sums] if sums.dtype == np.int32 else [sums & 0xFFFFFFFF, sums >> 32]
    return [word.astype(np.uint32).view(np.uint8) for word in words]
