"""Which sweeps of a store live: each keeps a file beside it locked, and the system unlocks it when the process ends."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

if sys.platform != "win32":
    import fcntl

_DIGITS, _DRAFT = 16, "-draft"


class Claimant:
    """A sweep, for the others of its store: ``STORE-sweep-NAME``, a locked file.

    All is done while nobody else writes to the store, or before there is one. Where files cannot be locked, no other
    sweep is known: two at once may then run the same point, and one of their rows is kept.
    """

    def __init__(self, store: Path) -> None:
        self.name = ""
        """Empty before it has begun, and when it has ended."""
        self._prefix = f"{store.name}-sweep-"
        self._folder = store.parent
        self._descriptor = -1

    @property
    def draft(self) -> Path:
        """A file that goes with the sweep."""
        return self._file(f"{self.name}{_DRAFT}")

    def begin(self) -> None:
        """Be known to others."""
        name = token_hex(_DIGITS // 2)
        self._descriptor = os.open(self._file(name), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        self.name = name
        _lock(self._descriptor)

    def end(self) -> None:
        """Be no more."""
        if self.name:
            self.draft.unlink(missing_ok=True)
            self._file(self.name).unlink(missing_ok=True)
            os.close(self._descriptor)
            self.name = ""

    def alive(self) -> Iterator[str]:
        """The names of all sweeps that live, this one too; what the dead have left is taken away."""
        named = re.compile(f"{re.escape(self._prefix)}([0-9a-f]{{{_DIGITS}}})({_DRAFT}[-a-z]*)?")
        for path in sorted(self._folder.iterdir()):
            if match := named.fullmatch(path.name):
                if match[1] != self.name and not _is_locked(self._file(match[1])):
                    path.unlink(missing_ok=True)
                elif not match[2]:
                    yield match[1]

    def _file(self, name: str) -> Path:
        return self._folder / f"{self._prefix}{name}"


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Whether nobody else had it locked."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
