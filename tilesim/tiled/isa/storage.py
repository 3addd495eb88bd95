"""A program in two files: ``program.tasm``, its text, and ``program.npz``, the bytes of its data segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError, ProgramError
from tilesim.files import all_or_nothing, read_npz, write_npz
from tilesim.tiled.isa.grammar import NAME
from tilesim.tiled.isa.program import Program
from tilesim.tiled.isa.scanner import Fault, shown, write_name
from tilesim.tiled.isa.text import read_text, write_text

_TEXT, _BYTES = "program.tasm", ".npz"


def save(program: Program, folder: Path, name: str = _TEXT) -> Path:
    """Write ``program`` into ``folder``, which is made if need be; the same program gives the same bytes.

    The text gets the file name ``name``; the bytes stand beside it, ending in ``.npz``. Each file appears whole or not
    at all. Returns the path of the text.

    Raises:
        ProgramError: Two data segments share a name, or the folder cannot be written.
    """
    names = [segment.name for segment in program.data]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ProgramError(f"data: the name {shown(name)} must belong to one segment" for name in twice)
    data = (folder / name).with_suffix(_BYTES)
    if data.exists() and not (folder / name).exists():
        raise ProgramError(f"{data}: the program's data goes there, but the file is there and belongs to no program")
    try:
        with all_or_nothing(folder) as made:
            write_npz((made / name).with_suffix(_BYTES), {write_name(each.name): each.data for each in program.data})
            (made / name).write_text(write_text(program), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ProgramError(f"{folder}: the program cannot be written there: {error.strerror}") from None
    return folder / name


def load(path: Path) -> Program:
    """The program whose text is at ``path``, with the bytes from the ``.npz`` file beside it.

    Raises:
        ProgramError: With every fault of both files.
    """
    text = _read_bytes(path)
    try:
        lines = text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise ProgramError(f"{path}:{line}:1: the text must be UTF-8, not {text[error.start :][:4]!r}") from None
    return read_text(lines, path, _read_arrays(path.with_suffix(_BYTES)))


def _read_bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise ProgramError(f"{path}: a program must be a file")
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise ProgramError(f"{path}: the file cannot be read: {getattr(error, 'strerror', error)}") from None


def _read_arrays(path: Path) -> dict[str, NDArray[np.uint8]]:
    """The arrays by name; none if there is no file, for a program without data needs none."""
    if not path.is_file():
        return {}
    try:
        return {NAME.read_all(name): array for name, array in read_npz(path).items()}
    except Fault as fault:
        raise ProgramError(f"{path}: a segment's name {fault.sentence}") from None
    except ArrayError as error:
        raise ProgramError(f"the bytes of a program cannot be read: {fault}" for fault in error.faults) from None
