"""Maps whose lines no row has room for: stripes of columns, which overlap by what windows reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tests.networks import Weave, same
from tests.rotating.compiler.compiled import as_model, chip, exact, inputs_of, small
from tests.rotating.compiler.test_random_networks import ADD, DISTANCES, fits, networks
from tests.soak import counts
from tilesim.errors import CapacityError
from tilesim.machines.options import RunOptions
from tilesim.network.graph import Network
from tilesim.network.operators import AveragePool, Concatenation, MaxPool, Padding, Table
from tilesim.rotating.compiler.compile import compile_network
from tilesim.rotating.isa.model.instructions import Step
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology

EXAMPLES = 300
Make = Callable[[Weave], int]


def network_of(make: Make) -> Network:
    weave = Weave()
    return weave.network(make(weave))


def simulated(program: Program, network: Network) -> None:
    """The machine in time gives every tensor, too."""
    expected = network.evaluate(inputs_of(network))
    run = simulate(program, as_model(network, network.inputs, expected), RunOptions(keep_tensors=True))
    for index, tensor in run.tensors.items():
        golden = network.tensors[index].to_model(expected[index])
        np.testing.assert_array_equal(tensor, golden, network.tensors[index].name)
    for output, golden in zip(run.outputs, as_model(network, network.outputs, expected), strict=True):
        np.testing.assert_array_equal(output, golden)


def columns_of(program: Program) -> Iterator[list[tuple[int, int, int]]]:
    """Of each tensor, the first and the last column of each stripe, and its block."""
    for place in program.tensors:
        own = place.layout.stripes
        yield [(stripe.first_column, stripe.first_column + stripe.columns - 1, stripe.block) for stripe in own]


def test_two_stripes_take_the_clocks_of_two_convolutions() -> None:
    program, found = exact(
        network_of(lambda weave: weave.convolution(weave.input(4, 20, 1), 1, padding=Padding())), small(16)
    )
    assert list(columns_of(program)) == [[(0, 14, 16), (13, 19, 8)], [(0, 12, 16), (13, 17, 8)]]
    clocks = [
        sum(op.repeat for op in program.run if isinstance(op, Step) and f".stripe{number}." in op.label)
        for number in (0, 1)
    ]
    assert clocks == [3, 3]  # of a filter row; it has no other block to wait for
    assert found.by_layer[0] == 20 + 20


@pytest.mark.parametrize("units", [8, 12, 16, 32])
@pytest.mark.parametrize(
    "moves",
    [
        {},
        {"strides": (2, 2)},
        {"strides": (1, 3)},
        {"dilations": (2, 2)},
        {"padding": Padding()},
        {"padding": Padding(1, 2, 0, 1)},
        {"strides": (3, 3), "dilations": (1, 2)},
    ],
)
def test_convolutions(moves: dict[str, Any], units: int) -> None:
    network = network_of(lambda weave: weave.convolution(weave.input(4, 40, 3), 5, **moves))
    program, _ = exact(network, small(units, rotation__direction="down" if units == 12 else "up"))
    assert all(len(stripes) > 1 for stripes in columns_of(program))
    simulated(program, network)


def depthwise(weave: Weave) -> int:
    return weave.depthwise(weave.depthwise(weave.input(5, 40, 3), strides=(2, 2)))


def largest(weave: Weave) -> int:
    return weave.add(MaxPool((3, 3), (2, 2), same(3), (-128, 127)), weave.input(5, 41, 3), zero_point=-7)


def average(weave: Weave) -> int:
    pool = AveragePool((3, 3), (2, 2), same(3), False, -7, -7, "divide", (0.05, 0.05), (-128, 127))
    return weave.add(pool, weave.input(5, 41, 3), zero_point=-7)


def apart(weave: Weave) -> int:
    """Its readers want other words around it."""
    x = weave.convolution(weave.input(5, 40, 3), 4)
    largest = weave.add(MaxPool((3, 3), (1, 1), same(3), (-128, 127)), x, zero_point=weave.zero_point(x))
    return weave.add(ADD, weave.convolution(x, 4), largest, zero_point=-5)


def residual(weave: Weave) -> int:
    x = weave.convolution(weave.input(5, 40, 3), 4)
    return weave.add(ADD, x, weave.convolution(weave.convolution(x, 6), 4), zero_point=-5)


def constant(weave: Weave) -> int:
    x = weave.input(3, 40, 3)
    return weave.add(ADD, x, weave.constant(weave.integers((1, 3, 40, 3))), zero_point=-5)


def looked_up(weave: Weave) -> int:
    table = Table("any", weave.integers((256,)))
    return weave.add(table, weave.convolution(weave.input(3, 40, 3), 4))


def beside(weave: Weave) -> int:
    x = weave.input(3, 40, 3, zero_point=3)
    both = weave.add(Concatenation(3), x, weave.convolution(x, 2), zero_point=3)
    return weave.convolution(both, 4, strides=(2, 2))


def whole(weave: Weave) -> int:
    return weave.fully_connected(weave.convolution(weave.input(2, 40, 3), 4), 5)


def pooled(weave: Weave) -> int:
    x = weave.convolution(weave.input(3, 38, 3), 4)
    zero = weave.zero_point(x)
    pool = AveragePool((3, 38), (1, 1), Padding(), False, zero, zero, "divide", (0.05, 0.05), (-128, 127))
    return weave.fully_connected(weave.add(pool, x, zero_point=zero), 5)


def only_whole(weave: Weave) -> int:
    return weave.fully_connected(weave.input(2, 37, 3), 5)


def only_beside(weave: Weave) -> int:
    return weave.add(Concatenation(2), weave.input(2, 37, 3), weave.input(2, 9, 3), zero_point=-7)


def pixel(weave: Weave) -> int:
    """One that goes with all of a map."""
    x = weave.convolution(weave.input(3, 40, 3), 4)
    return weave.add(ADD, x, weave.convolution(weave.input(1, 1, 4), 4, 1), zero_point=-5)


LAYERS = [depthwise, largest, average, apart, residual, constant, looked_up, beside, whole, pooled, only_whole]
LAYERS += [only_beside, pixel]


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize(("units", "bits"), [(16, 8), (24, 16), (32, 8)])
def test_layers(make: Make, units: int, bits: int) -> None:
    network = network_of(make)
    program, _ = exact(network, small(units, units__word_bits=bits))
    assert any(len(stripes) > 1 for stripes in columns_of(program))
    simulated(program, network)


def test_a_neighbours_columns_are_computed_twice_where_that_takes_fewer_layers() -> None:
    two = network_of(lambda weave: weave.convolution(weave.convolution(weave.input(4, 40, 1), 1), 1))
    program, _ = exact(two, small(32))
    first = list(columns_of(program))[1]
    assert first == [(0, 29, 32), (28, 39, 16)]
    assert not any(".copy" in op.label for op in program.run)


def test_else_they_are_copied() -> None:
    def deep(weave: Weave) -> int:
        x = weave.input(4, 20, 1)
        for _ in range(5):
            x = weave.convolution(x, 1)
        return x

    program, _ = exact(network_of(deep), small(8))
    assert any(".copy" in op.label for op in program.run)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [(9, 10), (16, 17)],
)
def test_a_window_wider_than_a_row_is_refused_with_numbers(kernel: int, words: int) -> None:
    network = network_of(lambda weave: weave.convolution(weave.input(kernel, 40, 1), 1, kernel, padding=Padding()))
    with pytest.raises(CapacityError, match=rf"a single column .* needs {words} words, .* rotating-8 has 8"):
        compile_network(network, small(8))


@pytest.mark.parametrize("name", ["example-conv", "digits"])
def test_shipped_workloads_on_small_chips_with_more_rows(name: str) -> None:
    network = tilesim.load_network(name)
    program, _ = exact(network, chip("rotating-8", {"data_ram.rows": 2048, "weight_ram.rows": 4096}))
    assert any(len(stripes) > 1 for stripes in columns_of(program))


CHIPS = st.builds(
    lambda units, bits, direction, distances, rule: small(
        units, units__word_bits=bits, rotation__direction=direction, rotation__distances=distances,
        units__block_rule=rule,
    ),
    st.sampled_from([8, 9, 12, 16, 20, 24, 32]),
    st.sampled_from([8, 8, 16]),
    st.sampled_from(["up", "down"]),
    DISTANCES,
    st.sampled_from(["greater", "at_least"]),
)  # fmt: skip


@pytest.mark.parametrize("examples", counts(EXAMPLES // 15, EXAMPLES))
def test_random_networks_with_wide_maps(examples: int) -> None:
    striped = []

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(networks(st.integers(10, 45)), CHIPS)
    def check(network: Network, topology: Topology) -> None:
        if fits(network, topology):
            program, _ = exact(network, topology)
            striped.append(any(len(stripes) > 1 for stripes in columns_of(program)))
            simulated(program, network)

    check()
    assert sum(striped) >= examples // 4
