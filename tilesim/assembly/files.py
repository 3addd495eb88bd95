"""A program in files: ``program.tasm``, its text, with ``program.npz``, the bytes of its data segments; or all in one
``program.tbin``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.assembly import BINARY, TEXT
from tilesim.assembly.binary import Binary, chip_lines, is_sealed
from tilesim.assembly.scanner import Fault
from tilesim.assembly.seal import rules_of
from tilesim.assembly.streams import Damage
from tilesim.assembly.text import P, Text
from tilesim.budgets import LARGEST_MODEL_BYTES, LARGEST_TEXT_BYTES
from tilesim.errors import ArrayError, ProgramError
from tilesim.files import read_bytes, read_npz, read_program_text, write_npz
from tilesim.printable import shown
from tilesim.saving import all_or_nothing

_BYTES = ".npz"
_MACHINE = re.compile(r"^[ \t]*\.chip[ \t](?:[^;\n]*?[ \t])?machine=([A-Za-z_][\w-]*)", re.MULTILINE)


def machine_in(path: Path) -> str:
    """For which machine the program in the file ``path`` is, as its chip says; nothing if the file does not tell.

    Raises:
        ProgramError: The file cannot be read.
    """
    is_binary = path.suffix == BINARY
    content = read_bytes(path, LARGEST_MODEL_BYTES if is_binary else LARGEST_TEXT_BYTES, ProgramError)
    try:
        machine = _MACHINE.search(chip_lines(content) if is_binary else content.decode("utf-8", "replace"))
    except Damage:
        return ""
    return machine[1] if machine else ""


@dataclass(frozen=True, eq=False)
class Assembly(Text[P]):
    """How the programs of one machine are written, read, saved and loaded: their text form, and files of either.

    Attributes:
        rules: the modules and packages of tilesim on which it depends whether a program is sound; if there are any,
            a binary file of a program that is known to be is sealed.
    """

    rules: tuple[str, ...] = ()

    @cached_property
    def binary(self) -> Binary[P]:
        return Binary(self.program, self.instructions, self.grammar.scalars, self.grammar.former)

    def save(self, program: P, folder: Path, name: str = f"program{TEXT}") -> Path:
        """Write ``program`` into ``folder``, which is made if need be; the same program gives the same bytes.

        The file gets the name ``name``. If that ends in ``.tbin``, it is binary and holds everything; else it is text,
        and the bytes stand beside it, ending in ``.npz``. Each file appears whole or not at all. Returns its path.

        Raises:
            ProgramError: Two data segments share a name, or the folder cannot be written.
        """
        names = [segment.name for segment in self._segments(program)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ProgramError(f"data: the name {shown(name)} must belong to one segment" for name in twice)
        path = folder / name
        data = path.with_suffix(_BYTES)
        if path.suffix != BINARY and data.exists() and not path.exists():
            raise ProgramError(
                f"{data}: the program's data goes there, but the file is there and belongs to no program"
            )
        try:
            with all_or_nothing(folder) as made:
                if path.suffix == BINARY:
                    (made / name).write_bytes(self.binary.encode(program, self._proven_by(program)))
                else:
                    self._write_text(program, made / name)
        except OSError as error:
            raise ProgramError(f"{folder}: the program cannot be written there: {error.strerror}") from None
        return path

    def _proven_by(self, program: P) -> bytes:
        return rules_of(*self.rules) if self.rules and program.is_known_sound else b""

    def _segments(self, program: P) -> list[Any]:
        """Everything that has bytes."""
        return [segment for blob in self.blobs for segment in getattr(program, blob)]

    def _write_text(self, program: P, path: Path) -> None:
        names = self.grammar.names
        content = {names.write(segment.name): segment.data for segment in self._segments(program)}
        write_npz(path.with_suffix(_BYTES), content)
        path.write_text(self.write(program), encoding="utf-8", newline="\n")

    def load(self, path: Path) -> P:
        """The program in the file ``path``: binary if that ends in ``.tbin``, else text with the ``.npz`` file beside
        it.

        Raises:
            ProgramError: With every fault of the files.
        """
        if path.suffix != BINARY:
            return self.read(read_program_text(path), path, self._read_arrays(path.with_suffix(_BYTES)))
        content = read_bytes(path, LARGEST_MODEL_BYTES, ProgramError)
        try:
            program = self.binary.decode(content)
        except Damage as damage:
            raise ProgramError(f"{path}: {sentence}" for sentence in damage.sentences) from None
        if self.rules and is_sealed(content, rules_of(*self.rules)):
            program.know_sound()
        return program

    def _read_arrays(self, path: Path) -> dict[str, NDArray[np.uint8]]:
        """The arrays by name; none if there is no file, for a program without data needs none."""
        if not path.is_file():
            return {}
        try:
            return {self.grammar.names.read_all(name): array for name, array in read_npz(path).items()}
        except Fault as fault:
            raise ProgramError(f"{path}: a segment's name {fault.sentence}") from None
        except ArrayError as error:
            raise ProgramError(f"the bytes of a program cannot be read: {fault}" for fault in error.faults) from None
