"""A systolic program in files: ``program.tasm``, its text, with ``program.npz``, the bytes of its data segments."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_TEXT_BYTES
from tilesim.errors import ArrayError, ProgramError
from tilesim.files import read_bytes, read_npz, read_program_text, write_npz
from tilesim.saving import all_or_nothing
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.isa.scanner import Fault, Scanner, shown, written_name
from tilesim.systolic.isa.text import read_text, write_text

TEXT, BYTES = ".tasm", ".npz"
_BINARY = ".tbin"
_MACHINE = re.compile(rb"^[ \t]*\.chip[ \t](?:[^;\n]*?[ \t])?machine=([A-Za-z_][\w-]*)", re.MULTILINE)


def save(program: Program, folder: Path, name: str = f"program{TEXT}") -> Path:
    """Write ``program`` into ``folder``, which is made if need be; the same program gives the same bytes.

    The text gets the name ``name``, the data stand beside it, ending in ``.npz``. Both appear whole or not at all.
    Returns the path of the text.

    Raises:
        ProgramError: Two data segments share a name, the name is that of a binary program, or the folder cannot be
            written.
    """
    path = folder / name
    data = path.with_suffix(BYTES)
    names = [segment.name for segment in program.data]
    faults = [f"data: the name {shown(each)} must belong to one segment" for each in names if names.count(each) > 1]
    if path.suffix in {_BINARY, BYTES}:
        faults.append(f"{path}: a systolic program is saved as text, under a name that ends in {TEXT}")
    elif data.exists() and not path.exists():
        faults.append(f"{data}: the program's data goes there, but the file is there and belongs to no program")
    if faults:
        raise ProgramError(dict.fromkeys(faults))
    try:
        with all_or_nothing(folder) as made:
            arrays = {written_name(segment.name): segment.data for segment in program.data}
            write_npz((made / name).with_suffix(BYTES), arrays)
            (made / name).write_text(write_text(program), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ProgramError(f"{folder}: the program cannot be written there: {error.strerror}") from None
    return path


def load(path: Path) -> Program:
    """The program in the file ``path``, with the bytes of the ``.npz`` file beside it.

    Raises:
        ProgramError: With every fault of the files.
    """
    return read_text(read_program_text(path), path, _read_arrays(path.with_suffix(BYTES)))


def machine_of(path: Path) -> str:
    """For which machine the program in the file ``path`` is: what the ``.chip`` lines of a text say, or nothing.

    Raises:
        ProgramError: The file cannot be read.
    """
    if path.suffix == _BINARY:  # no program of this machine is
        return ""
    found = _MACHINE.search(read_bytes(path, LARGEST_TEXT_BYTES, ProgramError))
    return found[1].decode() if found else ""


def _read_arrays(path: Path) -> dict[str, NDArray[np.uint8]]:
    """The arrays by name; none if there is no file, for a program without data needs none."""
    if not path.is_file():
        return {}
    try:
        return {_name(name): array for name, array in read_npz(path).items()}
    except Fault as fault:
        raise ProgramError(f"{path}: a segment's name {fault.sentence}") from None
    except ArrayError as error:
        raise ProgramError(f"the bytes of a program cannot be read: {fault}" for fault in error.faults) from None


def _name(word: str) -> str:
    scanner = Scanner(word)
    name = scanner.name()
    if scanner.rest:
        scanner.fail(f"must end here, not go on with {shown(scanner.rest)}")
    return name
