"""What a unit does with its accumulator, its mux-register and its register."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilesim.errors import AccessError
from tilesim.rotating.isa.model.instructions import Alu, Set, Step
from tilesim.rotating.stepped.memory import Words, with_sign
from tilesim.rotating.topology import Topology


@dataclass(frozen=True)
class Work:
    """What the ALUs do in the cycle after a step was issued, with the control registers as they were for it."""

    step: Step
    control: Set


def accumulate(work: Work, sums: Words, mux: Words, registers: Words, topology: Topology) -> Words:
    """The accumulators after ``work``.

    Raises:
        AccessError: a sum that has no room, where the topology refuses those.
    """
    bits, op, control = topology.units.word_bits, work.step, work.control
    x = with_sign(mux, bits) if control.data == "signed" else mux
    w = with_sign(registers, bits) if control.weights == "signed" else registers
    match op.alu:
        case Alu.NONE:
            return sums
        case Alu.MULTIPLY_ADD:
            result = sums + (x - control.data_zero) * (w - control.weight_zero)
        case Alu.ADD:
            result = sums + (x - control.data_zero)
        case Alu.MAX:
            result = np.maximum(sums, x)
        case Alu.COPY:
            result = x
        case Alu.PLANE:
            byte = mux & 0xFF
            result = sums + ((with_sign(byte, 8) if op.plane == 3 else byte) << (8 * op.plane))
    return _fitting(result, op, topology)


def _fitting(sums: Words, op: Step, topology: Topology) -> Words:
    """What becomes of sums in accumulators of so many bits."""
    bits = topology.units.accumulator_bits
    if topology.units.overflow == "wrap":
        return with_sign(sums, bits)
    low, high = least(bits), -least(bits) - 1
    fitting = np.clip(sums, low, high)
    if topology.units.overflow == "refuse" and (unfit := np.flatnonzero(fitting != sums)).size:
        unit = int(unfit[0])
        raise AccessError(
            f"{op.label} {op.mnemonic}: the accumulator of unit {unit} must hold numbers from {low} to {high}, "
            f"not {int(sums[unit])}"
        )
    return fitting


def least(accumulator_bits: int) -> int:
    """The least number that an accumulator holds."""
    return -(1 << (accumulator_bits - 1))
