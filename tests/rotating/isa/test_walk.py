"""What the array carries out, turn by turn: as an unrolled list has it, without unrolling more than is asked for."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tests.rotating.isa.checks.judge import unrolled
from tilesim.rotating.isa.model.instructions import (
    Counter,
    End,
    Halt,
    Instruction,
    Loop,
    Out,
    Queue,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.walk import queued, walk

PLAIN: tuple[Instruction, ...] = (
    Step(),
    Out(row=Rows(0)),
    Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=1),
    Sync(unit=Queue.DMA_OUT, until=Counter.OUTPUT, count=1),
    ReadHostMemory(),
)
BLOCKS = st.recursive(
    st.lists(st.sampled_from(PLAIN), max_size=3),
    lambda inner: st.lists(
        st.one_of(inner, st.builds(lambda count, body: [Loop(count=count), *body, End()], st.integers(1, 3), inner)),
        max_size=3,
    ).map(lambda parts: [op for part in parts for op in part]),
    max_leaves=6,
)


@given(BLOCKS, BLOCKS)
def test_loops_are_unrolled_up_to_the_halt(before: list[Instruction], behind: list[Instruction]) -> None:
    walked = list(walk((*before, Halt(), *behind)))
    assert walked[:-1] == unrolled((*before, Halt(), *behind))
    assert walked[-1] == (len(before), Halt(), ())


@given(BLOCKS)
def test_without_a_halt_all_is_carried_out(ops: list[Instruction]) -> None:
    assert list(walk(ops)) == unrolled(ops)


def test_nothing_is_unrolled_before_it_is_asked_for() -> None:
    forever = [*[Loop(count=1 << 24)] * 6, Step(), *[End()] * 6]
    assert [counters[-1] for _, _, counters in islice(walk(forever), 3)] == [0, 1, 2]


def test_queues_of_dma_hold_what_stands_behind_the_halt_too() -> None:
    ops = (ReadHostMemory(), PLAIN[3], Step(), Halt(), WriteHostMemory(), ReadHostMemory(row=1))
    assert queued(ops, Queue.DMA_IN) == [(0, ops[0]), (5, ops[5])]
    assert queued(ops, Queue.DMA_OUT) == [(1, ops[1]), (4, ops[4])]
