"""What a run leaves behind: outputs, cycles, statistics, tensors and, if it was recorded, the trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from tilesim.files import write_npz
from tilesim.saving import all_or_nothing
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

FILES = ("outputs.npz", "trace.npz", "run.json")
"""What a saved run may consist of."""

FOLDER_FILES = (*FILES, "program.tasm", "program.npz")
"""What ``tilesim run --out`` may write: the run and its program."""


class Progress(NamedTuple):
    """How far a run is: in ``cycle`` of its ``section`` (``load`` or ``run``). ``layer`` is the place among ``layers``,
    their names, of the foremost one that a tile is at; None if no tile is at any.
    """

    section: str
    cycle: int
    layer: int | None
    layers: tuple[str, ...]


Look: TypeAlias = Callable[[], Progress]
"""Tells how far a run is. Anybody may call it at any time, in any thread: the run does not notice."""


def unwatched(_look: Look) -> None:
    """Nobody looks."""


@dataclass(frozen=True)
class Run:
    """A finished run.

    ``outputs`` are in the model's own dtypes and shapes (a first axis k times as long for k samples), ``tensors`` maps
    the model's tensor indices to arrays read out of the tiles' memories, ``statistics`` is the document of
    ``run.json``: plain numbers, strings, lists and dicts, no times of day and no paths.
    """

    outputs: list[NDArray[Any]] = field(repr=False)
    cycles: int
    statistics: RunStatistics = field(repr=False)
    tensors: dict[int, NDArray[Any]] = field(default_factory=dict, repr=False)
    trace: Trace | None = field(default=None, repr=False)

    def json(self) -> str:
        """The statistics as the text of ``run.json``."""
        return json.dumps(self.statistics, indent=2, allow_nan=False) + "\n"

    def save(self, folder: Path | str) -> None:
        """Write ``run.json``, ``outputs.npz`` and, if there is one, ``trace.npz``: all of them or none.

        Raises:
            OSError: the files cannot be written.
        """
        with all_or_nothing(Path(folder), FILES) as made:
            write_npz(made / "outputs.npz", {f"out{k}": output for k, output in enumerate(self.outputs)})
            if self.trace is not None:
                self.trace.save(made / "trace.npz")
            (made / "run.json").write_text(self.json(), encoding="utf-8", newline="\n")
