"""The array's instructions as they are written: loops that are none, and addresses that move with those that are."""

from __future__ import annotations

from tests.rotating.compiler.compiled import small
from tilesim.rotating.compiler.emitter import At, Writer
from tilesim.rotating.isa.model.instructions import Alu, Counter, Function, Loop, Mask, Out, Rows, Step, Sync


def writer(distances: str = "1") -> Writer:
    made = Writer(small(16, rotation__distances=distances))
    made.begin("layer", 3)
    return made


def steps(made: Writer) -> list[Step]:
    return [op for op in made.instructions if isinstance(op, Step)]


def turns_of(made: Writer) -> list[int]:
    return [op.count for op in made.instructions if isinstance(op, Loop)]


def addresses(rows: Rows | None, turns: int) -> list[int]:
    assert rows is not None
    return [rows.address((k,)) for k in range(turns)]


def test_a_loop_of_one_turn_is_none() -> None:
    made = writer()
    with made.loop(1) as once, made.loop(4) as turns:
        made.step(data=At(5, {once: 7, turns: 2}), alu=Alu.COPY)
    assert turns_of(made) == [4]
    assert addresses(steps(made)[0].data, 4) == [5, 7, 9, 11]
    assert [op.label for op in made.instructions] == ["layer.0", "layer.1", "layer.2"]
    assert made.depth == 1


def test_a_turn_takes_the_fewest_rotations_and_works_with_the_last() -> None:
    made = writer("1 4")
    made.turned(9, Alu.MULTIPLY_ADD, At(20))
    done = [(step.rotate, step.repeat, step.alu) for step in steps(made)]
    assert done == [(4, 2, Alu.NONE), (1, 1, Alu.MULTIPLY_ADD)]


def test_turns_that_take_several_rotations_are_a_loop() -> None:
    made = writer("1 4")
    made.turned(5, Alu.ADD, At(20, step=3), repeat=6)
    four, one = steps(made)
    assert turns_of(made) == [6]
    assert four.weights is None
    assert addresses(one.weights, 6) == [20, 23, 26, 29, 32, 35]


def test_outs_are_counted_as_often_as_loops_turn() -> None:
    made = writer()
    with made.loop(3), made.loop(5):
        made.out(At(0), function=Function.RAW)
    assert (made.outs, made.written) == (15, 60)
    assert sum(isinstance(op, Out) for op in made.instructions) == 1


def test_what_is_known_is_not_waited_for_and_not_set_again() -> None:
    made = writer()
    with made.loop(4) as line:
        made.wait(Counter.DMA_IN, 2, {line: 3})
    made.wait(Counter.DMA_IN, 11)
    made.wait(Counter.DMA_IN, 12)
    assert [op.count for op in made.instructions if isinstance(op, Sync)] == [2, 12]
    made.control(Mask, count=4)
    made.control(Mask, count=4)
    made.control(Mask, count=5)
    assert [op.count for op in made.instructions if isinstance(op, Mask)] == [4, 5]
