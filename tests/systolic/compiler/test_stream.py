"""One order of all instructions; work of the vector unit as early in it as it can be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.networks import Weave
from tests.systolic.compiled import chip, exact
from tests.systolic.compiler.test_emitter import CHIP, OPS, conflict, copy, multiply, write
from tests.systolic.compiler.test_operators import POOLED, around
from tilesim.batching import graph_of, plan
from tilesim.network.operators import MaxPool, Padding
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.compiler.stream import hoisted, mixed
from tilesim.systolic.isa.model.instructions import Instruction, Pool, ReadHostMemory


def test_few_are_spread_evenly_among_many() -> None:
    assert mixed([1, 2, 3, 4], ["a", "b"]) == [1, 2, "a", 3, 4, "b"]  # type: ignore[list-item]
    assert mixed([1], ["a", "b"]) == [1, "a", "b"]  # type: ignore[list-item]


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(10, 19)))
def test_all_are_there_in_their_order(many: list[int], few: list[int]) -> None:
    mixture = mixed(many, few)
    assert [number for number in mixture if number < 10] == many
    assert [number for number in mixture if number >= 10] == few


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


def test_each_stands_behind_what_it_has_to_follow() -> None:
    stream = [copy(0, 20), multiply(0), copy(0, 40), multiply(0)]
    first, second = copy(20, 60), copy(40, 80)
    assert hoisted(stream, [first, second], CHIP) == [stream[0], first, *stream[1:3], second, stream[3]]
    assert hoisted(stream, [second, first], CHIP) == [*stream[:3], second, first, stream[3]]


def test_what_is_read_before_is_not_written_over() -> None:
    stream = [multiply(0), write(0), multiply(50)]
    assert hoisted(stream, [copy(20, 0)], CHIP) == [*stream[:2], copy(20, 0), stream[2]]


@given(st.lists(OPS, max_size=8), st.lists(OPS, max_size=5))
def test_conflicts_keep_their_order(stream: list[Instruction], ops: list[Instruction]) -> None:
    moved = hoisted(stream, ops, CHIP)
    before, after = [id(op) for op in (*stream, *ops)], [id(op) for op in moved]
    assert sorted(before) == sorted(after)
    if len(set(before)) < len(before):
        return
    together = [*stream, *ops]
    for later, op in enumerate(together):
        for earlier in range(later):
            if conflict(together[earlier], op):
                assert after.index(id(together[earlier])) < after.index(id(op))
    assert [op for op in after if op in {id(op) for op in ops}] == [id(op) for op in ops]


def test_a_pool_begins_while_the_array_still_makes_its_map() -> None:
    network = around(POOLED)
    changes = {"vector_unit.lanes": 1, "accumulators.entries": 40, "weight_memory.size_bytes": "1 MiB"}
    labels = [op for op in exact(network, chip("systolic-4", changes), order=1).run if op.label]
    pools = [place for place, op in enumerate(labels) if isinstance(op, Pool)]
    last = max(place for place, op in enumerate(labels) if op.label.startswith("convolution0"))
    assert len(pools) > 1
    assert pools[0] < last < pools[-1]


def test_the_place_of_an_input_is_taken_when_all_of_it_was_there() -> None:
    """Its last row is needed by nobody, but is a part of the tensor all the same."""
    weave = Weave()
    x = weave.input(4, 1, 2)
    first = weave.add(MaxPool((1, 1), (2, 1), Padding(), (-128, 127)), x, zero_point=-7)
    weave.convolution(first, 1, 1)
    last = weave.add(MaxPool((1, 1), (1, 1), Padding(), (-128, 127)), first, zero_point=-7)
    small = {"array.rows": 1, "array.columns": 2, "weight_memory.size_bytes": 1 << 24}
    exact(weave.network(last), chip("systolic-4", {**small, "unified_buffer.size_bytes": 3000}), order=1)
