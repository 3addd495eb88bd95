"""An input: files, and the words of the command that is to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TypeAlias

Files: TypeAlias = Mapping[str, bytes | None]
"""Contents by path inside the case's folder; None is a folder."""


@dataclass(frozen=True)
class Case:
    """Files and a command. ``made`` are the paths that the command may write, and what lies in them."""

    kind: str
    files: Files
    words: tuple[str, ...]
    made: frozenset[str] = frozenset()
    shell: bool = False

    @property
    def command(self) -> str:
        """The command's name, for the table."""
        return self.words[0] if self.words else ""

    def write(self, folder: Path) -> None:
        """Put the files into ``folder``."""
        for name, content in self.files.items():
            path = folder / name
            if content is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def through_the_shell(self) -> Case:
        """The same in a process that a shell starts."""
        return replace(self, shell=True)  # noqa: S604  (a field)


Corpus: TypeAlias = Mapping[str, tuple[Files, ...]]
"""Sound inputs by kind."""
Maker: TypeAlias = Callable[[Random, Corpus], Case]
