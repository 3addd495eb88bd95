"""One order of all instructions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.networks import Weave
from tests.systolic.compiled import chip
from tilesim.batching import graph_of, plan
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.compiler.stream import mixed
from tilesim.systolic.isa.model.instructions import ReadHostMemory


def test_few_are_spread_evenly_among_many() -> None:
    assert mixed([1, 2, 3, 4], ["a", "b"]) == [1, 2, "a", 3, 4, "b"]  # type: ignore[list-item]
    assert mixed([1], ["a", "b"]) == [1, "a", "b"]  # type: ignore[list-item]


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(10, 19)))
def test_all_are_there_in_their_order(many: list[int], few: list[int]) -> None:
    found = mixed(many, few)
    assert [each for each in found if each < 10] == many
    assert [each for each in found if each >= 10] == few


def test_a_large_input_comes_in_pieces_of_rows_and_many_inputs_whole() -> None:
    weave = Weave()
    network = weave.network(weave.convolution(weave.input(20, 4, 3), 2))
    for inferences, rows in ((1, [3] * 6 + [2]), (2, [3] * 6 + [2]), (16, [20])):
        steps = plan(graph_of(network), 10**6, inferences, "lcm")
        program = compile_network(network, chip("systolic-32"), plan=steps)
        reads = [op for op in program.run if isinstance(op, ReadHostMemory)]
        assert [op.bytes for op in reads] == [count * 4 * 3 for count in rows] * inferences
        assert [op.tensor for op in reads] == [k for k in range(inferences) for _ in rows]


def test_inputs_of_the_next_step_come_while_one_runs() -> None:
    weave = Weave()
    network = weave.network(weave.convolution(weave.convolution(weave.input(4, 4, 3), 2), 2))
    program = compile_network(network, chip("systolic-32"), plan=plan(graph_of(network), 1, 2, "none"))
    labels = [op.label for op in program.run if op.label]
    second = next(place for place, label in enumerate(labels) if label.startswith("input0.inference1"))
    assert labels.index("convolution1.step0.0") < second < labels.index("convolution0.step1.0")
    assert len(labels) == len(set(labels))
