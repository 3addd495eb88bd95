"""Which parameters stay where: source 003's rules and worked examples, and laws of every plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.tiled.parameter_sets import cases, held, parts, shared
from tilesim.tiled.caching import Home, ParameterSet, Run, blocks_per_tile, order_of, plan

KIB = 1024


@pytest.mark.parametrize(("size", "home"), [(99, Home.COPY), (100, Home.STREAMED)])
def test_cached_parameters_stay_below_what_is_left(size: int, home: Home) -> None:
    """Oracle 21: a capacity of 1000 and a peak of 900."""
    [decision] = plan([shared(size, 1)], [1000 - 900], [0])
    assert decision.home is home


def test_a_convolution_has_a_copy_in_each_tile() -> None:
    """Oracle 22, its second half: 200 KiB on 4 units are 4 copies, 800 KiB."""
    [decision] = plan([shared(200 * KIB, 0b1111)], [300 * KIB] * 4, [0])
    assert (decision.home, decision.holders) == (Home.COPY, (0, 1, 2, 3))
    assert sum(held([decision], 4)) == 800 * KIB
    assert decision.set.data_bytes == 200 * KIB


def test_a_fully_connected_layer_has_a_part_in_each_tile() -> None:
    [decision] = plan([parts(18, 0b0110)], [0, 19, 19, 0], [0])
    assert (decision.home, decision.holders, decision.set.data_bytes) == (Home.PARTITION, (1, 2), 36)


def test_a_part_without_room_says_where() -> None:
    [decision] = plan([parts(18, 0b0111)], [20, 18, 19, 0], [0])
    assert (decision.home, decision.holders) == (Home.STREAMED, ())
    assert decision.reason == "part needs 18 B, tile 1 has < 18 B"


def test_the_home_tile_has_the_most_room() -> None:
    first, second = plan([shared(6, 0b111), shared(5, 0b111)], [5, 9, 9], [0, 1])
    assert [(parameters.home, parameters.tile) for parameters in (first, second)] == [
        (Home.HOME_TILE, 1),
        (Home.HOME_TILE, 2),
    ]
    assert first.reason == "copy needs 6 B, tile 2 has < 4 B"


def test_a_tile_that_needs_it_is_preferred() -> None:
    [inside] = plan([shared(6, 0b011)], [7, 5, 90], [0])
    [outside] = plan([shared(6, 0b011)], [6, 5, 90], [0])
    assert (inside.tile, outside.tile) == (0, 2)


def test_a_place_for_each_comes_before_copies() -> None:
    """Copies of the first alone would have left no room for the second."""
    homes = [(decision.home, decision.tile) for decision in plan([shared(6, 0b11), shared(6, 0b11)], [8, 8], [0, 1])]
    assert homes == [(Home.HOME_TILE, 0), (Home.HOME_TILE, 1)]


def test_one_tile_has_everything_itself() -> None:
    decisions = plan([shared(6, 1), parts(3, 1), shared(1, 1)], [10], [0, 1, 2])
    assert [decision.home for decision in decisions] == [Home.COPY, Home.PARTITION, Home.STREAMED]
    assert decisions[2].reason == "needs 1 B, even tile 0 has < 1 B"


def test_without_any_budget_nothing_is_cached() -> None:
    [decision] = plan([shared(1, 0b11)], [-5, 0], [0])
    assert decision.reason == "needs 1 B, even tile 1 has no room"


def test_the_first_asked_is_served_first() -> None:
    sets = [shared(6, 1), shared(5, 1)]
    assert [decision.cached for decision in plan(sets, [8], [0, 1])] == [True, False]
    assert [decision.cached for decision in plan(sets, [8], [1, 0])] == [False, True]


def test_what_no_tile_has_room_for_is_split_over_as_few_as_do_together() -> None:
    """Rows of 2 bytes: 4 of them in tile 1, strictly less than its 9 bytes, and one in tile 0, along the ring."""
    [decision] = plan([shared(10, 0b011)], [6, 9, 3], [0], row_bytes=2)
    assert (decision.home, decision.runs) == (Home.HOME_TILES, (Run(0, 0, 2), Run(1, 2, 8)))
    assert (decision.holders, decision.hosts, decision.resident, decision.cached) == ((), (0, 1), False, True)
    assert decision.kept_bytes == {0: 2, 1: 8}
    assert decision.reason == "needs 10 B, even tile 1 has < 9 B, but 2 tiles together"


def test_without_rows_nothing_is_split() -> None:
    assert plan([shared(10, 0b011)], [6, 9, 3], [0])[0].home is Home.STREAMED


def test_a_tile_that_alone_needs_a_set_keeps_none_of_it() -> None:
    """Nobody else would have its own run to send back."""
    [alone] = plan([shared(10, 0b001)], [9, 6, 6], [0], row_bytes=2)
    assert alone.home is Home.STREAMED
    [alone] = plan([shared(10, 0b001)], [9, 8, 6], [0], row_bytes=2)
    assert alone.hosts == (1, 2)


def test_nor_does_one_that_once_needs_it_alone() -> None:
    """As of a map that is made band by band, one of which is made in one tile."""
    several = replace(shared(10, 0b011), alone=0b001)
    [decision] = plan([several], [9, 6, 6], [0], row_bytes=2)
    assert decision.home is Home.STREAMED
    [decision] = plan([several], [9, 8, 6], [0], row_bytes=2)
    assert decision.hosts == (1, 2)


def test_a_part_whose_tile_has_no_room_is_kept_by_another() -> None:
    [decision] = plan([parts(6, 0b0111)], [20, 6, 7, 5], [0], row_bytes=2)
    assert (decision.home, decision.holders, decision.runs) == (Home.HOME_TILES, (0, 2), (Run(0, 0, 6, of=1),))
    assert decision.kept_bytes == {0: 12, 2: 6}
    assert decision.reason == "part needs 6 B, tile 1 has < 6 B"


def test_all_parts_have_a_place_or_none() -> None:
    first, second = plan([parts(6, 0b11), shared(5, 0b11)], [9, 5], [0, 1], row_bytes=2)
    assert (first.home, first.runs) == (Home.STREAMED, ())
    assert (second.home, second.tile) == (Home.HOME_TILE, 0)


def test_a_split_comes_behind_a_place_for_each_and_before_copies() -> None:
    """The second has one place, the first two together; then there is no room for another copy of the second."""
    sets = [shared(10, 0b11), shared(4, 0b11)]
    homes = [[decision.home for decision in plan(sets, [9, 9], [0, 1], row_bytes)] for row_bytes in (0, 2)]
    assert homes == [[Home.STREAMED, Home.COPY], [Home.HOME_TILES, Home.HOME_TILE]]


@pytest.mark.parametrize("order", [[], [0, 0], [1]])
def test_each_set_is_asked_once(order: list[int]) -> None:
    with pytest.raises(ValueError, match="must name each of 1 sets once"):
        plan([shared(1, 1)], [9], order)


Case = tuple[list[ParameterSet], list[int], list[int]]


@given(cases())
def test_no_tile_ever_reaches_its_budget(case: Case) -> None:
    sets, budget, order = case
    for used, most in zip(held(plan(sets, budget, order), len(budget)), budget, strict=True):
        assert used == 0 or used < most


@given(cases())
def test_nothing_is_refused_for_what_comes_later(case: Case) -> None:
    """Of two that need the same tiles in the same way, the later is cached only if it is smaller, or both are."""
    sets, budget, order = case
    decisions = plan(sets, budget, order)
    for place, k in enumerate(order):
        for later in (sets[j] for j in order[place + 1 :] if decisions[j].cached):
            alike = (later.tiles, later.per_tile) == (sets[k].tiles, sets[k].per_tile)
            assert decisions[k].cached or not alike or later.bytes_per_tile < sets[k].bytes_per_tile


@given(cases())
def test_nothing_that_still_fits_is_left_out(case: Case) -> None:
    sets, budget, order = case
    decisions = plan(sets, budget, order)
    left = [most - used for most, used in zip(budget, held(decisions, len(budget)), strict=True)]
    for decision in decisions:
        size, users = decision.set.bytes_per_tile, decision.set.users
        if decision.home is Home.STREAMED:
            assert any(size >= left[t] for t in users) if decision.set.per_tile else size >= max(left)
        if decision.home is Home.HOME_TILE:
            assert any(size >= left[tile] for tile in users if tile != decision.tile)


@given(cases())
def test_only_the_order_counts_not_the_list(case: Case) -> None:
    sets, budget, order = case
    inverse = sorted(range(len(order)), key=order.__getitem__)
    in_order = plan([sets[k] for k in order], budget, range(len(sets)))
    assert plan(sets, budget, order) == tuple(in_order[k] for k in inverse)


@given(cases(), st.integers(1, 4))
def test_splitting_takes_no_place_from_what_has_one(case: Case, row_bytes: int) -> None:
    """Nor does any tile reach its budget; the runs of a set, or of a part, are all of it, none twice."""
    sets, budget, order = case
    before, after = plan(sets, budget, order), plan(sets, budget, order, row_bytes)
    kept = [0] * len(budget)
    for one, other in zip(before, after, strict=True):
        assert other.cached >= one.cached
        for tile, size in other.kept_bytes.items():
            kept[tile] += size
        rows = -(-other.set.bytes_per_tile // row_bytes) * row_bytes
        for owner in {run.of for run in other.runs}:
            own = sorted((run.first, run.bytes) for run in other.runs if run.of == owner)
            assert [first for first, _ in own] == [sum(size for _, size in own[:k]) for k in range(len(own))]
            assert sum(size for _, size in own) == rows
            assert owner not in other.holders
    assert all(used == 0 or used < most for used, most in zip(kept, budget, strict=True))


NAMES = [(network, layer, chunk) for network in range(3) for layer in range(2) for chunk in range(2)]
SETS = [shared(1, 1, *name) for name in NAMES]


@pytest.mark.parametrize(
    ("networks", "layers", "expected"),
    [
        ([], [], [*range(12)]),
        ([2], [], [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]),
        ([2, 1], [], [8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]),
        ([], [(1, 1), (0, 1)], [6, 7, 2, 3, 0, 1, 4, 5, 8, 9, 10, 11]),
        ([2], [(1, 1)], [6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]),
        ([2, 0, 2], [(9, 9)], [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_named_layers_then_named_networks_then_the_rest(
    networks: list[int], layers: list[tuple[int, int]], expected: list[int]
) -> None:
    assert list(order_of(SETS, networks, layers)) == expected


@given(st.permutations(SETS))
def test_the_order_of_the_list_does_not_count(sets: list[ParameterSet]) -> None:
    assert [sets[k] for k in order_of(sets, [1])] == [SETS[k] for k in order_of(SETS, [1])]


def test_in_a_network_those_come_first_whose_streaming_computing_hides_least() -> None:
    """Cycles for each byte; other networks and named layers don't wait for them."""
    cycles = [40, 10, 30, 0]
    sets = [
        replace(shared(2, 1, network=k // 3, layer=k), issue_cycles=cycles_there)
        for k, cycles_there in enumerate(cycles)
    ]
    assert order_of(sets) == (1, 2, 0, 3)
    sets[0] = replace(sets[0], bytes_per_tile=20)
    assert order_of(sets, layer_priority=[(0, 2)]) == (2, 0, 1, 3)


KIB = 1024


def test_a_mebibyte_in_tiles_of_300_kib() -> None:
    """Oracle 22, its first half."""
    assert blocks_per_tile(64, 16 * KIB, [300 * KIB] * 16) == {0: 18, 1: 18, 2: 18, 3: 10}


def test_one_tile_rather_than_several() -> None:
    assert blocks_per_tile(6, 16, [80, 97, 97, 96]) == {1: 6}


def test_a_budget_is_never_filled() -> None:
    assert blocks_per_tile(4, 16, [32, 48, 0, -9, 32]) == {1: 2, 0: 1, 4: 1}


def test_all_or_nothing() -> None:
    assert blocks_per_tile(4, 16, [32, 48]) == {}


@given(st.integers(1, 20), st.integers(1, 9), st.lists(st.integers(-3, 60), max_size=5))
def test_over_as_few_tiles_as_can_be(blocks: int, size: int, budget: list[int]) -> None:
    shares = blocks_per_tile(blocks, size, budget)
    most = sorted((max(0, bytes_there - 1) // size for bytes_there in budget), reverse=True)
    fewest = next((n for n in range(len(most) + 1) if sum(most[:n]) >= blocks), 0)
    assert len(shares) == fewest
    assert sum(shares.values()) == (blocks if fewest else 0)
    assert all(share * size < budget[tile] for tile, share in shares.items())
