"""Arrays in files: never a pickle, and damage is said in words."""

from __future__ import annotations

import io
import lzma
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError

Array = NDArray[Any]

_MEMBER = ".npy"
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


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, Array]:
    """The arrays of an .npz file by name; given ``names``, only those of them that are there.

    Raises:
        ArrayError: not an .npz file, or arrays in it that cannot be read, all at once.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.removesuffix(_MEMBER): member for member in archive.namelist()}
            return _read_members(path, archive, {n: m for n, m in members.items() if names is None or n in names})
    except _DAMAGE as error:
        raise ArrayError(f"{path}: must be an .npz file: {_reason(error)}") from None


def read_npy(path: Path) -> Array:
    """The array of an .npy file.

    Raises:
        ArrayError: not an .npy file.
    """
    try:
        return _parsed(path.read_bytes())
    except _DAMAGE as error:
        raise ArrayError(f"{path}: must be an .npy file: {_reason(error)}") from None


def _read_members(path: Path, archive: zipfile.ZipFile, members: Mapping[str, str]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    faults: list[str] = []
    for name, member in members.items():
        try:
            # The member's checksum is compared before its header is believed.
            arrays[name] = _parsed(archive.read(member))
        except _DAMAGE as error:
            faults.append(f"{path}: array {name!r} must be a plain .npy array: {_reason(error)}")
    if faults:
        raise ArrayError(faults)
    return arrays


def _parsed(data: bytes) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an old header says nothing about the array
        return np.asarray(np.lib.format.read_array(io.BytesIO(data), allow_pickle=False))


def _reason(error: BaseException) -> str:
    """The first line of what went wrong, without the path, which the sentence names already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error) or type(error).__name__).splitlines()[0]
