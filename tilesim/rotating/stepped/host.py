"""The host: its tensors as rows, and the links over which they cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tilesim.errors import AccessError
from tilesim.rotating.isa.model.instructions import ReadHostMemory, WriteHostMemory
from tilesim.rotating.stepped.core import BUSY, Account
from tilesim.rotating.stepped.memory import Bytes


@dataclass
class HostMemory:
    """Rows of ``inputs``, ``data`` and ``outputs``, each (rows, row bytes), and what was written into scratches."""

    inputs: Sequence[Bytes]
    data: Sequence[Bytes]
    outputs: Sequence[Bytes]
    scratch: dict[tuple[int, int], Bytes] = field(default_factory=dict)

    def row(self, op: ReadHostMemory, k: int) -> Bytes:
        """Row ``k`` of those that ``op`` brings."""
        place = op.offset + k
        if op.source == "scratch":
            if (op.tensor, place) not in self.scratch:
                raise AccessError(f"{op.label} {op.mnemonic}: scratch {op.tensor} must have row {place}, not lack it")
            return self.scratch[op.tensor, place].copy()
        rows = (self.inputs if op.source == "input" else self.data)[op.tensor]
        return np.array(rows[place])

    def keep(self, op: WriteHostMemory, k: int, row: Bytes) -> None:
        """Row ``k`` of those that ``op`` sends has come."""
        place = op.offset + k
        if op.destination == "scratch":
            self.scratch[op.tensor, place] = row
        else:
            self.outputs[op.tensor][place] = row


class Link:
    """Carries one row at a time, in ``row_cycles`` cycles."""

    def __init__(self, track: str, row_cycles: int) -> None:
        self.account = Account(track)
        self._row_cycles = row_cycles
        self._left = 0

    @property
    def is_free(self) -> bool:
        return not self._left

    def begin(self) -> None:
        """A row is in this cycle for the first time on the link."""
        self._left = self._row_cycles

    def carry(self, cycle: int, label: str) -> bool:
        """The row is on the link in ``cycle``; whether for the last time."""
        self.account.note(cycle, BUSY, label)
        self._left -= 1
        return not self._left
