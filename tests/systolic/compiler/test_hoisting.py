"""Work of the vector unit as early as it can be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.networks import Weave
from tests.systolic.compiled import chip, exact
from tests.systolic.compiler.test_emitter import OPS, conflict, copy, multiply, write
from tests.systolic.compiler.test_operators import POOLED, around
from tilesim.network.operators import MaxPool, Padding
from tilesim.systolic.compiler.hoisting import hoisted
from tilesim.systolic.isa.model.instructions import Instruction, Pool


def test_each_stands_behind_what_it_has_to_follow() -> None:
    stream = [copy(0, 20), multiply(0), copy(0, 40), multiply(0)]
    first, second = copy(20, 60), copy(40, 80)
    assert hoisted(stream, [first, second]) == [stream[0], first, *stream[1:3], second, stream[3]]
    assert hoisted(stream, [second, first]) == [*stream[:3], second, first, stream[3]]


def test_what_is_read_before_is_not_written_over() -> None:
    stream = [multiply(0), write(0), multiply(50)]
    assert hoisted(stream, [copy(20, 0)]) == [*stream[:2], copy(20, 0), stream[2]]


@given(st.lists(OPS, max_size=8), st.lists(OPS, max_size=5))
def test_conflicts_keep_their_order(stream: list[Instruction], ops: list[Instruction]) -> None:
    found = hoisted(stream, ops)
    before, after = [id(op) for op in (*stream, *ops)], [id(op) for op in found]
    assert sorted(before) == sorted(after)
    if len(set(before)) < len(before):
        return
    together = [*stream, *ops]
    for later, op in enumerate(together):
        for earlier in range(later):
            if conflict(together[earlier], op):
                assert after.index(id(together[earlier])) < after.index(id(op))
    assert [each for each in after if each in {id(op) for op in ops}] == [id(op) for op in ops]


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
