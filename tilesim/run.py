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
from tilesim.saving import all_or_nothing, writing
from tilesim.sim.trace.signals import Signals
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics
from tilesim.units import format_seconds

FILES = ("outputs.npz", "trace.npz", "signals.npz", "run.json")
"""What a saved run may consist of."""

FOLDER_FILES = (*FILES, "program.tasm", "program.npz")
"""What ``tilesim run --out`` may write: the run and its program."""

PICTURES = ("timeline", "contention", "stalls", "batching", "layers", "roofline")
"""What may be drawn of a run, each as a ``.png`` and an ``.svg``."""


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
    """In the model's own dtypes and shapes; of k samples, the first axis is k times as long. None of a run that did not
    come to its end."""
    cycles: int
    """From the first word in to the last word out."""
    statistics: RunStatistics
    """What ``run.json`` holds: plain numbers, strings, lists and dicts, no times of day and no paths."""
    tensors: dict[int, NDArray[Any]] = field(default_factory=dict)
    """Arrays read out of the machine's memories, by the model's own numbers, if ``keep_tensors`` asked for them."""
    trace: Trace | None = None
    """What every unit did when, if it was recorded."""
    signals: Signals | None = None
    """What flags, queues, buses and units held in each cycle of a window, if that was logged."""
    engine: str = "simpy"
    """Who ran it: ``simpy`` or ``compiled``, which makes no difference to all else."""
    note: str = ""
    """What there is to say of that, if it is not what was asked for."""

    def __repr__(self) -> str:
        return f"<Run of {run_words(self.statistics, self.trace)}>"

    def _repr_html_(self) -> str:
        """Its layers, for a notebook."""
        header = ("", "layer", "kind", "MACs", "cycles", "MACs in use", "bound by")
        rows = (
            (
                k, layer["name"], layer["kind"], layer["macs"], layer["cycles"], f"{layer['mac_utilisation']:.1%}",
                layer["bound_by"] or ""
            )
            for k, layer in enumerate(self.statistics["layers"])
        )  # fmt: skip
        return html_table(run_words(self.statistics), header, rows)

    def json(self) -> str:
        """The statistics as the text of ``run.json``."""
        return json.dumps(self.statistics, indent=2, allow_nan=False) + "\n"

    def save(self, folder: Path | str) -> None:
        """Write ``run.json``, ``outputs.npz`` and, if there are any, ``trace.npz`` and ``signals.npz``: all or none. A
        run that did not come to its end has no ``outputs.npz``.

        Raises:
            InputError: the files cannot be written.
        """
        folder = Path(folder)
        with writing(folder, "run"), all_or_nothing(folder, FILES) as made:
            self.write(made)

    def write(self, folder: Path) -> None:
        """Write the same files, one after the other, into a folder that is there; raises OSError if it can't."""
        if "end" not in self.statistics:
            write_npz(folder / "outputs.npz", {f"out{k}": output for k, output in enumerate(self.outputs)})
        if self.trace is not None:
            self.trace.save(folder / "trace.npz")
        if self.signals is not None:
            self.signals.save(folder / "signals.npz")
        (folder / "run.json").write_text(self.json(), encoding="utf-8", newline="\n")


def run_words(statistics: RunStatistics, trace: Trace | None = None) -> str:
    """Which network on which chip, and how long it took."""
    where = f"{printable(statistics['network'])} on {printable(statistics['topology'])}"
    seconds = format_seconds(statistics["cycles"] / statistics["clock_hz"])
    traced = "" if trace is None else ", traced" if trace.track.size else ", with an empty trace"
    ended = f", ended early ({statistics['end']['kind']})" if "end" in statistics else ""
    return f"{where}: {statistics['cycles']:,} cycles = {seconds}{ended}{traced}"
