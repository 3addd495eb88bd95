"""Files from outside, within their budgets: bytes, text and arrays, never a pickle; damage is said in words."""

from __future__ import annotations

import io
import lzma
import os
import stat
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_ARRAYS_BYTES, LARGEST_TEXT_BYTES, LONGEST_LINE, MIB, MOST_ARRAYS, MOST_LINES
from tilesim.errors import ArrayError, InputError, ProgramError, refuse
from tilesim.units import format_bytes

Array = NDArray[Any]

_MEMBER = ".npy"
_ENTRY = b"PK\1\2"
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_LONGEST_HEADER = 1 << 16
_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
_DAMAGE = (
    *(OSError, EOFError, ValueError, TypeError, IndexError, OverflowError, RuntimeError, MemoryError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What zipfile and NumPy raise for a file that is not what it says."""


def write_npz(path: Path, arrays: Mapping[str, Array], compressed: bool = False) -> None:
    """Write ``arrays`` by name; unlike NumPy's own, any name will do and no time of day gets in.

    Raises:
        OSError: the file cannot be written.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(name + _MEMBER)
            member.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def must_be_file(path: Path, error: Callable[[str], InputError]) -> None:
    """See to it that there is such a file, and that it is a plain one.

    Raises:
        InputError: as ``error`` makes it: there is none, or a folder, a device or a pipe in its place.
    """
    if kind := odd_kind(path):
        raise error(f"{path}: must be a file, not a {kind}")
    try:
        path.stat()
    except (FileNotFoundError, ValueError):  # the latter is of names that no file can have
        raise error(f"{path}: there is no such file") from None
    except OSError as fault:
        raise error(f"{path}: cannot be read: {_reason(fault)}") from None


def odd_kind(path: Path) -> str:
    """What there is that is no plain file: a folder, pipe, socket or device; nothing where there is one, or none."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return ""
    return "" if kind == stat.S_IFREG else _KINDS.get(kind, "device")


def read_bytes(path: Path, most_bytes: int, error: Callable[[str], InputError]) -> bytes:
    """What is in a file, which may have ``most_bytes``.

    Raises:
        InputError: as ``error`` makes it: no such file, no plain one, or a larger one.
    """
    try:
        must_be_file(path, error)
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            # some files of the system have another size than they say
            content = file.read(most_bytes + 1) if size_bytes <= most_bytes else b""
        if (size_bytes := max(size_bytes, len(content))) > most_bytes:
            raise error(f"{path}: must have at most {format_bytes(most_bytes)}, not {format_bytes(size_bytes)}")
    except (OSError, ValueError) as fault:
        raise error(f"{path}: cannot be read: {_reason(fault)}") from None
    return content


def read_text(path: Path, most_bytes: int, error: type[InputError]) -> str:
    """What is in a file of text.

    Raises:
        InputError: as :func:`read_bytes`, or it is not UTF-8.
    """
    content = read_bytes(path, most_bytes, error)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise error(f"{path}:{line}:1: the text must be UTF-8, not {content[fault.start :][:4]!r}") from None


def read_program_text(path: Path) -> str:
    """The text of a program.

    Raises:
        ProgramError: as :func:`read_text`, or more lines or longer ones than a program has.
    """
    text = read_text(path, LARGEST_TEXT_BYTES, ProgramError)
    if (count := text.count("\n")) > MOST_LINES:
        raise ProgramError(f"{path}: must have at most {MOST_LINES} lines, not {count}")
    too_long = (
        f"{path}:{number}:1: a line must have at most {LONGEST_LINE} characters, not {len(line)}"
        for number, line in enumerate(text.split("\n"), 1)
        if len(line) > LONGEST_LINE
    )
    refuse(too_long, ProgramError)
    return text


def read_npz(
    path: Path, names: Collection[str] | None = None, most_bytes: int = LARGEST_ARRAYS_BYTES
) -> dict[str, Array]:
    """The arrays of an .npz file by name; given ``names``, only those of them that are there.

    Raises:
        ArrayError: not an .npz file, or arrays in it that cannot be read, all at once; or arrays that are too large.
    """
    with _archive(path) as archive:
        members = {name: info for name, info in _members(archive).items() if names is None or name in names}
        _must_fit(path, sum(info.file_size for info in members.values()), most_bytes)
        return _read_members(path, archive, members)


def npz_names(path: Path) -> list[str]:
    """The names of the arrays in an .npz file.

    Raises:
        ArrayError: not an .npz file.
    """
    with _archive(path) as archive:
        return list(_members(archive))


def read_npy(path: Path, most_bytes: int = LARGEST_ARRAYS_BYTES) -> Array:
    """The array of an .npy file.

    Raises:
        ArrayError: not an .npy file, or a larger one than arrays may be.
    """
    try:
        size_bytes = path.stat().st_size
        _must_fit(path, size_bytes, most_bytes)
        return _parsed(lambda: path.open("rb"), size_bytes)
    except _DAMAGE as error:
        raise ArrayError(f"{path}: must be an .npy file: {_reason(error)}") from None


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """An .npz file, open. Raises ArrayError."""
    try:
        _must_fit(path, path.stat().st_size)
        if _entries(path) > MOST_ARRAYS:  # each costs zipfile a hundred times what it costs the file
            raise ArrayError(f"{path}: must hold at most {MOST_ARRAYS} arrays")
        with zipfile.ZipFile(path) as archive:
            yield archive
    except _DAMAGE as error:
        raise ArrayError(f"{path}: must be an .npz file: {_reason(error)}") from None


def _entries(path: Path) -> int:
    """How many entries the directory of a zip file has at most: each begins with the same four bytes."""
    found, end = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(MIB):
            found += (end + chunk).count(_ENTRY)
            end = chunk[1 - len(_ENTRY) :]
    return found


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    return {info.filename.removesuffix(_MEMBER): info for info in archive.infolist()}


def _must_fit(path: Path, size_bytes: int, most_bytes: int = LARGEST_ARRAYS_BYTES) -> None:
    if size_bytes > most_bytes:
        sizes = f"at most {format_bytes(most_bytes)}, not {format_bytes(size_bytes)}"
        raise ArrayError(f"{path}: its arrays must have {sizes}")


def _read_members(path: Path, archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    faults: list[str] = []
    for name, info in members.items():
        try:
            if info.compress_type not in _METHODS:
                raise ValueError("NumPy does not write this kind of compression")
            arrays[name] = _parsed(partial(archive.open, info), info.file_size)
        except _DAMAGE as error:
            faults.append(f"{path}: array {name!r} must be a plain .npy array: {_reason(error)}")
    refuse(faults, ArrayError)
    return arrays


def _parsed(opened: Callable[[], IO[bytes]], size_bytes: int) -> Array:
    """The array of an .npy file, which has ``size_bytes``; nothing is read of it before its header agrees with that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an old header says nothing about the array
        with opened() as file:
            needed_bytes = _needed_bytes(io.BytesIO(file.read(_LONGEST_HEADER)))
        if needed_bytes != size_bytes:
            raise ValueError(f"it must have as many bytes as its header says, not {size_bytes}")
        with opened() as file:
            array = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
            file.read(1)  # at its end, a member of a zip file compares its checksum
    return array


def _needed_bytes(head: IO[bytes]) -> int:
    """How long an .npy file must be that begins with ``head``."""
    version = np.lib.format.read_magic(head)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(head)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded, as they may be programs")
    if min(shape, default=0) < 0 or dtype.itemsize < 1:
        raise ValueError("its header must be of numbers or texts")
    return head.tell() + prod(shape) * dtype.itemsize


def _reason(error: BaseException) -> str:
    """The first line of what went wrong, without the path, which the sentence names already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error) or type(error).__name__).splitlines()[0]
