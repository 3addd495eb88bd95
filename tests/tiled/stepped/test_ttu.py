"""Nested counters, one step a cycle: against arithmetic that needs no walk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.isa.model.fields import Alternate, Flag, Loop, Nest, Reference, Watcher
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.stepped.ttu import Watch, walk

NAMES = "abcd"


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    loops = tuple(Loop(name, draw(st.integers(1, 4))) for name in NAMES[: draw(st.integers(1, 4))])
    outer = loops[:-1]
    if not outer or not draw(st.booleans()):
        return Nest(loops)
    return Nest(loops, Alternate(draw(st.sampled_from(outer)).name, draw(st.integers(1, loops[-1].bound))))


@given(nests())
def test_it_runs_as_often_as_the_arithmetic_says(nest: Nest) -> None:
    assert sum(1 for _ in walk(nest)) == iterations(nest)


@given(nests())
def test_each_loop_completes_once_for_each_iteration_around_it(nest: Nest) -> None:
    steps = list(walk(nest))
    for outer, inner in zip(nest.loops, nest.loops[1:], strict=False):
        begun = sum(outer.name in step.begins for step in steps)
        assert begun == sum(inner.name in step.completes for step in steps)
    assert sum(nest.loops[0].name in step.completes for step in steps) == 1
    assert nest.loops[0].name in steps[-1].completes


def test_addresses_are_the_base_and_each_counter_times_its_stride() -> None:
    nest = Nest((Loop("a", 2), Loop("b", 3)), Alternate("a", 2))
    reference = Reference(100, (("a", 10), ("b", -1)))
    assert [step.address(reference) for step in walk(nest)] == [100, 99, 98, 110, 109]


def test_an_iteration_waits_for_its_own_count() -> None:
    watch = Watch((Watcher(Flag.AVDATA, 5, "a", 3), Watcher(Flag.NARROW_TO_WIDE, 1)))
    steps = list(walk(Nest((Loop("o", 2), Loop("a", 2), Loop("b", 2)))))
    assert [watch.gates(step) for step in steps] == [
        [(Flag.AVDATA, 5 + 3 * k)] if b == 0 else [] for k in range(4) for b in range(2)
    ]
