"""Laws that hold for any small network on any small chip: both models agree, and what enters a bus leaves it."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tests.networks import Weave
from tests.tiled.corpus.chips import random_chip
from tests.tiled.test_laws import bytes_are_conserved
from tests.tiled.test_more_operators import multiplied, put_together, resized, table
from tilesim import simulate, verify
from tilesim.errors import CapacityError
from tilesim.network.graph import Network
from tilesim.tiled.topology import Topology

pytestmark = pytest.mark.usefixtures("on_simpy")

EXAMPLES = 25
LAYERS = {
    "point": lambda weave, x: weave.convolution(x, 5, 1),
    "convolution": lambda weave, x: weave.convolution(x, 4),
    "strided": lambda weave, x: weave.convolution(x, 3, strides=(2, 2)),
    "depthwise": lambda weave, x: weave.depthwise(x),
    "table": lambda weave, x: weave.add(table(weave), x, zero_point=9),
    "twice": lambda weave, x: resized(2 * weave.samples[x].shape[1], weave.samples[x].shape[2])(weave, x),
    "multiply": multiplied,
    "concatenation": put_together,
}


@st.composite
def networks(draw: Any) -> Network:
    """One to three layers on a map of a few places, and perhaps a vector at last."""
    weave = Weave(np.random.default_rng(draw(st.integers(0, 99))))
    x = weave.input(draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 4, 8])))
    for layer in draw(st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=3)):
        x = LAYERS[layer](weave, x)
    return weave.network(weave.fully_connected(x, 7) if draw(st.booleans()) else x)


@st.composite
def chips(draw: Any) -> Topology:
    """Those of the random programs, as far as networks are compiled for them."""
    tree = random_chip(Random(draw(st.integers(0, 999)))).model_dump()  # noqa: S311
    tree["mesh"]["destination"], tree["ring"]["no_consumer"] = "narrow", "stall"
    return Topology.model_validate(tree)


def test_both_models_agree_on_small_networks() -> None:
    ran = 0

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(networks(), chips())
    def check(network: Network, chip: Topology) -> None:
        nonlocal ran
        try:
            program = tilesim.compile(network, chip)
        except CapacityError:
            return
        x = np.random.default_rng(0).integers(-128, 128, network.tensors[network.inputs[0]].shape).astype(np.int8)
        verdict = verify(program, [x])
        assert verdict.ended
        assert not verdict.differences
        run = simulate(program, [x])
        np.testing.assert_array_equal(run.outputs[0], network.evaluate([x])[network.outputs[0]])
        bytes_are_conserved(program, run)
        ran += 1

    check()
    assert ran > 0.4 * EXAMPLES, "many networks must fit"
