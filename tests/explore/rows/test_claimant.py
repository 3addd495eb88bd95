"""Which sweeps of a store live, by the files that they keep locked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tilesim.explore.rows.claimant import Claimant


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "rows.sqlite"


def claims(store: Path) -> Path:
    """A claimant of the store that was killed: what it has left."""
    child = os.fork()
    if not child:
        claimant = Claimant(store)
        claimant.begin()
        claimant.draft.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    [left] = [path for path in store.parent.iterdir() if not path.name.endswith("-draft")]
    return left


def test_those_that_have_begun_live_until_they_end(store: Path) -> None:
    one, other = Claimant(store), Claimant(store)
    assert ([*one.alive()], one.name) == ([], "")
    one.begin()
    other.begin()
    assert {*one.alive()} == {*other.alive()} == {one.name, other.name}
    assert len({one.name, other.name}) == 2
    name = one.name
    one.end()
    assert ([*other.alive()], one.name) == ([other.name], "")
    one.end()  # it has ended already
    one.begin()
    assert one.name != name
    for claimant in (one, other):
        claimant.end()
    assert [*store.parent.iterdir()] == []


def test_its_file_and_its_draft_stand_beside_the_store(store: Path) -> None:
    claimant = Claimant(store)
    claimant.begin()
    claimant.draft.write_text("half")
    assert {path.name for path in store.parent.iterdir()} == {
        f"rows.sqlite-sweep-{claimant.name}",
        f"rows.sqlite-sweep-{claimant.name}-draft",
    }
    assert [*Claimant(store).alive()] == [claimant.name]
    claimant.end()
    assert [*store.parent.iterdir()] == []


def test_what_the_killed_have_left_is_taken_away(store: Path) -> None:
    left = claims(store)
    assert len([*store.parent.iterdir()]) == 2
    claimant = Claimant(store)
    claimant.begin()
    assert [*claimant.alive()] == [claimant.name]
    assert not left.exists()
    assert len([*store.parent.iterdir()]) == 1
    claimant.end()


def test_files_of_others_stay(store: Path) -> None:
    names = [
        *("rows.sqlite", "rows.sqlite-wal", "rows.sqlite-sweep-", "rows.sqlite-sweep-0123456789abcdeX"),
        *("rows.sqlite-sweep-0123456789abcdef0", "rowsXsqlite-sweep-0123456789abcdef"),
    ]
    for name in names:
        (store.parent / name).write_text("mine")
    assert [*Claimant(store).alive()] == []
    assert sorted(path.name for path in store.parent.iterdir()) == sorted(names)
