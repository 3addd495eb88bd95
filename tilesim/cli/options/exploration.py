"""The options of sweeps: which points there are, who runs them, and what is asked of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tilesim.batching import SCHEDULES
from tilesim.budgets import MOST_POINTS
from tilesim.cli.faults import faults_of
from tilesim.cli.options.groups import Options, word_option
from tilesim.cli.paths import path_option
from tilesim.errors import InputError, kept
from tilesim.explore.api import objectives_of
from tilesim.explore.conditions.expression import Expression
from tilesim.explore.design.space import Axis, axis, condition
from tilesim.explore.point import PointOptions
from tilesim.explore.rows.answers import Objective
from tilesim.machines.policies import CHOICES, MIXED
from tilesim.printable import shown, unknown
from tilesim.units import parse_bytes

MOST_WORKERS = 1024
MOST_SEED = (1 << 32) - 1
LEAST_MEMORY_BYTES = 1 << 27
SCHEDULER = r"(tcp|tls|ucx|ws|wss)://.|(?!\w+://)."
FORMATS = ("csv", "json")


def _whole(option: str, word: str, least: int, most: int) -> int:
    """The number that a word is. Raises InputError."""
    if not re.fullmatch(r"[0-9]{1,12}", str(word)) or not least <= int(word) <= most:
        raise InputError(f"{option} must be a whole number from {least} to {most:,}, not {shown(str(word))}")
    return int(word)


def _workers(word: str) -> int:
    return _whole("--workers", word, 1, MOST_WORKERS)


def _count(word: str) -> int:
    return _whole("--search", word, 1, MOST_POINTS)


def _seed(word: str) -> int:
    return _whole("--seed", word, 0, MOST_SEED)


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
class PointChoices(Options):
    """How the network of a point is compiled."""

    partition: Annotated[
        list[str] | None,
        word_option(
            "mixed|spatial|channel|auto",
            "How layers are spread over the tiles: each fitted to tiles and lanes by estimate, by rows and columns, by "
            "output channels where that can be, or whichever takes fewest simulated cycles.",
        ),
    ] = None
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no parameters in the tiles: all are streamed in every inference.")
    ] = False
    batch_schedule: Annotated[
        str | None,
        word_option("|".join(SCHEDULES), "How inferences on a systolic machine are batched; fastest if not given."),
    ] = None

    def faults(self) -> Iterator[str]:
        for word in self.partition or ():
            if word not in CHOICES:
                yield f"--partition {unknown(word, CHOICES, 'a choice for all layers')}"
        if len(self.partition or ()) > 1:
            yield f"--partition must be one choice for all layers, not {len(self.partition or ())}"
        if self.batch_schedule is not None and self.batch_schedule not in SCHEDULES:
            yield f"--batch-schedule {unknown(self.batch_schedule, SCHEDULES)}"

    def options(self, inferences: int) -> PointOptions:
        """Those of a point of so many inferences."""
        [partition] = self.partition or [MIXED]
        return PointOptions(partition, not self.no_cache, inferences, self.batch_schedule or "")


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
        if self.scheduler is not None and not re.match(SCHEDULER, self.scheduler):
            yield f"--scheduler must be an address such as tcp://host:8786, or a file, not {shown(self.scheduler)}"


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
    search: Annotated[
        int | None,
        typer.Option(
            "--search",
            metavar="N",
            parser=_count,
            help="Run not all points but N, among which Optuna looks for the best in what is to be small or large.",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", parser=_seed, help="Of what is random in a search.")] = 0
    export: Annotated[
        str | None,
        word_option("csv|json", "Print all rows, in the order of their keys, and nothing else."),
    ] = None
    times: Annotated[
        bool, typer.Option("--times", help="Export the processor time of each row, too, which differs each time.")
    ] = False
    report: Annotated[Path | None, path_option("FILE.html", "Write the page of the sweep, too.")] = None

    def faults(self) -> Iterator[str]:
        yield from (f"--{fault}" for fault in faults_of(self.objectives))
        if self.export is not None and self.export not in FORMATS:
            yield f"--export {unknown(self.export, FORMATS)}"
        if self.times and self.export is None:
            yield "--times must have --export csv or --export json beside it"
        if self.seed and self.search is None:
            yield "--seed must have --search beside it"

    def objectives(self) -> Sequence[Objective]:
        """What the points are judged by. Raises InputError."""
        return objectives_of(self.minimise or (), self.maximise or ())
