"""When what leaves the array.

Each cycle a value moves one cell on. Element i of a vector enters i cycles after element 0, so that it meets the sum of
those before it, and reaches the cells of output c another c cycles later. All cycles are numbers of cycles in which,
from their start, something can be seen.

Source: WO 2016/186801, Figs. 3 and 4; that wider operands go through several times, and wider weights in several
shifts, is an assumption.
"""

from __future__ import annotations

from tilesim.systolic.topology import Array


def result_cycle(array: Array, begin: int, vector: int, output: int, passes: int = 1) -> int:
    """From when on the sum of ``vector`` for ``output`` stands in the accumulators, of a multiply that begins, that is,
    whose first element is beside the first cell, in cycle ``begin``; each vector goes through ``passes`` times.
    """
    return begin + vector * passes + (passes - 1) + array.inputs + output


def retirement_cycle(array: Array, begin: int, vectors: int, passes: int = 1) -> int:
    """From when on all sums stand in the accumulators, whether an output is used or not: 710 for 200 vectors on 256 by
    256 cells from cycle 0 on.
    """
    return result_cycle(array, begin, vectors - 1, array.outputs - 1, passes)


def shift_cycles(array: Array, weight_bytes: int = 1) -> int:
    """From the beginning of a shift to the first cycle in which a multiply may switch to its tile."""
    return array.inputs * weight_bytes
