"""``tilesim calibrate``: published points against simulated ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim import api
from tilesim.cli.faults import Faults
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.exploration import WorkerOptions
from tilesim.cli.options.groups import word_option
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.paths import given_file, must_be_free
from tilesim.cli.progress import progress
from tilesim.cli.sweeping import following
from tilesim.errors import InputError, kept, refuse
from tilesim.explore.api import Crew, opened
from tilesim.explore.bench.measure import Bench
from tilesim.explore.calibration.calibrate import Calibration, calibrated
from tilesim.explore.calibration.cases import Cases, read_cases
from tilesim.explore.calibration.keys import FittedKey, fitted_keys
from tilesim.explore.sensitivity import sweeping
from tilesim.printable import alternatives
from tilesim.shipped import CALIBRATION, shipped

if TYPE_CHECKING:
    from tilesim.explore.point import Value

TABLE = "coral.csv"


def command(
    chips: ChipOptions,
    crew: WorkerOptions,
    faults: Faults,
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE.csv",
            help="Published points, a line each: model, condition, value, unit, train or test, and source if you like; "
            "if not given, those of the Coral Edge TPU.",
            parser=given_file,
            show_default=False,
        ),
    ] = None,
    fit: Annotated[
        list[str] | None,
        word_option(
            "KEYS",
            "Fit these keys of the chip, with commas between, to the train points only. May be given several times.",
            "--fit",
        ),
    ] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare a chip with what is published of it.

    It runs each point of a table and prints every error, good or bad, and how large errors are in the mean and at
    worst: of the points that keys may be fitted to (train) apart from those that are only compared with (test). What
    --fit finds is printed as --set takes it, and kept nowhere.
    """
    from tilesim.report.calibration import calibration_document

    path = table or shipped("workloads") / CALIBRATION / TABLE
    with progress(f"reading {path}", quiet):
        cases, keys = _asked(
            path, chips, [name.strip() for word in fit or () for name in word.split(",")], crew, faults
        )
    document = calibration_document(_run(cases, keys, crew, quiet))
    if json_:
        tell_json(document)
        return
    from tilesim.report.calibration_tables import calibration_tables, setting_words
    from tilesim.report.terminal import show

    show(calibration_tables(document))
    if document["fit"]:
        tell("", setting_words(document["fit"]))


def _asked(
    path: Path, chips: ChipOptions, names: list[str], crew: WorkerOptions, faults: list[str]
) -> tuple[Cases, list[FittedKey]]:
    """What is to be run, and what is to be fitted. Raises InputError."""
    if len(chips.names) > 1:
        faults.append(f"--topology must be given once, not {len(chips.names)} times")
    if crew.store is not None:
        with kept(faults):
            must_be_free(crew.store, [path])
    settings: dict[str, Value] = {key: str(value) for key, value in chips.changes().items()}
    cases = None
    with kept(faults):
        cases = read_cases(path, next(iter(chips.names), ""), settings)
    if cases is None:
        raise InputError(faults)
    keys: list[FittedKey] = []
    if names:
        with kept(faults):
            keys = fitted_keys(names, api.load_topology(_one_chip(cases), cases.every[0].base), cases)
    refuse(faults)
    return cases, keys


def _one_chip(cases: Cases) -> str:
    """The chip that all points are of. Raises InputError."""
    if len(cases.chips) > 1:
        raise InputError(f"--fit must be of one chip: -t {alternatives(cases.chips)} chooses its points")
    return cases.chips[0]


def _run(cases: Cases, keys: list[FittedKey], crew: WorkerOptions, quiet: bool) -> Calibration:
    points = sum(len(case.points) for case in cases.every)
    who = Crew(crew.workers, crew.memory, crew.scheduler)
    with (
        opened(crew.store) as store,
        who.hired(cases.networks) as runner,
        following(points, crew.store, quiet) as follow,
    ):
        return calibrated(cases, keys, sweeping(store, Bench(cases.networks), runner, follow))
