"""Small .tflite files for tests of what readers refuse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scripts.tflite_writer import TfliteFile, TfliteTensor


def tensor(name: str, shape: Sequence[int], dtype: Any = np.int8, **more: Any) -> TfliteTensor:
    """A tensor of a scale, if it is of integers."""
    kind = np.dtype(dtype)
    return TfliteTensor(name, tuple(shape), kind, () if kind.kind == "f" else (0.1,), **more)


def write(
    path: Path,
    tensors: Sequence[TfliteTensor],
    nodes: Sequence[tuple[str, Sequence[int], Sequence[int]]],
    inputs: Sequence[int],
    outputs: Sequence[int],
    subgraphs: int = 1,
) -> Path:
    """Write a model of nodes, each a kind with its inputs and outputs; its subgraphs are all the same."""
    file = TfliteFile(list(tensors), [(*node, {}) for node in nodes])
    path.write_bytes(file.written(inputs, outputs, subgraphs))
    return path
