"""Ports leave to each rank what those above it do not take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilesim.sim.core.port import NEVER, Change, Intervals, Port

SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6)


def taken(spans: list[tuple[int, int]]) -> tuple[Intervals, set[int]]:
    intervals = Intervals()
    return intervals, fill(intervals, spans)


def fill(intervals: Intervals, spans: list[tuple[int, int]]) -> set[int]:
    cycles, at = set(), 0
    for gap, length in spans:
        intervals.append(at + gap, at + gap + length)
        cycles |= set(range(at + gap, at + gap + length))
        at += gap + length
    return cycles


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
    first, second = (fill(port.taken[k], spans) for k, spans in enumerate((a, b)))
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


def _shifted(intervals: Intervals, by: int) -> tuple[list[int], list[int]]:
    return [start + by for start in intervals.starts], [end + by for end in intervals.ends]


@given(SPANS, SPANS, st.integers(0, 30))
def test_what_is_told_anew_replaces_what_was_told(
    old: list[tuple[int, int]], new: list[tuple[int, int]], cycle: int
) -> None:
    told, cycles = taken(old)
    (starts, ends), (_, later) = _shifted(taken(new)[0], cycle), taken(new)
    others = Intervals()
    for start, end in zip(starts, ends, strict=True):
        others.append(start, end)
    later = {each + cycle for each in later}
    past, before = {each for each in cycles if each < cycle}, {each for each in cycles if each >= cycle}
    change = told.replace(cycle, others)
    assert {
        each for start, end in zip(told.starts, told.ends, strict=True) for each in range(start, end)
    } == past | later
    assert (change is Change.NONE) == (before == later)
    if change is Change.MORE:
        assert before < later
        assert not before or min(later - before) > max(before)


def test_more_of_the_same_is_not_another_thing() -> None:
    told, others = Intervals(), Intervals()
    others.append(3, 5)
    others.append(7, 8)
    assert told.replace(2, others) is Change.MORE
    others.append(8, 9)
    others.append(11, 12)
    assert told.replace(2, others) is Change.MORE
    assert told.replace(2, others) is Change.NONE
    others.cut(8)
    assert told.replace(2, others) is Change.OTHER
