"""What a run leaves behind: outputs, cycles, statistics, tensors and, if it was recorded, the trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from tilesim.files import write_npz
from tilesim.printable import html_table, printable
from tilesim.saving import all_or_nothing
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics
from tilesim.units import format_seconds

FILES = ("outputs.npz", "trace.npz", "run.json")
"""What a saved run may consist of."""

FOLDER_FILES = (*FILES, "program.tasm", "program.npz")
"""What ``tilesim run --out`` may write: the run and its program."""


class RunProgress(NamedTuple):
    """How far a run is."""

    section: str
    """``load`` or ``run``."""
    cycle: int
    """Of the section."""
    layer: int | None
    """The place of the foremost layer that a tile is at; None if no tile is at any."""
    layers: tuple[str, ...]
    """The names of all layers."""


Look: TypeAlias = Callable[[], RunProgress]
"""Tells how far a run is. Anybody may call it at any time, in any thread: the run does not notice."""


def unwatched(_look: Look) -> None:
    """Nobody looks."""


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run, as :func:`tilesim.simulate` makes it.

    Pages, pictures and files for trace viewers are made of it by :func:`tilesim.save_report`,
    :func:`tilesim.save_figures` and :func:`tilesim.save_trace`.
    """

    outputs: list[NDArray[Any]]
    """In the model's own dtypes and shapes; of k samples, the first axis is k times as long."""
    cycles: int
    """From the first word in to the last word out."""
    statistics: RunStatistics
    """What ``run.json`` holds: plain numbers, strings, lists and dicts, no times of day and no paths."""
    tensors: dict[int, NDArray[Any]] = field(default_factory=dict)
    """Arrays read out of the machine's memories, by the model's own numbers, if ``keep_tensors`` asked for them."""
    trace: Trace | None = None
    """What every unit did when, if it was recorded."""

    def __repr__(self) -> str:
        traced = "" if self.trace is None else ", traced" if self.trace.track.size else ", with an empty trace"
        return f"<Run of {self._summary}{traced}>"

    def _repr_html_(self) -> str:
        """Its layers, for a notebook."""
        header = ("", "layer", "kind", "MACs", "cycles", "MACs in use", "bound by")
        rows = (
            (
                k, layer["name"], layer["kind"], layer["macs"], layer["cycles"], f"{layer['mac_utilisation']:.1%}",
                layer["bound_by"] or "",
            )
            for k, layer in enumerate(self.statistics["layers"])
        )  # fmt: skip
        return html_table(self._summary, header, rows)

    @property
    def _summary(self) -> str:
        statistics = self.statistics
        where = f"{printable(statistics['network'])} on {printable(statistics['topology'])}"
        return f"{where}: {self.cycles:,} cycles = {format_seconds(self.cycles / statistics['clock_hz'])}"

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
