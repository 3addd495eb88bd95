"""Files and folders that the command line names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import typer

from tilesim.assembly import TEXT
from tilesim.errors import InputError
from tilesim.files import odd_kind
from tilesim.run import FOLDER_FILES, PICTURES

PAGE = "report.html"
"""What `tilesim report` writes into the folder of a run."""
COMPARISON = "compare.html"
"""What `tilesim compare` writes, and `tilesim run` of several chips."""
FIGURES = "figures"
"""The folder in it for pictures."""


def given_path(word: str) -> Path:
    """A path from the command line."""
    if not word:
        raise InputError("a file or folder must be given by its name, not by empty text")
    return Path(word)


def given_file(word: str) -> Path:
    """The path of a file from the command line."""
    if word.endswith(("/", os.sep)):
        raise InputError(f"{word}: must be a file, not a folder")
    return given_path(word)


def path_option(metavar: str, meaning: str, *names: str) -> object:
    """An option that takes a file or folder, which the help calls ``metavar``: of a file it begins with FILE."""
    parser = given_file if metavar.startswith("FILE") else given_path
    return typer.Option(*names, metavar=metavar, help=meaning, parser=parser)


def files_of_run(folder: Path) -> list[Path]:
    """What a saved run in ``folder`` may consist of."""
    return [folder / name for name in FOLDER_FILES]


def pictures_of_run(folder: Path) -> list[Path]:
    """What `tilesim report --png` may have drawn of the run in ``folder``."""
    return [folder / FIGURES / f"{name}.{ending}" for name in PICTURES for ending in ("png", "svg")]


def files_of_model(word: str) -> list[Path]:
    """What is read for the word that names a model or a program."""
    path = Path(word)
    return [path, path.with_suffix(".npz")] if path.suffix == TEXT else [path]


def must_be_free(path: Path, read: Iterable[Path], whose: str = "that is read") -> None:
    """A file to write is no folder, and none of the files that the command reads; ``whose`` they are."""
    if kind := odd_kind(path):
        raise InputError(f"{path}: must be a file to write, not a {kind}")
    if any(_same(path, other) for other in read):
        raise InputError(f"{path}: must be a new file, not one {whose}")


def must_be_folder(folder: Path) -> None:
    """A folder to write into is one, or can become one."""
    if folder.is_symlink() and not folder.exists():
        raise InputError(f"{folder}: must be a folder, not a link to {folder.readlink()}, which leads nowhere")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: must be a folder, or not be there yet")


def _same(path: Path, other: Path) -> bool:
    """Whether both are one file, there or not there yet."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)
