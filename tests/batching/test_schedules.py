from collections import Counter
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batching.graphs import REUSES, chain, graphs
from tilesim.batching import SCHEDULES, LayerGraph, Plan, batch_size, plan
from tilesim.batching.flow import peak_queues
from tilesim.batching.graph import GraphNode
from tilesim.batching.schedules import Schedule, rounds

VALUES = st.integers(1, 24)
COUNTS = st.integers(1, 70)


def published(schedule: Schedule, inferences: int = 32) -> Plan:
    return plan(chain(REUSES), 1500, inferences, schedule, power_of_two=True)


def with_batches(*batches: int) -> LayerGraph:
    """A chain whose layers take so many inferences at 60 uses of a weight."""
    return chain([60 // batch for batch in batches])


def order(made: Plan) -> list[int]:
    return [step.layer for step in made.steps]


def test_on_demand_the_published_example_starts_so() -> None:
    made = published("demand")
    assert [layer + 1 for layer in order(made)[:15]] == [1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 3, 4, 5]
    assert (len(made.steps), made.loads, order(made)[-1]) == (61, 45, 5)


def test_by_the_least_common_multiple_each_layer_runs_all() -> None:
    made = published("lcm")
    assert [*Counter(order(made)).values()] == [32, 16, 4, 4, 4, 1]
    assert (made.group, len(made.steps), made.loads) == (32, 61, 6)
    assert order(made) == sorted(order(made))


def test_alone_every_inference_fetches_all_weights() -> None:
    made = published("none")
    assert (made.batches, made.loads, len(made.steps)) == ((1,) * 6, 192, 192)
    assert order(made)[:8] == [0, 1, 2, 3, 4, 5, 0, 1]


@given(graphs(), VALUES, COUNTS, st.sampled_from(SCHEDULES))
def test_a_round_ends_when_all_layers_have_run_the_same_inferences(
    graph: LayerGraph, value: int, inferences: int, schedule: Schedule
) -> None:
    steps = plan(graph, value, inferences, schedule).steps
    numbers = [*rounds(steps)]
    done = Counter[int]()
    for step, number, later in zip(steps, numbers, [*numbers[1:], numbers[-1] + 1], strict=True):
        done[step.layer] = step.first + step.count
        assert later - number == (len(done) == len(graph.layers) and len({*done.values()}) == 1)
    if schedule == "none":
        assert numbers == [step.first for step in steps]


def test_queues_of_the_published_example() -> None:
    graph = chain(REUSES)
    assert [*peak_queues(graph, published("demand").steps).values()] == [2, 8, 8, 8, 32]
    assert [*peak_queues(graph, published("lcm").steps).values()] == [32] * 5


def test_24_images_are_3_batches_of_8() -> None:
    made = plan(chain([4]), 32, 24)
    assert [(step.first, step.count) for step in made.steps] == [(0, 8), (8, 8), (16, 8)]


def test_of_three_batches_two_fill_the_next_layer_and_one_is_left() -> None:
    made = plan(with_batches(5, 10), 60, 15)
    assert order(made) == [0, 0, 1, 0, 1]
    assert [step.count for step in made.steps] == [5, 5, 10, 5, 5]


def test_of_eight_batches_four_make_20_results_for_the_next_layer() -> None:
    made = plan(with_batches(5, 20), 60, 40)
    assert order(made) == [0, 0, 0, 0, 1] * 2


def test_a_layer_with_smaller_batches_runs_until_its_queue_is_empty() -> None:
    assert order(plan(with_batches(6, 2, 4), 60, 12)) == [0, 1, 1, 2, 1, 0, 1, 2, 1, 1, 2]


def test_the_last_batches_may_be_partial() -> None:
    made = published("demand", 10)
    assert [step.count for step in made.steps if step.layer == 2] == [8, 2]
    assert [step.count for step in made.steps if step.layer == 5] == [10]


@pytest.mark.parametrize(("group", "loads"), [(16, 12), (32, 6), (64, 6), (None, 6)])
def test_groups_may_be_of_any_size(group: int | None, loads: int) -> None:
    inferences = 64 if group == 64 else 32
    made = plan(chain(REUSES), 1500, inferences, "lcm", True, group=group)
    assert (made.loads, made.group) == (loads, group or 32)


def test_a_shortcut_is_asked_for_when_the_layers_that_it_passes_are() -> None:
    nodes = (
        GraphNode("first", (~0,), 1, 15),
        GraphNode("second", (0,), 1, 5),
        GraphNode("shortcut", (~0,), 1, 15),
        GraphNode("sum", (1, 2), 1),
        GraphNode("last", (3,), 1, 10),
    )
    graph = LayerGraph("residual", (1,), nodes)
    assert graph.layers[3].predecessors == (1, 2)
    made = plan(graph, 60, 12)
    assert made.batches == (4, 12, 4, 6)
    assert order(made) == [2, 2, 0, 0, 0, 1, 4, 2, 4]


def test_layers_behind_a_shortcut_run_as_soon_as_they_can() -> None:
    nodes = (
        GraphNode("first", (~0,), 1, 30),
        GraphNode("second", (0,), 1, 30),
        GraphNode("sum", (0, 1), 1),
        GraphNode("last", (2,), 1, 5),
    )
    graph = LayerGraph("residual", (1,), nodes)
    made = plan(graph, 60, 12)
    assert order(made) == [0, 1] * 6 + [3]
    assert peak_queues(graph, made.steps) == {(0, 1): 2, (0, 3): 12, (1, 3): 12}


def test_of_two_last_layers_the_one_behind_runs_next() -> None:
    graph = LayerGraph(
        "fork", (1,), (GraphNode("a", (~0,), 1, 1), GraphNode("b", (0,), 1, 1), GraphNode("c", (0,), 1, 2))
    )
    made = plan(graph, 4, 8)
    assert made.batches == (4, 4, 2)
    assert order(made) == [0, 1, 2, 2, 0, 1, 2, 2]


@given(graphs(), VALUES, COUNTS, st.sampled_from(SCHEDULES), st.booleans())
def test_every_layer_runs_every_inference_once_in_order_after_its_predecessors(
    graph: LayerGraph, value: int, inferences: int, schedule: Schedule, power_of_two: bool
) -> None:
    made = plan(graph, value, inferences, schedule, power_of_two)
    layers = {layer.node: layer for layer in graph.layers}
    most = dict(zip(layers, made.batches, strict=True))
    done = dict.fromkeys(layers, 0)
    for step in made.steps:
        end = step.first + step.count
        assert step.first == done[step.layer]
        assert 1 <= step.count <= most[step.layer]
        assert all(done[before] >= end for before in layers[step.layer].predecessors)
        done[step.layer] = end
    assert set(done.values()) == {inferences}


@given(graphs(), VALUES, COUNTS)
def test_on_demand_only_the_last_batch_of_a_layer_is_partial(graph: LayerGraph, value: int, inferences: int) -> None:
    made = plan(graph, value, inferences)
    most = {layer.node: batch for layer, batch in zip(graph.layers, made.batches, strict=True)}
    assert all(step.count == most[step.layer] or step.first + step.count == inferences for step in made.steps)


@given(graphs(), VALUES, COUNTS, st.booleans())
def test_waiting_saves_loads(graph: LayerGraph, value: int, inferences: int, power_of_two: bool) -> None:
    lcm_plan, demand, alone = (
        plan(graph, value, inferences, schedule, power_of_two) for schedule in ("lcm", "demand", "none")
    )
    assert lcm_plan.loads <= demand.loads <= len(demand.steps)
    assert demand.loads <= alone.loads
    groups = -(-inferences // lcm_plan.group)
    assert lcm_plan.loads == (len(graph.layers) * groups if len(graph.layers) > 1 else 1)


@given(graphs(), VALUES, COUNTS, st.sampled_from(SCHEDULES))
def test_queues_stay_within_a_common_multiple(
    graph: LayerGraph, value: int, inferences: int, schedule: Schedule
) -> None:
    made = plan(graph, value, inferences, schedule)
    multiple = lcm(*(batch_size(value, layer.reuse) for layer in graph.layers))
    assert all(1 <= peak <= multiple for peak in peak_queues(graph, made.steps).values())


@given(st.lists(st.integers(1, 12), min_size=2, max_size=6), VALUES, COUNTS)
def test_on_demand_a_chain_queues_less_than_two_batches(reuses: list[int], value: int, inferences: int) -> None:
    made = plan(chain(reuses), value, inferences)
    for (before, after), peak in peak_queues(chain(reuses), made.steps).items():
        assert peak <= made.batches[before] + made.batches[after] - 1


@given(graphs(), VALUES, COUNTS, st.sampled_from(SCHEDULES))
def test_weight_bytes_are_those_of_the_sets_that_are_loaded(
    graph: LayerGraph, value: int, inferences: int, schedule: Schedule
) -> None:
    made = plan(graph, value, inferences, schedule)
    starts = [k for k, step in enumerate(made.steps) if k == 0 or made.steps[k - 1].layer != step.layer]
    assert made.loads == len(starts)
    assert made.weight_bytes == sum(graph.nodes[made.steps[k].layer].weight_bytes for k in starts)
