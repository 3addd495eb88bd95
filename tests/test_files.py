from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilesim.errors import ArrayError
from tilesim.files import all_or_nothing, read_npy, read_npz, write_npz

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


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text(name)


def test_files_replace_those_of_their_names(tmp_path: Path) -> None:
    write(tmp_path, "kept", "stale")
    (tmp_path / "old").touch()
    with all_or_nothing(tmp_path, replaced=("old", "stale", "absent")) as made:
        write(made, "old", "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"kept": "kept", "old": "old", "new": "new"}


def write_and_fail(folder: Path, error: type[BaseException]) -> None:
    with all_or_nothing(folder, replaced=("kept",)) as made:
        write(made, "half")
        raise error


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_error_all_is_as_before(tmp_path: Path, error: type[BaseException]) -> None:
    write(tmp_path, "kept")
    for folder in (tmp_path, tmp_path / "new" / "deep"):
        with pytest.raises(error):
            write_and_fail(folder, error)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_folder_in_the_way_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_text("old")
    with pytest.raises(IsADirectoryError, match="b is a folder"):
        write_two(tmp_path)
    assert (tmp_path / "a").read_text() == "old"


def write_two(folder: Path) -> None:
    with all_or_nothing(folder) as made:
        for name in ("a", "b"):
            (made / name).write_text("new")
