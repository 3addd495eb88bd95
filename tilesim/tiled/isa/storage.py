"""A program in two files: ``program.tasm``, its text, and ``program.npz``, the bytes of its data segments."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ProgramError
from tilesim.tiled.isa.grammar import NAME
from tilesim.tiled.isa.program import Program
from tilesim.tiled.isa.scanner import Fault, shown, write_name
from tilesim.tiled.isa.text import read_text, write_text

_TEXT, _BYTES, _ARRAY = "program.tasm", ".npz", ".npy"
_UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)


def save(program: Program, folder: Path) -> Path:
    """Write ``program`` into ``folder``, which is made if need be; the same program gives the same bytes.

    Each file appears whole or not at all. Returns the path of the text.

    Raises:
        ProgramError: Two data segments share a name, or the folder cannot be written.
    """
    names = [segment.name for segment in program.data]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ProgramError(f"data: the name {shown(name)} must belong to one segment" for name in twice)
    path = folder / _TEXT
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".saving-") as made:
            text, data = Path(made, _TEXT), Path(made, _TEXT).with_suffix(_BYTES)
            text.write_text(write_text(program), encoding="utf-8", newline="\n")
            _write_arrays(data, {segment.name: segment.data for segment in program.data})
            data.replace(path.with_suffix(_BYTES))
            text.replace(path)
    except OSError as error:
        raise ProgramError(f"{folder}: the program cannot be written there: {error.strerror}") from None
    return path


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
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise ProgramError(f"{path}: the file cannot be read: {getattr(error, 'strerror', error)}") from None


def _write_arrays(path: Path, arrays: dict[str, NDArray[np.uint8]]) -> None:
    # Not numpy.savez: it takes names as keywords, so that a segment could not be called "file".
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(write_name(name) + _ARRAY), "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read_arrays(path: Path) -> dict[str, NDArray[np.uint8]]:
    """The arrays by name; none if there is no file, for a program without data needs none."""
    if not path.exists():
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            return dict(_read_array(archive, member) for member in archive.namelist())
    except Fault as fault:
        raise ProgramError(f"{path}: a segment's name {fault.sentence}") from None
    except _UNREADABLE as error:
        raise ProgramError(f"{path}: must be the .npz file of a program: {error}") from None


def _read_array(archive: zipfile.ZipFile, member: str) -> tuple[str, NDArray[np.uint8]]:
    name = NAME.read_all(member.removesuffix(_ARRAY))
    # The member's checksum is compared before its header is believed.
    return name, np.lib.format.read_array(io.BytesIO(archive.read(member)), allow_pickle=False)
