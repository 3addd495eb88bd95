"""What a tensorop makes of the bytes in a tile's memories, without time: MAC array, activation unit and the words that
leave them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.topology import LANE_BYTES
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.activation_unit import ActivationUnit
from tilesim.tiled.units.tensor.decoder import Decoded
from tilesim.tiled.units.tensor.mac_array import MacArray
from tilesim.tiled.units.tensor.operands import Operands
from tilesim.tiled.units.tensor.sums import to_registers


class Results:
    """Carries tensorops out on ``memories``; a convolution's lanes take ``inputs_per_cycle`` activations in a step."""

    def __init__(self, memories: TileMemories, inputs_per_cycle: int) -> None:
        self._memories = memories
        self._mac_array = MacArray(memories, inputs_per_cycle)
        self._activation = ActivationUnit(memories)

    def compute(self, decoded: Decoded, first: int, end: int) -> None:
        """From here on the memories hold the results of the groups ``first`` to ``end``."""
        for low, high, box in decoded.pieces(first, end):
            if box is None or decoded.regular is None or not decoded.regular.move(self._memories, box):
                self.by_address(decoded.op, decoded.operands, low, high)

    def by_address(self, op: TensorOp, operands: Operands, first: int, end: int) -> None:
        """The same of groups of which none reads what another one here writes, address by address."""
        sums = self._mac_array.sums(op, operands, first, end)
        lanes = operands.lanes[first:end]
        if operands.sums_out is not None:
            registers = to_registers(sums)
            for count in {*lanes.tolist()}:
                chosen = np.flatnonzero(lanes == count)
                at = operands.sums_out.groups[first:end][chosen, None]
                at = at + np.arange(op.sum_registers) * self._memories.register_bytes
                self._memories.wide.write_words(at, registers[:, chosen, :, : LANE_BYTES * count])
            return
        assert operands.output is not None
        data = self._activation.finish(op, operands, sums, first, end)
        for count in {*lanes.tolist()}:
            chosen = np.flatnonzero(lanes == count)
            unit_bytes = self._memories.result_bytes(op)
            words = _in_words(data[:, chosen, : count * op.output_type.bytes], unit_bytes)
            stride = operands.word_stride_bytes or unit_bytes
            at = operands.output.groups[first:end][chosen][:, None] + np.arange(words.shape[2]) * stride
            self._memories.narrow.write_words(at, words)


def _in_words(data: NDArray[np.uint8], unit_bytes: int) -> NDArray[np.uint8]:
    """Bytes (samples, groups, bytes) as words, or parts of one, of so many bytes, the last ended by zeros."""
    padded = np.pad(data, ((0, 0), (0, 0), (0, -data.shape[2] % unit_bytes)))
    return padded.reshape(*data.shape[:2], -1, unit_bytes)
