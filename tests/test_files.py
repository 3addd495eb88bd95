from __future__ import annotations

import os
import zipfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from tilesim.budgets import LONGEST_LINE, MOST_ARRAYS, MOST_LINES
from tilesim.errors import ArrayError, ModelError, ProgramError
from tilesim.files import npz_names, read_bytes, read_npy, read_npz, read_program_text, write_npz

ARRAYS = {"a": np.arange(6, dtype=np.int8).reshape(2, 3), "file": np.float32(2.5), "name": np.array(["x", "yy"])}


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_come_back_and_numpy_reads_them(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "a.npz"
    write_npz(path, ARRAYS, compressed)
    for found in (read_npz(path), np.load(path)):
        assert set(found) == set(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array, strict=isinstance(array, np.ndarray))


def test_only_the_wanted_arrays_are_looked_at(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", good=np.zeros(2), pickled=np.array([{}]), pickled_too=np.array([{}]))
    assert read_npz(tmp_path / "a.npz", ["good", "absent"]).keys() == {"good"}
    with pytest.raises(ArrayError) as caught:
        read_npz(tmp_path / "a.npz")
    assert len(caught.value.faults) == 2


def test_a_header_that_promises_too_much(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1, 2), np.int8))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole.replace(b"(1, 2)", b"(9, 9)"))
    with pytest.raises(ArrayError, match=r"a\.npy: must be an \.npy file: "):
        read_npy(tmp_path / "a.npy")


def test_junk_before_an_archive_does_no_harm(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", ARRAYS)
    (tmp_path / "a.npz").write_bytes(b"junk" + (tmp_path / "a.npz").read_bytes())
    assert read_npz(tmp_path / "a.npz").keys() == ARRAYS.keys()
    assert npz_names(tmp_path / "a.npz") == list(ARRAYS)


def inflating(path: Path, size_bytes: int, copies: int = 1) -> None:
    """An archive of a few kilobytes, which inflates to arrays of zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for copy in range(copies):
            with archive.open(f"zeros{copy}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(
                    member, {"descr": "|i1", "fortran_order": False, "shape": (size_bytes,)}
                )
                for _ in range(size_bytes >> 20):
                    member.write(bytes(1 << 20))


def test_what_inflates_too_far_is_not_inflated(tmp_path: Path) -> None:
    inflating(tmp_path / "a.npz", 4 << 20, copies=3)
    whole = (tmp_path / "a.npz").read_bytes()
    assert len(whole) < 1 << 16
    assert read_npz(tmp_path / "a.npz", ["zeros1"])["zeros1"].nbytes == 4 << 20
    # the directory says how far each member inflates, and more is never read
    size_bytes = np.uint32((4 << 20) + 128).tobytes()
    assert whole.count(size_bytes) > 2
    (tmp_path / "a.npz").write_bytes(whole.replace(size_bytes, np.uint32(300 << 20).tobytes()))
    with pytest.raises(ArrayError, match=r"a\.npz: its arrays must have at most 512 MiB, not 900 MiB"):
        read_npz(tmp_path / "a.npz")
    with pytest.raises(ArrayError, match=r"must have as many bytes as its header says, not 314572800"):
        read_npz(tmp_path / "a.npz", ["zeros1"])


def test_an_array_of_many_gigabytes_is_not_read(tmp_path: Path) -> None:
    for name in ("a.npy", "a.npz"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40)
    with pytest.raises(ArrayError, match=r"a\.npy: its arrays must have at most 512 MiB, not 1024 GiB"):
        read_npy(tmp_path / "a.npy")
    with pytest.raises(ArrayError, match=r"a\.npz: its arrays must have at most 512 MiB, not 1024 GiB"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("descr", "shape", "fault"),
    [
        ("|i1", (1 << 60,), "as many bytes as its header says, not 133"),
        ("|i1", (10**2000, 10**2000), "as many bytes as its header says, not "),
        ("<U0", (1 << 60,), "its header must be of numbers or texts"),
        ("|i1", (-5,), "its header must be of numbers or texts"),
        ("|O", (1,), "Object arrays cannot be loaded"),
    ],
    ids=map(str, count()),
)
def test_a_header_is_compared_before_anything_is_made(
    descr: str, shape: tuple[int, ...], fault: str, tmp_path: Path
) -> None:
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
        file.write(b"array")
    with pytest.raises(ArrayError, match=fault):
        read_npy(tmp_path / "a.npy")


def test_an_archive_of_endless_entries_is_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_npz(path, {"a": np.zeros(1)})
    path.write_bytes(b"PK\1\2" * (MOST_ARRAYS + 1) + path.read_bytes())
    with pytest.raises(ArrayError, match=f"must hold at most {MOST_ARRAYS} arrays"):
        read_npz(path)


def test_only_what_numpy_writes_is_inflated(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive, archive.open("a.npy", "w") as member:
        np.lib.format.write_array(member, np.zeros(9))
    with pytest.raises(ArrayError, match="NumPy does not write this kind of compression"):
        read_npz(tmp_path / "a.npz")


def test_only_plain_files_of_a_bearable_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(tmp_path / "a", 5, ProgramError) == b"12345"
    with pytest.raises(ProgramError, match="a: must have at most 4 B, not 5 B"):
        read_bytes(tmp_path / "a", 4, ProgramError)
    os.mkfifo(tmp_path / "fifo")
    for path, kind in ((Path("/dev/zero"), "device"), (tmp_path, "folder"), (tmp_path / "fifo", "pipe")):
        with pytest.raises(ModelError, match=f"must be a file, not a {kind}"):
            read_bytes(path, 4, ModelError)
    with pytest.raises(ModelError, match="b: there is no such file"):
        read_bytes(tmp_path / "b", 4, ModelError)


def test_a_program_has_lines_that_a_person_could_read(tmp_path: Path) -> None:
    path = tmp_path / "p.tasm"
    path.write_text("a\n" + "b " * LONGEST_LINE + "\nc")
    with pytest.raises(ProgramError, match=f"p.tasm:2:1: a line must have at most {LONGEST_LINE} characters"):
        read_program_text(path)
    path.write_text("\n" * (MOST_LINES + 1))
    with pytest.raises(ProgramError, match=f"p.tasm: must have at most {MOST_LINES} lines, not {MOST_LINES + 1}"):
        read_program_text(path)
