"""Pooled windows against the golden operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.systolic.datapath.material import Case, as_bytes, cases
from tilesim.network.operators import AveragePool, MaxPool, Mean
from tilesim.systolic.datapath.vector import prepare
from tilesim.systolic.isa.model.instructions import Pool, Pooling

OUTPUT = 42_000


def pooled(case: Case, pooling: Pooling) -> Any:
    """What the instruction writes, (samples, positions, channels); nothing else changes."""
    size = case.window.channels * case.x.itemsize
    op = Pool(window=case.window, pool=pooling, element=case.element, address=OUTPUT, stride_bytes=size + 3)
    before = case.memories.buffer.bytes.copy()
    prepare(op, case.memories)()
    words = case.memories.buffer.bytes
    at = OUTPUT + np.arange(case.window.positions)[:, None] * (size + 3) + np.arange(size)
    found = np.ascontiguousarray(words[:, at]).view(case.element)
    before[:, at] = words[:, at]
    np.testing.assert_array_equal(words, before)
    return found


def limits(case: Case) -> tuple[int, int]:
    info = np.iinfo(case.element)
    return int(info.min) + 7, int(info.max) - 3


@given(cases(dilated=False))
@settings(max_examples=60)
def test_largest(case: Case) -> None:
    w = case.window
    operator = MaxPool(w.kernel, w.strides, case.padding, limits(case))
    expected = case.by_position(operator.evaluate([case.seen]))
    np.testing.assert_array_equal(pooled(case, Pooling("max", limits(case))), expected)


@given(cases(elements=st.sampled_from(["int8", "int16"])))
@settings(max_examples=60)
def test_smallest_is_the_largest_upside_down(case: Case) -> None:
    info = np.iinfo(case.element)
    largest = pooled(case, Pooling("max", (int(info.min), int(info.max))))
    w = case.window
    for n, y, z in np.ndindex(w.images, w.height, w.width):
        at = w.address + n * w.image_bytes + y * w.row_bytes + z * w.pixel_bytes
        own = case.memories.buffer.bytes[:, at : at + w.channels * case.x.itemsize]
        own[...] = ~own
    np.testing.assert_array_equal(pooled(case, Pooling("min", (int(info.min), int(info.max)))), ~largest)


@given(cases(dilated=False), st.sampled_from(["divide", "float", "real"]), st.booleans(), st.integers(-4, 9))
@settings(max_examples=100)
def test_average(case: Case, rule: str, padding_counts: bool, zero_out: int) -> None:
    w, scales = case.window, (0.37, 0.29)
    zero_in, zero_out = (0, 0) if rule == "divide" else (case.zero_point, zero_out)
    operator = AveragePool(
        w.kernel, w.strides, case.padding, padding_counts, zero_in, zero_out, rule, scales, limits(case)
    )
    scalings = tuple((count, *operator.scaling(count)) for count in range(1, 10))
    pooling = Pooling("average", limits(case), rule, scalings, not padding_counts, zero_in, zero_out)
    if not padding_counts and not inside_everywhere(case):
        return  # an average of nothing
    expected = case.by_position(operator.evaluate([case.seen]))
    np.testing.assert_array_equal(pooled(case, pooling), expected)


def inside_everywhere(case: Case) -> bool:
    w = case.window
    operator = AveragePool(w.kernel, w.strides, case.padding, False, 0, 0, "divide", (1.0, 1.0), (-128, 127))
    return bool(operator.counts(w.height, w.width).all())


@given(cases(), st.sampled_from(["double", "single"]))
@settings(max_examples=30)
def test_mean_is_an_average_over_the_whole_map(case: Case, rule: str) -> None:
    w = case.window
    multiplier, shift = 1_500_000_000, -3
    operator = Mean((1, w.channels), case.zero_point, 5, rule, multiplier, shift, limits(case))
    whole = type(w)(
        w.address, w.images, w.image_bytes, w.height, w.width, w.row_bytes, w.pixel_bytes, w.channels, 1, 1,
        (w.height, w.width),
    )  # fmt: skip
    scalings = ((w.height * w.width, multiplier, shift),)
    pooling = Pooling("average", limits(case), rule, scalings, True, case.zero_point, 5)
    found = pooled(Case(case.memories, case.x, whole, case.channel, case.element, 0, case.rng), pooling)
    expected = operator.evaluate([case.seen]).reshape(found.shape)
    np.testing.assert_array_equal(as_bytes(found), as_bytes(expected))
