"""A program in files: ``program.tasm``, its text, with ``program.npz``, the bytes of its data segments; or all in one
``program.tbin``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_MODEL_BYTES
from tilesim.errors import ArrayError, ProgramError
from tilesim.files import read_bytes, read_npz, read_program_text, write_npz
from tilesim.saving import all_or_nothing
from tilesim.tiled.isa.binary import decode, encode
from tilesim.tiled.isa.grammar import NAME
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.scanner import Fault, shown, write_name
from tilesim.tiled.isa.streams import Damage
from tilesim.tiled.isa.text import read_text, write_text

TEXT, BINARY = ".tasm", ".tbin"
SUFFIXES = (TEXT, BINARY)
"""How the file of a program may end."""
_BYTES = ".npz"


def save(program: Program, folder: Path, name: str = f"program{TEXT}") -> Path:
    """Write ``program`` into ``folder``, which is made if need be; the same program gives the same bytes.

    The file gets the name ``name``. If that ends in ``.tbin``, it is binary and holds everything; else it is text, and
    the bytes stand beside it, ending in ``.npz``. Each file appears whole or not at all. Returns the file's path.

    Raises:
        ProgramError: Two data segments share a name, or the folder cannot be written.
    """
    names = [segment.name for segment in program.data]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ProgramError(f"data: the name {shown(name)} must belong to one segment" for name in twice)
    path = folder / name
    if path.suffix != BINARY:
        _must_not_take(path.with_suffix(_BYTES), path)
    try:
        with all_or_nothing(folder) as made:
            (_write_binary if path.suffix == BINARY else _write_text)(program, made / name)
    except OSError as error:
        raise ProgramError(f"{folder}: the program cannot be written there: {error.strerror}") from None
    return path


def _must_not_take(data: Path, text: Path) -> None:
    """Raises ProgramError if ``data`` is there without the program ``text`` that it would belong to."""
    if data.exists() and not text.exists():
        raise ProgramError(f"{data}: the program's data goes there, but the file is there and belongs to no program")


def _write_binary(program: Program, path: Path) -> None:
    path.write_bytes(encode(program))


def _write_text(program: Program, path: Path) -> None:
    write_npz(path.with_suffix(_BYTES), {write_name(each.name): each.data for each in program.data})
    path.write_text(write_text(program), encoding="utf-8", newline="\n")


def load(path: Path) -> Program:
    """The program in the file ``path``: binary if that ends in ``.tbin``, else text with the ``.npz`` file beside it.

    Raises:
        ProgramError: With every fault of the files.
    """
    if path.suffix != BINARY:
        return read_text(read_program_text(path), path, _read_arrays(path.with_suffix(_BYTES)))
    content = read_bytes(path, LARGEST_MODEL_BYTES, ProgramError)
    try:
        return decode(content)
    except Damage as damage:
        raise ProgramError(f"{path}: {sentence}" for sentence in damage.sentences) from None


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
