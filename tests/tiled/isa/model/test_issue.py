"""What goes over the instruction bus behind a header."""

from hypothesis import given
from hypothesis import strategies as st

from tests.assembly.machines import OP
from tilesim.tiled.isa.model.instructions import Instruction, Record, TileFence
from tilesim.tiled.isa.model.issue import record_of, records_of

OPS = st.lists(st.just(OP) | st.just(TileFence(tiles=1)) | st.builds(Record, tiles=st.just(1), parts=st.integers(1, 4)))


def test_a_record_goes_as_far_as_it_says_and_no_further_than_to_what_is_for_no_engine() -> None:
    record = Record(tiles=1, parts=2)
    assert list(records_of([OP, record, OP, OP, OP])) == [None, None, 1, 1, None]
    assert list(records_of([record, OP, TileFence(tiles=1), OP])) == [None, 0, 0, None]
    assert list(records_of([record, record, OP, OP, OP])) == [None, 0, 1, 1, None]


@given(OPS)
def test_all_in_one_pass_are_each_by_itself(ops: list[Instruction]) -> None:
    assert list(records_of(ops)) == [record_of(ops, place) for place in range(len(ops))]
