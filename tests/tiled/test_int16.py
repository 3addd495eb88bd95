"""Networks with activations of int16: every tensor is the golden one, and both models agree to the cycle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.networks import Weave, same
from tests.tiled.test_more_operators import CHIPS, around_of, check
from tilesim.arithmetic.add import add_scaling_fixed, opposite
from tilesim.arithmetic.requantise import quantise_multiplier
from tilesim.machines.verify import differences, event_result
from tilesim.network.graph import Network, Quantisation
from tilesim.network.operators import (
    Add,
    ArgMax,
    AveragePool,
    Concatenation,
    LeakyRelu,
    MaxPool,
    Mean,
    Multiply,
    Pad,
    Padding,
    Rescale,
    Slice,
    Subtract,
)
from tilesim.tiled.isa.model.instructions import ElementType, TensorOp
from tilesim.tiled.machine import Tiled

INT16 = np.dtype(np.int16)
CLAMP = (-32768, 32767)
RUN = ("add", "conv", "leaky_relu", "pad", "strided_slice", "sub", "transpose_conv")
SCALES = (0.1, 0.07, 0.12)
FACTOR = quantise_multiplier(0.7)
Make = Callable[[Weave, int], int]


def golden_output(models: Path, name: str, chip: str) -> None:
    folder = models / f"tflm_seanet_{name}0"
    network, samples = tilesim.load_network(folder / "model.tflite"), np.load(folder / "io.npz")
    program = tilesim.compile(network, tilesim.load_topology(chip))
    taken = [network.inputs.index(tensor.index) for tensor in program.inputs]  # an output's shape is none
    run = tilesim.simulate(program, [samples[f"s0_in{k}"] for k in taken], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], samples["s0_out0_ref"])
    assert run.outputs[0].dtype == INT16
    assert {*(tensor.index for tensor in program.inputs), *network.outputs} <= run.tensors.keys()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", RUN)
def test_real_models_equal_the_reference_kernels(models: Path, name: str, chip: str) -> None:
    golden_output(models, name, chip)


def test_numbers_of_32_bits_are_quantised_at_the_host(models: Path) -> None:
    golden_output(models, "quantize", "edge-2x2")


def doubled(weave: Weave, x: int, operator: Any) -> int:
    """A combination of a tensor with a bent copy of it."""
    return weave.add(operator, x, weave.add(LeakyRelu(0, 0, "double", FACTOR, (-FACTOR[0], FACTOR[1])), x))


def to_bytes_and_back(weave: Weave, x: int) -> int:
    narrow = weave.add(Rescale(0, 9, "double", *quantise_multiplier(1 / 200), (-128, 127), np.dtype(np.int8)), x)
    weave.tensors[narrow] = replace(weave.tensors[narrow], quantisation=Quantisation(np.array(0.05), 9))
    conv = weave.convolution(narrow, 6)
    back = Rescale(weave.zero_point(conv), 0, "double", *quantise_multiplier(150.0), CLAMP, INT16)
    return weave.add(back, conv)


def put_together(weave: Weave, x: int) -> int:
    return weave.add(Concatenation(3), x, weave.convolution(x, 4, 1), weave.convolution(x, 6, 1))


LAYERS: dict[str, Make] = {
    "depthwise": lambda weave, x: weave.depthwise(x),
    "dilated": lambda weave, x: weave.convolution(x, 8, padding=Padding(2, 4, 2, 4), dilations=(2, 4)),
    "strided": lambda weave, x: weave.convolution(x, 70, strides=(2, 2)),
    "add": lambda weave, x: doubled(weave, x, Add("double16", add_scaling_fixed(SCALES, (0, 0, 0), "double16"), CLAMP)),
    "subtract": lambda weave, x: doubled(
        weave, x, Subtract("double16", opposite("double16", add_scaling_fixed(SCALES, (0, 0, 0), "double16")), CLAMP)
    ),
    "shifted": lambda weave, x: doubled(weave, x, Add("shift", (2, 0, -1), CLAMP)),
    "multiply": lambda weave, x: doubled(weave, x, Multiply("double", (0, 0, 0, *quantise_multiplier(2e-5)), CLAMP)),
    "leaky relu": lambda weave, x: weave.add(LeakyRelu(0, 0, "double", FACTOR, quantise_multiplier(0.1)), x),
    "max pool": lambda weave, x: weave.add(MaxPool((3, 2), (2, 1), same(2), (-9000, 32767)), x),
    "average pool": lambda weave, x: weave.add(
        AveragePool((3, 3), (1, 1), same(3), False, 0, 0, "divide", (0.1, 0.1), CLAMP), x
    ),
    "border": lambda weave, x: weave.add(
        MaxPool((3, 2), (2, 1), Padding(), CLAMP), weave.add(Pad((0, 2, 1, 0), (0, 1, 3, 0), 0), x)
    ),
    "crop": lambda weave, x: weave.add(Slice((0, 3, 2, 4), (1, 5, 7, 6)), x),
    "concatenation": put_together,
    "bytes": to_bytes_and_back,
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_between_layers_that_read_across_tiles(layer: str, chip: str) -> None:
    check(around_of(LAYERS[layer], INT16), chip)


@pytest.mark.parametrize("chip", CHIPS)
def test_means_and_fully_connected_layers(chip: str) -> None:
    """The mean of the map, and the map flattened, each for a fully connected layer of many outputs."""
    weave = Weave(wide_sums=True)
    x = weave.convolution(weave.input(6, 5, 7, dtype=INT16, zero_point=0), 10)
    mean = weave.add(Mean((1, 10), 0, 0, "double", *quantise_multiplier(1 / 30), CLAMP), x)
    check(weave.network(weave.fully_connected(mean, 130), weave.fully_connected(x, 70)), chip)


@pytest.mark.parametrize(("keys", "spread"), [({"wide_memory.size_bytes": 32768}, "spatial"), ({}, "channel")])
def test_parameters_that_stream_and_layers_that_are_spread_by_channel(keys: dict[str, int], spread: str) -> None:
    weave = Weave(wide_sums=True)
    made = weave.convolution(weave.convolution(weave.input(6, 6, 12, dtype=INT16, zero_point=0), 40), 64)
    network = weave.network(weave.convolution(made, 12))
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2", keys), partition=spread)
    x = np.random.default_rng(3).integers(-32768, 32768, (1, 6, 6, 12)).astype(np.int16)
    run = tilesim.simulate(program, [x])
    np.testing.assert_array_equal(run.outputs[0], network.evaluate([x])[network.outputs[0]])
    assert any("stream" in layer.parameters for layer in program.layers) == bool(keys)
    assert any(layer.spread == "channel" for layer in program.layers) == (spread == "channel")


def test_maps_that_are_too_large_are_made_in_bands() -> None:
    weave = Weave(wide_sums=True)
    x = weave.convolution(weave.input(40, 20, 4, dtype=INT16, zero_point=0), 12)
    network = weave.network(weave.convolution(x, 4, strides=(2, 2)))
    program = tilesim.compile(network, tilesim.load_topology("edge-1x2", {"narrow_memory.size_bytes": 8192}))
    x16 = np.random.default_rng(4).integers(-32768, 32768, (1, 40, 20, 4)).astype(np.int16)
    assert any(layer.bands > 1 for layer in program.layers)
    run = tilesim.simulate(program, [x16])
    np.testing.assert_array_equal(run.outputs[0], network.evaluate([x16])[network.outputs[0]])


def random_network(seed: int) -> Network:
    """Two to four layers of any kind on a small map."""
    rng = np.random.default_rng(seed)
    weave = Weave(rng, wide_sums=True)
    height, width, channels = (int(size) for size in rng.integers(6, 10, 3))
    x = weave.convolution(weave.input(height, width, channels, dtype=INT16, zero_point=0), int(rng.integers(11, 20)))
    for _ in range(int(rng.integers(1, 4))):
        fits = [name for name in LAYERS if name != "crop" and min(weave.samples[x].shape[1:3]) > 3]
        kinds = [name for name in fits if name != "concatenation" or weave.samples[x].shape[3] % 4 == 0]
        if kinds:
            x = LAYERS[str(rng.choice(kinds))](weave, x)
    return weave.network(x)


@pytest.mark.parametrize("seed", range(6))
def test_random_networks_on_random_grids_are_exact_on_both_models(seed: int) -> None:
    rng, network = np.random.default_rng(seed), random_network(seed)
    keys = {
        "grid.rows": int(rng.integers(1, 4)),
        "grid.columns": int(rng.integers(1, 4)),
        "tile.lanes": int(rng.choice([8, 32, 64])),
        "wide_memory.ports": int(rng.integers(1, 3)),
    }
    run = check(network, "edge-4x4", None, **keys)
    assert run.cycles > 0
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4", keys))
    x = rng.integers(-32768, 32768, network.tensors[0].shape).astype(np.int16)
    stepped = Tiled().step(program, [x], trace=False)
    assert not differences(event_result(Tiled(), program, [x]), stepped)


def test_widths_follow_from_the_types() -> None:
    weave = Weave(wide_sums=True)
    x = weave.convolution(weave.input(4, 4, 4, dtype=INT16, zero_point=0), 4)
    program = tilesim.compile(weave.network(LAYERS["multiply"](weave, x)), tilesim.load_topology("edge-1x1"))
    found = {op.operation: (op.input_type, op.widths) for op in program.run if isinstance(op, TensorOp)}
    assert found == {
        "convolution": (ElementType.I16, (16, 8)),
        "leaky_relu": (ElementType.I16, (16, 8)),
        "multiply": (ElementType.I16, (16, 16)),
    }


def test_what_tiles_cannot_do_with_int16_the_host_does() -> None:
    weave = Weave(wide_sums=True)
    x = weave.input(1, 1, 8, dtype=INT16, zero_point=0)
    odd = weave.input(1, 1, 8, dtype=INT16, zero_point=5)
    chosen = weave.add(ArgMax(np.dtype(np.int64)), weave.convolution(x, 4, 1))
    pooled = weave.add(MaxPool((1, 1), (1, 1), Padding(), CLAMP), odd)
    network = weave.network(chosen, pooled)
    program = tilesim.compile(network, tilesim.load_topology("edge-1x1"))
    assert [layer.place for layer in program.layers] == ["tiles", "host", "host"]
    arrays = [weave.samples[index] for index in network.inputs]
    for index, output in zip(network.outputs, tilesim.simulate(program, arrays).outputs, strict=True):
        np.testing.assert_array_equal(output, weave.samples[index])
