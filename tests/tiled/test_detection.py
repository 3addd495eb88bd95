"""A person detector with borders, copies of pixels and three heads of reals: every tensor on several tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.soak import part_of

FOLDED = {100, 117, 125, 157, 35}
"""Tensors with a border that a convolution takes over: nothing holds them as they are."""


@pytest.mark.parametrize("topology", part_of(["edge-2x2", "edge-4x4", "edge-8x8"], 2))
def test_every_tensor_and_every_head_equals_the_reference_kernels(models: Path, topology: str) -> None:
    folder = models / "mit_mcunet_detection"
    network = tilesim.load_network(folder / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology(topology))
    io, tensors = np.load(folder / "io.npz"), np.load(folder / "acts_ref.npz")
    samples = range(len([key for key in io.files if key.endswith("_in0")]))
    run = tilesim.simulate(program, [np.concatenate([io[f"s{k}_in0"] for k in samples])], keep_tensors=True)
    for j, heads in enumerate(run.outputs):
        np.testing.assert_array_equal(heads, np.concatenate([io[f"s{k}_out{j}_ref"] for k in samples]))
    assert {int(key[1:]) for key in tensors.files} == run.tensors.keys() | FOLDED
    for key in tensors.files:
        if (index := int(key[1:])) in run.tensors:
            np.testing.assert_array_equal(run.tensors[index][:1], tensors[key])
    places = {layer["name"]: layer["place"] for layer in run.statistics["layers"]}
    assert sorted(set(places.values())) == ["host", "nowhere", "tiles"]
