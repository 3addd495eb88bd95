"""Models and a chip into programs, with the options that say how: of all commands that compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.options.batching import Batches
from tilesim.cli.options.models import Named, load_all, titles
from tilesim.cli.options.partition import partition_policy, unmet
from tilesim.cli.options.priorities import policy
from tilesim.cli.options.program import is_program, ready_program
from tilesim.errors import InputError
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology

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

    def faults(self, ready: Sequence[str]) -> list[str]:
        """What makes no sense together, or where all that is given are programs that are ``ready``."""
        given = [*self.given, *(["--partition"] if self.partition else [])] if ready else []
        wrong = [f"{option} is about compiling, but {ready[0]} is a program" for option in given]
        if self.no_cache:
            wrong += [
                f"{option} must be left out, as --no-cache leaves nothing in the tiles" for option in self.given[1:]
            ]
        return wrong


ONE = Batches()
"""A single inference."""


@dataclass(frozen=True)
class Compiled:
    """Programs, and sentences on what was asked of layers but could not be."""

    programs: list[Program]
    unmet: tuple[str, ...] = ()


def programs_of(
    models: Sequence[str],
    topology: str,
    changes: dict[str, object],
    caching: Caching,
    say: Callable[[str], None],
    batches: Batches = ONE,
) -> Compiled:
    """What models are compiled to, together; or the one program that is given. ``say`` is told what is being tried.

    Raises:
        InputError: faults in the files, models without a topology, or words that make no sense together, all at once.
    """
    ready = [model for model in models if is_program(model)]
    wrong = [f"{model}: a program runs alone; give the models that are to share the chip" for model in ready]
    wrong = [*(wrong if len(models) > 1 else []), *caching.faults(ready)]
    if faults := [
        *wrong,
        *(f"{option} is about compiling, but {name} is a program" for name in ready[:1] for option in batches.given),
    ]:
        raise InputError(faults)
    if ready:
        return Compiled([ready_program(ready[0], topology, changes)])
    return compiled(models, topology, changes, caching, say, batches)


def compiled(
    models: Sequence[str],
    topology: str,
    changes: dict[str, object],
    caching: Caching,
    say: Callable[[str], None],
    batches: Batches = ONE,
) -> Compiled:
    """What models are compiled to, together.

    Raises:
        InputError: as :func:`programs_of`.
    """
    named, chip = read(models, topology, changes)
    networks = [replace(each.network, name=title) for each, title in zip(named, titles(named), strict=True)]
    how = policy(named, not caching.no_cache, caching.priority, caching.layer_priority)
    partition = partition_policy(named, caching.partition)
    programs = api.compile_networks(networks, chip, how, partition, say, batches.plan(networks[0], chip, say))
    return Compiled(programs, tuple(unmet(networks, programs, partition)))


def read(models: Sequence[str], topology: str, changes: dict[str, object]) -> tuple[list[Named], Topology]:
    """The networks, and the chip to compile them for.

    Raises:
        InputError: faults in any of them, or no topology, all at once.
    """
    faults: list[str] = []
    try:
        named = load_all(models)
    except InputError as error:
        faults += error.faults
    try:
        chip = _chip(topology, changes)
    except InputError as error:
        faults += error.faults
    if faults:
        raise InputError(faults)
    return named, chip


def _chip(topology: str, changes: dict[str, object]) -> Topology:
    if not topology:
        raise InputError("--topology must name the chip that the model is to run on; `tilesim topologies` lists them")
    return api.load_topology(topology, changes)
