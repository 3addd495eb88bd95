"""A program's files: the same bytes each time, the same program back, and faults in words."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.assembly.machines import CASES, Case
from tests.assembly.machines import each_machine as each_case
from tilesim.assembly.files import machine_in
from tilesim.errors import ProgramError

NAMES = ("params", "file", "x", "x.npy", "a/b \x00é\ud800", "a-b")


def with_data(case: Case) -> Case:
    """The case with a program that has data of all sorts of names."""
    first = case.sample.data[0]
    data = [replace(first, name=name, data=np.arange(8, dtype=np.uint8)) for name in NAMES]
    return replace(case, sample=replace(case.sample, data=tuple(data)))


CASES_OF_DATA = {name: with_data(case) for name, case in CASES.items()}
each_machine = pytest.mark.parametrize("case", CASES_OF_DATA.values(), ids=list(CASES_OF_DATA))


@each_machine
def test_a_binary_program_is_one_file(case: Case, tmp_path: Path) -> None:
    (tmp_path / "p.npz").write_bytes(b"mine")
    path = case.assembly.save(case.sample, tmp_path, "p.tbin")
    assert case.same(case.assembly.load(path), case.sample)
    assert (tmp_path / "p.npz").read_bytes() == b"mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.npz", "p.tbin"]
    assert path.read_bytes() == case.assembly.save(case.sample, tmp_path / "b", "q.tbin").read_bytes()


@each_machine
def test_a_faulty_binary_program_names_its_file(case: Case, tmp_path: Path) -> None:
    path = case.assembly.save(case.sample, tmp_path, "p.tbin")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ProgramError, match=r"p\.tbin: must have \d+ bytes, as its head says, not \d+$"):
        case.assembly.load(path)
    assert machine_in(path) == ""
    path.write_text(".tasm 1\n")
    with pytest.raises(ProgramError, match=r"p\.tbin: must begin as a binary program does"):
        case.assembly.load(path)


@each_machine
def test_a_saved_program_comes_back(case: Case, tmp_path: Path) -> None:
    path = case.assembly.save(case.sample, tmp_path / "new" / "folder")
    assert case.same(case.assembly.load(path), case.sample)
    assert sorted(file.name for file in path.parent.iterdir()) == ["program.npz", "program.tasm"]


@each_machine
def test_the_same_program_gives_the_same_bytes(case: Case, tmp_path: Path) -> None:
    first, second = (case.assembly.save(case.sample, tmp_path / name) for name in "ab")
    for suffix in (".tasm", ".npz"):
        assert first.with_suffix(suffix).read_bytes() == second.with_suffix(suffix).read_bytes()


@each_machine
def test_a_program_without_data_needs_no_array_file(case: Case, tmp_path: Path) -> None:
    program = replace(case.sample, data=())
    path = case.assembly.save(program, tmp_path)
    path.with_suffix(".npz").unlink()
    assert case.same(case.assembly.load(path), program)


@each_machine
def test_a_failed_save_leaves_the_old_program(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = case.assembly.save(case.sample, tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(ProgramError, match="cannot be written there: No space left"):
        case.assembly.save(replace(case.sample, name="q"), tmp_path)
    assert case.same(case.assembly.load(path), case.sample)
    assert len(list(tmp_path.iterdir())) == 2


@each_machine
@pytest.mark.parametrize("name", ["p.tasm", "p.tbin"])
def test_segments_of_one_name_are_not_saved(case: Case, tmp_path: Path, name: str) -> None:
    with pytest.raises(ProgramError, match="the name 'x' must belong to one segment"):
        case.assembly.save(replace(case.sample, data=case.sample.data[2:3] * 2), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_a_fault(tmp_path: Path) -> None:
    case = CASES["tiled"]
    (tmp_path / "file").touch()
    with pytest.raises(ProgramError, match="cannot be written there"):
        case.assembly.save(case.sample, tmp_path / "file")


@each_machine
def test_missing_files_are_faults(case: Case, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="cannot be read: No such file"):
        case.assembly.load(tmp_path / "none.tasm")
    path = case.assembly.save(case.sample, tmp_path)
    path.with_suffix(".npz").unlink()
    with pytest.raises(ProgramError, match=r"must have 8 bytes .* not none") as caught:
        case.assembly.load(path)
    assert len(caught.value.faults) == len(NAMES)


@each_machine
@pytest.mark.parametrize("junk", [b"", b"\x7fELF\x00junk", b"\x93NUMPY\x01\x00"])
def test_junk_is_a_fault(case: Case, tmp_path: Path, junk: bytes) -> None:
    path = case.assembly.save(case.sample, tmp_path)
    path.with_suffix(".npz").write_bytes(junk)
    with pytest.raises(ProgramError, match=r"must be an \.npz file"):
        case.assembly.load(path)
    path.write_bytes(b".tasm 1\n\xff\xfe")
    with pytest.raises(ProgramError, match="tasm:2:1: the text must be UTF-8"):
        case.assembly.load(path)


def test_any_damaged_byte_of_the_arrays_is_found_or_harmless(tmp_path: Path) -> None:
    case = CASES_OF_DATA["tiled"]
    path = case.assembly.save(case.sample, tmp_path)
    whole = path.with_suffix(".npz").read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytes((*whole[:place], whole[place] ^ 0x55, *whole[place + 1 :]))
        path.with_suffix(".npz").write_bytes(damaged)
        with suppress(ProgramError):
            assert case.same(case.assembly.load(path), case.sample)


@each_machine
def test_data_that_belongs_to_no_program_is_not_replaced(case: Case, tmp_path: Path) -> None:
    (tmp_path / "program.npz").write_bytes(b"mine")
    with pytest.raises(
        ProgramError, match=r"program\.npz: the program's data goes there, but .* belongs to no program"
    ):
        case.assembly.save(case.sample, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["program.npz"]
    assert (tmp_path / "program.npz").read_bytes() == b"mine"


@pytest.mark.parametrize("read", [CASES["tiled"].assembly.load, machine_in])
@pytest.mark.parametrize(("name", "most"), [("p.tasm", "16 MiB"), ("p.tbin", "256 MiB")])
def test_a_file_of_many_gigabytes_is_not_read(tmp_path: Path, name: str, most: str, read: Any) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ProgramError, match=f"{name}: must have at most {most}, not 1024 GiB"):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        (".tasm 1\n.program name=p\n.chip machine=tiled name=edge_4x4\n.chip grid rows=4\n", "tiled"),
        ('.tasm 1\n.chip name=a machine=systolic description="a machine=b"\n', "systolic"),
        (".tasm 1\n; .chip machine=tiled\n.program name=p\n", ""),
        ("", ""),
        ("\ud800", ""),
    ],
)
def test_the_machine_can_be_told_from_the_text(tmp_path: Path, text: str, machine: str) -> None:
    (tmp_path / "p.tasm").write_text(text, encoding="utf-8", errors="surrogatepass")
    assert machine_in(tmp_path / "p.tasm") == machine


@each_case
@pytest.mark.parametrize("name", ["p.tasm", "p.tbin"])
@pytest.mark.parametrize("title", ["p", ".chip machine=toy", "a\n.chip machine=toy"])
def test_the_machine_can_be_told_from_any_program(case: Case, tmp_path: Path, name: str, title: str) -> None:
    program = replace(case.sample, name=title)
    assert machine_in(case.assembly.save(program, tmp_path, name)) == case.machine


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="must be a file"):
        machine_in(tmp_path)
