"""The options of sweeps: which points there are, who runs them, and what is asked of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tilesim.cli.options.groups import Options, word_option
from tilesim.cli.paths import path_option
from tilesim.errors import InputError, kept
from tilesim.explore.answers import FASTEST, Objective
from tilesim.explore.expression import Expression
from tilesim.explore.names import unmeasured
from tilesim.explore.space import Axis, axis, condition
from tilesim.printable import shown, unknown
from tilesim.units import parse_bytes

MOST_WORKERS = 1024
LEAST_MEMORY_BYTES = 1 << 27
FORMATS = ("csv", "json")


def _workers(word: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", str(word)) or not 1 <= int(word) <= MOST_WORKERS:
        raise InputError(f"--workers must be a whole number from 1 to {MOST_WORKERS:,}, not {shown(word)}")
    return int(word)


def _memory_bytes(word: str) -> int:
    try:
        size_bytes = parse_bytes(word)
    except ValueError as error:
        raise InputError(f"--memory {error}") from None
    if size_bytes < LEAST_MEMORY_BYTES:
        raise InputError(f"--memory must be at least 128 MiB, not {shown(word)}")
    return size_bytes


@dataclass(frozen=True)
class ConditionOptions(Options):
    """Which points count."""

    where: Annotated[
        list[str] | None,
        word_option(
            "CONDITION",
            "Leave out points for which it does not hold, such as 'grid.rows * grid.columns * tile.lanes <= 8192'. One "
            "that names a measure, such as 'latency_us <= 1000', leaves them out of what is shown. May be given "
            "several times.",
        ),
    ] = None

    def conditions(self, faults: list[str]) -> list[Expression]:
        """The words after ``--where``; what is wrong with them joins the ``faults``."""
        found = []
        for text in self.where or ():
            with kept(faults):
                found.append(condition(text))
        return found


@dataclass(frozen=True)
class SpaceOptions(ConditionOptions):
    """Which points there are."""

    vary: Annotated[
        list[str] | None,
        word_option(
            "KEY=VALUES",
            "Let a key of the chip or an option (grid, partition, cache, inferences, schedule) take these values: a "
            "list such as 32,64, a range such as 1..8 or 8..64/8, powers such as 2^4..2^8, grid=squares:1..8, "
            "grid=doublings:1..64. May be given several times: all combinations run.",
        ),
    ] = None

    def axes(self, faults: list[str]) -> list[Axis]:
        """The words after ``--vary``; what is wrong with them joins the ``faults``."""
        found = []
        for word in self.vary or ():
            with kept(faults):
                found.append(axis(word))
        return found


@dataclass(frozen=True)
class WorkerOptions(Options):
    """Where rows are kept, and who runs the points."""

    store: Annotated[
        Path | None,
        path_option(
            "FILE",
            "Where rows are kept, an SQLite database: a sweep that goes on in it runs no point twice. If not given, "
            "they are gone at the end.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", parser=_workers, help="Processes that run points; one a core if not given."
        ),
    ] = None
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            parser=_memory_bytes,
            help="Memory that each of them may take, such as '2 GiB'; if not given, its part of what is there.",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        word_option(
            "ADDRESS|FILE",
            "Have the workers of a Dask cluster run the points: its scheduler, such as tcp://host:8786, or its file.",
        ),
    ] = None

    def faults(self) -> Iterator[str]:
        if self.scheduler is not None and (self.workers is not None or self.memory is not None):
            yield "--scheduler must be without --workers and --memory, which are the cluster's"


@dataclass(frozen=True)
class AnswerOptions(Options):
    """What is asked of the rows."""

    minimise: Annotated[
        list[str] | None,
        word_option(
            "MEASURE",
            "Show the points that are best in this, such as latency_us (if nothing is given), energy_pj, area_mm2. Of "
            "several measures, those to which none is better in all: the Pareto front.",
        ),
    ] = None
    maximise: Annotated[
        list[str] | None, word_option("MEASURE", "The same of what is to be large, such as throughput_per_second.")
    ] = None
    export: Annotated[
        str | None,
        word_option("csv|json", "Print all rows, in the order of their keys, and nothing else."),
    ] = None
    times: Annotated[
        bool, typer.Option("--times", help="Export the processor time of each row, too, which differs each time.")
    ] = False
    report: Annotated[Path | None, path_option("FILE.html", "Write the page of the sweep, too.")] = None

    def faults(self) -> Iterator[str]:
        for objective in self.given():
            if fault := unmeasured(objective.measure):
                yield f"--{'maximise' if objective.maximise else 'minimise'} {fault}"
        for measure in {*(self.minimise or ())} & {*(self.maximise or ())}:
            yield f"--maximise {measure}: must be left out, as it is to be minimised"
        if self.export is not None and self.export not in FORMATS:
            yield f"--export {unknown(self.export, FORMATS)}"
        if self.times and self.export is None:
            yield "--times must have --export csv or --export json beside it"

    def objectives(self) -> list[Objective]:
        """What the points are judged by."""
        return self.given() or [FASTEST]

    def given(self) -> list[Objective]:
        """Those that the words name."""
        small = [Objective(measure) for measure in self.minimise or ()]
        return small + [Objective(measure, maximise=True) for measure in self.maximise or ()]
