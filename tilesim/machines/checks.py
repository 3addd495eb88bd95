"""Static checks of programs that are alike for all machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from tilesim.arithmetic.classify import FUNCTIONS
from tilesim.arithmetic.table import ENTRIES
from tilesim.machines.program import HostTensor
from tilesim.printable import counted, unknown

MOST_HOST_BYTES = 1 << 28
"""The bytes of a host tensor: more would only fill the simulator's own memory."""
SMALLEST_SCALE, LARGEST_SCALE = 1e-30, 1e30
ROUNDINGS = ("even", "away")
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
"""What an element can be."""
PLACE_DTYPES = ("int32", "int64")
"""What the host gives a model's places as."""
_ROUNDED = {"double": 3, "single": 3, "float": 3, "divide": 3}
_SCALED = {**_ROUNDED, "wide": 3}
RULES = {
    "scale": _SCALED,
    "requantise": _SCALED,
    "rescale": _ROUNDED,
    "average": {**_ROUNDED, "real": 6},
    "add": {"double": 9, "float": 3, "real": 6},
    "multiply": {"double": 5, "float": 5, "real": 6},
    "softmax": {"plain": 3, "aligned": 3, "fixed": 3},
}
"""The rules of each function that rounds, and how many numbers a scaling has: as tilesim.arithmetic has them."""
_DIVISORS = {"divide": 1, "real": 3}
"""Where in a scaling stands the number that an average is divided by."""


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


def rule_faults(function: str, rule: str, *scalings: tuple[int, ...]) -> Iterator[str]:
    """A rule that the function has, with scalings of the right length."""
    rules = RULES[function]
    if rule not in rules:
        yield f"rule must be one of {', '.join(rules)} for {function}, not {rule!r}"
        return
    for scaling in scalings:
        if len(scaling) != rules[rule]:
            yield f"a scaling must be {rules[rule]} numbers for {function} by {rule}, not {len(scaling)}"
        elif rule in _DIVISORS and function == "average" and scaling[_DIVISORS[rule]] < 1:
            yield f"a scaling must divide by at least 1, not by {scaling[_DIVISORS[rule]]}"


def shape_faults(shape: tuple[int, ...], axes: tuple[int, ...]) -> Iterator[str]:
    """What is wrong with the shape and the axes of a tensor that is read out, or that crosses to the host."""
    if any(size < 1 for size in shape) or prod(shape) * 2 > MOST_HOST_BYTES:
        yield f"shape must be at least 1 each way and at most {MOST_HOST_BYTES} bytes, not {shape}"
    elif sorted(axes) != list(range(len(shape))):
        yield f"axes must be 0 to {len(shape) - 1} in some order, not {axes}"


def twice(names: Iterable[str]) -> list[str]:
    """The names that several have."""
    return [name for name, count in Counter(names).items() if count > 1]


def function_faults(function: str, scaling: Sequence[int], elements: int) -> Iterator[str]:
    """What is wrong with what the host, or a classifier, computes of so many elements."""
    if function not in FUNCTIONS:
        yield f"function {unknown(function, FUNCTIONS, 'a function of the classifier')}"
    elif len(scaling) != (wanted := FUNCTIONS[function].numbers):
        yield f"scaling must hold {counted(wanted, 'number')} for {function}, not {len(scaling)}"
    elif FUNCTIONS[function].chooses and not 1 <= scaling[0] <= elements:
        yield f"scaling must choose from 1 to {elements} for {function}, not {scaling[0]}"


def host_function_faults(tensor: HostTensor, channels: int) -> Iterator[str]:
    """What is wrong with what the host computes of ``channels`` at a time, if it computes anything."""
    if tensor.function:
        yield from function_faults(tensor.function, tensor.scaling, channels)
        if tensor.function in FUNCTIONS and FUNCTIONS[tensor.function].places and (tensor.lookup or tensor.scale):
            yield f"lookup and scale must not be given for {tensor.function}, which makes places"
    elif tensor.scaling:
        yield f"scaling must hold no numbers without a function, not {len(tensor.scaling)}"
