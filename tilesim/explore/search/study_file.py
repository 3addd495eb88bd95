"""The rounds of searches in a file of Optuna's own, beside the store: ``STORE.optuna``.

Only whole rounds count. One that was being written when the search was killed is proposed again, as it was.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from tilesim.errors import InputError, RunError
from tilesim.explore.search.sampler import directions, quiet
from tilesim.saving import writing

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

ROUND, PLACE, OF = "round", "place", "of"
"""What each trial has beside what Optuna keeps: its round, its place in it, and how many trials that has."""
PATIENCE_SECONDS = 60.0
"""How long one waits for another who writes."""


class StudyFile:
    """The study of one search; a context manager.

    Args:
        path: the file, which is made if there is none. Others may have their studies in it.
        name: of the study: a digest of all that decides what is proposed.
        maximise: of each objective, whether more is better.

    Raises:
        InputError: what is there is no such file, or it cannot be made.
    """

    def __init__(self, path: Path, name: str, maximise: Sequence[bool]) -> None:
        import optuna

        self._path = path
        if not path.exists():
            _make(path)
        with self._in_words(InputError, "read"), quiet():
            self._storage = _storage(path)
            self._study = optuna.create_study(
                storage=self._storage, study_name=name, directions=directions(maximise), load_if_exists=True
            )
            self._trials = self._rounds()

    def __enter__(self) -> StudyFile:
        return self

    def __exit__(self, *_: object) -> None:
        _closed(self._storage)

    def round(self, number: int) -> list[FrozenTrial] | None:
        """The trials of a round in their order, if it is there and whole."""
        trials = self._trials.get(number, {})
        whole = bool(trials) and len(trials) == trials[min(trials)].user_attrs[OF]
        return [trials[place] for place in sorted(trials)] if whole else None

    def add(self, number: int, trials: Sequence[FrozenTrial]) -> None:
        """Keep a round.

        Raises:
            RunError: the file cannot be written.
        """
        with self._in_words(RunError, "written"):
            for place, trial in enumerate(trials):
                if place not in self._trials[number]:
                    trial.user_attrs = {ROUND: number, PLACE: place, OF: len(trials)}
                    self._study.add_trial(trial)

    def _rounds(self) -> defaultdict[int, dict[int, FrozenTrial]]:
        found: defaultdict[int, dict[int, FrozenTrial]] = defaultdict(dict)
        for trial in self._study.get_trials():
            if {ROUND, PLACE, OF} <= trial.user_attrs.keys():
                found[trial.user_attrs[ROUND]][trial.user_attrs[PLACE]] = trial
        return found

    @contextmanager
    def _in_words(self, kind: type[InputError | RunError], done: str) -> Iterator[None]:
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (SQLAlchemyError, StorageInternalError, RuntimeError, ValueError) as fault:
            [sentence, *_] = str(fault.__cause__ or fault).splitlines() or [""]
            raise kind(f"{self._path}: the study of a search cannot be {done}: {sentence}") from None


def _make(path: Path) -> None:
    """Make a file without studies, whole at once."""
    draft = path.with_name(f".{path.name}-{token_hex(4)}")
    with writing(path, "study"):
        try:
            draft.touch(exist_ok=False)
            _closed(_storage(draft))
            draft.rename(path)
        finally:
            draft.unlink(missing_ok=True)


def _storage(path: Path) -> RDBStorage:
    from optuna.storages import RDBStorage

    # A file's name may have signs that mean something in an address.
    return RDBStorage("sqlite:///study", engine_kwargs={"creator": partial(_connection, path)})


def _connection(path: Path) -> sqlite3.Connection:
    """As that of a store: a kill undoes nothing that was written, and nothing waits for the disk."""
    connection = sqlite3.connect(path, PATIENCE_SECONDS, check_same_thread=False)
    connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    return connection


def _closed(storage: RDBStorage) -> None:
    storage.remove_session()
    storage.engine.dispose()
