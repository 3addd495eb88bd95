"""The host's memory: inputs and parameters on one side, outputs on the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError
from tilesim.machines.program import DataSegment
from tilesim.sim.core.memory import Bytes
from tilesim.systolic.isa.model.instructions import ReadHostMemory, WriteHostMemory


class HostMemory:
    """``inputs`` are (samples, bytes) each; outputs are as long as ``output_bytes`` says, for so many samples."""

    def __init__(
        self, inputs: Sequence[Bytes], data: Sequence[DataSegment], output_bytes: Sequence[int], samples: int
    ) -> None:
        self._sources = {"input": list(inputs), "data": [segment.data.reshape(1, -1) for segment in data]}
        self.outputs: list[Bytes] = [np.zeros((samples, size), np.uint8) for size in output_bytes]
        self._come: list[NDArray[np.bool_]] = [np.zeros(size, bool) for size in output_bytes]

    def read(self, op: ReadHostMemory) -> Bytes:
        """The bytes that ``op`` sends, (samples or 1, bytes)."""
        source = _numbered(self._sources[op.source], op.tensor, f"{op.label}: the host's {op.source}")
        _check(op.label, source.shape[1], op.offset, op.bytes)
        return source[:, op.offset : op.offset + op.bytes]

    def write(self, op: WriteHostMemory, data: Bytes) -> None:
        """Take ``data``, (samples, bytes), for ``op``."""
        output = _numbered(self.outputs, op.tensor, f"{op.label}: the host's output")
        _check(op.label, output.shape[1], op.offset, op.bytes)
        output[:, op.offset : op.offset + op.bytes] = data
        self._come[op.tensor][op.offset : op.offset + op.bytes] = True

    def missing(self) -> list[tuple[int, int, int]]:
        """The outputs that have not come as a whole: number, bytes that have come, bytes in all."""
        counted = ((k, int(come.sum()), come.size) for k, come in enumerate(self._come))
        return [each for each in counted if each[1] < each[2]]


def _numbered(tensors: Sequence[Bytes], number: int, what: str) -> Bytes:
    if not 0 <= number < len(tensors):
        raise AccessError(f"{what} must be a number below {len(tensors)}, not {number}")
    return tensors[number]


def _check(label: str, size: int, offset: int, count: int) -> None:
    if offset < 0 or offset + count > size:
        raise AccessError(f"{label}: the host's tensor has bytes 0 to {size - 1}, not {offset} to {offset + count - 1}")
