"""The store of rows: what comes back, what is refused, and who may run what."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from math import isfinite
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_benchmark.fixture import BenchmarkFixture

from tests.explore import fakes
from tilesim.errors import InputError, RunError
from tilesim.explore.point import Value
from tilesim.explore.row import MeasuredLayer, Measures, Row, Status
from tilesim.explore.rows.store import APPLICATION, VERSION, Store

NAMES = st.text(max_size=12)
FLOATS = st.floats(allow_nan=False).filter(lambda number: str(number) != "-0.0")
NUMBERS = FLOATS.filter(isfinite)
COUNTS = st.integers(-(2**63), 2**63 - 1)
VALUES: st.SearchStrategy[Value] = NAMES | st.integers() | FLOATS | st.booleans()
LAYERS = st.fixed_dictionaries(
    {
        "name": NAMES,
        "kind": NAMES,
        "tiles": st.integers(),
        "parameters": NAMES,
        "breakdown": st.dictionaries(NAMES, NUMBERS, max_size=3),
        "energy_pj": NUMBERS,
    }
).map(lambda found: MeasuredLayer(**found))
MEASURES = st.fixed_dictionaries(
    {
        **dict.fromkeys(("tiles", "macs", "cycles", "load_cycles"), COUNTS),
        **dict.fromkeys(("latency_us", "throughput_per_second", "energy_pj", "mac_utilisation"), NUMBERS),
        "bound_by": st.none() | NAMES,
        "breakdown": st.dictionaries(NAMES, NUMBERS, max_size=3),
        **dict.fromkeys(("bytes", "peak_bytes"), st.dictionaries(NAMES, st.integers(), max_size=3)),
        "outputs_sha256": NAMES,
        "layers": st.lists(LAYERS, max_size=3),
    }
).map(lambda found: Measures(**found))
ENDS = st.one_of(st.tuples(st.just("ran"), MEASURES), st.tuples(st.sampled_from(["refused", "failed"]), st.none()))
"""Status and measures, which belong together."""
KEYED = st.fixed_dictionaries(
    {
        **dict.fromkeys(("key", "network", "topology", "machine", "command", "reason"), NAMES),
        **dict.fromkeys(("chip", "options"), st.dictionaries(NAMES, VALUES, max_size=3)),
        "area": st.dictionaries(NAMES, NUMBERS, max_size=3),
        "sources": st.just("today's"),
    }
)
ROWS = st.builds(lambda found, end: Row(**found, status=end[0], measures=end[1]), KEYED, ENDS)


def told(rows: list[Row]) -> str:
    """Types too: 1 is not 1.0, nor True."""
    return json.dumps(rows, sort_keys=True)


@given(st.lists(ROWS, max_size=4, unique_by=lambda row: row["key"]))
@settings(max_examples=25)
def test_what_comes_back_is_what_was_added(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("law") / "store.db"
    with Store(path) as store:
        for k, row in enumerate(rows):
            store.add(row, k / 3)
    with Store(path, reading=True) as store:
        found = store.rows()
        assert told(found) == told(sorted(rows, key=lambda row: row["key"].encode()))
        assert store.keys() == {row["key"] for row in rows}
        assert store.rows([row["key"] for row in rows]) == rows
        assert store.seconds() == {row["key"]: k / 3 for k, row in enumerate(rows)}


def test_the_first_row_of_a_key_stays(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        store.add(fakes.row(1), 1.0)
        store.add(fakes.row(1, "failed", "later"), 2.0)
        assert store.rows() == [fakes.row(1)]
        assert (store.row("none"), store.rows(["none"])) == (None, [])


def test_users_may_ask_it(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        store.add(fakes.row(3), 1.0)
        with closing(sqlite3.connect(tmp_path / "store.db")) as asked:
            query = "SELECT cycles, json_extract(chip, '$.\"tile.lanes\"'), json_extract(layers, '$[0].name') FROM runs"
            assert asked.execute(query).fetchall() == [(3, 3, "conv")]


def test_a_closed_store_is_one_file_and_reading_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "store [1] ?#%.db"
    with Store(path) as store:
        store.claim(["00000001", "00000002"])
        store.add(fakes.row(1), 1.0)
        assert len(list(tmp_path.iterdir())) > 1
    content = path.read_bytes()
    with Store(path, reading=True) as store:
        assert store.keys() == {"00000001"}
        with pytest.raises(RunError, match=r"the store cannot be written: attempt to write a readonly database"):
            store.add(fakes.row(2), 1.0)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == content


def test_bytes_that_are_no_text_become_question_marks(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        store.add({**fakes.row(1), "command": "run \udc80", "chip": {"a": "b\udc80"}}, 1.0)
        [row] = store.rows()
        assert (row["command"], row["chip"]) == ("run ?", {"a": "b?"})


def foreign(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("CREATE TABLE mine (a)", "must be a store of tilesim sweep, or no file yet"),
        ("PRAGMA user_version = 1; CREATE TABLE runs (key)", "must be a store of tilesim sweep, or no file yet"),
        (
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION + 1}; CREATE TABLE runs (key)",
            f"must be a store of version {VERSION}, not {VERSION + 1}: another tilesim made it",
        ),
        (
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; CREATE TABLE others (key)",
            "the store cannot be read: no such table: runs",
        ),
    ],
)
@pytest.mark.parametrize("reading", [False, True])
def test_another_database_is_refused_and_left(tmp_path: Path, script: str, words: str, reading: bool) -> None:
    path = tmp_path / "store.db"
    foreign(path, script)
    content = path.read_bytes()
    with pytest.raises(InputError) as raised:
        Store(path, reading).keys()
    said = words.removesuffix(", or no file yet") if reading else words
    assert str(raised.value) == f"{path}: {said}"
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (content, [path])


@pytest.mark.parametrize("content", [b"", b"text", b"SQLite format 3\0", bytes(100)])
def test_what_is_no_database_is_refused_and_left(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match="must be a store of tilesim sweep, or no file yet"):
        Store(path)
    assert path.read_bytes() == content


def test_places_where_no_store_can_be_are_said(tmp_path: Path) -> None:
    places = {
        tmp_path: "must be a file, not a folder",
        tmp_path / "none" / "store.db": "the store cannot be written there: No such file or directory",
        Path("/dev/null"): "must be a file to write, not a device",
    }
    for path, words in places.items():
        with pytest.raises(InputError) as raised:
            Store(path)
        assert str(raised.value) == f"{path}: {words}"
    with pytest.raises(InputError, match="there is no such file"):
        Store(tmp_path / "store.db", reading=True)


@pytest.mark.parametrize(
    "change",
    [
        *("chip = '{'", "chip = '[1]'", "cycles = 'many'", "status = 'odd'", "layers = '[{}]'", "area = 1"),
        *("status = 'refused'", "status = 'failed'", f"{', '.join(f'{name} = NULL' for name in fakes.measures(1))}"),
        *("cycles = NULL", "bytes = NULL", "latency_us = 9e999", "breakdown = '{\"busy\": 1e999}'"),
    ],
)
def test_a_damaged_row_is_said(tmp_path: Path, change: str) -> None:
    with Store(tmp_path / "store.db") as store:
        store.add(fakes.row(1), 1.0)
    foreign(tmp_path / "store.db", f"UPDATE runs SET {change}")  # noqa: S608
    with (
        Store(tmp_path / "store.db") as store,
        pytest.raises(InputError, match=r"store.db: the row 00000001 is damaged: "),
    ):
        store.rows()


@pytest.mark.parametrize(
    ("status", "change", "why"),
    [
        ("ran", "status = 'refused'", "tiles must be NULL, as its status is not ran"),
        ("refused", "status = 'ran'", "it must have measures, as its status is ran"),
        ("failed", "layers = '[]'", "layers must be NULL, as its status is not ran"),
    ],
)
def test_measures_are_those_of_a_run(tmp_path: Path, status: Status, change: str, why: str) -> None:
    with Store(tmp_path / "store.db") as store:
        store.add(fakes.row(1, status), 1.0)
    foreign(tmp_path / "store.db", f"UPDATE runs SET {change}")  # noqa: S608
    with Store(tmp_path / "store.db") as store, pytest.raises(InputError) as raised:
        store.rows()
    assert str(raised.value) == f"{tmp_path / 'store.db'}: the row 00000001 is damaged: {why}"


def test_what_is_damaged_is_said_without_what_reads_it(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        store.add(fakes.row(1), 1.0)
    foreign(tmp_path / "store.db", "UPDATE runs SET chip = '{', key = char(27) || 'x'")
    with Store(tmp_path / "store.db") as store, pytest.raises(InputError) as raised:
        store.rows()
    assert "the row \\x1bx is damaged: " in str(raised.value)
    assert "[type=" not in str(raised.value)


def test_a_damaged_word_in_what_sqlite_says(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Store(path).close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE runs (key", b"CREATE TABLE runs \xffkey"))
    for reading in (False, True):
        with pytest.raises(InputError, match=r"store.db: the store cannot be read: "), Store(path, reading) as store:
            store.rows()


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store(path) as store:
        for number in range(50):
            store.add(fakes.row(number), 1.0)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(len(content) - 4096))
    with Store(path) as store:
        with pytest.raises(InputError, match="the store cannot be read: database disk image is malformed"):
            store.rows()
        with pytest.raises(RunError, match="the store cannot be written: database disk image is malformed"):
            store.add(fakes.row(51), 1.0)


def test_what_one_has_claimed_no_other_runs(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store(path) as first, Store(path) as second:
        first.add(fakes.row(0), 1.0)
        assert first.claim(["00000000", "00000001", "00000002"]) == {"00000001", "00000002"}
        assert second.claim(["00000000", "00000002", "00000003"]) == {"00000003"}
        first.add(fakes.row(2), 1.0)
        assert second.claim(["00000001", "00000002"]) == set()
        first.close()
        assert second.claim(["00000001", "00000002"]) == {"00000001"}
    assert [found.name for found in tmp_path.iterdir()] == ["store.db"]


def test_what_the_dead_have_left_goes_and_what_sounds_so_stays(tmp_path: Path) -> None:
    path, dead = tmp_path / "store.db", "store.db-sweep-0123456789abcdef"
    left = {dead, f"{dead}-draft", f"{dead}-draft-wal", "store.db-sweep-fedcba9876543210-draft"}
    kept = {"store.db-sweep-mine", f"{dead}.txt", f"other-{dead}", "storeXdb-sweep-0123456789abcdef"}
    with Store(path) as living, Store(path) as store:
        assert living.claim(["1"]) == {"1"}
        for name in left | kept:
            (tmp_path / name).touch()
        foreign(path, "INSERT INTO claims VALUES ('2', '0123456789abcdef'), ('3', '../../none')")
        assert store.claim(["1", "2", "3"]) == {"2", "3"}
        found = {entry.name for entry in tmp_path.iterdir()}
        assert kept <= found
        assert not left & found
    assert {entry.name for entry in tmp_path.iterdir()} == {"store.db"} | kept


def test_two_who_make_a_store_at_once_have_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "store.db", Path.hardlink_to

    def late(self: Path, target: Path) -> None:
        """Somebody else's comes first."""
        monkeypatch.setattr(Path, "hardlink_to", link)
        with Store(path) as faster:
            faster.add(fakes.row(1), 1.0)
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", late)
    with Store(path) as store:
        assert store.rows() == [fakes.row(1)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["store.db"]


def test_a_draft_that_somebody_takes_away_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = Path.hardlink_to

    def without(self: Path, target: Path) -> None:
        monkeypatch.setattr(Path, "hardlink_to", link)
        target.unlink()
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", without)
    with Store(tmp_path / "store.db") as store:
        assert store.rows() == []


def test_where_nothing_can_be_linked_a_store_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with Store(tmp_path / "store.db") as store:
        assert store.rows() == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["store.db"]


def test_rows_are_those_of_the_tilesim_that_came_last(tmp_path: Path) -> None:
    rows: list[Row] = [{**fakes.row(k), "sources": sources} for k, sources in enumerate(("old", "new", "old", "new"))]
    with Store(tmp_path / "store.db") as store:
        for row in rows[:3]:
            store.add(row, 1.0)
        assert (store.rows(), store.older()) == ([rows[0], rows[2]], 1)
        store.add(rows[3], 1.0)
        assert (store.rows(), store.older()) == ([rows[1], rows[3]], 2)
        assert store.rows([row["key"] for row in rows]) == rows


def test_a_store_that_is_taken_away_is_not_written_to(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        store.add(fakes.row(1), 1.0)
        store.path.unlink()
        with pytest.raises(RunError, match="the store is gone: somebody has taken it away"):
            store.add(fakes.row(2), 1.0)


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("act", ["add", "read"])
def test_what_a_thousand_rows_cost(tmp_path: Path, benchmark: BenchmarkFixture, act: str) -> None:
    """Where it is measured, a second of processor time to add them at most, and a tenth of that to read them."""
    rows = [fakes.row(number) for number in range(1000)]
    layers = [
        MeasuredLayer(**{**layer, "name": f"layer {k}"})
        for row in rows[:1]
        for layer in _layers(row)
        for k in range(13)
    ]

    def add(store: Store) -> None:
        for row in rows:
            measures = row["measures"]
            assert measures
            store.add({**row, "measures": {**measures, "layers": layers}}, 1.0)

    with Store(tmp_path / "store.db") as store:
        if act == "read":
            add(store)
        benchmark.pedantic(lambda: add(store) if act == "add" else store.rows(), rounds=1)
        assert len(store.rows()) == 1000
    assert not benchmark.enabled or benchmark.stats.stats.min < (1 if act == "add" else 0.1)


def _layers(row: Row) -> list[MeasuredLayer]:
    return row["measures"]["layers"] if row["measures"] else []
