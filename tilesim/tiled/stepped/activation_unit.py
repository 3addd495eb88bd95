"""The activation unit: int32 sums become the integers of the next layer."""

from __future__ import annotations

import numpy as np

from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.tiled.isa.model.accesses import TABLE_BYTES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.stepped.mac_array import DTYPES, Sums
from tilesim.tiled.stepped.memory import Bytes

PARAMETERS = 3
"""Bias, multiplier and shift of the lanes: 4 bytes for each lane of the chip, one behind the other."""
ROUNDED = (Operation.ADD, Operation.MULTIPLY, Operation.AVERAGE)
"""Operations whose results have the output's zero point already."""


class ActivationUnit:
    """Keeps the parameters of one instruction until others are read, and finishes result groups with them."""

    def __init__(self, op: TensorOp, row_bytes: int, lanes: int) -> None:
        self._op = op
        self._row_bytes = row_bytes
        self._values_bytes = 4 * lanes
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
        end = start + (TABLE_BYTES if is_table else PARAMETERS * unit)
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
            places = [at + k * self._values_bytes for k in range(PARAMETERS)]
            bias, multiplier, shift = (held[place : place + 4 * len(sums)].view(np.int32) for place in places)
            sums = requantise(op.rule, sums + bias, multiplier, shift)
        elif op.operation is Operation.SUM:
            multiplier, shift = (np.array([value], np.int32) for value in op.scaling)
            sums = requantise(op.rule, sums, multiplier, shift)
        zero_point = 0 if op.operation in ROUNDED else op.output_zero_point
        low, high = op.clamp
        return saturate(sums, zero_point, (low, high), DTYPES[op.output_type]).view(np.uint8)
