"""What goes into a run: the user's arrays."""

from __future__ import annotations

from pathlib import Path

from tilesim.budgets import LARGEST_INPUTS_BYTES
from tilesim.errors import ArrayError
from tilesim.files import Array, npz_names, read_npy, read_npz


def load_inputs(path: Path, count: int) -> list[Array]:
    """The ``count`` inputs of a run: ``in0``, ``in1``, ... of an .npz file, or the one array of an .npy file."""
    if not path.is_file():
        raise ArrayError(f"{path}: there is no such file")
    if path.suffix == ".npy":
        if count != 1:
            raise ArrayError(f"{path}: a model of {count} inputs must get an .npz file, not an .npy file")
        return [read_npy(path, LARGEST_INPUTS_BYTES)]
    if path.suffix != ".npz":
        raise ArrayError(f"{path}: must end in .npz or .npy, not in {path.suffix or 'nothing'}")
    names = [f"in{k}" for k in range(count)]
    arrays = read_npz(path, names, LARGEST_INPUTS_BYTES)
    missing = [name for name in names if name not in arrays]
    if missing:
        held = ", ".join(npz_names(path)) or "none"
        raise ArrayError(f"{path}: must hold an array {name}; it holds {held}" for name in missing)
    return [arrays[name] for name in names]
