"""``tilesim run`` with several topologies: the same network on each of them, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilesim import api
from tilesim.cli.options.compilation import PlacementOptions, unmet
from tilesim.cli.options.models import Named, is_program
from tilesim.cli.options.running import RunningOptions
from tilesim.cli.output import tell, tell_json
from tilesim.cli.programs import Sources
from tilesim.cli.progress import progress
from tilesim.cli.simulation import samples, simulated_once
from tilesim.errors import CapacityError, ProgramError, TilesimError, refuse
from tilesim.machines.policies import PartitionPolicy
from tilesim.machines.topology import Topology
from tilesim.run import Run


@dataclass(frozen=True)
class Attempt:
    """A chip, and the run of so many samples on it, with what was asked but could not be; or why the network does not
    fit.
    """

    chip: Topology
    run: Run | None
    samples: int = 1
    faults: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


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
    how: PlacementOptions,
    options: RunningOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the one model on each chip and print a table, or the list of all statistics. A network that some chips are
    too small for is a fault when the others are done and shown.
    """
    [named] = sources.named
    policy = how.partition_policy([named])
    attempts = [_attempt(named, chip, policy, options, quiet) for chip in sources.chips]
    ran = [(attempt.chip.name, attempt.run) for attempt in attempts if attempt.run is not None]
    _must_agree(named.word, ran)
    if as_json:
        tell_json([run.statistics for _, run in ran])
    else:
        _show(named.network.name, attempts, changes, quiet)
    refuse((fault for attempt in attempts for fault in attempt.faults), CapacityError)


def _attempt(named: Named, chip: Topology, policy: PartitionPolicy, options: RunningOptions, quiet: bool) -> Attempt:
    try:
        with progress(f"compiling {named.word} for {chip.name}", quiet) as say:
            program = api.compile(named.network, chip, policy, say)
    except (CapacityError, ProgramError) as error:
        return Attempt(chip, None, faults=error.faults)
    run = simulated_once(named.word, program, options, quiet=quiet)
    return Attempt(chip, run, samples(program, run), unmet=tuple(unmet([named.network], [program], policy)))


def _must_agree(model: str, runs: Sequence[tuple[str, Run]]) -> None:
    for name, run in runs[1:]:
        first, expected = runs[0]
        if not all(map(np.array_equal, run.outputs, expected.outputs)):
            raise TilesimError(
                f"{model}: the outputs on {name} are not those on {first}, but a chip must never change the results: "
                "this is a fault in tilesim; please report it with the model and both topologies"
            )


def _show(network: str, attempts: Sequence[Attempt], changes: Mapping[str, object], quiet: bool) -> None:
    from tilesim.report.comparison_tables import ChipRun, scaling_table
    from tilesim.report.terminal import heading, show

    together = max(attempt.samples for attempt in attempts)
    title = heading(network, f"{len(attempts)} chips", changes, together)
    rows = [ChipRun(a.chip.name, a.chip.arrays, a.run.statistics if a.run else None) for a in attempts]
    show(title, "", scaling_table(rows))
    notes = [f"{attempt.chip.name}: {sentence}" for attempt in attempts for sentence in attempt.unmet]
    if notes and not quiet:
        tell("", *notes)
