"""Which plan of batches is taken: what is predicted is what comes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilesim
from tests.networks import Weave
from tests.systolic.compiled import as_model, chip, inputs_of
from tilesim import simulate
from tilesim.batching import SCHEDULES, graph_of, plan
from tilesim.errors import CapacityError
from tilesim.systolic.compiler.compile import compile_network, fastest
from tilesim.systolic.isa.model.instructions import Halt, Queue, Sync
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.run.simulate import timed


@pytest.mark.parametrize(
    ("name", "topology", "inferences"),
    [
        ("digits", "systolic-32", 6),
        ("digits", "tpu-v1", 3),
        ("pocket", "systolic-4", 9),
        ("example-conv", "systolic-32", 5),
        ("example-residual", "systolic-128", 4),
    ],
)
def test_the_predicted_best_is_the_simulated_best(name: str, topology: str, inferences: int) -> None:
    compare(name, topology, inferences)


CHIPS = ("systolic-4", "systolic-32", "systolic-128", "tpu-v1")


@pytest.mark.soak
@pytest.mark.parametrize("inferences", [2, 7, 20])
@pytest.mark.parametrize("topology", CHIPS)
@pytest.mark.parametrize("name", tilesim.list_workloads())
def test_on_every_workload_and_chip(name: str, topology: str, inferences: int) -> None:
    if (name, topology) == ("batching", "systolic-4"):  # too many weights
        with pytest.raises(CapacityError):
            compare(name, topology, inferences)
    else:
        compare(name, topology, inferences)


def compare(name: str, topology: str, inferences: int) -> None:
    """What is predicted of each schedule that fits is what it takes, and the best of them is chosen."""
    network, machine = tilesim.load_network(name), tilesim.load_topology(topology)
    best = tilesim.plan_batches(network, machine, inferences, "fastest")
    cycles = {}
    for schedule, _ in best.predicted:
        steps = tilesim.plan_batches(network, machine, inferences, schedule)
        program = tilesim.compile(network, machine, batches=steps)
        cycles[schedule] = tilesim.simulate(
            program, as_model(network, network.inputs, inputs_of(network, inferences))
        ).cycles
    assert dict(best.predicted) == cycles
    assert cycles[best.schedule] == min(cycles.values())


@settings(max_examples=5)
@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(1, 5),
    st.integers(1, 6),
    st.sampled_from(["window", "channels"]),
)
def test_a_run_without_data_takes_as_long(inputs: int, units: int, inferences: int, value: int, feed: str) -> None:
    weave = Weave()
    x = weave.convolution(weave.input(3, 4, inputs), units)
    network = weave.network(weave.fully_connected(x, 7))
    steps = plan(graph_of(network), Fraction(value), inferences, "demand")
    program = compile_network(network, chip("systolic-4", {"value_loaders.feed": feed}), plan=steps)
    assert timed(program) == simulate(program, inputs_of(network, inferences)).cycles


def test_of_equals_the_first_is_taken_and_of_none_that_fits_the_first_complains() -> None:
    network, topology = tilesim.load_network("pocket"), chip("systolic-4")
    plans = [plan(graph_of(network), 1, 2, schedule) for schedule in SCHEDULES]
    said: list[str] = []
    assert fastest(network, topology, plans, said.append).schedule == "none"
    assert [words.split()[-1] for words in said] == [*SCHEDULES]
    with pytest.raises(CapacityError, match="must fit the unified buffer"):
        fastest(network, chip("systolic-4", {"unified_buffer.size_bytes": 250}), plans, said.append)


def test_a_program_that_hangs_hangs_without_data_too() -> None:
    program = Program("p", chip("systolic-4"), (), (Sync(unit=Queue.VECTOR, until=Queue.MATRIX, count=1), Halt()))
    with pytest.raises(tilesim.HangError, match="hangs"):
        timed(program)
