"""Random networks, compiled for random rotating chips: both models and the golden network have the same tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.rotating.compiler.compiled import as_model, inputs_of, small
from tests.rotating.compiler.test_random_networks import networks
from tests.soak import counts
from tilesim import verify
from tilesim.errors import CapacityError
from tilesim.machines.options import RunOptions
from tilesim.machines.verify import ENDED
from tilesim.network.graph import Network
from tilesim.rotating.compiler.compile import compile_network
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology

EXAMPLES = 400

CHIPS = st.builds(
    lambda units, rule, weight_rows, direction, distances, ports, output, host: small(
        units[0],
        units__word_bits=units[1],
        units__block_rule=rule,
        weight_ram__rows=weight_rows,
        rotation__direction=direction,
        rotation__distances=distances,
        data_ram__ports=ports[0],
        weight_ram__ports=ports[1],
        output__words_per_cycle=min(units[0], output[0]),
        output__latency_cycles=output[1],
        output__buffers=output[2],
        host__bytes_per_cycle=host[0],
        host__latency_cycles=host[1],
    ),
    st.tuples(st.sampled_from([8, 12, 16, 24, 32, 48, 60, 64, 96, 128]), st.sampled_from([8, 8, 16])),
    st.sampled_from(["greater", "at_least"]),
    st.sampled_from([100, 400, 1 << 16]),
    st.sampled_from(["up", "down"]),
    st.sampled_from(["1", "1", "1 4", "1 2 3", "1-7"]),
    st.tuples(*[st.sampled_from(["single", "dual"])] * 2),
    st.tuples(st.sampled_from([0, 0, 3, 8]), st.integers(1, 4), st.integers(1, 3)),
    st.tuples(st.sampled_from([1, 4, 64]), st.sampled_from([0, 0, 5])),
)


def compiled(network: Network, topology: Topology) -> Program | None:
    """None for what has no room."""
    try:
        return compile_network(network, topology)
    except CapacityError:
        return None


def must_agree(program: Program, network: Network) -> None:
    """Both models to the cycle, and every tensor with the golden one, for two samples at once."""
    expected = [network.evaluate(inputs_of(network, seed)) for seed in (1, 2)]
    given_ = [as_model(network, network.inputs, values) for values in expected]
    verdict = verify(program, given_[0])
    assert verdict.agree, (verdict.differences, verdict.divergence)
    assert verdict.end == ENDED
    both = [np.concatenate(arrays) for arrays in zip(*given_, strict=True)]
    run = simulate(program, both, RunOptions(keep_tensors=True))
    assert run.cycles == verdict.cycles
    for index, tensor in run.tensors.items():
        golden = [network.tensors[index].to_model(values[index]) for values in expected]
        np.testing.assert_array_equal(tensor, np.concatenate(golden), network.tensors[index].name)
    for number, output in enumerate(run.outputs):
        golden = [as_model(network, network.outputs, values)[number] for values in expected]
        np.testing.assert_array_equal(output, np.concatenate(golden))


@pytest.mark.parametrize("examples", counts(25, EXAMPLES))
def test_both_models_and_the_golden_network_agree(examples: int) -> None:
    ran: list[Any] = []

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(networks(), CHIPS)
    def check(network: Network, topology: Topology) -> None:
        program = compiled(network, topology)
        if program is not None:
            must_agree(program, network)
            ran.append(topology.units.count)

    check()
    assert len(ran) >= 3 * examples // 4
    assert {units & (units - 1) > 0 for units in ran} == {True, False}
