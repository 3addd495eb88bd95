"""VGG16, whose fully connected layers have more weights for a block of outputs than a tile's wide memory holds."""

from __future__ import annotations

import numpy as np
import pytest

import tilesim


@pytest.mark.slow
def test_every_tensor_is_exact_on_sixteen_tiles() -> None:
    """All but the data memory is the default chip's."""
    network = tilesim.load_network("vgg16")
    chip = tilesim.load_topology("edge-4x4", {"data_memory.size_bytes": "256 MiB"})
    program = tilesim.compile(network, chip, "spatial")
    x = np.random.default_rng(0).integers(-128, 128, (1, 224, 224, 3)).astype(np.int8)
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), network.evaluate([x])
    assert len(run.tensors) >= len(network.nodes)
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
