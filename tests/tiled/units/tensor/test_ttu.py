"""Address streams against plain nested loops, and the adder form against the addresses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.units.bench import at, nest
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference
from tilesim.tiled.isa.model.nests import iterations as counted
from tilesim.tiled.topology import Tile
from tilesim.tiled.units.tensor import ttu


def increments(nest: Nest, reference: Reference) -> tuple[list[int], int]:
    """The adder form: what is added to the address as each loop (outermost first) steps, and the rewind at the end."""
    strides = dict(reference.strides)
    steps: list[int] = []
    inner = 0
    for loop in reversed(nest.loops):
        stride = strides.get(loop.name, 0)
        steps.append(stride - inner)
        inner += (loop.bound - 1) * stride
    return steps[::-1], -inner


def walk(nest: Nest, reference: Reference) -> Iterator[int]:
    """The adder form at work: one address a cycle from increments alone (nests without an alternate limit)."""
    steps, _ = increments(nest, reference)
    counters = [0] * len(nest.loops)
    address = reference.base
    while True:
        yield address
        for depth in reversed(range(len(counters))):
            counters[depth] += 1
            if counters[depth] < nest.loops[depth].bound:
                address += steps[depth]
                break
            counters[depth] = 0
        else:
            return


@st.composite
def nests(draw: st.DrawFn, alternates: bool = True) -> Nest:
    bounds = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    loops = tuple(Loop(f"l{k}", bound) for k, bound in enumerate(bounds))
    if not alternates or len(loops) == 1 or draw(st.booleans()):
        return Nest(loops)
    limit = draw(st.integers(1, bounds[-1]))
    return Nest(loops, Alternate(draw(st.sampled_from(loops[:-1])).name, limit))


def references(over: Nest) -> st.SearchStrategy[Reference]:
    strides = st.lists(st.integers(-9, 9), min_size=len(over.loops), max_size=len(over.loops))
    names = [loop.name for loop in over.loops]
    return st.builds(
        lambda base, found: Reference(base, tuple(zip(names, found, strict=True))), st.integers(0, 99), strides
    )


def points(over: Nest) -> list[dict[str, int]]:
    """Counters of every iteration, in order."""
    names = [loop.name for loop in over.loops]
    every = [
        dict(zip(names, counters, strict=True)) for counters in product(*(range(loop.bound) for loop in over.loops))
    ]
    alternate = over.alternate
    if alternate is None:
        return every
    last = next(loop.bound for loop in over.loops if loop.name == alternate.loop) - 1
    return [point for point in every if point[alternate.loop] < last or point[names[-1]] < alternate.limit]


@given(nests().flatmap(lambda over: st.tuples(st.just(over), references(over))))
def test_addresses_are_the_base_plus_counters_times_strides(case: tuple[Nest, Reference]) -> None:
    over, reference = case
    expected = [reference.base + sum(p[name] * stride for name, stride in reference.strides) for p in points(over)]
    for form in ttu.FORMS:
        assert ttu.addresses(over, reference, form).tolist() == expected
    assert counted(over) == len(expected)


@given(nests().flatmap(lambda over: st.tuples(st.just(over), st.sampled_from(over.loops))))
def test_starts_and_completions_of_a_loop(case: tuple[Nest, Loop]) -> None:
    over, loop = case
    inside = [each.name for each in over.loops[[each.name for each in over.loops].index(loop.name) + 1 :]]
    outside = [each.name for each in over.loops if each.name not in (*inside, loop.name)]
    every = points(over)

    def firsts(names: list[str]) -> list[int]:
        seen: dict[tuple[int, ...], int] = {}
        for place, point in enumerate(every):
            seen.setdefault(tuple(point[name] for name in names), place)
        return list(seen.values())

    if loop.name != over.loops[-1].name or over.alternate is None:
        assert ttu.starts(over, loop.name).tolist() == firsts([*outside, loop.name])
    assert ttu.completions(over, loop.name).tolist() == [*firsts(outside)[1:], len(every)]


@given(nests(alternates=False).flatmap(lambda over: st.tuples(st.just(over), references(over))))
def test_the_adder_form_walks_the_same_addresses_and_rewinds(case: tuple[Nest, Reference]) -> None:
    over, reference = case
    walked = list(walk(over, reference))
    assert walked == ttu.addresses(over, reference).tolist()
    assert walked[-1] + increments(over, reference)[1] == reference.base


def test_each_form_makes_addresses_in_its_own_way() -> None:
    """A counter that adds, an index that is multiplied; far apart or backwards, too."""
    assert ttu.stepped(4, -3).tolist() == ttu.multiplied(4, -3).tolist() == [0, -3, -6, -9]
    assert ttu.stepped(1, 1 << 40).tolist() == ttu.multiplied(1, 1 << 40).tolist() == [0]
    assert set(ttu.FORMS) == set(get_args(Tile.model_fields["traversal"].annotation))


@pytest.mark.parametrize("form", ttu.FORMS)
def test_oracle_1_two_loops(form: str) -> None:
    over, reference = nest(outer=3, inner=3), at(7, outer=6, inner=1)
    assert ttu.addresses(over, reference, form).tolist() == [7, 8, 9, 13, 14, 15, 19, 20, 21]
    assert list(walk(over, reference)) == [7, 8, 9, 13, 14, 15, 19, 20, 21]


def test_oracle_2_the_same_as_increments() -> None:
    steps, _ = increments(nest(outer=3, inner=3), at(7, outer=6, inner=1))
    assert steps == [4, 1]


def test_oracle_3_three_loops_as_increments_and_rewind() -> None:
    """Strides 16, 1, 64 from the innermost loop out, with counts 4, 16, 4."""
    over, reference = nest(c=4, b=16, a=4), at(0, a=16, b=1, c=64)
    steps, rewind = increments(over, reference)
    streams = [ttu.addresses(over, reference, form).tolist() for form in ttu.FORMS]
    assert streams == [list(walk(over, reference))] * 2
    assert steps[::-1] == [16, -47, 1]
    assert rewind == -255


@pytest.mark.parametrize("form", ttu.FORMS)
def test_oracle_4_the_alternate_limit(form: str) -> None:
    """200 outputs, 64 at a time: 64, 64, 64, 8."""
    over = nest(Alternate("block", 8), block=4, lane=64)
    assert counted(over) == 200
    assert ttu.addresses(over, at(0, block=64, lane=1), form).tolist() == list(range(200))
    assert ttu.completions(over, "lane").tolist() == [64, 128, 192, 200]


@pytest.mark.parametrize("names", [("a",), ("b", "c"), ("a", "b", "c")])
def test_without_leaves_loops_out(names: tuple[str, ...]) -> None:
    left = ttu.without(nest(Alternate("a", 1), a=2, b=3, c=4), names)
    assert [loop.name for loop in left.loops] == [name for name in "abc" if name not in names]
    assert left.alternate is None


def test_the_innermost_loop_starts_once_an_iteration_that_runs() -> None:
    over = Nest((Loop("y", 2), Loop("w", 4)), Alternate("y", 2))
    assert ttu.starts(over, "w").tolist() == [0, 1, 2, 3, 4, 5]
