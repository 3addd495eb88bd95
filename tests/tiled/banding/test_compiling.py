"""Networks whose maps are too large for the tiles run in bands, exactly, on both models, by proven programs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tests.large_maps import Sketch, deeplab, posenet
from tests.soak import counts
from tests.tiled.banding.test_rewrite import networks, runs
from tilesim.errors import CapacityError
from tilesim.machines.options import CompileOptions
from tilesim.machines.policies import PartitionPolicy, Wishes
from tilesim.network.graph import Network
from tilesim.tiled import stepped
from tilesim.tiled.banding.compiling import BandedSplit, of_layers
from tilesim.tiled.banding.rewrite import with_bands
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.host_split import split
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import proof_of
from tilesim.tiled.split_networks import compiled

EXAMPLES = counts(8, 200)
FEW = ((1, 16, 1, 1), (6, 24, 1, 2), (6, 32, 1, 1))
"""Of MobileNet v2's blocks as many as make a pattern."""


def chip(name: str, **keys: Any) -> tilesim.Topology:
    return tilesim.load_topology(name, {key.replace("__", "."): value for key, value in keys.items()})


def inputs(network: Network) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.integers(-128, 128, network.tensors[index].shape).astype(np.int8) for index in network.inputs]


def exact(program: Program, network: Network, *, tensors: bool = True) -> int:
    """Its cycles, if it is proven and makes what the network does, every tensor that can be read included."""
    x = inputs(network)
    golden = network.evaluate(x)
    run = tilesim.simulate(program, x, keep_tensors=tensors)
    for index, made in zip(network.outputs, run.outputs, strict=True):
        np.testing.assert_array_equal(made, golden[index])
    for index, made in run.tensors.items():
        np.testing.assert_array_equal(made, golden[index])
    assert proof_of(program).proven
    return run.cycles


def chain() -> Network:
    """A few layers, the last of which have the largest maps."""
    net = Sketch()
    x = net.windowed(net.input(17, 25, 3), 8, 3, stride=2)
    for channels in (16, 24, 24):
        x = net.windowed(net.windowed(x, 0, 3), channels, 1)
    return net.network(x)


def bands(program: Any) -> list[int]:
    return [layer.bands for layer in program.layers]


@pytest.mark.parametrize("chip_name", ["edge-1x2", "edge-2x2"])
def test_both_models_agree(chip_name: str) -> None:
    network = chain()
    size = {"edge-1x2": "2560", "edge-2x2": "1536"}[chip_name]
    program: Any = tilesim.compile(network, chip(chip_name, narrow_memory__size_bytes=size))
    assert max(bands(program)) > 1
    assert exact(program, network) == stepped.simulate(program, inputs(network)).cycles


@pytest.mark.parametrize(
    ("network", "chip_name", "size"),
    [
        pytest.param(posenet(33, 41, 0.125), "edge-2x2", "4 KiB", id="posenet"),
        pytest.param(deeplab(25, 0.5, 5, FEW), "edge-1x2", "4 KiB", id="deeplab"),
    ],
)
def test_large_maps_run_on_a_small_chip(network: Network, chip_name: str, size: str) -> None:
    program: Any = tilesim.compile(network, chip(chip_name, narrow_memory__size_bytes=size))
    assert max(bands(program)) > 1
    assert "concatenation" in {step.operator for step in program.steps}
    exact(program, network)


def test_layers_are_those_of_the_network_however_many_bands_they_have() -> None:
    network = chain()
    program: Any = tilesim.compile(network, chip("edge-1x2", narrow_memory__size_bytes="2560"))
    roomy: Any = tilesim.compile(network, chip("edge-1x2"))
    assert [(layer.name, layer.kind, layer.macs) for layer in program.layers] == [
        (layer.name, layer.kind, layer.macs) for layer in roomy.layers
    ]
    assert set(bands(roomy)) == {1}
    assert not roomy.steps
    statistics = tilesim.simulate(program, inputs(network)).statistics
    assert [layer["bands"] for layer in statistics["layers"]] == bands(program)
    assert all(layer["cycles"] > 0 for layer in statistics["layers"])


def test_what_is_in_bands_can_be_read_whole() -> None:
    network = chain()
    program: Any = tilesim.compile(network, chip("edge-1x2", narrow_memory__size_bytes="2560"))
    read = tilesim.simulate(program, inputs(network), keep_tensors=True).tensors
    assert set(read) == {*network.inputs, *(node.output for node in network.nodes)}


def test_parameters_stand_in_data_memory_once() -> None:
    network = chain()
    plain, banded = (
        tilesim.compile(network, chip("edge-1x2", narrow_memory__size_bytes=size)) for size in ("192 KiB", "2560")
    )
    sizes = [sum(segment.data.size for segment in each.data) for each in (plain, banded)]  # type: ignore[attr-defined]
    assert sizes[1] <= sizes[0] * 1.1


def test_the_refusal_is_of_the_whole_map_where_no_bands_help() -> None:
    topology = chip("edge-1x2", narrow_memory__size_bytes="1 KiB")
    with pytest.raises(CapacityError, match=r"tensor Convolution4 must fit the narrow memory of edge-1x2: it needs"):
        tilesim.compile(chain(), topology)


def test_the_choice_does_not_depend_on_rates_that_count_at_run_time() -> None:
    keys = {"narrow_memory__size_bytes": "2560"}
    programs: list[Any] = [
        tilesim.compile(chain(), chip("edge-1x2", **keys, host__bytes_per_cycle=rate)) for rate in (1, 64)
    ]
    assert programs[0].run == programs[1].run


def test_bands_may_be_forbidden() -> None:
    topology = chip("edge-1x2", narrow_memory__size_bytes="2560")
    with pytest.raises(CapacityError, match="must fit the narrow memory of edge-1x2"):
        tilesim.compile(chain(), topology, partition=PartitionPolicy(bands=False))


def in_bands(network: Network, topology: tilesim.Topology, cut: list[Any]) -> Program:
    """The network compiled with just these runs in bands."""
    plain, banded = split(network, 4, Wishes()), with_bands(network, cut)
    parts = split(banded.network, 4, Wishes(), banded.cuts)
    [program] = compiled([parts], CompileOptions(), topology)
    return of_layers(program, BandedSplit(plain, banded, parts, Arrangement.plain(topology.grid)))


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_runs_in_bands_change_nothing(examples: int) -> None:
    @given(st.data())
    @settings(max_examples=examples, deadline=None, suppress_health_check=[*HealthCheck])
    def check(data: Any) -> None:
        network = data.draw(networks())
        topology = chip(data.draw(st.sampled_from(["edge-1x1", "edge-1x2", "edge-2x2"])))
        exact(in_bands(network, topology, data.draw(runs(network))), network)

    check()


def test_bands_come_one_after_the_other() -> None:
    """The rows of a band are sent when the band before has been made."""
    network = chain()
    program: Any = tilesim.compile(network, chip("edge-1x2", narrow_memory__size_bytes="2560"))
    labels = [op.label for op in program.run if not isinstance(op, Infeed) or op.source == "host"]
    sent = [number for number, label in enumerate(labels) if label.startswith("input") and label.endswith("send0")]
    assert len(sent) > 2
    assert all(
        any(label.startswith(("conv", "depthwise")) for label in labels[one:other]) for one, other in pairwise(sent)
    )


SIZES = {"posenet": lambda: posenet(721, 1281, 0.75), "deeplab": lambda: deeplab(513)}
"""Those of models for the Coral Edge TPU."""


@pytest.mark.soak
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("chip_name", ["coral-usb", "coral-pcie"])
def test_public_sizes_run_on_a_public_chip(name: str, chip_name: str) -> None:
    network = SIZES[name]()
    program: Any = tilesim.compile(network, chip(chip_name))
    exact(program, network, tensors=False)


def test_what_is_too_large_in_bands_is_said_as_well() -> None:
    topology = chip("edge-1x2", narrow_memory__size_bytes="2560", instruction_memory__size_bytes="8 KiB")
    with pytest.raises(CapacityError) as caught:
        tilesim.compile(chain(), topology)
    whole, bands_of_it = caught.value.faults
    assert "must fit the narrow memory of edge-1x2: it needs" in whole
    assert "net: its program must fit the instruction memory of edge-1x2: " in bands_of_it
    assert bands_of_it.endswith(" are needed, of 8 KiB, in bands of rows")
