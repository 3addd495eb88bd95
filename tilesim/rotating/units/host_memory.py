"""The host's memory: rows that it sends, and rows that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.program import DataSegment
from tilesim.rotating.isa.model.instructions import ReadHostMemory, WriteHostMemory
from tilesim.sim.core.memory import Bytes


class HostMemory:
    """Inputs, data and outputs as rows, (samples or 1, rows, row bytes) each; scratches grow as they are written."""

    def __init__(
        self, inputs: Sequence[Bytes], data: Sequence[DataSegment], output_rows: Sequence[int], row_bytes: int
    ) -> None:
        self.samples = max((len(rows) for rows in inputs), default=1)
        self._sources = {
            "input": list(inputs),
            "data": [segment.data.reshape(1, -1, row_bytes) for segment in data],
        }
        self._row_bytes = row_bytes
        self.outputs: list[Bytes] = [np.zeros((self.samples, rows, row_bytes), np.uint8) for rows in output_rows]
        self._come: list[NDArray[np.bool_]] = [np.zeros(rows, bool) for rows in output_rows]
        self._scratches: dict[tuple[int, int], Bytes] = {}

    def row(self, op: ReadHostMemory, number: int) -> Bytes:
        """Row ``number`` of those that ``op`` reads, (samples or 1, row bytes)."""
        place = op.offset + number
        if op.source == "scratch":
            return self._scratches[op.tensor, place]
        return self._sources[op.source][op.tensor][:, place]

    def take(self, op: WriteHostMemory, number: int, row: Bytes) -> None:
        """Keep row ``number`` of those that ``op`` sends."""
        place = op.offset + number
        if op.destination == "scratch":
            self._scratches[op.tensor, place] = row.copy()
            return
        self.outputs[op.tensor][:, place] = row
        self._come[op.tensor][place] = True

    def missing(self) -> list[tuple[int, int, int]]:
        """The outputs that have not come as a whole: number, rows that have come, rows in all."""
        counted = ((k, int(come.sum()), come.size) for k, come in enumerate(self._come))
        return [(k, come, rows) for k, come, rows in counted if come < rows]
