"""Loop counts that a vendor's compiled models have, against those of programs cut over rows and columns alone.

Source: the vendor's binaries of MobileNet v1 0.25 128 and MobileNet v2 1.0 224, added up over a 4 x 4 array.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path

import pytest
import yaml

import tilesim
from tilesim.network.graph import Network
from tilesim.network.operators import Convolution, DepthwiseConvolution, FullyConnected
from tilesim.shipped import located
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.isa.model.instructions import TensorOp


def issue_cycles(network: Network) -> dict[type, int]:
    """Those of the busiest tile of edge-4x4, by the kind of layer."""
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"), "spatial")
    cycles: dict[type, Counter[int]] = {}
    for op in program.run:
        if isinstance(op, TensorOp):
            kind = type(network.nodes[op.layer].operator)
            steps = prod(loop.bound for loop in op.nest.loops[:-1])
            cycles.setdefault(kind, Counter()).update(dict.fromkeys(bits(op.tiles), steps))
    return {kind: max(by_tile.values()) for kind, by_tile in cycles.items()}


def test_mobilenet_v1_of_a_quarter_of_the_channels(tmp_path: Path) -> None:
    """Its classes are a convolution in the vendor's model."""
    document = yaml.safe_load(located("mobilenet_v1", "workloads").read_text())
    document["input"]["shape"] = [1, 128, 128, 3]
    for layer in document["layers"]:
        if "filters" in layer:
            layer["filters"] //= 4
    document["layers"][-2]["window"] = [4, 4]
    small = tmp_path / "small.yaml"
    small.write_text(yaml.safe_dump(document))
    cycles = issue_cycles(tilesim.load_network(small))
    assert cycles[DepthwiseConvolution] == 22_176
    assert cycles[Convolution] + cycles[FullyConnected] == 5_824


@pytest.mark.slow
def test_mobilenet_v2(models: Path) -> None:
    cycles = issue_cycles(tilesim.load_network(models / "coral_tf2_mnv2_ptq" / "model.tflite"))
    assert cycles[DepthwiseConvolution] == 355_284
    assert cycles[Convolution] == 108_796
