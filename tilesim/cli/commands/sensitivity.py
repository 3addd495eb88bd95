"""``tilesim sensitivity``: what each key of a chip is worth to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.budgets import MOST_RUN_INFERENCES
from tilesim.cli.faults import Faults, faults_of
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.exploration import PointChoices, WorkerOptions
from tilesim.cli.options.groups import word_option
from tilesim.cli.options.models import ModelArgument
from tilesim.cli.options.pictures import PictureOptions
from tilesim.cli.options.running import whole_number
from tilesim.cli.output import QuietOption, tell, tell_json
from tilesim.cli.paths import files_of_model, must_be_folder, must_be_free, path_option
from tilesim.cli.programs import read_sources
from tilesim.cli.progress import progress
from tilesim.cli.sweeping import following
from tilesim.errors import kept, refuse
from tilesim.explore.api import Crew, opened
from tilesim.explore.bench.measure import Bench
from tilesim.explore.design.space import space
from tilesim.explore.point import Point, PointOptions
from tilesim.explore.sensitivity import Factor, Sensitivity, factors, measured, sweeping

if TYPE_CHECKING:
    from tilesim.network.graph import Network
    from tilesim.report.sensitivity import SensitivityDocument

NAME = "sensitivity.html"


def command(
    model: ModelArgument,
    chips: ChipOptions,
    how: PointChoices,
    crew: WorkerOptions,
    pictures: PictureOptions,
    faults: Faults,
    keys: Annotated[
        list[str] | None,
        word_option(
            "GLOB",
            "Step only the keys whose names match, such as 'tile.*'; partition and cache are options that can be "
            "stepped, too. May be given several times.",
            "--keys",
        ),
    ] = None,
    inferences: Annotated[
        int,
        typer.Option("--inferences", "-n", metavar="N", parser=whole_number, help="Inferences of each run."),
    ] = 1,
    all_: Annotated[bool, typer.Option("--all", help="Show the keys without any effect in full, too.")] = False,
    out: Annotated[Path | None, path_option("FILE", f"The page; {NAME} if not given.", "-o", "--out")] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the document as JSON and nothing else; a page only with -o.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Say what each key of a chip is worth to a model.

    It runs the model on the chip, and again with one key at a time half and twice as large, switched, or with another
    word: what a doubled ring, memory or link gains in time and energy, and what it costs in area. It prints a table,
    the largest effect first, and makes a page of it that needs nothing else, not even a connection.
    """
    from tilesim.report.exploration_api import save_sensitivity
    from tilesim.report.sensitivity import sensitivity_document

    path, options = out or Path(NAME), PointOptions()
    if not faults:
        options = how.options(inferences)
    faults += faults_of(
        lambda: _must_be_free(path, crew.store, [model, *chips.names]), lambda: _must_be_drawable(pictures.png_dir)
    )
    faults += pictures.unmeant(pictures.png_dir)
    if not 1 <= inferences <= MOST_RUN_INFERENCES:
        faults.append(f"--inferences must be from 1 to {MOST_RUN_INFERENCES:,}, not {inferences:,}")
    with progress(f"reading {model}", quiet):
        sources = read_sources([model], chips, [], faults, takes_programs=False)
        stepped: list[Factor] = []
        for chip in sources.chips:
            with kept(faults):
                stepped += factors(chip, options, keys or ["*"])
        refuse(faults)
        base = _base(model, chips, options)
    found = sensitivity_document(_measured(base, stepped, sources.named[0].network, crew, quiet))
    with progress(f"writing {path}", quiet):
        if out is not None or not json_:
            save_sensitivity(found, path)
        drawn = _drawn(found, pictures)
    if json_:
        tell_json(found)
        return
    from tilesim.report.sensitivity_tables import sensitivity_tables
    from tilesim.report.terminal import show

    show(sensitivity_tables(found, all_))
    if not quiet:
        tell("", *([f"{len(drawn)} pictures in {pictures.png_dir}"] if drawn else []), f"written to {path}")


def _base(model: str, chips: ChipOptions, options: PointOptions) -> Point:
    """The point that all others are compared with."""
    settings = {key: str(value) for key, value in chips.changes().items()}
    point = space([model], chips.names, settings=settings).point(model, chips.names[0], ())
    return replace(point, options=options)


def _measured(
    base: Point, stepped: Sequence[Factor], network: Network, crew: WorkerOptions, quiet: bool
) -> Sensitivity:
    networks = {base.model: network}
    who = Crew(crew.workers, crew.memory, crew.scheduler).runner(networks)
    points = sum(len(factor.values) for factor in stepped)
    with opened(crew.store) as store, following(points, crew.store, quiet) as follow:
        return measured(base, stepped, networks, sweeping(store, Bench(networks), who, follow))


def _must_be_free(page: Path, store: Path | None, words: Sequence[str]) -> None:
    """What is written is nothing that is read."""
    read = [file for word in words for file in files_of_model(word)]
    must_be_free(page, [*read, *filter(None, [store])])
    if store is not None:
        must_be_free(store, read)


def _must_be_drawable(folder: Path | None) -> None:
    if folder is not None:
        from tilesim.report.figures.save import must_have_matplotlib

        must_be_folder(folder)
        must_have_matplotlib()


def _drawn(document: SensitivityDocument, pictures: PictureOptions) -> list[Path]:
    if pictures.png_dir is None:
        return []
    from tilesim.report.figures.save import save_sensitivity_figure

    return save_sensitivity_figure(document, pictures.png_dir, pictures.layout)
