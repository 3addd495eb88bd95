"""Static checks of programs that are alike for all machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.arithmetic.table import ENTRIES
from tilesim.machines.program import HostTensor
from tilesim.printable import unknown

MOST_HOST_BYTES = 1 << 28
"""The bytes of a host tensor: more would only fill the simulator's own memory."""
SMALLEST_SCALE, LARGEST_SCALE = 1e-30, 1e30
ROUNDINGS = ("even", "away")


def conversion_faults(tensor: HostTensor, dtypes: Sequence[str], limits: tuple[int, int]) -> Iterator[str]:
    """What is wrong with how the host makes a tensor's elements of the model's numbers, or these of those.

    Args:
        tensor: an input or an output.
        dtypes: the integers that the model may have.
        limits: the least and the largest that a zero point, or an entry of a look-up, may be.
    """
    if tensor.dtype not in (*dtypes, "float32") or (tensor.dtype == "float32") != (tensor.scale != 0):
        integers = "".join(f"{dtype}, or " for dtype in dtypes)
        yield f"dtype must be {integers}float32 with a scale, not {tensor.dtype} with the scale {tensor.scale}"
    if tensor.scale and not SMALLEST_SCALE <= tensor.scale <= LARGEST_SCALE:
        yield f"scale must be 0 or {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}, not {tensor.scale}"
    if tensor.rounding not in ROUNDINGS:
        yield f"rounding {unknown(tensor.rounding, ROUNDINGS, 'a way to round')}"
    low, high = limits
    if not low <= tensor.zero_point <= high:
        yield f"zero_point must be {low} to {high}, not {tensor.zero_point}"
    if tensor.lookup and (len(tensor.lookup) != ENTRIES or min(tensor.lookup) < low or max(tensor.lookup) > high):
        yield f"lookup must be {ENTRIES} numbers from {low} to {high}, not {len(tensor.lookup)}"
