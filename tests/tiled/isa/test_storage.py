"""A program's files: the same bytes each time, the same program back, and faults in words."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tiled.programs import same
from tilesim.errors import ProgramError
from tilesim.tiled.isa.model.instructions import ScalarFence
from tilesim.tiled.isa.model.program import DataSegment, Program
from tilesim.tiled.isa.storage import load, save
from tilesim.tiled.topology import Topology

DATA = tuple(
    DataSegment(name, 16 * place, np.arange(8, dtype=np.uint8))
    for place, name in enumerate(("params", "file", "x", "x.npy", "a/b \x00é\ud800"))
)
PROGRAM = Program("p", Topology(machine="tiled", name="edge"), (), (ScalarFence(count=1),), DATA)


def test_a_binary_program_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "p.npz").write_bytes(b"mine")
    path = save(PROGRAM, tmp_path, "p.tbin")
    assert same(load(path), PROGRAM)
    assert (tmp_path / "p.npz").read_bytes() == b"mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.npz", "p.tbin"]
    assert path.read_bytes() == save(PROGRAM, tmp_path / "b", "q.tbin").read_bytes()


def test_a_faulty_binary_program_names_its_file(tmp_path: Path) -> None:
    path = save(PROGRAM, tmp_path, "p.tbin")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ProgramError, match=r"p\.tbin: must have \d+ bytes, as its head says, not \d+$"):
        load(path)
    path.write_text(".tasm 1\n")
    with pytest.raises(ProgramError, match=r"p\.tbin: must begin as a binary program does"):
        load(path)


def test_a_saved_program_comes_back(tmp_path: Path) -> None:
    path = save(PROGRAM, tmp_path / "new" / "folder")
    assert same(load(path), PROGRAM)
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


def test_segments_of_one_name_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="the name 'x' must belong to one segment"):
        save(replace(PROGRAM, data=(DATA[2], DATA[2])), tmp_path)


def test_a_file_in_place_of_the_folder_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProgramError, match="cannot be written there"):
        save(PROGRAM, tmp_path / "file")


def test_missing_files_are_faults(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="cannot be read: No such file"):
        load(tmp_path / "none.tasm")
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
    for place in range(0, len(whole), 7):
        damaged = bytes((*whole[:place], whole[place] ^ 0x55, *whole[place + 1 :]))
        path.with_suffix(".npz").write_bytes(damaged)
        with suppress(ProgramError):
            assert same(load(path), PROGRAM)


def test_data_that_belongs_to_no_program_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "program.npz").write_bytes(b"mine")
    with pytest.raises(ProgramError, match="belongs to no program"):
        save(PROGRAM, tmp_path)
    assert (tmp_path / "program.npz").read_bytes() == b"mine"


@pytest.mark.parametrize(("name", "most"), [("p.tasm", "16 MiB"), ("p.tbin", "256 MiB")])
def test_a_file_of_many_gigabytes_is_not_read(tmp_path: Path, name: str, most: str) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ProgramError, match=f"{name}: must have at most {most}, not 1024 GiB"):
        load(tmp_path / name)
