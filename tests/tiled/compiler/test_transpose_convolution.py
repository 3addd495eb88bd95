"""Transposed convolutions on tiles: every tensor is the golden one, and both models agree to the cycle."""

from __future__ import annotations

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tests.tiled.test_more_operators import CHIPS, around_of, check
from tilesim.network.graph import Network
from tilesim.network.operators import TransposeConvolution
from tilesim.tiled.compiler.lower.transpose_convolution import phases
from tilesim.tiled.compiler.traits import SpreadField

Pair = tuple[int, int]
FORMS: list[tuple[Pair, Pair, Pair]] = [((1, 1), (3, 3), (0, 1)), ((2, 2), (3, 3), (0, 0)), ((2, 3), (4, 2), (1, 0))]
"""Strides, kernel and what is cropped; of the last one some columns get nothing."""


def spreading(strides: Pair, kernel: Pair, cropped: Pair, dtype: np.dtype[np.generic]) -> Network:
    def make(weave: Weave, x: int) -> int:
        _, height, width, channels = weave.samples[x].shape
        weights = weave.integers((7, *kernel, channels))
        size = (height * strides[0], width * strides[1])
        numbers = weave._finish(x, 7, weights.size // 7, unsigned=False)
        operator = TransposeConvolution(strides, cropped, size, **numbers)
        bias = weave._bias(x, 7)
        return weave.add(operator, x, weave.constant(weights), bias, zero_point=operator.output_zero_point)

    return around_of(make, dtype, (5, 6, 8))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("form", FORMS)
def test_every_tensor_is_the_golden_one(chip: str, form: tuple[Pair, Pair, Pair]) -> None:
    check(spreading(*form, np.dtype(np.int8)), chip)


def test_int16_is_spread_likewise() -> None:
    check(spreading(*FORMS[1], np.dtype(np.int16)), "edge-2x2")


@pytest.mark.parametrize("form", FORMS)
def test_both_models_agree(form: tuple[Pair, Pair, Pair]) -> None:
    program = tilesim.compile(spreading(*form, np.dtype(np.int8)), tilesim.load_topology("edge-2x2"))
    verdict = tilesim.verify(program)
    assert verdict.ended
    assert verdict.agree


@pytest.mark.parametrize("partition", ["channel", "mixed"])
def test_however_layers_are_spread_the_bits_are_the_same(partition: str) -> None:
    network = spreading(*FORMS[1], np.dtype(np.int8))
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"), partition)
    inputs = [np.random.default_rng(0).integers(-128, 128, network.tensors[0].shape).astype(np.int8)]
    expected = network.evaluate(inputs)[network.outputs[0]]
    np.testing.assert_array_equal(tilesim.simulate(program, inputs).outputs[0], expected)


def test_in_bands_of_rows_the_bits_are_the_same() -> None:
    network = spreading(*FORMS[1], np.dtype(np.int8))
    run = check(network, "edge-1x1", missing=None, **{"narrow_memory.size_bytes": 2048})
    assert run.cycles


@pytest.mark.parametrize(("stride", "cropped", "kernel"), [(1, 0, 3), (2, 1, 3), (3, 0, 2), (4, 3, 7)])
def test_phases_and_the_field_say_what_the_definition_says(stride: int, cropped: int, kernel: int) -> None:
    block, field = range(3, 14), SpreadField(max(kernel, stride), 0, cropped, True, pitch=stride)
    made = {output: phase for phase in phases(block, stride, cropped, kernel) for output in phase.outputs}
    assert sorted(made) == list(block)
    for output, phase in made.items():
        own = phase.first + phase.outputs.index(output)
        found = {(own - k, tap) for k, tap in enumerate(phase.taps)}
        assert found == {(p, output + cropped - p * stride) for p in range(-9, 20)
                         if 0 <= output + cropped - p * stride < kernel}  # fmt: skip
        assert {p for p, _ in found} <= {*field.reads(range(output, output + 1))}
