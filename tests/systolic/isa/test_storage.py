"""A program's files: the same bytes each time, the same program back, and faults in words."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.systolic.programs import CHIP, TOPOLOGIES, same, small
from tilesim.config import load as load_config
from tilesim.errors import ProgramError
from tilesim.systolic.isa.model.program import DataSegment, Program
from tilesim.systolic.isa.storage import load, machine_of, save

NAMES = ("params", "file", "x", "x.npy", "a/b \x00é\ud800", "a-b")
DATA = tuple(DataSegment(name, np.arange(8, dtype=np.uint8)) for name in NAMES)
PROGRAM = Program("p", CHIP, (), small().run[-1:], DATA)


def test_a_saved_program_comes_back(tmp_path: Path) -> None:
    for program in (PROGRAM, small()):
        path = save(program, tmp_path / "new" / "folder")
        assert same(load(path), program)
        assert sorted(each.name for each in path.parent.iterdir()) == ["program.npz", "program.tasm"]


def test_the_same_program_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = save(PROGRAM, tmp_path / "a"), save(PROGRAM, tmp_path / "b")
    for suffix in (".tasm", ".npz"):
        assert first.with_suffix(suffix).read_bytes() == second.with_suffix(suffix).read_bytes()


def test_a_program_without_data_needs_no_array_file(tmp_path: Path) -> None:
    path = save(replace(PROGRAM, data=()), tmp_path)
    path.with_suffix(".npz").unlink()
    assert same(load(path), replace(PROGRAM, data=()))


def test_a_failed_save_leaves_the_old_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(PROGRAM, tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(ProgramError, match="cannot be written there: No space left"):
        save(replace(PROGRAM, name="q"), tmp_path)
    assert same(load(path), PROGRAM)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("data", "name", "fault"),
    [
        ((DATA[2], DATA[2]), "p.tasm", "the name 'x' must belong to one segment"),
        (DATA, "p.tbin", r"a systolic program is saved as text, under a name that ends in \.tasm"),
        (DATA, "p.npz", "is saved as text"),
        (
            DATA,
            "mine.tasm",
            r"mine\.npz: the program's data goes there, but the file is there and belongs to no program",
        ),
    ],
)
def test_what_cannot_be_saved(tmp_path: Path, data: tuple[DataSegment, ...], name: str, fault: str) -> None:
    (tmp_path / "mine.npz").write_bytes(b"mine")
    with pytest.raises(ProgramError, match=fault):
        save(replace(PROGRAM, data=data), tmp_path, name)
    assert [each.name for each in tmp_path.iterdir()] == ["mine.npz"]


def test_missing_files_are_faults(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="cannot be read: No such file"):
        load(tmp_path / "none.tasm")
    with pytest.raises(ProgramError, match="must be a file"):
        machine_of(tmp_path)
    path = save(PROGRAM, tmp_path)
    path.with_suffix(".npz").unlink()
    with pytest.raises(ProgramError, match=r"must have 8 bytes .* not none") as caught:
        load(path)
    assert len(caught.value.faults) == len(DATA)


@pytest.mark.parametrize("junk", [b"", b"\x7fELF\x00junk", b"\x93NUMPY\x01\x00"])
def test_junk_is_a_fault(tmp_path: Path, junk: bytes) -> None:
    path = save(PROGRAM, tmp_path)
    path.with_suffix(".npz").write_bytes(junk)
    with pytest.raises(ProgramError, match=r"must be an \.npz file"):
        load(path)
    path.write_bytes(b".tasm 1\n\xff\xfe")
    with pytest.raises(ProgramError, match="tasm:2:1: the text must be UTF-8"):
        load(path)


def test_any_damaged_byte_of_the_arrays_is_found_or_harmless(tmp_path: Path) -> None:
    path = save(PROGRAM, tmp_path)
    whole = path.with_suffix(".npz").read_bytes()
    for place in range(0, len(whole), 13):
        path.with_suffix(".npz").write_bytes(bytes((*whole[:place], whole[place] ^ 0x55, *whole[place + 1 :])))
        with suppress(ProgramError):
            assert same(load(path), PROGRAM)


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        (".tasm 1\n.program name=p\n.chip machine=tiled name=edge_4x4\n.chip grid rows=4\n", "tiled"),
        ('.tasm 1\n.chip name=a machine=systolic description="a machine=b"\n', "systolic"),
        (".tasm 1\n; .chip machine=tiled\n.program name=p\n", ""),
        ("", ""),
    ],
)
def test_the_machine_can_be_told_from_the_text(tmp_path: Path, text: str, machine: str) -> None:
    (tmp_path / "p.tasm").write_text(text)
    assert machine_of(tmp_path / "p.tasm") == machine


def test_every_shipped_chip_comes_back(tmp_path: Path) -> None:
    for path in sorted(TOPOLOGIES.glob("*.yaml")):
        if "machine: systolic" in path.read_text():
            chip = load_config(path, type(CHIP))
            saved = save(replace(PROGRAM, topology=chip), tmp_path)
            assert machine_of(saved) == "systolic"
            assert load(saved).topology == chip
