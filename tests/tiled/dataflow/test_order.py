"""Where effects are cut, and when they are carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tilesim.tiled.dataflow.cuts import BEGAN, RETIRED, ROSE, in_order, pieces
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.order import Order, Refused, Turn
from tilesim.tiled.dataflow.senders import ALL, COLUMNS, Senders
from tilesim.tiled.isa.model.fields import Engine

TENSOR, COPY, IN, OUT = 0, 4, 5, 9
"""Engines."""
Piece: TypeAlias = tuple[int, int, int]
"""An instruction, a tile, and up to which iteration."""


@dataclass(frozen=True)
class Fake:
    """Traits of an instruction that is made up; flags are named by who raises them."""

    raises: str
    watches: frozenset[str] = frozenset()
    is_held: bool = False
    rounds: int = 4
    rises_early: bool = True


class Made:
    """Instructions by their places, of which all touch the same bytes, or those that ``meet``."""

    def __init__(self, traits: Mapping[int, Fake], meet: Iterable[tuple[int, int]] | None = None) -> None:
        self.traits = traits.__getitem__
        every = [traits.get(place, Fake("")) for place in range(max(traits, default=-1) + 1)]
        self.rounds = np.array([each.rounds for each in every], np.int64)
        self.rises_early = np.array([each.rises_early for each in every], bool)
        self._meet = None if meet is None else set(meet)

    def clash(self, one: int, other: int) -> bool:
        return self._meet is None or one == other or (min(one, other), max(one, other)) in self._meet

    def clashes(self, one: int, others: Iterable[int]) -> list[bool]:
        return [self.clash(one, other) for other in others]

    def may_clash(self, one: Any, other: Any) -> Any:
        return np.array([*map(self.clash, one.tolist(), other.tolist())], bool)


def sent(*rows: tuple[int, ...]) -> Senders:
    return Senders(np.array(rows, np.int64).reshape(-1, len(COLUMNS)), tiles=3)


def events(*rows: tuple[int, int, int, int, int]) -> Any:
    """Cycle, instruction, engine, what, and how far, all on tile 0."""
    return np.array([(cycle, 0, place, engine, what, done) for cycle, place, engine, what, done in rows], np.int64)


def cut(log: Any, made: Made, *senders: tuple[int, ...]) -> list[tuple[int, int]]:
    found = pieces(in_order(log), cast(Meetings, made), sent(*senders))
    return [(place, end) for place, _, end in found.tolist()]


def overlapping(first: int) -> Any:
    """Instruction 0 and 1 at work at once, whose flags rise one after the other; ``first`` retires first."""
    retires = [(9, first, TENSOR if first == 0 else COPY, RETIRED, 0)]
    last = 1 - first
    return events(
        (0, 0, TENSOR, BEGAN, 0),
        (0, 1, COPY, BEGAN, 0),
        (2, 1, COPY, ROSE, 1),
        (3, 0, TENSOR, ROSE, 1),
        (4, 1, COPY, ROSE, 2),
        (5, 0, TENSOR, ROSE, 2),
        *retires,
        (12, last, TENSOR if last == 0 else COPY, RETIRED, 0),
    )


def test_who_feeds_another_one_comes_before_it_as_a_whole() -> None:
    made = Made({0: Fake("tensor", frozenset({"copy"}), is_held=True), 1: Fake("copy")})
    assert cut(overlapping(first=1), made) == [(1, 4), (0, 4)]


def test_who_needs_only_a_part_of_what_feeds_it_comes_behind_that_part() -> None:
    made = Made({0: Fake("tensor", frozenset({"copy"}), is_held=True), 1: Fake("copy")})
    assert cut(overlapping(first=0), made) == [(1, 2), (0, 4), (1, 4)]


def test_who_wait_for_each_other_are_cut_at_every_rise() -> None:
    both = {
        0: Fake("tensor", frozenset({"copy"}), is_held=True),
        1: Fake("copy", frozenset({"tensor"}), is_held=True),
    }
    assert cut(overlapping(first=1), Made(both)) == [(1, 1), (0, 1), (1, 2), (0, 2), (1, 4), (0, 4)]


def test_who_may_have_waited_by_way_of_a_third_one_is_cut() -> None:
    made = Made(
        {
            0: Fake("tensor"),
            1: Fake("copy", frozenset({"other"}), is_held=True),
            2: Fake("other", frozenset({"tensor"})),
        },
        meet=[(0, 1)],
    )
    third = events((6, 2, OUT, BEGAN, 0), (7, 2, OUT, RETIRED, 0))
    log = np.concatenate([overlapping(first=1), third])
    assert cut(log, made) == [(0, 2), (2, 4), (1, 4), (0, 4)]


def test_who_touches_other_bytes_cuts_nothing() -> None:
    both = {
        0: Fake("tensor", frozenset({"copy"}), is_held=True),
        1: Fake("copy", frozenset({"tensor"}), is_held=True),
    }
    assert cut(overlapping(first=1), Made(both, meet=[])) == [(1, 4), (0, 4)]


def test_what_a_part_takes_is_cut_off_at_its_sender() -> None:
    made = Made(
        {0: Fake("tensor"), 1: Fake("copy", frozenset({"tensor"}), is_held=True), 2: Fake("out")}, meet=[(0, 1)]
    )
    sender = events((0, 2, OUT, BEGAN, 0), (11, 2, OUT, RETIRED, 0))
    log = np.concatenate([overlapping(first=1), sender])
    assert cut(log, made, (0, 0, 0, 2, 0, 0, ALL, 1, 1)) == [(2, 2), (0, 2), (1, 4), (2, 4), (0, 4)]


def test_what_leaves_over_the_mesh_has_left_before_it_arrives() -> None:
    log = events((3, 0, IN, RETIRED, 0), (3, 1, OUT, RETIRED, 0), (2, 2, TENSOR, RETIRED, 0))
    assert in_order(log)[:, 2].tolist() == [2, 1, 0]
    assert [*Engine][OUT] == Engine.MESH_OUT_NORTH


def carried(
    found: Sequence[Piece], made: Made, *senders: tuple[int, ...], shape: tuple[int, int] = (3, 2)
) -> list[Turn]:
    done: list[Turn] = []
    Order(cast(Meetings, made), done.append, shape).follow(np.array(found), sent(*senders))
    return done


def test_all_tiles_are_carried_out_at_once() -> None:
    found = [(0, 0, 4), (1, 0, 4), (0, 1, 4), (1, 1, 4)]
    assert carried(found, Made({})) == [(0, [0, 1], 0, 4), (1, [0, 1], 0, 4)]


def test_pieces_follow_one_another() -> None:
    found = [(0, 0, 1), (0, 1, 1), (0, 0, 4), (0, 1, 4)]
    assert carried(found, Made({})) == [(0, [0, 1], 0, 1), (0, [0, 1], 1, 4)]


def test_who_come_in_different_orders_are_taken_apart() -> None:
    found = [(0, 0, 4), (1, 0, 4), (1, 1, 4), (0, 1, 4)]
    assert carried(found, Made({})) == [(0, [0], 0, 4), (1, [0, 1], 0, 4), (0, [1], 0, 4)]
    assert carried(found, Made({}, meet=[])) == [(1, [0, 1], 0, 4), (0, [0, 1], 0, 4)]


def test_who_takes_comes_behind_who_sends() -> None:
    found = [(0, 1, 4), (1, 0, 4)]
    assert carried(found, Made({}, meet=[]), sent_by_one_up_to(4)) == [(1, [0], 0, 4), (0, [1], 0, 4)]


def sent_by_one_up_to(end: int) -> tuple[int, ...]:
    """Instruction 0 takes on tile 1 what 1 sends from tile 0."""
    return 0, 1, 0, 1, 0, end - 1, 1, 1, 1


def test_what_can_never_come_is_refused() -> None:
    with pytest.raises(Refused, match="takes a part of what another instruction sends"):
        carried([(0, 1, 4)], Made({}), sent_by_one_up_to(4))


def test_what_is_never_sent_whole_is_refused() -> None:
    with pytest.raises(Refused, match="takes a part of what another instruction sends"):
        carried([(1, 0, 4), (0, 1, 4)], Made({}, meet=[]), sent_by_one_up_to(8))


@st.composite
def retirements(draw: st.DrawFn) -> tuple[list[Piece], set[tuple[int, int]]]:
    """Instructions on some of three tiles, as they retire there, in any order; and which of them meet."""
    there = draw(st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=1, max_size=8))
    found = draw(st.permutations([(place, tile, 4) for place, tiles in enumerate(there) for tile in tiles]))
    pairs = [(one, other) for other in range(len(there)) for one in range(other)]
    return found, draw(st.sets(st.sampled_from(pairs))) if pairs else set()


TANGLED = [
    (place, tile, 4)
    for place, tile in [(1, 0), (0, 1), (0, 2), (1, 1), (2, 1), (2, 0), (0, 0), (1, 2), (3, 0), (3, 1), (3, 2), (4, 0)]
]
"""0 and 1 wait for each other, and 2 is the first one on a tile where it, too, meets 0."""


@pytest.mark.parametrize("most", [0, 2, 24])
def test_who_meet_are_carried_out_as_they_retire_on_each_tile(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesim.tiled.dataflow.order.MOST_WAITING", most)

    @settings(max_examples=300)
    @example((TANGLED, {(0, 1), (0, 2)}))
    @given(retirements())
    def check(case: tuple[list[Piece], set[tuple[int, int]]]) -> None:
        found, meet = case
        done = carried(found, Made({}, meet), shape=(8, 3))
        effects = [(place, tile) for place, tiles, _, _ in done for tile in tiles]
        assert sorted(effects) == sorted((place, tile) for place, tile, _ in found)
        for (one, tile, _), (other, where, _) in combinations(found, 2):
            if tile == where and (min(one, other), max(one, other)) in meet:
                assert effects.index((one, tile)) < effects.index((other, tile))

    check()
