"""``tilesim run`` with several topologies: the same network on each of them, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from tilesim.cli.options.batching import BatchOptions
from tilesim.cli.options.compilation import CompilationOptions
from tilesim.cli.options.models import Named, is_program
from tilesim.cli.options.running import RunningOptions
from tilesim.cli.output import tell, tell_json
from tilesim.cli.programs import Sources, compiled
from tilesim.cli.progress import progress
from tilesim.cli.saved_runs import Done, folder_names, save_all
from tilesim.cli.simulation import samples, simulated, trace_words
from tilesim.errors import CapacityError, ProgramError, RunError, TilesimError, refuse
from tilesim.findings import sentence
from tilesim.machines.topology import Topology
from tilesim.printable import numbered
from tilesim.run import Run


@dataclass(frozen=True)
class Attempt:
    """A chip, by a name that no other has; what was done on it, with what was asked but could not be (``unmet``), and
    what else is to be known; or why the network does not fit, or the lines that say why its run could not go on.
    """

    name: str
    chip: Topology
    done: Done | None
    unmet: Sequence[str] = ()
    notes: Sequence[str] = ()
    faults: Sequence[str] = ()
    failure: Sequence[str] = ()


def conflicts(models: Sequence[str], topologies: Sequence[str]) -> Iterator[str]:
    """What can't be run together."""
    for program in filter(is_program, models):
        if len(models) > 1:
            yield f"{program}: a program runs alone; give the models that are to share the chip"
        if len(topologies) > 1:
            yield f"{program}: a program is compiled for one chip; give the model, or at most one --topology"
    if len(models) > 1 and len(topologies) > 1:
        chips = " and ".join(topologies)
        yield f"{', '.join(models)}: several models share one chip; give one --topology, not {chips}"


def compare(
    sources: Sources,
    changes: Mapping[str, object],
    how: CompilationOptions,
    options: RunningOptions,
    batches: BatchOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the one model on each chip, save the runs if that is asked for, and print a table, or the list of all
    statistics. A network that some chips are too small for, or a run that can't go on, is a fault when the others are
    done, kept and shown.
    """
    [named] = sources.named
    names = numbered(chip.name for chip in sources.chips)
    attempts = [
        _attempt(named, name, chip, how, options, batches, quiet)
        for name, chip in zip(names, sources.chips, strict=True)
    ]
    ran = {attempt.name: attempt.done for attempt in attempts if attempt.done is not None}
    _must_agree(named.word, ran)
    if options.out is not None and ran:
        _save(attempts, options.out)
    if as_json:
        tell_json([done.run.statistics for done in ran.values()])
        if notes := _by_chip(attempts, lambda attempt: attempt.notes):
            tell(*notes, error=True)
    else:
        _show(named.network.name, attempts, changes, quiet)
        if options.out is not None and ran and not quiet:
            tell("", f"written to {options.out}")
    faults = [fault for attempt in attempts for fault in attempt.faults]
    if failures := [line for attempt in attempts for line in attempt.failure]:
        raise RunError([*failures, *faults])
    refuse(faults, CapacityError)


def _attempt(
    named: Named,
    name: str,
    chip: Topology,
    how: CompilationOptions,
    options: RunningOptions,
    batches: BatchOptions,
    quiet: bool,
) -> Attempt:
    try:
        with progress(f"compiling {named.word} for {name}", quiet) as say:
            programs, unmet = compiled([named], chip, how, say, batches, options.inferences)
        program, run, notes = simulated([named.word], programs, options, quiet)
    except (CapacityError, ProgramError) as error:
        return Attempt(name, chip, None, faults=error.faults)
    except RunError as error:
        return Attempt(name, chip, None, failure=f"{name}: {error}".splitlines())
    return Attempt(name, chip, Done(program, run), unmet, notes)


def _must_agree(model: str, runs: Mapping[str, Done]) -> None:
    outputs = {name: done.run.outputs for name, done in runs.items()}
    first = next(iter(outputs), "")
    for name, found in outputs.items():
        if not all(map(np.array_equal, found, outputs[first])):
            raise TilesimError(
                f"{model}: the outputs on {name} are not those on {first}, but a chip must never change the results: "
                "this is a fault in tilesim; please report it with the model and both topologies"
            )


def _save(attempts: Sequence[Attempt], out: Path) -> None:
    """Write each run into a folder, and beside these the page that compares them, if there are several."""
    folders = folder_names(attempt.chip for attempt in attempts)
    runs = {name: each.done for name, each in zip(folders, attempts, strict=True) if each.done is not None}
    save_all(runs, _page({name: done.run for name, done in runs.items()}), out)


def _page(runs: Mapping[str, Run]) -> str | None:
    from tilesim.report.api import compare
    from tilesim.report.document import SavedRun
    from tilesim.report.page.compare import comparison_page

    if len(runs) < 2:
        return None
    first = [SavedRun(Path(name), run.statistics, run.trace) for name, run in islice(runs.items(), 2)]
    return comparison_page(compare(runs), first)


def _show(network: str, attempts: Sequence[Attempt], changes: Mapping[str, object], quiet: bool) -> None:
    from tilesim.report.comparison_tables import ChipRun, scaling_notes, scaling_table
    from tilesim.report.terminal import heading, show

    done = [attempt.done for attempt in attempts if attempt.done is not None]
    together = max((samples(each.program, each.run) for each in done), default=1)
    inferences = max((each.run.statistics["inferences"] for each in done), default=1)
    title = heading(network, f"{len(attempts)} chips", changes, together, inferences)
    rows = [
        ChipRun(
            each.name,
            each.chip.arrays,
            each.done.run.statistics if each.done else None,
            "can't go on" if each.failure else "does not fit",
        )
        for each in attempts
    ]
    show(title, "", scaling_table(rows))
    notes = [*scaling_notes(rows), *_by_chip(attempts, lambda attempt: [*attempt.unmet, *attempt.notes])]
    if lines := [*([] if quiet else notes), *_by_chip(attempts, _found)]:
        tell("", *lines)


def _found(attempt: Attempt) -> Iterator[str]:
    """What a run noticed, and its trace."""
    if attempt.done is not None:
        yield from map(sentence, attempt.done.run.statistics.get("findings", ()))
        yield from trace_words(attempt.done.run)


def _by_chip(attempts: Sequence[Attempt], said: Callable[[Attempt], Iterable[str]]) -> list[str]:
    """What is ``said`` of each attempt, if anything is, led by its name."""
    return [f"{attempt.name}: {words}" for attempt in attempts for words in said(attempt)]
