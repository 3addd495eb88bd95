"""Real models on rotating chips: every tensor is the golden one, and each layer takes the clocks of its closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.rotating.compiler.clocks import control
from tests.rotating.compiler.compiled import chip, exact
from tests.rotating.interpreter import Interpreter
from tilesim.network.graph import Network
from tilesim.rotating.compiler.compile import compile_network
from tilesim.shipped import shipped

NAMES = {
    "kws": "mlperf_kws_dscnn",
    "resnet8": "mlperf_resnet8",
    "ad": "mlperf_ad_ae",
    "vww": "mlperf_vww_mnv1",
    "mcunet": "mit_mcunet_detection",
    "coral": "coral_tf2_mnv2_ptq",
}
CLOCKS = {
    ("digits", "nnu-1024"): [74, 74, 5354, 2514, 12, 10, 501],
    ("digits", "nnu-512"): [74, 74, 5354, 2514, 12, 10, 501],
    ("digits", "ncore"): [74, 74, 1064, 964, 12, 10, 129],
    ("kws", "nnu-1024"): [1930, *[244, 12650] * 4, 126, 506],
    ("kws", "ncore"): [1930, *[244, 1625] * 4, 126, 65],
    ("resnet8", "nnu-1024"): [
        18362, 90554, 90554, 128, 90554, 45786, 30784, 80, 45786, 22250, 15904, 40, 65, 1010,
    ],
    ("resnet8", "ncore"): [1160, 4544, 4544, 96, 4544, 4432, 544, 48, 4432, 4232, 528, 24, 65, 65],
}  # fmt: skip
"""Of steps and outs, by layer, as ROTATING 4 has them: computed by a model that shares nothing with this one."""
CONTROL = {
    "digits": [3, 2, 3, 3, 1, 3, 3],
    "kws": [4, 3, 1, 2, 1, 2, 1, 2, 1, 3, 3],
    "resnet8": [3, 2, 3, 1, 4, 3, 4, 2, 4, 3, 4, 2, 3, 3],
}
"""Of set, mask and parameters: of a pass, parameters, and a mask if it differs from the one before; a layer's set, if
it differs, too.
"""
PASSES = {"digits": [1, 1, 2, 1, 0, 1, 1], "kws": [2, *[1] * 10], "resnet8": [1, 1, 1, 0, 2, 1, 2, 0, 2, 1, 2, 0, 1, 1]}
"""With parameters; where there are none, the layer is an add, which needs none."""


def model(name: str, models: Path) -> Network:
    return tilesim.load_network(models / NAMES[name] / "model.tflite" if name in NAMES else name)


def by_layer(found: Interpreter) -> tuple[list[int], list[int]]:
    """Clocks of layers that have any, of steps and outs, and of control."""
    layers = sorted(found.by_layer)
    return [found.by_layer[layer] for layer in layers], [found.overhead[layer] for layer in layers]


def most_control(name: str) -> list[int]:
    """Of layers of which each sets everything anew."""
    return [control(passes) if passes else 2 for passes in PASSES[name]]


@pytest.mark.parametrize(("name", "topology"), CLOCKS)
def test_every_tensor_is_golden_and_each_layer_takes_its_clocks(name: str, topology: str, models: Path) -> None:
    program, found = exact(model(name, models), chip(topology))
    assert by_layer(found) == (CLOCKS[name, topology], CONTROL[name])
    assert all(
        least <= own <= most for least, own, most in zip(PASSES[name], CONTROL[name], most_control(name), strict=True)
    )
    assert len(program.run) < 500


@pytest.mark.parametrize("name", ["digits", "kws", "resnet8"])
def test_longer_distances_change_no_bit(name: str, models: Path) -> None:
    _, found = exact(model(name, models), chip("nnu-1024-jump"))
    clocks = {"digits": 4453, "kws": 15960, "resnet8": 82349 + 128 + 80 + 40 + 65}
    assert sum(found.by_layer.values()) == clocks[name]


@pytest.mark.parametrize(("name", "topology"), [("ad", "nnu-512"), ("ad", "nnu-1024"), ("vww", "ncore")])
def test_more_weights_than_there_are_rows_come_while_layers_work(name: str, topology: str, models: Path) -> None:
    program, _ = exact(model(name, models), chip(topology))
    assert any(segment.name == "streamed weights" for segment in program.data) == (topology != "nnu-1024")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "topology"), [("mcunet", "ncore"), ("mcunet", "nnu-1024-jump"), ("coral", "ncore"), ("resnet8", "nnu-512")]
)
def test_large_models(name: str, topology: str, models: Path) -> None:
    exact(model(name, models), chip(topology))


@pytest.mark.parametrize("topology", ["nnu-1024", "nnu-1024-jump", "nnu-512", "ncore"])
@pytest.mark.parametrize("name", ["pocket", "example-conv", "example-residual"])
def test_shipped_workloads(name: str, topology: str) -> None:
    exact(tilesim.load_network(name), chip(topology))


@pytest.mark.parametrize(
    ("name", "topology"), [("pocket", "rotating-8"), ("pocket", "rotating-16"), ("kws", "nnu-512")]
)
def test_small_memories_have_room_for_rings(name: str, topology: str, models: Path) -> None:
    program, found = exact(model(name, models), chip(topology))
    rings = any(op.label.startswith("input0.") for op in program.run)
    assert rings == (topology != "rotating-16")
    if name in CONTROL:
        assert sum(found.by_layer.values()) == sum(CLOCKS[name, "nnu-1024"])


def test_the_digits_equal_onnx_runtime() -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    program = compile_network(tilesim.load_network("digits"), chip("nnu-1024"))
    for k in range(3):
        found = Interpreter(program, [held_out["in0"][k : k + 1]])
        found.run()
        np.testing.assert_array_equal(found.output(0), held_out["out0"][k : k + 1])
