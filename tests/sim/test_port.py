"""Ports leave to each rank what those above it do not take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilesim.sim.port import NEVER, Intervals, Port

SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6)


def taken(spans: list[tuple[int, int]]) -> tuple[Intervals, set[int]]:
    intervals, cycles, at = Intervals(), set(), 0
    for gap, length in spans:
        intervals.append(at + gap, at + gap + length)
        cycles |= set(range(at + gap, at + gap + length))
        at += gap + length
    return intervals, cycles


@given(SPANS, st.integers(0, 45), st.integers(0, 45))
def test_intervals_are_the_cycles_put_in(spans: list[tuple[int, int]], cut: int, cycle: int) -> None:
    intervals, cycles = taken(spans)
    assert list(intervals.starts) == sorted(set(intervals.starts))
    assert all(end < start for end, start in zip(intervals.ends, intervals.starts[1:], strict=False))
    intervals.cut(cut)
    cycles = {each for each in cycles if each < cut}
    is_taken, change = intervals.at(cycle)
    assert is_taken == (cycle in cycles)
    after = [each for each in range(cycle, 60) if (each in cycles) != is_taken]
    assert change == (after[0] if after else NEVER)


@given(SPANS, SPANS, st.integers(0, 45), st.integers(1, 2))
def test_free_counts_those_above(a: list[tuple[int, int]], b: list[tuple[int, int]], cycle: int, rank: int) -> None:
    port = Port("wide", 2, 4)
    port.taken[0], first = taken(a)
    port.taken[1], second = taken(b)
    port.taken[3].append(0, 50)
    above = [first, second][:rank]
    free, until = port.free(rank, cycle)
    assert free == 2 - sum(cycle in cycles for cycles in above)
    constant = range(cycle, min(until, 60))
    assert {tuple(each in cycles for cycles in above) for each in constant} == {tuple(cycle in c for c in above)}


def test_what_those_above_have_told_may_be_too_much() -> None:
    port = Port("wide", 1, 3)
    port.taken[0].append(5, 6)
    port.taken[1].append(5, 6)
    assert port.free(2, 4) == (1, 5)
    assert port.free(2, 5) == (0, 6)


def test_a_repeated_pattern_is_the_pattern_again_and_again() -> None:
    pattern, found = Intervals(), Intervals()
    pattern.append(0, 1)
    pattern.append(3, 4)
    found.append(8, 10)
    found.repeat(pattern, 10, 4, 3)
    assert (found.starts, found.ends) == ([8, 13, 17, 21], [11, 15, 19, 22])
    assert found.since(14) == ([14, 17, 21], [15, 19, 22])
    assert found.since(15) == ([17, 21], [19, 22])
    assert found.since(22) == ([], [])
