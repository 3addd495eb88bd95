"""A pipe jumps over what the toy steps through, and must land on the same cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.toy import Group, Toy
from tilesim.sim.core.port import Port, Slot
from tilesim.sim.core.unit import Words
from tilesim.sim.pipe.costs import Costs
from tilesim.sim.pipe.course import Activity, PipeForm
from tilesim.sim.pipe.pipe import Pipe

RANKS = {"narrow": 1, "wide": 2, "output": 1}
"""The pipe's own rank at each port; all above it are taken by others. Extra reads and wide writes go before issues."""

EXTRA_RANK = 2


@dataclass
class Listed:
    """An account that lists what it is told."""

    charged: list[tuple[str, int]] = field(default_factory=list)

    def add_spans(self, kinds: Sequence[str], which: Words, cycles: Words, bytes_per_cycle: Sequence[int]) -> None:  # noqa: ARG002
        self.charged += [(kinds[k], length) for k, length in zip(which.tolist(), cycles.tolist(), strict=True)]


@dataclass
class Rig:
    """A pipe and its toy on the same three ports."""

    groups: list[Group]
    depth: int
    capacity: int = 1
    shared_write: bool = False
    delay: int = 0
    issue: tuple[str, ...] = ("narrow", "wide")
    taken: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    apart: list[int] = field(default_factory=list)
    every: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        self.ports = {name: Port(name, self.capacity, 5) for name in RANKS}
        for name, spans in self.taken.items():
            for start, end in spans:
                self.ports[name].taken[0].append(start, end)
        self.write = "wide" if self.shared_write else "output"
        self.toy = Toy(self.groups, self.depth, list(self.issue), "wide", self.write, len(self.groups), self.delay)
        self.apart = self.apart[: len(self.groups)]
        self.toy.apart, (self.toy.read_every, self.toy.write_every) = self.apart, self.every
        apart = np.array(self.apart, np.int64) if self.apart else None
        self.moved: list[int] = []
        self.account = Listed()
        self.pipe = Pipe(
            0,
            Costs(*(np.array(column, np.int64) for column in zip(*self.groups, strict=True)), apart),
            PipeForm(
                self.depth,
                issue=[Slot(self.ports[name], 3) for name in self.issue],
                write=Slot(self.ports[self.write], 1),
                extra=Slot(self.ports["wide"], EXTRA_RANK),
                delay=self.delay,
                read_every=self.every[0],
                write_every=self.every[1],
            ),
            move=lambda first, end: self.moved.extend(range(first, end)),
            charges=lambda activity: [(self.account, repr(activity), 0)],
        )
        self.slots = [slot for slot in self.pipe.slots if slot.rank != EXTRA_RANK]

    def free(self, cycle: int) -> Counter[str]:
        return Counter(
            {name: self.capacity - sum(a <= cycle < b for a, b in self.taken.get(name, ())) for name in RANKS}
        )

    def toy_ends(self, start: int) -> list[int]:
        """When the toy, from here on, has written each group: cycles by the number of groups written."""
        toy, ends, cycle = deepcopy(self.toy), [start] * (self.toy.written + 1), start
        while toy.written < min(toy.limit, toy.write_limit) and cycle < start + 2000:
            toy.step(cycle, self.free(cycle))
            cycle += 1
            if toy.written == len(ends):
                ends.append(cycle)
        return ends

    def step_to(self, start: int, end: int) -> list[Activity]:
        cycles = range(start, end)
        return [Activity(*self.toy.step(cycle, self.free(cycle))) for cycle in cycles if not self.toy.done]


def spans(starts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Disjoint intervals from gaps and lengths."""
    at, found = 0, []
    for gap, length in starts:
        found.append((at + gap, at + gap + length))
        at += gap + length
    return found


COSTS = st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(1, 5))
RUNS = st.lists(st.tuples(COSTS, st.integers(1, 12)), min_size=1, max_size=3)
MOST_GROUPS = 36
APART = st.lists(st.integers(1, 4), min_size=MOST_GROUPS, max_size=MOST_GROUPS)
LIMIT = st.none() | st.integers(0, 20)
TRAINS = st.tuples(st.integers(0, 20), st.integers(1, 3), st.integers(1, 3), st.integers(0, 30)).map(
    lambda train: spans([(train[0] + train[1], train[2])] + [train[1:3]] * train[3])
)
BUSY = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 6)), max_size=4).map(spans) | TRAINS
RIGS = st.builds(
    Rig,
    groups=RUNS.map(lambda runs: [cost for cost, times in runs for _ in range(times)]),
    depth=st.integers(1, 4),
    capacity=st.integers(1, 2),
    shared_write=st.booleans(),
    delay=st.integers(0, 3),
    issue=st.sampled_from([("narrow", "wide"), ("narrow",), ()]),
    taken=st.fixed_dictionaries(dict.fromkeys(RANKS, BUSY)),
    apart=st.just([]) | APART | st.integers(1, 4).map(lambda far: [far] * MOST_GROUPS),
    every=st.sampled_from([(1, 1), (1, 1), (1, 4), (2, 1), (2, 4)]),
)


@settings(max_examples=300, deadline=None)
@given(
    RIGS,
    st.lists(st.tuples(st.integers(0, 25), LIMIT, LIMIT, st.booleans()), max_size=6),
)
def test_a_pipe_is_the_toy_in_jumps(rig: Rig, changes: list[tuple[int, int | None, int | None, bool]]) -> None:
    """Flags hold and release either stage at any time; it is planned anew, published or not, at any time."""
    now, end = 0, len(rig.groups)
    for pause, limit, write_limit, publish in [*changes, (0, end, end, False)]:
        check_plans(rig, now, publish and not rig.shared_write)
        check_advance(rig, now, now + pause)
        now += pause
        if limit is not None:
            rig.toy.limit = min(max(limit, rig.toy.read), end)
            rig.pipe.hold(now, rig.toy.limit)
        if write_limit is not None:
            rig.toy.write_limit = min(max(write_limit, rig.toy.written), end)
            rig.pipe.hold_writes(now, rig.toy.write_limit)
    check_plans(rig, now, publish=False)
    check_advance(rig, now, rig.toy_ends(now)[-1])
    assert rig.pipe.written == rig.pipe.groups
    assert rig.toy.done
    rig.pipe.deliver()
    assert rig.moved == list(range(len(rig.groups)))


def check_plans(rig: Rig, now: int, publish: bool) -> None:
    """For every number of groups, the plan is the toy's cycle; what it publishes, the toy's accesses."""
    ends = rig.toy_ends(now)
    for target in range(rig.toy.written + 1, len(rig.groups) + 1):
        rig.pipe.target = target
        assert rig.pipe.plan() == (ends[target] if target < len(ends) else None)
        if publish and target % 7 == 1:
            check_published(rig, now)


def check_published(rig: Rig, now: int) -> None:
    toy, cycle, last = deepcopy(rig.toy), now, now
    while not toy.done and cycle < last + 300:  # longer than others ever keep it from its ports
        last = cycle if any(toy.step(cycle, rig.free(cycle))[:3]) else last
        cycle += 1
    told = dict(rig.pipe.accesses(rig.slots))
    for stage, slots in (("issue", [(name, 3) for name in rig.issue]), ("write", [(rig.write, 1)])):
        used = {at for at, what in toy.used if what == stage and at >= now}
        for taken in (told[Slot(rig.ports[name], rank)] for name, rank in slots):
            published = {c for a, b in zip(taken.starts, taken.ends, strict=True) for c in range(max(a, now), b)}
            assert published == used


def check_advance(rig: Rig, now: int, end: int) -> None:
    rig.account.charged.clear()
    rig.pipe.advance(end)
    rig.pipe.charge()
    activities = rig.step_to(now, end)
    assert rig.pipe.written == rig.toy.written
    charged = [kind for kind, cycles in rig.account.charged for _ in range(cycles)]
    assert charged == list(map(repr, activities))


@pytest.mark.parametrize(
    ("costs", "depth", "end"),
    [
        ((0, 5, 1), 2, 10 * 5 + 1),  # a DMA: limited by its reads
        ((0, 1, 5), 2, 10 * 5 + 1),  # the reverse: by its writes
        ((3, 4, 1), 2, 10 * 7 + 1),  # parameters before each group
        ((0, 2, 3), 1, 10 * 5),  # a queue of one: read and write take turns
    ],
)
def test_ten_groups_alone_end_in_the_cycle_of_the_formula(costs: Group, depth: int, end: int) -> None:
    rig = Rig([costs] * 10, depth)
    assert rig.pipe.plan() == end
    rig.pipe.advance(end - 1)
    assert rig.pipe.written < rig.pipe.groups
    rig.pipe.advance(end)
    assert rig.pipe.written == rig.pipe.groups


def test_what_was_held_is_not_read_before_the_release() -> None:
    rig = Rig([(0, 4, 1)] * 3, depth=2)
    rig.pipe.hold(0, 1)
    assert rig.pipe.plan() is None
    rig.pipe.hold(100, 3)
    assert rig.pipe.plan() == 100 + 2 * 4 + 1


@pytest.mark.parametrize("limit", range(3, 10))
def test_what_stands_behind_a_full_queue_waits_for_the_flag_that_holds_it(limit: int) -> None:
    rig = Rig([(0, 2, 7)] * 10, depth=2)
    rig.toy.limit = limit
    rig.pipe.hold(0, limit)
    check_advance(rig, 0, rig.toy_ends(0)[-1])


@pytest.mark.parametrize(
    ("apart", "every", "end"),
    [([], (1, 1), 300_002), ([1] * 100_000, (1, 1), 500_000), ([], (64, 1), 300_002), ([], (1, 64), 300_002)],
)
def test_periods_are_skipped(
    apart: list[int], every: tuple[int, int], end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = counted(monkeypatch)
    rig = Rig([(0, 3, 2)] * 100_000, depth=2, apart=apart, every=every)
    assert rig.pipe.plan() == end
    assert 0 < len(steps) < 500


@pytest.mark.parametrize(
    ("costs", "end"),
    [
        ((0, 9, 4), 9000 + 1000 + 4),  # reads never wait for the queue, and lose every access of the others
        ((2, 9, 4), 11_000 + 1000 + 4),
        ((0, 4, 9), 4 + 9000),  # writes never wait for a group: the others cost nothing
        ((3, 1, 9), 4 + 9000),
    ],
)
def test_a_train_of_accesses_is_crossed(costs: Group, end: int) -> None:
    rig = Rig([costs] * 1000, depth=2, taken={"wide": [(at, at + 1) for at in range(100, 5100, 5)]})
    assert rig.pipe.plan() == end
    rig.pipe.advance(end // 2)
    rig.pipe.advance(end)
    rig.pipe.charge()
    assert rig.pipe.written == rig.pipe.groups
    assert sum(cycles for _, cycles in rig.account.charged) == end


def counted(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows with each look at the ports."""
    steps: list[None] = []
    monkeypatch.setattr(Pipe, "_free", lambda self, cycle, real=Pipe._free: (steps.append(None), real(self, cycle))[1])
    return steps


@pytest.mark.parametrize(
    ("every", "taken", "end"),
    [
        ((1, 1), {"output": [(3, 5), (7, 9)]}, 13),  # writes 0 and 1, 2 and 3, and the rest
        ((1, 4), {"output": [(3, 5), (7, 9)]}, 10),  # write 3 waits from 4 to 5; write 7 comes in 9
        ((1, 1), {"narrow": [(1, 3)]}, 11),  # read 1 waits from 1 to 3
        ((4, 1), {"narrow": [(1, 3)]}, 9),  # reads 0 and 4 alone need the port
        ((4, 1), {"narrow": [(4, 6)]}, 11),
    ],
)
def test_only_some_words_of_a_row_need_the_port(
    every: tuple[int, int], taken: dict[str, list[tuple[int, int]]], end: int
) -> None:
    rig = Rig([(0, 1, 1)] * 8, depth=8, issue=("narrow",), every=every, taken=taken)
    assert rig.pipe.plan() == end


def test_what_is_told_goes_up_to_the_last_group_or_the_flag_that_holds_one() -> None:
    rig = Rig([(0, 3, 1), (0, 2, 1)] * 5000, depth=2)
    assert rig.pipe.plan() == 5000 * 5 + 1
    assert reads_told(rig) == ([0], [25_000])
    rig.pipe.advance(100)
    rig.pipe.hold(100, 50)
    rig.pipe.plan()
    assert reads_told(rig) == ([100], [125])


def reads_told(rig: Rig) -> tuple[list[int], list[int]]:
    [taken] = [taken for slot, taken in rig.pipe.accesses(rig.slots) if slot.port is rig.ports["narrow"]]
    return taken.starts, taken.ends
