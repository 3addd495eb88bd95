"""Arithmetic on nests agrees with walking through them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.units.bench import at, nest
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference
from tilesim.tiled.isa.model.loops import (
    addresses,
    completions,
    domains,
    iterations,
    span,
    starts,
    straddles,
    without,
)


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
        lambda base, loops: Reference(base, tuple(zip(names, loops, strict=True))), st.integers(0, 99), strides
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


def walked(over: Nest, reference: Reference) -> list[int]:
    return [reference.base + sum(p[name] * stride for name, stride in reference.strides) for p in points(over)]


@given(nests().flatmap(lambda over: st.tuples(st.just(over), references(over))))
def test_addresses_are_the_base_plus_counters_times_strides(case: tuple[Nest, Reference]) -> None:
    assert addresses(*case).tolist() == walked(*case)


@given(nests().flatmap(lambda over: st.tuples(st.just(over), references(over))))
def test_spans_and_counts(case: tuple[Nest, Reference]) -> None:
    over, reference = case
    visited, names = walked(over, reference), frozenset(loop.name for loop in over.loops)
    spans = [span(domain, reference, names) for domain in domains(over)]
    assert (min(low for low, _ in spans), max(high for _, high in spans)) == (min(visited), max(visited))
    assert iterations(over) == len(visited)


@given(nests().flatmap(lambda over: st.tuples(st.just(over), references(over))), st.integers(1, 16))
def test_straddling(case: tuple[Nest, Reference], size_bytes: int) -> None:
    over, reference = case
    crossing = any(address % 16 + size_bytes > 16 for address in walked(over, reference))
    names = frozenset(loop.name for loop in over.loops)
    assert straddles(over, reference, names, lambda _: size_bytes, 16) == crossing


@given(nests().flatmap(lambda over: st.tuples(st.just(over), st.sampled_from(over.loops))))
def test_starts_and_completions_of_a_loop(case: tuple[Nest, Loop]) -> None:
    over, loop = case
    inside = [inner.name for inner in over.loops[[inner.name for inner in over.loops].index(loop.name) + 1 :]]
    outside = [inner.name for inner in over.loops if inner.name not in (*inside, loop.name)]
    every = points(over)

    def firsts(names: list[str]) -> list[int]:
        seen: dict[tuple[int, ...], int] = {}
        for place, point in enumerate(every):
            seen.setdefault(tuple(point[name] for name in names), place)
        return list(seen.values())

    if loop.name != over.loops[-1].name or over.alternate is None:
        assert starts(over, loop.name).tolist() == firsts([*outside, loop.name])
    assert completions(over, loop.name) == (*firsts(outside)[1:], len(every))


def test_the_alternate_limit_ends_the_last_iteration() -> None:
    """Oracle 4: 200 outputs, 64 at a time: 64, 64, 64, 8."""
    over = nest(Alternate("block", 8), block=4, lane=64)
    assert iterations(over) == 200
    assert addresses(over, at(0, block=64, lane=1)).tolist() == list(range(200))
    assert completions(over, "lane") == (64, 128, 192, 200)


@pytest.mark.parametrize("names", [("a",), ("b", "c"), ("a", "b", "c")])
def test_without_leaves_loops_out(names: tuple[str, ...]) -> None:
    left = without(nest(Alternate("a", 1), a=2, b=3, c=4), names)
    assert [loop.name for loop in left.loops] == [name for name in "abc" if name not in names]
    assert left.alternate is None


def test_the_innermost_loop_starts_once_an_iteration_that_runs() -> None:
    over = Nest((Loop("y", 2), Loop("w", 4)), Alternate("y", 2))
    assert starts(over, "w").tolist() == [0, 1, 2, 3, 4, 5]


def test_bounds_may_be_huge() -> None:
    over = Nest((Loop("a", 10**30), Loop("lane", 4)))
    assert straddles(over, Reference(0, (("a", 3),)), frozenset("a"), lambda _: 4, 256)
    assert not straddles(over, Reference(0, (("a", 4),)), frozenset("a"), lambda _: 4, 256)
