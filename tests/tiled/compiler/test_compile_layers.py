"""Random layers and networks, compiled and simulated on one tile, against the golden operators bit for bit."""

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import tilesim

CHIPS = [tilesim.load_topology("edge-1x1", keys) for keys in ({}, {"tile.lanes": 16, "wide_memory.ports": 2})]
CHANNELS = st.one_of(st.integers(1, 9), st.sampled_from([15, 16, 17, 63, 64, 65, 70]))
SMALL = st.integers(1, 3)
PAIRS = st.tuples(SMALL, SMALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workloads")


def check(folder: Path, shape: tuple[int, ...], layers: list[dict[str, Any]], chip: int, zero_point: int = 0) -> None:
    """Two samples of every tensor that is kept are those of the golden operators."""
    path = folder / "workload.yaml"
    path.write_text(json.dumps({"input": {"shape": shape, "zero_point": zero_point}, "layers": layers}), "utf-8")
    network = tilesim.load_network(path)
    x = np.random.default_rng(prod(shape)).integers(-128, 128, (2, *shape[1:])).astype(np.int8)
    run = tilesim.simulate(tilesim.compile(network, CHIPS[chip]), [x], keep_tensors=True)
    expected = network.evaluate([x])
    assert {node.output for node in network.nodes if node.kind != "reshape"} <= run.tensors.keys()
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, expected[index], network.tensors[index].name)


@st.composite
def windows(draw: st.DrawFn, kind: str, channels: int) -> dict[str, Any]:
    """A layer that moves a window, padded so that it always fits."""
    layer: dict[str, Any] = {"kind": kind, "strides": draw(PAIRS), "padding": "same"}
    layer["activation"] = draw(st.sampled_from(["none", "relu", "relu6"]))
    layer["window" if kind.endswith("pool") else "kernel"] = draw(PAIRS)
    if kind.endswith("convolution"):
        layer["dilations"] = draw(PAIRS)
    if kind == "convolution":
        layer["groups"] = draw(st.sampled_from([k for k in range(1, 5) if channels % k == 0]))
        layer["filters"] = layer["groups"] * draw(st.integers(1, 20))
    if kind == "depthwise_convolution":
        layer["channel_multiplier"] = draw(st.sampled_from([1, 1, 1, 2, 3]))
    return layer


KINDS = st.sampled_from(["convolution", "depthwise_convolution", "max_pool", "average_pool"])


@settings(max_examples=200, deadline=None)
@given(st.data(), KINDS, PAIRS, CHANNELS, st.integers(-128, 127), st.sampled_from([0, 1]))
def test_one_layer(
    folder: Path, data: st.DataObject, kind: str, size: tuple[int, int], channels: int, zero_point: int, chip: int
) -> None:
    layer = {"name": "layer", **data.draw(windows(kind, channels))}
    size = size[0] * 3, size[1] * 2 + 1
    check(folder, (1, *size, channels), [layer], chip, zero_point)


@settings(max_examples=40, deadline=None)
@given(st.tuples(SMALL, SMALL, CHANNELS), CHANNELS, st.sampled_from(["none", "relu"]), st.sampled_from([0, 1]))
def test_fully_connected_layers_read_maps(
    folder: Path, shape: tuple[int, int, int], units: int, activation: str, chip: int
) -> None:
    layer = {"name": "fc", "kind": "fully_connected", "units": units, "activation": activation}
    check(folder, (1, *shape), [layer], chip, 5)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.lists(KINDS, min_size=2, max_size=5), CHANNELS, st.sampled_from([0, 1]))
def test_networks(folder: Path, data: st.DataObject, kinds: list[str], channels: int, chip: int) -> None:
    layers: list[dict[str, Any]] = []
    shape = channels
    for k, kind in enumerate(kinds):
        layers.append({"name": f"layer{k}", **data.draw(windows(kind, shape))})
        shape = layers[-1].get("filters", shape * layers[-1].get("channel_multiplier", 1))
    twin = {**layers[-1], "name": "twin", "input": layers[-2]["name"]}
    total = {"name": "sum", "kind": "add", "input": layers[-1]["name"], "other": "twin"}
    ends = [{"name": "fc", "kind": "fully_connected", "units": 9}, {"name": "softmax", "kind": "softmax"}]
    try:
        check(folder, (1, 9, 8, channels), [*layers, twin, total, *ends], chip, -7)
    except tilesim.CapacityError:
        reject()
