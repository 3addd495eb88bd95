"""What the vector unit does element by element, against the golden operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.systolic.datapath.material import SIZE, as_bytes, integers, memories
from tilesim.arithmetic.add import add_scaling_fixed, add_scaling_float
from tilesim.arithmetic.normalise import normalise_scaling
from tilesim.arithmetic.softmax import softmax_scaling
from tilesim.errors import AccessError
from tilesim.network.operators import Add, Multiply, Rescale, Softmax, Table
from tilesim.network.operators import Normalise as NormaliseOperator
from tilesim.systolic.datapath.memories import Memories
from tilesim.systolic.datapath.vector import prepare
from tilesim.systolic.isa.model.instructions import (
    Combine,
    Copy,
    Fill,
    Lookup,
    Nest,
    Normalisation,
    Normalise,
    Requantise,
    RowSoftmax,
)

RNG = np.random.default_rng(0)
SHAPE = 2, 3, 4, 6  # samples, rows, columns, channels


def placed(there: Memories, address: int, x: NDArray[Any]) -> Nest:
    """Puts an array down with gaps between its rows, and says where."""
    size = x.shape[-1] * x.itemsize
    places = Nest(address, size, x.shape[1:3], (x.shape[2] * size + 5, size))
    for y, z in np.ndindex(x.shape[1:3]):
        at = address + y * places.strides[0] + z * size
        there.buffer.bytes[:, at : at + size] = as_bytes(x[:, y, z])
    return places


def limits(element: str) -> tuple[int, int]:
    return int(np.iinfo(element).min) + 2, int(np.iinfo(element).max) - 2


def written(there: Memories, op: Any, expected: NDArray[Any], address: int = 5000) -> None:
    """Carry out an instruction that writes ``expected``, and nothing else, one after the other."""
    before = there.buffer.bytes.copy()
    commit = prepare(op, there)
    np.testing.assert_array_equal(there.buffer.bytes, before)
    commit()
    before[:, address : address + as_bytes(expected).shape[1]] = as_bytes(expected)
    np.testing.assert_array_equal(there.buffer.bytes, before)


@pytest.mark.parametrize("element", ["int8", "uint8"])
@pytest.mark.parametrize("rule", ["double", "float"])
@pytest.mark.parametrize("function", ["add", "multiply"])
def test_two_operands(element: Any, rule: str, function: Any) -> None:
    there = memories(samples=2)
    a, b = integers(RNG, SHAPE, element), integers(RNG, SHAPE, element)
    kinds: dict[str, Any] = {"double": add_scaling_fixed, "float": add_scaling_float}
    scaling = kinds[rule]((0.5, 0.25, 0.6), (3, -4, 5))
    if function == "multiply":
        scaling = (3, -4, 5, 1 << 30, -6) if rule == "double" else (3, -4, 5, int(np.float32(0.02).view(np.int32)), 0)
    operator = {"add": Add, "multiply": Multiply}[function](rule, scaling, limits(element))
    op = Combine(
        function=function, a=placed(there, 0, a), b=placed(there, 1000, b), destination=Nest(5000, 72),
        rule=rule, scaling=scaling, clamp=limits(element), element=element,
    )  # fmt: skip
    written(there, op, operator.evaluate([a, b]))


def test_one_pixel_with_every_other_one() -> None:
    """A stride of 0 reads the same again."""
    there = memories(samples=2)
    a, b = integers(RNG, SHAPE, "int8"), integers(RNG, (2, 1, 1, 6), "int8")
    scaling = (3, -4, 5, 1 << 30, -6)
    again = Nest(placed(there, 1000, b).address, 6, (12,), (0,))
    op = Combine(
        function="multiply", a=placed(there, 0, a), b=again, destination=Nest(5000, 72), rule="double",
        scaling=scaling, clamp=(-128, 127),
    )  # fmt: skip
    written(there, op, Multiply("double", scaling, (-128, 127)).evaluate([a, b]))


@pytest.mark.parametrize("element", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("result", ["int8", "uint8", "int16"])
def test_rescale(element: Any, result: Any) -> None:
    there = memories(samples=2)
    x = integers(RNG, SHAPE, element)
    operator = Rescale(-3, 7, "double", 1_400_000_000, -1, limits(result), np.dtype(result))
    expected = operator.evaluate([x])
    op = Requantise(
        source=placed(there, 0, x), destination=Nest(5000, as_bytes(expected).shape[1]), rule="double",
        multiplier=1_400_000_000, shift=-1, input_zero_point=-3, zero_point=7, clamp=limits(result), element=element,
        result=result,
    )  # fmt: skip
    written(there, op, expected)


def test_lookup() -> None:
    there = memories(samples=2)
    x, entries = integers(RNG, SHAPE, "int8"), RNG.permutation(256).astype(np.uint8)
    there.buffer.bytes[:, 3000:3256] = entries
    op = Lookup(source=placed(there, 0, x), destination=Nest(5000, 72), table=3000)
    written(there, op, Table("any", entries).evaluate([x]))


@pytest.mark.parametrize("element", ["int8", "uint8"])
@pytest.mark.parametrize("rule", ["plain", "aligned"])
def test_softmax(element: Any, rule: str) -> None:
    there = memories(samples=2)
    x, zero_point = integers(RNG, SHAPE, element), int(np.iinfo(element).min)
    operator = Softmax(0.0123, 1 / 256, zero_point, limits(element), rule)
    op = RowSoftmax(
        source=placed(there, 0, x), destination=Nest(5000, 6, (12,), (6,)), rule=rule,
        scaling=softmax_scaling(0.0123, 1 / 256, zero_point), clamp=limits(element), element=element,
    )  # fmt: skip
    written(there, op, operator.evaluate([x]))


@pytest.mark.parametrize("element", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_normalise(element: Any, size: int) -> None:
    there = memories(samples=2)
    x, scaling = integers(RNG, SHAPE, element), normalise_scaling((0.05, 0.02), (3, 9), 0.8, 0.6, 1.25)
    how = Normalise(size, scaling, limits(element))
    destination = Nest(5000, SHAPE[3] * x.itemsize, (12,), (SHAPE[3] * x.itemsize,))
    op = Normalisation(source=placed(there, 0, x), destination=destination, normalise=how, element=element)
    written(there, op, NormaliseOperator(size, scaling, limits(element)).evaluate([x]))


def test_copies_and_fills() -> None:
    there = memories(samples=2)
    x = integers(RNG, SHAPE, "int8")
    written(there, Copy(source=placed(there, 0, x), destination=Nest(5000, 72)), x)
    written(there, Fill(destination=Nest(5000, 72), value=200), np.full((2, 72), 200, np.uint8))
    turned = Nest(5000, 1, (4, 3), (1, 4))
    x = integers(RNG, (1, 1, 1, 12), "int8")
    written(there, Copy(source=placed(there, 0, x), destination=turned), x.reshape(1, 4, 3).transpose(0, 2, 1))


def test_a_copy_over_itself_reads_first() -> None:
    there = memories()
    there.buffer.bytes[0, :6] = range(6)
    prepare(Copy(source=Nest(5, 1, (6,), (-1,)), destination=Nest(0, 6)), there)()
    assert there.buffer.bytes[0, :6].tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("places", [Nest(SIZE - 3, 4), Nest(2, 1, (2, 2), (-3, 1)), Nest(0, 1, (SIZE,), (2,))])
def test_what_is_not_there(places: Nest) -> None:
    at = max(0, places.address)
    with pytest.raises(AccessError, match="the unified buffer has bytes 0 to 65535, not"):
        prepare(Copy(source=places, destination=Nest(at, 4)), memories())
