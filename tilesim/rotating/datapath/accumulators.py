"""The accumulators and their ALUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError
from tilesim.rotating.datapath.words import Words
from tilesim.rotating.isa.model.instructions import Alu, Set
from tilesim.rotating.topology import Topology

Sums = NDArray[np.int64]


@dataclass(frozen=True)
class Operands:
    """How words are taken: how many bits they have, whether they have a sign, and what is subtracted from them."""

    bits: int
    data_mask: int = -1
    weight_mask: int = -1
    data_zero: int = 0
    weight_zero: int = 0

    @classmethod
    def of(cls, control: Set, topology: Topology) -> Operands:
        """As the control registers say."""
        bits = topology.units.word_bits
        masks = {"signed": -1, "unsigned": (1 << bits) - 1}
        zeros = control.data_zero, control.weight_zero
        return cls(bits, masks[control.data], masks[control.weights], *zeros)

    def data(self, x: Words) -> Words:
        return x if self.data_mask == -1 else x & self.data_mask

    def centred_data(self, x: Words) -> Words:
        x = self.data(x)
        return x - self.data_zero if self.data_zero else x

    def centred_weights(self, w: Words) -> Words:
        w = w if self.weight_mask == -1 else w & self.weight_mask
        return w - self.weight_zero if self.weight_zero else w

    @property
    def most_data(self) -> int:
        """What no word is further from 0, less the zero point."""
        return (1 << self.bits) + abs(self.data_zero)

    @property
    def most_weight(self) -> int:
        return (1 << self.bits) + abs(self.weight_zero)


class Accumulators:
    """A sum a unit, of each sample; zero at first.

    Each addition saturates, wraps or is refused where it has no room. No sum is further from 0 than ``_most``: while
    that has room, nobody looks.
    """

    def __init__(self, topology: Topology, samples: int) -> None:
        bits = topology.units.accumulator_bits
        self._low, self._high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        self._bits = bits
        self._overflow = topology.units.overflow
        self.sums: Sums = np.zeros((samples, topology.units.count), np.int64)
        self._most = 0

    def clear(self, to: str) -> None:
        """Make all ``zero``, or the ``least`` number; ``no``: leave them."""
        if to != "no":
            value = 0 if to == "zero" else self._low
            self.sums, self._most = np.full_like(self.sums, value), -value

    def work(self, op: Alu, plane: int, x: Words, w: Words, operands: Operands, label: str) -> None:
        """What each ALU does in a cycle with a mux-register of ``x`` and a register of ``w``.

        Raises:
            AccessError: a sum has no room, and the chip refuses that.
        """
        if op is Alu.MULTIPLY_ADD:
            product = np.multiply(operands.centred_data(x), operands.centred_weights(w), dtype=np.int64)
            self._add(product, operands.most_data * operands.most_weight, label)
        elif op is Alu.ADD:
            self._add(operands.centred_data(x), operands.most_data, label)
        elif op is Alu.MAX:
            self._take(np.maximum(self.sums, operands.data(x)), max(self._most, 1 << operands.bits), label)
        elif op is Alu.COPY:
            self._take(operands.data(x).astype(np.int64), 1 << operands.bits, label)
        elif op is Alu.PLANE:
            byte = (x & 255) if plane < 3 else ((x & 255) ^ 128) - 128
            self._add(byte.astype(np.int64) << (8 * plane), 1 << (8 * plane + 8), label)

    def _add(self, values: NDArray[Any], most: int, label: str) -> None:
        self._take(self.sums + values, self._most + most, label)

    def _take(self, sums: Sums, most: int, label: str) -> None:
        """Keep ``sums``, none of which is further from 0 than ``most``."""
        if most > self._high:
            sums, most = self._within(sums, label), self._high + 1
        self.sums, self._most = sums, most

    def _within(self, sums: Sums, label: str) -> Sums:
        if self._overflow == "wrap":
            return ((sums - self._low) & ((1 << self._bits) - 1)) + self._low
        clipped = np.clip(sums, self._low, self._high)
        if self._overflow == "refuse" and (clipped != sums).any():
            sample, unit = (int(index) for index in np.argwhere(clipped != sums)[0])
            raise AccessError(
                f"{label}: the accumulator of unit {unit} must be {self._low} to {self._high}, "
                f"not {int(sums[sample, unit])}: units.overflow is refuse"
            )
        return clipped
