"""Operators that make some rows of what others make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks import Weave
from tilesim.network.operators import (
    AveragePool,
    Concatenation,
    MaxPool,
    Pad,
    Padding,
    Reshape,
    ResizeBilinear,
    ResizeNearest,
    Slice,
)
from tilesim.tiled.banding.operators import ROWS, band_operator, is_bandable

CLAMP = (-128, 127)
HEIGHT, WIDTH, CHANNELS = 11, 6, 8


def convolution(weave: Weave, x: int, draw: Any) -> int:
    return weave.convolution(x, 8, draw(st.sampled_from([1, 3])), **moves(draw))


def depthwise(weave: Weave, x: int, draw: Any) -> int:
    return weave.depthwise(x, 3, **moves(draw))


def moves(draw: Any) -> dict[str, Any]:
    stride, dilation = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    return {"strides": (stride, stride), "dilations": (dilation, dilation), "padding": padding(draw)}


def padding(draw: Any) -> Padding:
    return Padding(*(draw(st.integers(0, 2)) for _ in range(4)))


def largest(weave: Weave, x: int, draw: Any) -> int:
    return weave.add(MaxPool((3, 3), (draw(st.integers(1, 3)), 1), Padding(1, 1, 1, 1), CLAMP), x, zero_point=-7)


def average(weave: Weave, x: int, draw: Any) -> int:
    counts = draw(st.booleans())
    pool = AveragePool((3, 2), (2, 2), Padding(1, 0, 1, 1), counts, 0, 0, "divide", (0.05, 0.05), CLAMP)
    return weave.add(pool, x, zero_point=-7)


def border(weave: Weave, x: int, draw: Any) -> int:
    amounts = [(0, draw(st.integers(0, 3)), draw(st.integers(0, 2)), 0) for _ in range(2)]
    return weave.add(Pad(amounts[0], amounts[1], -7), x, zero_point=-7)


def nearest(weave: Weave, x: int, draw: Any) -> int:
    times = draw(st.integers(1, 3))
    rows = tuple(k // times for k in range(HEIGHT * times))
    return weave.add(ResizeNearest(rows, tuple(range(WIDTH))), x, zero_point=-7)


def some_channels(weave: Weave, x: int, _: Any) -> int:
    return weave.add(Slice((0, 0, 0, 4), (1, HEIGHT, WIDTH, 4)), x, zero_point=-7)


def together(weave: Weave, x: int, _: Any) -> int:
    return weave.add(Concatenation(3), x, x, zero_point=-7)


KINDS = (convolution, depthwise, largest, average, border, nearest, some_channels, together)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_any_rows_are_those_of_the_whole(kind: Any, data: Any) -> None:
    weave = Weave(np.random.default_rng(data.draw(st.integers(0, 99))))
    made = kind(weave, weave.input(HEIGHT, WIDTH, CHANNELS), data.draw)
    network = weave.network(made)
    node = network.nodes[-1]
    assert is_bandable(network, node)
    height = network.tensors[made].shape[ROWS]
    first = data.draw(st.integers(0, height - 1))
    rows = range(first, data.draw(st.integers(first + 1, height)))
    band = band_operator(network, node, rows)
    taken = [weave.samples[index] for index in node.inputs]
    maps = [x[:, band.needs.start : band.needs.stop] if x.ndim == 4 and len(x) == 1 else x for x in taken]
    if not band.needs:
        return  # nothing but a border
    np.testing.assert_array_equal(band.operator.evaluate(maps), weave.samples[made][:, rows.start : rows.stop])


def test_one_row_and_what_has_no_rows_of_its_own_are_left_alone() -> None:
    weave = Weave()
    x = weave.input(HEIGHT, WIDTH, CHANNELS)
    low = weave.add(MaxPool((HEIGHT, 1), (1, 1), Padding(), CLAMP), x, zero_point=-7)
    smooth = weave.add(ResizeBilinear((4, 4), False, False, "fixed"), x, zero_point=-7)
    rows = weave.add(Slice((0, 1, 0, 0), (1, 4, WIDTH, CHANNELS)), x, zero_point=-7)
    below = weave.add(Concatenation(1), x, x, zero_point=-7)
    flat = weave.add(Reshape((1, HEIGHT * WIDTH * CHANNELS)), x, zero_point=-7)
    network = weave.network(low, smooth, rows, below, flat)
    assert not any(is_bandable(network, node) for node in network.nodes)
