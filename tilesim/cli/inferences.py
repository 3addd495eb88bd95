"""Several inferences, of one or several models, one after the other on one chip."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.inputs import load_inputs, random_inputs
from tilesim.cli.models import load_all, titles
from tilesim.cli.partition import partition_policy
from tilesim.cli.priorities import policy
from tilesim.cli.program import is_program, program_of
from tilesim.cli.progress import progress
from tilesim.cli.simulation import naming
from tilesim.errors import InputError
from tilesim.files import Array
from tilesim.run import Run
from tilesim.tiled.host_driver import rows_of_inputs
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.program import Program
from tilesim.tiled.requests import series

MOST = 1000
InferencesOption = Annotated[
    int,
    typer.Option("--inferences", "-n", min=1, max=MOST, metavar="N", help="Inferences of each model, in turn."),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Keep no parameters in the tiles: all are streamed in every inference.")
]
PriorityOption = Annotated[
    str | None,
    typer.Option(
        "--priority",
        metavar="MODEL,...",
        help="Networks whose parameters get room in the tiles first, in descending order; else as listed.",
    ),
]
LayerPriorityOption = Annotated[
    str | None,
    typer.Option(
        "--layer-priority",
        metavar="MODEL:LAYER,...",
        help="Layers, by name or number, that get room before all others, in descending order.",
    ),
]


@dataclass(frozen=True)
class Caching:
    """What the command line says about parameters that stay in the tiles, and how layers are spread over these."""

    no_cache: bool = False
    priority: str | None = None
    layer_priority: str | None = None
    partition: Sequence[str] | None = None

    @property
    def given(self) -> list[str]:
        """The options that are there."""
        options = {
            "--no-cache": self.no_cache,
            "--priority": self.priority is not None,
            "--layer-priority": self.layer_priority is not None,
        }
        return [option for option, there in options.items() if there]


def programs_of(
    models: Sequence[str],
    topology: str,
    changes: dict[str, object],
    caching: Caching,
    say: Callable[[str], None],
) -> list[Program]:
    """What models are compiled to, together; or the one program that is given. ``say`` is told what is being tried.

    Raises:
        InputError: as :func:`~tilesim.cli.program.program_of`, or words that make no sense together, all at once.
    """
    ready = [model for model in models if is_program(model)]
    wrong = [f"{model}: a program runs alone; give the models that are to share the chip" for model in ready]
    wrong = wrong if len(models) > 1 else []
    if ready:
        given = [*caching.given, *(["--partition"] if caching.partition else [])]
        wrong += [f"{option} is about compiling, but {ready[0]} is a program" for option in given]
    if caching.no_cache:
        wrong += [
            f"{option} must be left out, as --no-cache leaves nothing in the tiles" for option in caching.given[1:]
        ]
    if wrong:
        raise InputError(wrong)
    if ready or not topology:
        return [program_of(models[0], topology, changes)]
    chip = api.load_topology(topology, changes)
    named = load_all(models)
    networks = [replace(each.network, name=title) for each, title in zip(named, titles(named), strict=True)]
    how = policy(named, not caching.no_cache, caching.priority, caching.layer_priority)
    return api.compile_networks(networks, chip, how, partition_policy(named, caching.partition), say)


def run_in_turn(
    models: Sequence[str],
    programs: Sequence[Program],
    inferences: int,
    inputs: Path | None,
    keep: bool,
    trace: bool,
    rules: str,
    not_before: Mapping[str, int],
) -> tuple[Program, Run]:
    """The program of all inferences, and its run. Inference i gets sample i of the file ``inputs``, or of those samples
    over again; else there are random arrays. ``keep``: the program is to be written down, so it must be one that can be
    read again.

    Raises:
        InputError: inputs that do not fit, or programs that the chip could not run, each names its file; a program too
            large to keep.
        RunError: the run can't go on.
    """
    if inputs is not None and len(models) > 1:
        raise InputError("--inputs holds the arrays of one model; leave it out where several are given")
    order = [*range(len(programs))] * inferences
    held = None if inputs is None else load_inputs(inputs, len(programs[0].inputs))
    with naming(", ".join(models), inputs):
        joint = series(programs, order)
        if keep and (found := faults(joint)):
            raise InputError(f"--out keeps the program of all inferences in one piece: {fault}" for fault in found)
        arrays = random_inputs(joint.inputs) if held is None else list(_samples(programs[0], inferences, held))
        given = _by_request([len(programs[number].inputs) for number in order], arrays)
        with progress(f"simulating {len(order)} inferences on {joint.topology.name}"):
            run = api.simulate_requests(programs, given, order, trace=trace, rules=rules, not_before=not_before)
    return joint, run


def _samples(program: Program, inferences: int, arrays: Sequence[Array]) -> Iterator[Array]:
    """The arrays of each inference, one after the other."""
    _, samples = rows_of_inputs(program, arrays)
    for k in range(inferences):
        for tensor, array in zip(program.inputs, arrays, strict=True):
            first = k % samples * tensor.shape[0]
            yield array[first : first + tensor.shape[0]]


def _by_request(counts: Sequence[int], arrays: Sequence[Array]) -> list[list[Array]]:
    following = iter(arrays)
    return [[next(following) for _ in range(count)] for count in counts]
