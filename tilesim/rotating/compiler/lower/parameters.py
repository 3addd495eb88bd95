"""Biases, multipliers and shifts of units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import CapacityError
from tilesim.rotating.compiler.call import Call, Pass
from tilesim.rotating.compiler.scaling import Scaling
from tilesim.rotating.compiler.task import WEIGHTED, Task
from tilesim.rotating.compiler.weights import Rows, in_frame, parameter_rows

IDENTITY = Scaling("divide", np.ones(1, np.int32), np.zeros(1, np.int32))
"""What leaves sums as they are."""


def scaling_of(task: Task) -> Scaling:
    """The factors of a layer, as there is room for them.

    Raises:
        CapacityError: there is none.
    """
    scaling = task.scaling
    if scaling is None:
        raise CapacityError(f"{task.title} must have factors that 32 bits and a shift of 8 hold, not 64")
    return scaling


def channel_parameters(call: Call, own: Pass) -> Rows:
    """The rows of a pass whose units have the factors of their channels."""
    task = call.task
    assert isinstance(task.node.operator, WEIGHTED)
    scaling = scaling_of(task)
    made = np.array(own.made)
    bias = np.where(made < 0, 0, task.constants[1][made])
    return of_blocks(call, bias, each(scaling.multiplier, made), each(scaling.shift, made))


def each(factors: NDArray[Any], made: NDArray[Any]) -> NDArray[Any]:
    """The factor of each block; where there is one for all, that."""
    return factors[made] if factors.size > 1 else np.broadcast_to(factors, made.shape)


def of_blocks(call: Call, *values: NDArray[Any]) -> Rows:
    """Rows of a bias, a multiplier and a shift of each block, or of each word of each."""
    bias, multiplier, shift = (in_frame(value, call.units) for value in values)
    return parameter_rows(bias, multiplier, shift, call.topology)


def one_for_all(call: Call, scaling: Scaling) -> Rows:
    """Rows without a bias, and with the same factor for all units."""
    blocks = call.topology.units.count // call.units.block
    factors = [np.broadcast_to(factor, blocks) for factor in scaling[1:]]
    return of_blocks(call, np.zeros(blocks, np.int32), *factors)
