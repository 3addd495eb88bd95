"""The rows of sweeps in a file of SQLite: table ``runs``, one row a point, added and never changed.

``sqlite3 FILE`` may be asked for it while sweeps write. The columns, in the words of :mod:`tilesim.explore.row`::

    key                                                      TEXT     what decides the row, digested
    sources                                                  TEXT     tilesim's own, digested
    network, topology, machine, status, reason, command      TEXT
    chip, options, area                                      JSON     an object by key, option, part of the chip
    tiles, macs, cycles, load_cycles                         INTEGER
    latency_us, throughput_per_second, energy_pj, mac_utilisation    REAL
    bound_by, outputs_sha256                                 TEXT
    breakdown, bytes, peak_bytes                             JSON     an object by cause, bus, memory
    layers                                                   JSON     a list of objects
    seconds                                                  REAL     of processor time that the row took

All measures are NULL where a point did not run. ``DELETE FROM runs WHERE status = 'failed'`` lets the next sweep try
such points again. The table ``claims`` says which sweep is at work on which points; a claim is void when its sweep is
no more: :class:`tilesim.explore.rows.claimant.Claimant`.

``PRAGMA application_id`` says that the file is a store, ``PRAGMA user_version`` which version of this schema it has.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from tilesim.errors import InputError, RunError
from tilesim.explore.row import Row
from tilesim.explore.rows.claimant import Claimant
from tilesim.files import must_be_file
from tilesim.printable import printable
from tilesim.saving import writing

VERSION = 1
"""Of the schema."""
APPLICATION = int.from_bytes(b"tsim", "big")
PATIENCE_SECONDS = 60.0
"""How long one waits for another who writes."""

_IDENTITY = {
    "key": "TEXT PRIMARY KEY",
    **dict.fromkeys(("sources", "network", "topology", "machine", "status", "reason", "command"), "TEXT NOT NULL"),
    **dict.fromkeys(("chip", "options", "area"), "JSON NOT NULL"),
}
_MEASURES = {
    **dict.fromkeys(("tiles", "macs", "cycles", "load_cycles"), "INTEGER"),
    **dict.fromkeys(("latency_us", "throughput_per_second", "energy_pj", "mac_utilisation"), "REAL"),
    **dict.fromkeys(("bound_by", "outputs_sha256"), "TEXT"),
    **dict.fromkeys(("breakdown", "bytes", "peak_bytes", "layers"), "JSON"),
}
_WANTED = {**_IDENTITY, **_MEASURES}
_COLUMNS = {**_WANTED, "seconds": "REAL NOT NULL"}
_SCHEMA = f"""
    PRAGMA journal_mode = OFF;
    PRAGMA application_id = {APPLICATION};
    PRAGMA user_version = {VERSION};
    CREATE TABLE runs ({", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())});
    CREATE TABLE claims (key TEXT PRIMARY KEY, sweep TEXT NOT NULL) WITHOUT ROWID;
    PRAGMA journal_mode = WAL;
"""
_ADD = f"INSERT OR IGNORE INTO runs VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608  (its own columns)
_READ = f"SELECT {', '.join(_WANTED)} FROM runs"  # noqa: S608
_LAST = "(SELECT sources FROM runs ORDER BY rowid DESC LIMIT 1)"
"""What the last row that was added is of."""
_CLAIM = "INSERT OR IGNORE INTO claims SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM runs WHERE key = ?1)"
_MARKS = ("application_id", "user_version")
_ROW = TypeAdapter(Row)


class Store:
    """A store, open; a context manager. One thread may use it; another opens its own.

    Args:
        path: the file.
        reading: whether rows are only read: the file must be there; else it is made if there is none.

    Raises:
        InputError: what is there is no store, is one of another version, or cannot be opened; it is left as it is.

    Timing: a row takes less than a millisecond to add, and 10,000 rows less than a second to read.
    """

    def __init__(self, path: Path, reading: bool = False) -> None:
        self.path = path
        if not reading:
            _make(path)
        must_be_file(path, InputError)
        self._claimant = Claimant(path)
        with self._in_words(), ExitStack() as undone:
            # The URI cannot make a file, whatever becomes of this one meanwhile.
            uri = f"{path.absolute().as_uri()}?mode=rw"
            self._database = sqlite3.connect(uri, PATIENCE_SECONDS, isolation_level=None, uri=True)
            undone.callback(self._database.close)
            _must_be_store(path, self._database, "" if reading else ", or no file yet")
            # What a transaction has written to the log is the system's, which keeps it when the process is killed. To
            # wait for the disk, as FULL does, helps against power cuts only; those take the last rows, no more.
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(f"PRAGMA query_only = {reading}")
            undone.pop_all()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what was claimed, and close the file."""
        self.release()
        self._database.close()

    def release(self) -> None:
        """Give up what was claimed: others may run it now."""
        self._claimant.end()

    def keys(self) -> set[str]:
        """The keys of all rows."""
        with self._in_words():
            return {key for (key,) in self._database.execute("SELECT key FROM runs")}

    def row(self, key: str) -> Row | None:
        """The row of a key, if there is one. Raises InputError: it is damaged."""
        return next(self._read(f"{_READ} WHERE key = ?", key), None)

    def rows(self, keys: Collection[str] | None = None) -> list[Row]:
        """The rows of the tilesim whose row came last, in the order of their keys; or those of ``keys`` that are there,
        in the order of these.

        Raises:
            InputError: a row is damaged.
        """
        if keys is None:
            return list(self._read(f"{_READ} WHERE sources = {_LAST} ORDER BY key"))
        return [row for key in keys if (row := self.row(key)) is not None]

    def older(self) -> int:
        """How many rows are of another tilesim than the last one."""
        with self._in_words():
            [[count]] = self._database.execute(f"SELECT count(*) FROM runs WHERE sources != {_LAST}")  # noqa: S608
            return int(count)

    def seconds(self) -> dict[str, float]:
        """The processor time that each row took."""
        with self._in_words():
            return dict(self._database.execute("SELECT key, seconds FROM runs"))

    def add(self, row: Row, seconds: float) -> None:
        """Keep a row, unless there is one of its key; when this returns, no kill of the process undoes it.

        Raises:
            RunError: the file cannot be written.
        """
        with self._writing() as database:
            database.execute(_ADD, (*_values(row), seconds))
            database.execute("DELETE FROM claims WHERE key = ?", (row["key"],))

    def claim(self, keys: Sequence[str]) -> set[str]:
        """Those of ``keys`` that are this sweep's to run: they have no row, and no other sweep that lives is at them.

        They are its own until :meth:`release`, or until the process ends.

        Raises:
            RunError: the file cannot be written.
        """
        with self._writing() as database:
            if not self._claimant.name:
                self._claimant.begin()
                self._forget_the_dead(database)
            claimed = self._claimed(database, keys)
            if len(claimed) < len(keys):
                self._forget_the_dead(database)
                claimed |= self._claimed(database, keys)
            return claimed

    def _forget_the_dead(self, database: sqlite3.Connection) -> None:
        alive = json.dumps([*self._claimant.alive()])
        database.execute("DELETE FROM claims WHERE sweep NOT IN (SELECT value FROM json_each(?))", (alive,))

    def _claimed(self, database: sqlite3.Connection, keys: Sequence[str]) -> set[str]:
        return {key for key in keys if database.execute(_CLAIM, (key, self._claimant.name)).rowcount > 0}

    def _read(self, query: str, *values: str) -> Iterator[Row]:
        with self._in_words():
            for found in self._database.execute(query, values):
                yield self._row(found)

    def _row(self, found: Sequence[object]) -> Row:
        values = dict(zip(_WANTED, found, strict=True))
        try:
            identity = ",".join(_members(values, _IDENTITY))
            measures = f"{{{','.join(_members(values, _MEASURES))}}}" if _has_measures(values) else "null"
            # Pydantic is much faster with a text than with what a reader of JSON makes of it.
            return _ROW.validate_json(f'{{{identity},"measures":{measures}}}')
        except (TypeError, ValueError) as fault:
            [first, *_] = str(fault).splitlines()[1:2] or [str(fault)]
            key, why = printable(str(values["key"])[:16]), first.partition(" [type=")[0].strip()
            raise InputError(f"{self.path}: the row {key} is damaged: {why}") from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, which nobody else has at the same time: it is whole, or as if it had not begun."""
        if not self.path.exists():  # what would be written, nobody could ever read
            raise RunError(f"{self.path}: the store is gone: somebody has taken it away")
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
        except (sqlite3.Error, UnicodeDecodeError, OSError) as fault:
            raise RunError(f"{self.path}: the store cannot be written: {printable(str(fault))}") from None

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as fault:  # SQLite's sentences have words of a damaged file in them
            raise InputError(f"{self.path}: the store cannot be read: {printable(str(fault))}") from None


def _make(path: Path) -> None:
    """Make an empty store, whole at once, unless there is something."""
    with writing(path, "store"):
        while not os.path.lexists(path):
            _draft(path)


def _draft(path: Path) -> None:
    """Make an empty store in a file of its own, and let it be at ``path`` too.

    If this process dies, the first sweep of the store takes the draft away; it may also do so before the draft is known
    to be somebody's.
    """
    claimant = Claimant(path)
    claimant.begin()
    try:
        with closing(sqlite3.connect(claimant.draft)) as database:
            database.executescript(_SCHEMA)
        _link(claimant.draft, path)
    except sqlite3.Error as fault:
        raise OSError(str(fault)) from None
    finally:
        claimant.end()


def _link(draft: Path, path: Path) -> None:
    try:
        path.hardlink_to(draft)
    except (FileExistsError, FileNotFoundError):  # somebody was faster
        pass
    except OSError:  # the file system has no links
        draft.rename(path)


def _must_be_store(path: Path, database: sqlite3.Connection, otherwise: str) -> None:
    # The file's header would say it too. But who closes a file that his process has open as a database, in another
    # thread, takes away SQLite's locks of it.
    try:
        [[application], [version]] = (database.execute(f"PRAGMA {mark}").fetchone() for mark in _MARKS)
    except sqlite3.DatabaseError as fault:
        if fault.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        application, version = 0, 0
    if application != APPLICATION:
        raise InputError(f"{path}: must be a store of tilesim sweep{otherwise}")
    if version != VERSION:
        raise InputError(f"{path}: must be a store of version {VERSION}, not {version}: another tilesim made it")


def _values(row: Row) -> Iterator[object]:
    """The columns of a row, but the last."""
    values = {**row, **(row["measures"] or {})}
    for name, kind in _WANTED.items():
        value = values.get(name)
        if value is not None and "JSON" in kind:
            value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        # A file's name may have bytes that are no UTF-8, which SQLite takes for text as little as JSON does.
        yield value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _has_measures(values: Mapping[str, object]) -> bool:
    """Whether the point ran. Raises ValueError: it ran without measures, or did not and has some."""
    there = [name for name in _MEASURES if values[name] is not None]
    if values["status"] == "ran" and not there:
        raise ValueError("it must have measures, as its status is ran")
    if values["status"] != "ran" and there:
        raise ValueError(f"{there[0]} must be NULL, as its status is not ran")
    return bool(there)


def _members(values: Mapping[str, object], columns: Mapping[str, str]) -> Iterator[str]:
    """Columns as members of an object of JSON."""
    for name, kind in columns.items():
        value = values[name]
        yield f'"{name}":{value if "JSON" in kind and value is not None else json.dumps(value)}'
