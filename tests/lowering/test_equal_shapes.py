"""Pairs of different shapes, made pairs of the same: the same bits, and tiles run them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.networks import Weave
from tests.tiled.test_more_operators import CHIPS, check
from tilesim.arithmetic.add import add_scaling_fixed
from tilesim.lowering.equal_shapes import with_equal_shapes
from tilesim.network.graph import Network
from tilesim.network.operators import Add

FORMS = [((8,), True), ((1, 1, 1, 8), True), ((1, 1, 1, 8), False), ((1, 6, 7, 1), False)]
"""Shapes, and whether they are those of constants."""


def paired(shape: tuple[int, ...], *, constant: bool, first: bool = False, dtype: Any = np.int8) -> Network:
    weave = Weave()
    zero, kind = (-7, "double") if dtype == np.int8 else (0, "double16")
    x = (
        weave.convolution(weave.input(6, 7, 4), 8)
        if dtype == np.int8
        else weave.input(6, 7, 8, dtype=dtype, zero_point=0)
    )
    if constant:
        other, known = weave.constant(weave.integers(shape, dtype)), 0
    else:
        other, known = weave.input(*shape[1:], dtype=dtype, zero_point=zero), zero
    zeros = (known, weave.zero_point(x)) if first else (weave.zero_point(x), known)
    limits = np.iinfo(dtype)
    operator = Add(kind, add_scaling_fixed((0.1, 0.07, 0.12), (*zeros, 0), kind), (int(limits.min), int(limits.max)))
    return weave.network(weave.add(operator, *((other, x) if first else (x, other))))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("shape", "constant"), FORMS)
def test_tiles_add_what_goes_with_all_pixels_or_all_channels(
    chip: str, shape: tuple[int, ...], constant: bool, first: bool
) -> None:
    check(paired(shape, constant=constant, first=first), chip)


def test_int16_is_spread_likewise() -> None:
    check(paired((8,), constant=True, dtype=np.int16), "edge-2x2")


@pytest.mark.parametrize(("shape", "constant"), FORMS)
def test_the_pairs_are_of_one_shape_and_the_bits_the_same(shape: tuple[int, ...], constant: bool) -> None:
    network = paired(shape, constant=constant)
    alike = with_equal_shapes(network)
    inputs = [np.random.default_rng(k).integers(-128, 128, network.tensors[i].shape).astype(np.int8)
              for k, i in enumerate(network.inputs)]  # fmt: skip
    assert len({alike.tensors[index].shape for index in alike.nodes[-1].inputs}) == 1
    for index in network.outputs:
        np.testing.assert_array_equal(alike.evaluate(inputs)[index], network.evaluate(inputs)[index])


def test_a_network_without_such_pairs_is_left_alone() -> None:
    weave = Weave()
    network = weave.network(weave.convolution(weave.input(6, 7, 4), 8))
    assert with_equal_shapes(network) is network
