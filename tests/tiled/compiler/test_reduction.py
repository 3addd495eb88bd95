"""Means over whole maps by sums of their parts: every tensor is the golden one, on both models, whatever the chip."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tilesim
from tests.soak import counts
from tests.tiled.test_random_networks import CHANNELS, chips, exact, loaded
from tilesim.arithmetic.requantise import float_bits
from tilesim.machines.verify import differences, event_result
from tilesim.network.graph import Network, Operator
from tilesim.network.operators import AveragePool, Mean
from tilesim.tiled.isa.model.instructions import RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled

EXAMPLES = counts(20, 300)


@st.composite
def heads(draw: Any) -> dict[str, Any]:
    """A map that a convolution or nothing makes, the mean of it, and perhaps vectors made of that."""
    height, width, channels = draw(st.integers(1, 14)), draw(st.integers(1, 14)), draw(CHANNELS)
    layers: list[dict[str, Any]] = []
    if draw(st.booleans()):
        channels = draw(CHANNELS)
        layers.append({"name": "conv", "kind": "convolution", "kernel": [1, 1], "filters": channels, "padding": "same"})
    layers.append({"name": "mean", "kind": "average_pool", "window": [height, width], "padding": "valid"})
    for number in range(draw(st.integers(0, 2))):
        units = draw(st.sampled_from([1, 10, 64, 100, 300, 1001]))
        layers.append({"name": f"fc{number}", "kind": "fully_connected", "units": units})
    given_shape = [1, height, width, draw(CHANNELS) if len(layers) > 1 else channels]
    return {"seed": draw(st.integers(0, 9)), "input": {"shape": given_shape, "zero_point": 3}, "layers": layers}


def factor(draw: Any, count: int) -> tuple[str, int, int]:
    rule = draw(st.sampled_from(["double", "single", "float"]))
    if rule == "float":
        return rule, int(float_bits(draw(st.floats(0.5, 2)) / count)[0]), 0
    return rule, draw(st.integers(1 << 30, (1 << 31) - 1)), draw(st.integers(-1, 1)) - count.bit_length()


def with_other_rule(draw: Any, network: Network) -> Network:
    """The pool over the whole map as what other readers make of one."""
    nodes = []
    for node in network.nodes:
        operator: Operator = node.operator
        if isinstance(operator, AveragePool):
            choice = draw(st.sampled_from(["divide", "float", "real", "mean", "mean"]))
            output = network.tensors[node.output]
            if choice == "mean":
                count = operator.window[0] * operator.window[1]
                points = draw(st.integers(-128, 127)), draw(st.integers(-20, 20))
                operator = Mean(output.shape, *points, *factor(draw, count), operator.clamp)
            elif choice != "divide":
                operator = replace(operator, rule=choice, scales=(0.05, 0.04), input_zero_point=7, output_zero_point=-9)
        nodes.append(replace(node, operator=operator))
    return replace(network, nodes=tuple(nodes))


def compiled(network: Network, chip: dict[str, Any]) -> Program | None:
    try:
        return tilesim.compile(network, tilesim.load_topology("edge-4x4", chip), partition="mixed")
    except tilesim.CapacityError:
        return None


def sums_sent(program: Program) -> list[RingProduce]:
    return [op for op in program.run if isinstance(op, RingProduce) and op.label.startswith("sums")]


def test_means_of_maps_in_several_tiles_are_exact(tmp_path: Path) -> None:
    added = 0

    @settings(
        max_examples=60,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(heads(), chips(), st.data())
    def check(workload: dict[str, Any], chip: dict[str, Any], data: Any) -> None:
        nonlocal added
        network = with_other_rule(data.draw, loaded(workload, tmp_path))
        if program := compiled(network, chip):
            exact(network, program)
            inputs = [np.random.default_rng(0).integers(-128, 128, network.tensors[network.inputs[0]].shape, np.int8)]
            assert not differences(event_result(Tiled(), program, inputs), Tiled().step(program, inputs, trace=False))
            added += bool(sums_sent(program))

    check()
    assert added > 10
