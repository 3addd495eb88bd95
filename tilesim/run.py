"""What a run leaves behind: outputs, cycles, statistics, tensors and, if it was recorded, the trace."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.recorder import Trace

SCHEMA = "tilesim.run/1"
"""The version of the statistics document; it grows keys, and changes when one changes its meaning."""


@dataclass(frozen=True)
class Run:
    """A finished run.

    ``outputs`` are in the model's own dtypes and shapes (a first axis k times as long for k samples), ``tensors`` maps the model's
    tensor indices to arrays read out of the tiles' memories, ``statistics`` is the document of ``run.json``: plain numbers,
    strings, lists and dicts, no times of day and no paths.
    """

    outputs: list[NDArray[Any]]
    cycles: int
    statistics: dict[str, Any]
    tensors: dict[int, NDArray[Any]] = field(default_factory=dict)
    trace: Trace | None = None

    def json(self) -> str:
        return json.dumps(self.statistics, indent=2) + "\n"

    def save(self, folder: Path) -> None:
        """Write ``run.json``, ``outputs.npz`` and, if there is one, ``trace.npz``."""
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "outputs.npz", **{f"out{k}": output for k, output in enumerate(self.outputs)})
        if self.trace is not None:
            np.savez_compressed(folder / "trace.npz", **self.trace.columns())
        (folder / "run.json").write_text(self.json(), encoding="utf-8")
