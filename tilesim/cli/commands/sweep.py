"""``tilesim sweep``: models on chips with every combination of what varies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tilesim.cli.faults import Faults
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.exploration import AnswerOptions, SpaceOptions, WorkerOptions
from tilesim.cli.options.groups import given
from tilesim.cli.options.models import MODEL_FILES
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.paths import must_be_free
from tilesim.cli.progress import progress
from tilesim.cli.sweeping import following
from tilesim.config import top_keys
from tilesim.errors import InputError, kept, refuse
from tilesim.explore.api import Crew, Search, networks_of, opened, swept, unmeasurable
from tilesim.explore.conditions.expression import Expression
from tilesim.explore.design.document import SUFFIXES, SweepDocument, is_document, load_document
from tilesim.explore.design.space import Space, measures_on
from tilesim.explore.design.space import space as space_of
from tilesim.explore.row import Row
from tilesim.explore.rows.answers import FASTEST, Objective, by_network, late, measures_of_rows, narrowed
from tilesim.explore.rows.export import csv, flat_rows, json
from tilesim.explore.rows.store import Store
from tilesim.printable import counted, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "tilesim.sweep/1"
MOST_BEST = 10
"""Points of a network that the JSON document names as the best."""


class Asked(NamedTuple):
    """What the words of a command line ask for."""

    space: Space | None
    """None: what the store has."""
    conditions: Sequence[Expression]
    """Those that say which rows are shown."""
    objectives: Sequence[Objective]
    search: Search | None
    """None: all points run."""


class Rows(NamedTuple):
    """The rows of a sweep, or of a store."""

    every: list[Row]
    found: int
    """How many had been there before."""
    seconds: Mapping[str, float]
    """What each took."""
    older: int = 0
    """How many more the store has, of another tilesim."""


def command(
    chips: ChipOptions,
    space: SpaceOptions,
    crew: WorkerOptions,
    answers: AnswerOptions,
    faults: Faults,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help=f"{MODEL_FILES}; or one .yaml file that says what to sweep. Without any, the rows that the store has "
            "are shown.",
            show_default=False,
        ),
    ] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run models on chips with every combination of what varies.

    Each combination is a point, and what came of it a row; a point that a chip can't hold is a row that says why. With
    a store, a sweep that was interrupted goes on where it was, and no point runs twice.
    """
    with progress(f"reading {', '.join(models or ['the options'])}", quiet):
        asked = _asked(models or [], chips, space, answers, faults)
        if json_ and answers.export:
            faults.append("--json must be without --export")
        with kept(faults):
            _must_be_free(crew.store, answers.report, [*(models or []), *chips.names, *_named(asked.space)])
        refuse(faults)
    rows = _rows(asked, crew, quiet)
    left = narrowed(rows.every, asked.conditions)
    if answers.report is not None:
        from tilesim.report.exploration_api import save_sweep_report

        with progress(f"writing {answers.report}", quiet):
            save_sweep_report(left, answers.report)
    if answers.export:
        write = csv if answers.export == "csv" else json
        tell(*write(left, rows.seconds if answers.times else None).splitlines())
    elif json_:
        tell_json(_document(rows, left, asked.objectives, crew.store))
    else:
        _show(rows, left, asked, [*_notes(rows, crew.store), *_written(answers.report)] if not quiet else [])


def _asked(
    words: Sequence[str], chips: ChipOptions, options: SpaceOptions, answers: AnswerOptions, faults: list[str]
) -> Asked:
    """What the words, or the file that they name, ask for; what is wrong with them joins the ``faults``."""
    conditions, axes = options.conditions(faults), options.axes(faults)
    objectives: Sequence[Objective] = [FASTEST]
    with suppress(InputError):  # the options have said what is wrong with them
        objectives = answers.objectives()
    what: Space | None = None
    with kept(faults):
        if any(map(is_document, words)) or _must_be_document(words, chips):
            document = _document_alone(words, chips, options)
            what = document.space(options.where or ())
            objectives = objectives if answers.minimise or answers.maximise else document.objectives() or objectives
        elif words or chips.names or given(chips, options).keys() - {"--where"}:
            changes = {key: str(value) for key, value in chips.changes().items()}
            what = space_of(words, chips.names, axes, changes, options.where or ())
    measures = measures_on(what.chips if what else chips.names)
    faults += (f"--{fault}" for fault in unmeasurable(objectives, measures))
    if what is None and faults:  # what else is wrong, too
        with kept(faults):
            networks_of([word for word in words if not is_document(word)])
    search = None if answers.search is None else Search(answers.search, tuple(objectives), answers.seed)
    if search and what is None and not faults:
        faults.append("--search must have a model, a chip, and something that varies")
    return Asked(what, late(what.where) if what else conditions, objectives, search)


def _must_be_document(words: Sequence[str], chips: ChipOptions) -> bool:
    """Whether the only word, without a chip, is a YAML file that is not there or has no keys, so that it is no network
    either. Raises ConfigError.
    """
    if len(words) != 1 or chips.names or Path(words[0]).suffix not in SUFFIXES:
        return False
    return not (Path(words[0]).is_file() and top_keys(Path(words[0])))


def _document_alone(words: Sequence[str], chips: ChipOptions, options: SpaceOptions) -> SweepDocument:
    """The file that says what to sweep, beside which no word says the same."""
    [file] = ([word for word in words if is_document(word)] or words)[:1]
    beside = [*(word for word in words if word != file), *(given(chips, options).keys() - {"--where"})]
    refuse(f"{file}: says what to sweep, so that {word} must be left out" for word in sorted(beside))
    return load_document(Path(file))


def _named(space: Space | None) -> list[str]:
    """What a file that says what to sweep has read, too."""
    return [*space.models, *space.chips] if space else []


def _must_be_free(store: Path | None, page: Path | None, read: Sequence[str]) -> None:
    """What is written is nothing that is read."""
    files = [Path(word) for word in read]
    for path in (store, page):
        if path is not None:
            must_be_free(path, files)
            files.append(path)


def _rows(asked: Asked, crew: WorkerOptions, quiet: bool) -> Rows:
    """Run what is asked for, or read what the store has."""
    if asked.space is None:
        if crew.store is None:
            raise InputError("a model must be given, or --store with a store, of which the rows are shown")
        with progress(f"reading {crew.store}", quiet), Store(crew.store, reading=True) as store:
            rows = store.rows()
            refuse(f"--{fault}" for fault in unmeasurable(asked.objectives, measures_of_rows(rows)))
            return Rows(rows, len(rows), store.seconds(), store.older())
    with opened(crew.store) as store:
        points = asked.space.size if asked.search is None else asked.search.points
        with following(points, crew.store, quiet) as follow:
            who = Crew(crew.workers, crew.memory, crew.scheduler)
            done = swept(asked.space, store, who, follow, asked.search, asked.objectives[0])
        if not done.keys:
            held = " and ".join(shown(condition.text) for condition in asked.space.where)
            raise InputError(f"--where must hold for a point, but {held} holds for none of {points:,}")
        return Rows(store.rows(done.keys), done.found, store.seconds())


def _document(rows: Rows, left: Sequence[Row], objectives: Sequence[Objective], store: Path | None) -> object:
    from tilesim.report.exploration.outcomes import counts

    flat = {row["key"]: row for row in flat_rows(left)}
    return {
        "schema": SCHEMA,
        "store": None if store is None else str(store),
        "points": {"total": len(rows.every), "found": rows.found, **counts(rows.every)},
        "objectives": [objective._asdict() for objective in objectives],
        "best": [flat[row["key"]] for points in by_network(left, objectives).values() for row in points[:MOST_BEST]],
        "rows": [*flat.values()],
    }


def _show(rows: Rows, left: Sequence[Row], asked: Asked, notes: Sequence[str]) -> None:
    from tilesim.report.sweep_tables import counts_words, sweep_tables
    from tilesim.report.terminal import show

    there = rows.found if asked.space else 0
    show(counts_words(rows.every, there), "", sweep_tables(left, asked.objectives, rows.every))
    if notes:
        tell("", *notes)


def _notes(rows: Rows, store: Path | None) -> list[str]:
    if store is None:
        return ["the rows are not kept; --store FILE keeps them, and lets a sweep go on"]
    left_out = [f"left out: {counted(rows.older, 'row')} that another tilesim made"] if rows.older else []
    there = f"{counted(len(rows.every), 'row')} {'is' if len(rows.every) == 1 else 'are'} in {store}"
    return [*left_out, f"{there}; `tilesim sweep report {store}` makes their page"]


def _written(page: Path | None) -> list[str]:
    return [] if page is None else [f"written to {page}"]
