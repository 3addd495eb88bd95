from hypothesis import given
from hypothesis import strategies as st

from tests.batching.graphs import chain, graphs
from tilesim.batching import SCHEDULES, LayerGraph, ScheduleStep, plan
from tilesim.batching.flow import moments
from tilesim.batching.graph import GraphNode
from tilesim.batching.schedules import Schedule


def flowed(graph: LayerGraph, *steps: tuple[int, int, int]) -> list[tuple[int, list[tuple[int, int, int]], int]]:
    """For each step what arrives, which nodes run what, and the bytes that lie in the buffer."""
    return [
        (moment.arrived, [(run.layer, run.first, run.count) for run in moment.runs], moment.buffer_bytes)
        for moment in moments(graph, [ScheduleStep(*step) for step in steps])
    ]


def test_a_tensor_lies_from_the_step_that_makes_it_to_the_last_that_uses_it() -> None:
    graph = chain([1, 1], makes_bytes=10, input_bytes=7)
    assert flowed(graph, (0, 0, 2), (0, 2, 1), (1, 0, 2), (1, 2, 1)) == [
        (2, [(0, 0, 2)], 2 * 7 + 2 * 10),
        (1, [(0, 2, 1)], 7 + 3 * 10),
        (0, [(1, 0, 2)], 3 * 10 + 2 * 10),
        (0, [(1, 2, 1)], 10 + 10),
    ]


def test_nodes_without_weights_run_with_the_last_of_their_producers() -> None:
    nodes = (
        GraphNode("scaled", (~0,), 3),
        GraphNode("conv", (0,), 10, 4),
        GraphNode("pool", (1,), 5),
        GraphNode("shortcut", (0,), 10, 4),
        GraphNode("sum", (2, 3), 6),
        GraphNode("classes", (4,), 1, 1),
    )
    graph = LayerGraph("residual", (7,), nodes)
    assert flowed(graph, (1, 0, 2), (3, 0, 1), (5, 0, 1), (3, 1, 1)) == [
        (2, [(0, 0, 2), (1, 0, 2), (2, 0, 2)], 2 * (7 + 3 + 10 + 5)),
        (0, [(3, 0, 1), (4, 0, 1)], 2 * (3 + 5) + 10 + 6),
        (0, [(5, 0, 1)], 3 + 5 + 6 + 1),
        (0, [(3, 1, 1), (4, 1, 1)], 3 + 5 + 10 + 6),
    ]


def test_all_inputs_come_with_the_first_layer_that_needs_one() -> None:
    nodes = (GraphNode("a", (~0,), 10, 1), GraphNode("b", (~1,), 20, 1), GraphNode("sum", (0, 1), 30))
    graph = LayerGraph("two", (3, 4), nodes)
    assert flowed(graph, (0, 0, 2), (1, 0, 1), (1, 1, 1)) == [
        (2, [(0, 0, 2)], 2 * (3 + 4 + 10)),
        (0, [(1, 0, 1), (2, 0, 1)], 2 * (4 + 10) + 20 + 30),
        (0, [(1, 1, 1), (2, 1, 1)], 4 + 10 + 20 + 30),
    ]


def test_what_nothing_uses_leaves_at_once() -> None:
    nodes = (GraphNode("a", (~0,), 10, 1), GraphNode("aside", (0,), 5), GraphNode("b", (0,), 2, 1))
    graph = LayerGraph("aside", (3, 100), nodes)
    assert flowed(graph, (0, 0, 1), (2, 0, 1)) == [
        (1, [(0, 0, 1), (1, 0, 1)], 3 + 100 + 10 + 5),
        (0, [(2, 0, 1)], 10 + 2),
    ]


@given(graphs(), st.integers(1, 24), st.integers(1, 40), st.sampled_from(SCHEDULES))
def test_every_node_runs_every_inference_once_in_order_after_its_operands(
    graph: LayerGraph, value: int, inferences: int, schedule: Schedule
) -> None:
    done = {**dict.fromkeys(range(len(graph.nodes)), 0), ~0: 0, ~1: 0}
    for moment in moments(graph, plan(graph, value, inferences, schedule).steps):
        done[~0] = done[~1] = done[~0] + moment.arrived
        for run in moment.runs:
            end = run.first + run.count
            assert run == ScheduleStep(run.layer, done[run.layer], run.count)
            assert all(done[source] >= end for source in graph.nodes[run.layer].reads)
            done[run.layer] = end
    assert set(done.values()) == {inferences}


@given(graphs(), st.integers(1, 24), st.integers(1, 40), st.sampled_from(SCHEDULES))
def test_buffer_bytes_are_those_of_a_count_tensor_by_tensor(
    graph: LayerGraph, value: int, inferences: int, schedule: Schedule
) -> None:
    """Each tensor of each inference, from the step that makes it to the last that uses it."""
    flow = [*moments(graph, plan(graph, value, inferences, schedule).steps)]
    begins: dict[tuple[int, int], int] = {}
    ends: dict[tuple[int, int], int] = {}
    arrived = 0
    for k, moment in enumerate(flow):
        for source, i in ((source, arrived + i) for source in (~0, ~1) for i in range(moment.arrived)):
            begins[source, i] = ends[source, i] = k
        arrived += moment.arrived
        for run in moment.runs:
            for i in range(run.first, run.first + run.count):
                begins[run.layer, i] = ends[run.layer, i] = k
                ends.update({(source, i): k for source in graph.nodes[run.layer].reads})
    size = {**{k: node.makes_bytes for k, node in enumerate(graph.nodes)}, ~0: 5, ~1: 3}
    for k, moment in enumerate(flow):
        assert moment.buffer_bytes == sum(size[lying[0]] for lying in begins if begins[lying] <= k <= ends[lying])
