from dataclasses import replace
from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.batching.graphs import REUSES, chain, graphs
from tilesim.batching import SCHEDULES, LayerGraph, batch_size, is_of, plan
from tilesim.batching.graph import GraphNode
from tilesim.batching.schedules import Schedule
from tilesim.errors import CapacityError, InputError
from tilesim.systolic.topology import Topology


@pytest.mark.parametrize(("reuse", "batch"), [(28900, 1), (784, 2), (196, 8), (49, 31)])
def test_batches_of_the_published_example(reuse: int, batch: int) -> None:
    assert batch_size(1500, reuse) == batch


def test_rounded_up_to_powers_of_two_they_have_a_small_common_multiple() -> None:
    batches = plan(chain(REUSES), 1500, 32, power_of_two=True).batches
    assert batches == (1, 2, 8, 8, 8, 32)
    assert lcm(*batches) == 32


@given(value=st.fractions(Fraction(1, 100), 10_000), reuse=st.integers(1, 100_000))
def test_a_batch_is_the_smallest_that_uses_weights_often_enough(value: Fraction, reuse: int) -> None:
    batch, rounded = batch_size(value, reuse), batch_size(value, reuse, power_of_two=True)
    assert (batch - 1) * reuse < value <= batch * reuse
    assert rounded & (rounded - 1) == 0
    assert batch <= rounded < 2 * batch


@pytest.mark.parametrize(
    ("chip", "overrides", "value"),
    [
        ("tpu-v1", {}, Fraction(256 * 256 * 700, 16 * 2125)),
        ("systolic-4", {"weight_memory.channels": 3, "weight_memory.clock_hz": "50 MHz"}, 4),  # 1 1/3 transfers take 2
    ],
)
def test_a_chip_must_use_a_weight_for_as_long_as_the_next_tile_takes(
    chip: str, overrides: dict[str, object], value: Fraction
) -> None:
    topology = tilesim.load_topology(chip, overrides)
    assert isinstance(topology, Topology)
    assert topology.weight_tile_cycles == value


def test_groups_take_more_buffer_and_fewer_weights() -> None:
    """Each inference leaves 10 bytes in every layer; a batch of the last layer holds 32 of them and makes as many."""
    demand, groups = (plan(chain(REUSES), 1500, 64, schedule, True) for schedule in ("demand", "lcm"))
    assert (demand.peak_bytes, groups.peak_bytes) == (32 * 10 + 32 * 10, 32 * 10 + 32 * 10)
    assert (demand.weight_bytes, groups.weight_bytes) == (90 * 100, 12 * 100)


def test_early_maps_are_what_groups_hold() -> None:
    nodes = (
        GraphNode("big", (~0,), 100, 28900, 1),
        GraphNode("small", (0,), 1, 784, 1),
        GraphNode("last", (1,), 1, 49),
    )
    graph = LayerGraph("falling", (1,), nodes)
    demand, groups = (plan(graph, 1500, 32, schedule, True) for schedule in ("demand", "lcm"))
    assert demand.peak_bytes == 2 * 100 + 32
    assert groups.peak_bytes == 32 * 100 + 2


def test_a_plan_that_the_buffer_does_not_hold_is_refused() -> None:
    with pytest.raises(CapacityError) as caught:
        plan(chain(REUSES), 1500, 32, "lcm", True, capacity_bytes=639)
    assert str(caught.value) == (
        "chain: tensors of schedule lcm must fit the unified buffer: they take 640 B (640 bytes) at once, "
        "and there are 639 B (639 bytes)"
    )
    assert plan(chain(REUSES), 1500, 32, "lcm", True, capacity_bytes=640).fitted == ""


@pytest.mark.parametrize(
    ("schedule", "power_of_two", "fitted", "loads"),
    [
        ("lcm", False, "groups of at most 15 inferences, not 32", 18),
        ("lcm", True, "groups of at most 8 inferences, not 32", 24),
        ("demand", False, "batches of at most 12 inferences, not 31", 47),
        ("demand", True, "batches of at most 8 inferences, not 32", 48),
    ],
)
def test_smaller_batches_fit(schedule: Schedule, power_of_two: bool, fitted: str, loads: int) -> None:
    made = plan(chain(REUSES), 1500, 32, schedule, power_of_two, capacity_bytes=300, fit=True)
    assert (made.fitted, made.loads) == (fitted, loads)
    assert made.peak_bytes <= 300


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_inference_must_fit(schedule: Schedule) -> None:
    with pytest.raises(CapacityError, match=r"tensors of one inference .* they take 20 B"):
        plan(chain(REUSES), 1500, 32, schedule, capacity_bytes=19, fit=True)


@given(graphs(), st.integers(1, 24), st.integers(1, 40), st.sampled_from(SCHEDULES), st.booleans())
def test_what_is_fitted_fits(
    graph: LayerGraph, value: int, inferences: int, schedule: Schedule, power_of_two: bool
) -> None:
    alone = plan(graph, value, inferences, "none").peak_bytes
    made = plan(graph, value, inferences, schedule, power_of_two, capacity_bytes=2 * alone, fit=True)
    assert made.peak_bytes <= 2 * alone
    assert sum(step.count for step in made.steps) == inferences * len(graph.layers)


def test_faults_are_all_named() -> None:
    with pytest.raises(InputError) as caught:
        plan(LayerGraph("empty", (1,), ()), 0, 0, "lmc")  # type: ignore[arg-type]
    assert caught.value.faults == (
        "empty: must have a layer with weights to form batches for",
        "schedule must be one of none, demand, lcm, not lmc",
        "the weight reuse value must be a number above 0, not 0",
        "inferences must be a whole number from 1 to 4,096, not 0",
    )


@given(graphs(), graphs(), st.sampled_from(SCHEDULES), st.integers(1, 40))
def test_a_plan_is_one_of_graphs_that_have_its_layers(
    graph: LayerGraph, other: LayerGraph, schedule: Schedule, n: int
) -> None:
    made = plan(graph, 100, n, schedule)
    assert is_of(made, graph)
    assert is_of(made, other) == ([layer.node for layer in graph.layers] == [layer.node for layer in other.layers])
    assert not is_of(replace(made, steps=made.steps[1:]), graph)
    assert not is_of(replace(made, inferences=n + 1), graph)


@pytest.mark.parametrize(
    ("schedule", "buffer_bytes", "loads"), [("none", 110, 8), ("demand", 4 * 110, 2), ("lcm", 4 * 110, 2)]
)
def test_a_layer_alone_takes_its_batch_and_then_the_next(schedule: Schedule, buffer_bytes: int, loads: int) -> None:
    """When all layers have run the same inferences, what comes then has nothing to do with what was before."""
    graph = chain([1], makes_bytes=100, input_bytes=10)
    made = plan(graph, 4, 8, schedule, at_once={0})
    assert (made.peak_bytes, made.loads, made.weight_bytes) == (buffer_bytes, loads, loads * 100)
    assert plan(graph, 4, 8, schedule).loads == 1  # a single tile stays


def test_steps_that_run_as_one_are_in_the_buffer_together() -> None:
    nodes = (GraphNode("big", (~0,), 100, 28900, 1), GraphNode("last", (0,), 1, 1, 1))
    graph = LayerGraph("falling", (1,), nodes)
    apart, together = (plan(graph, 4, 4, "lcm", at_once=layers) for layers in ((), (0,)))
    assert (apart.batches, apart.steps) == (together.batches, together.steps)
    assert apart.buffer_bytes == (101, 201, 301, 401, 404)
    assert together.buffer_bytes == (404, 404, 404, 404, 404)
