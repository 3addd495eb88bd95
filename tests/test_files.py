from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilesim.errors import ArrayError
from tilesim.files import read_npy, read_npz, write_npz

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
