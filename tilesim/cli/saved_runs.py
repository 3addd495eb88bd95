"""What ``tilesim run --out`` writes: a run and its program; of several chips, a folder for each, and a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilesim import api
from tilesim.cli.paths import (
    COMPARISON,
    PAGE,
    files_of_model,
    files_of_run,
    must_be_folder,
    must_be_free,
    pictures_of_run,
)
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology
from tilesim.printable import numbered
from tilesim.run import FILES, Run
from tilesim.saving import all_or_nothing, writing

LONGEST_NAME = 60
"""Characters of a folder's name: of four bytes each, and with a number after them, a file system still takes them."""


@dataclass(frozen=True)
class Done:
    """A run, and the program of all of it."""

    program: Program
    run: Run


def folder_names(chips: Iterable[Topology]) -> list[str]:
    """What to call the folder of each chip's run: as the chip, as far as that can be the name of a folder."""
    names = [re.sub(r"[^\w.()+ -]", "_", chip.name[:LONGEST_NAME]).lstrip(".").strip() for chip in chips]
    return list(numbered([COMPARISON, *(name or "chip" for name in names)]))[1:]


def must_be_writable(
    out: Path | None, names: Sequence[str], words: Iterable[str], files: Iterable[Path | None]
) -> None:
    """What is written into ``out``, or into folders in it if there are ``names``, is nothing that is read: neither what
    ``words`` stand for, nor any of the ``files``.
    """
    if out is None:
        return
    folders = [out / name for name in names] or [out]
    for folder in dict.fromkeys([out, *folders]):
        must_be_folder(folder)
    read = [*(path for word in words for path in files_of_model(word)), *(path for path in files if path is not None)]
    pages = [*(folder / PAGE for folder in folders), *([out / COMPARISON] if names else [])]
    for path in [*(path for folder in folders for path in files_of_run(folder)), *pages]:
        must_be_free(path, read)


def save(done: Done, folder: Path) -> None:
    """Write a run into ``folder``, where it replaces what is left of another; raises InputError if it can't be."""
    with writing(folder, "results"):
        with all_or_nothing(folder, (*FILES, PAGE)) as made:
            _write(done, made)
        _clear_pictures(folder)


def save_all(runs: Mapping[str, Done], page: str | None, folder: Path) -> None:
    """Write runs into folders of these names in ``folder``, and the page that compares them, if there is one: all or
    nothing. Raises InputError if that can't be.
    """
    replaced = [COMPARISON, *(f"{name}/{file}" for name in runs for file in (*FILES, PAGE))]
    with writing(folder, "results"):
        with all_or_nothing(folder, replaced) as made:
            for name, done in runs.items():
                (made / name).mkdir()
                _write(done, made / name)
            if page is not None:
                (made / COMPARISON).write_text(page, encoding="utf-8", newline="\n")
        for name in runs:
            _clear_pictures(folder / name)


def _write(done: Done, folder: Path) -> None:
    api.save_program(done.program, folder / "program.tasm")
    done.run.write(folder)


def _clear_pictures(folder: Path) -> None:
    """Those that were drawn of the run before."""
    for picture in pictures_of_run(folder):
        picture.unlink(missing_ok=True)
