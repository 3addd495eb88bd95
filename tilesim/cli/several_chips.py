"""``tilesim run`` with several topologies: the same network on each of them, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilesim import api
from tilesim.cli.options.models import Named
from tilesim.cli.options.partition import partition_policy, unmet
from tilesim.cli.output import tell, tell_json
from tilesim.cli.progress import progress
from tilesim.cli.simulation import samples, simulated
from tilesim.errors import CapacityError, ConfigError, ProgramError, TilesimError
from tilesim.machines.policies import PartitionPolicy
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
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


def compare(
    model: str,
    topologies: Sequence[str],
    changes: Mapping[str, object],
    inputs: Path | None,
    as_json: bool,
    partition: Sequence[str] | None = None,
) -> None:
    """Run ``model`` on each chip and print a table, or the list of all statistics; ``partition`` are the words that say
    how its layers are to be spread.

    Raises:
        InputError: something of what the user gave is wrong; for a network that some chips are too small for, when
            the others are done and shown.
        TilesimError: the chips do not agree on the outputs.
    """
    chips = _chips(topologies, changes)
    network = api.load_network(model)
    policy = partition_policy([Named(model, network)], partition)
    attempts = [_attempt(model, network, chip, policy, inputs) for chip in chips]
    ran = [(attempt.chip.name, attempt.run) for attempt in attempts if attempt.run is not None]
    _must_agree(model, ran)
    if as_json:
        tell_json([run.statistics for _, run in ran])
    else:
        _show(network.name, attempts, changes)
    if faults := dict.fromkeys(fault for attempt in attempts for fault in attempt.faults):
        raise CapacityError(faults)


def _chips(topologies: Sequence[str], changes: Mapping[str, object]) -> list[Topology]:
    """All chips, or what is wrong with any."""
    chips: list[Topology] = []
    faults: list[str] = []
    for name in topologies:
        try:
            chips.append(api.load_topology(name, changes))
        except ConfigError as error:
            faults += error.faults
    if faults:
        raise ConfigError(dict.fromkeys(faults))
    return chips


def _attempt(model: str, network: Network, chip: Topology, policy: PartitionPolicy, inputs: Path | None) -> Attempt:
    try:
        with progress(f"compiling {model} for {chip.name}") as say:
            program = api.compile(network, chip, policy, say)
    except (CapacityError, ProgramError) as error:
        return Attempt(chip, None, faults=error.faults)
    run = simulated(model, program, inputs)
    return Attempt(chip, run, samples(program, run), unmet=tuple(unmet([network], [program], policy)))


def _must_agree(model: str, runs: Sequence[tuple[str, Run]]) -> None:
    for name, run in runs[1:]:
        first, expected = runs[0]
        if not all(map(np.array_equal, run.outputs, expected.outputs)):
            raise TilesimError(
                f"{model}: the outputs on {name} are not those on {first}, but a chip must never change the results: "
                "this is a fault in tilesim; please report it with the model and both topologies"
            )


def _show(network: str, attempts: Sequence[Attempt], changes: Mapping[str, object]) -> None:
    from tilesim.report.scaling import Row, scaling_table
    from tilesim.report.terminal import heading, show

    together = max(attempt.samples for attempt in attempts)
    title = heading(network, f"{len(attempts)} chips", changes, together)
    rows = [Row(each.chip.name, each.chip.arrays, each.run.statistics if each.run else None) for each in attempts]
    show(title, "", scaling_table(rows))
    sentences = [f"{each.chip.name}: {sentence}" for each in attempts for sentence in each.unmet]
    if sentences:
        tell("", *sentences)
