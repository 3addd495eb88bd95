"""The sampler finds the best of spaces without being told all of them, the same with the same seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest

from tests.soak import counts
from tilesim.explore.search.sampler import Choice, Dimension, Outcome, Sampler

DIMENSIONS = (
    Dimension("tiles", 8, True),
    Dimension("lanes", 6, True),
    Dimension("cut", 3, False),
    Dimension("cache", 2, False),
)
ALL = frozenset(product(*(range(dimension.size) for dimension in DIMENSIONS)))


def cost(choice: Choice) -> float:
    """Has its least, 1, at one place alone, from which it rises on all sides."""
    tiles, lanes, cut, cache = choice
    return 1 + (tiles - 5) ** 2 + (lanes - 2) ** 2 + 3 * abs(cut - 1) + 5 * (1 - cache)


def every(_choice: Choice) -> bool:
    return True


def ran(value: float) -> Outcome:
    return Outcome((value,), {})


def searched(
    seed: int,
    rounds: int,
    outcome: Callable[[Choice], Outcome] = lambda choice: ran(cost(choice)),
    wanted: Callable[[Choice], bool] = every,
    dimensions: Sequence[Dimension] = DIMENSIONS,
) -> list[Choice]:
    sampler = Sampler(dimensions, [False], seed, wanted)
    choices: list[Choice] = []
    for _ in range(rounds):
        asked = sampler.ask(8)
        sampler.tell([outcome(choice) for choice in asked])
        choices += asked
    return choices


@pytest.mark.parametrize("seeds", counts(1, 20))
def test_it_finds_the_best_of_288_points_in_80(seeds: int) -> None:
    best = [min(map(cost, searched(seed, 10))) for seed in range(seeds)]
    assert best.count(1) >= 0.9 * seeds


def test_no_point_is_proposed_twice_and_in_the_end_all_are() -> None:
    dimensions = DIMENSIONS[1:]
    choices = searched(0, 6, lambda _choice: ran(0), dimensions=dimensions)
    assert len(choices) == 36
    assert set(choices) == {choice[1:] for choice in ALL}


def test_the_same_seed_proposes_the_same_and_another_does_not() -> None:
    assert searched(3, 4) == searched(3, 4)
    assert searched(3, 4) != searched(4, 4)


def test_what_is_not_wanted_is_not_proposed() -> None:
    def wanted(choice: Choice) -> bool:
        return choice[0] * choice[1] <= 10

    choices = searched(1, 6, wanted=wanted)
    assert len(choices) == 48
    assert all(map(wanted, choices))
    assert min(map(cost, choices)) == min(map(cost, filter(wanted, ALL)))
    assert searched(1, 1, wanted=lambda _choice: False) == []


def test_it_learns_from_what_does_not_run_and_what_violates_something() -> None:
    def outcome(choice: Choice) -> Outcome:
        if choice[3] == 0:
            return Outcome((), {"runs": 10.0})
        return Outcome((cost(choice),), {"small": max(0.0, (choice[0] - 3) / 8)})

    choices = searched(2, 8, outcome)
    feasible = [choice for choice in choices if outcome(choice).is_feasible]
    assert min(map(cost, feasible)) == 5
    assert len(feasible) > 1.5 * len(choices) * sum(outcome(choice).is_feasible for choice in ALL) / len(ALL)


def test_of_several_objectives_it_finds_the_front() -> None:
    def values(choice: Choice) -> tuple[float, float]:
        return cost(choice), float(choice[0])

    sampler = Sampler(DIMENSIONS, [False, True], 0, every)
    found: set[tuple[float, float]] = set()
    for _ in range(8):
        asked = sampler.ask(8)
        sampler.tell([Outcome(values(choice), {}) for choice in asked])
        found |= {values(choice) for choice in asked}
    assert found >= {(1.0, 5.0), (2.0, 6.0)}


def test_a_round_that_was_told_before_is_recalled() -> None:
    def rounds(sampler: Sampler, count: int) -> list[list[Choice]]:
        asked = []
        for _ in range(count):
            asked.append(sampler.ask(8))
            sampler.tell([ran(cost(choice)) for choice in asked[-1]])
        return asked

    undisturbed = rounds(Sampler(DIMENSIONS, [False], 5, every), 5)
    first, second = Sampler(DIMENSIONS, [False], 5, every), Sampler(DIMENSIONS, [False], 5, every)
    for expected in undisturbed[:3]:
        told = first.tell([ran(cost(choice)) for choice in first.ask(8)])
        assert second.recall(told) == expected
    assert rounds(second, 2) == undisturbed[3:]


@pytest.mark.parametrize("dimensions", [(), (Dimension("one", 2, True),)])
def test_small_spaces_end(dimensions: tuple[Dimension, ...]) -> None:
    assert len(searched(0, 3, lambda _choice: ran(0), dimensions=dimensions)) == 1 + len(dimensions)
