"""Flags release exactly those whose count is there."""

from __future__ import annotations

import pytest

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.flags import FlagFile


@pytest.mark.parametrize(("strict", "needed"), [(False, 3), (True, 4)])
def test_a_watcher_is_released_by_the_count_that_it_waits_for(strict: bool, needed: int) -> None:
    flags = FlagFile(Clock(), strict)
    reached, other = flags.reached("a", 3), flags.reached("b", 1)
    for _ in range(needed - 1):
        flags.raise_by("a")
    assert not reached.triggered
    flags.raise_by("a")
    assert reached.triggered
    assert not other.triggered
    assert flags.reached("a", 3).triggered


def test_increments_add_up_and_a_reset_starts_again() -> None:
    flags = FlagFile(Clock())
    flags.raise_by("a", 5)
    flags.raise_by("a", 2)
    assert flags.count("a") == 7
    flags.reset("a")
    assert flags.count("a") == 0
    assert not flags.met("a", 1)
    assert flags.met("a", 0)


def test_one_rise_releases_all_that_wait() -> None:
    flags = FlagFile(Clock())
    events = [flags.reached("a", count) for count in (1, 2, 2, 3)]
    flags.raise_by("a", 2)
    assert [event.triggered for event in events] == [True, True, True, False]


def test_a_flag_is_awaited_until_it_has_counted_enough() -> None:
    flags = FlagFile(Clock())
    flags.reached("a", 2)
    found = [flags.awaited("a")]
    for _ in range(2):
        flags.raise_by("a")
        found.append(flags.awaited("a"))
    assert (found, flags.awaited("b")) == ([True, True, False], False)


def test_who_listens_hears_of_every_count() -> None:
    flags, heard = FlagFile(Clock()), list[tuple[str, int]]()
    flags.on_count = lambda flag, count: heard.append((flag, count))
    flags.raise_by("a", 2)
    flags.raise_by("b")
    flags.raise_by("a")
    flags.reset("a")
    assert heard == [("a", 2), ("b", 1), ("a", 3), ("a", 0)]
