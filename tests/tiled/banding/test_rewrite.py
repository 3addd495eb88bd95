"""Networks with runs of layers in bands compute what they do without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.large_maps import deeplab, posenet
from tests.networks import SCALE, Weave
from tilesim.arithmetic.add import add_scaling_fixed
from tilesim.network.graph import Network
from tilesim.network.operators import Add, Padding
from tilesim.tiled.banding.operators import ROWS
from tilesim.tiled.banding.rewrite import BandedRun, band_rows, run_outputs, with_bands

CLAMP = (-128, 127)


def residual(weave: Weave, x: int, y: int) -> int:
    zeros = (weave.zero_point(x), weave.zero_point(y), 0)
    return weave.add(Add("double", add_scaling_fixed((SCALE, SCALE, 0.1), zeros, "double"), CLAMP), x, y)


@st.composite
def networks(draw: Any) -> Network:
    """Convolutions one after the other, with ways around some; every map may be an output."""
    weave = Weave(np.random.default_rng(draw(st.integers(0, 999))))
    x = weave.input(draw(st.integers(6, 20)), draw(st.integers(1, 12)), draw(st.sampled_from([3, 4, 8])))
    made = []
    for _ in range(draw(st.integers(1, 4))):
        before = x
        x = weave.convolution(x, draw(st.sampled_from([4, 8, 12])), draw(st.sampled_from([1, 3])))
        stride = draw(st.sampled_from([1, 1, 2])) if weave.samples[x].shape[ROWS] > 5 else 1
        x = weave.depthwise(x, 3, strides=(stride, stride), padding=Padding(1, 1, 1, 1))
        if draw(st.booleans()):
            x = weave.convolution(x, weave.samples[before].shape[3], 1)
            x = residual(weave, before, x) if weave.samples[x].shape == weave.samples[before].shape else x
        made.append(x)
    also = [each for each in made[:-1] if draw(st.booleans())]
    if draw(st.booleans()):
        weave.convolution(x, 4)  # which nobody reads
    return weave.network(*dict.fromkeys([*also, x]))


@st.composite
def runs(draw: Any, network: Network) -> list[BandedRun]:
    """Runs one after the other, some layers between them left as they are."""
    found, layer = [], 0
    while layer < len(network.nodes):
        first = draw(st.integers(layer, len(network.nodes)))
        if first == len(network.nodes):
            break
        layer = draw(st.integers(first + 1, len(network.nodes)))
        rows = [network.tensors[index].shape[ROWS] for index in run_outputs(network, range(first, layer))]
        if rows and min(rows) > 1:
            found.append(BandedRun(range(first, layer), draw(st.integers(2, min(5, *rows)))))
    return found


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_runs_in_bands_make_the_same(data: Any) -> None:
    network = data.draw(networks())
    banded = with_bands(network, data.draw(runs(network)))
    x = np.random.default_rng(1).integers(-128, 128, network.tensors[network.inputs[0]].shape).astype(np.int8)
    plain, other = network.evaluate(x), banded.network.evaluate(x)
    for index in network.outputs:
        np.testing.assert_array_equal(other[index], plain[index])
    for index, (whole, first) in banded.places.items():
        rows = banded.network.tensors[index].shape[ROWS]
        np.testing.assert_array_equal(other[index], plain[whole][:, first : first + rows])


@given(st.integers(1, 60), st.integers(1, 60))
def test_bands_are_alike_and_make_up_the_map(size: int, bands: int) -> None:
    rows = band_rows(size, bands)
    assert [row for band in rows for row in band] == list(range(size))
    assert max(map(len, rows)) - min(map(len, rows)) <= 1


@pytest.mark.parametrize(
    ("network", "run"),
    [
        pytest.param(posenet(65, 97, 0.25), BandedRun(range(30), 3), id="posenet"),
        pytest.param(deeplab(65, 0.25, 4), BandedRun(range(20, 41), 2), id="deeplab"),
    ],
)
def test_layers_know_of_what_they_are_bands(network: Network, run: BandedRun) -> None:
    banded = with_bands(network, [run])
    assert len(banded.origins) == len(banded.network.nodes)
    for layer, node in enumerate(network.nodes):
        own = [banded.network.nodes[k] for k in banded.bands_of(layer)]
        assert len(own) == (run.bands if layer in run.layers else 1)
        assert {type(each.operator) for each in own} == {type(node.operator)}
