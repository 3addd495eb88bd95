"""What is run: models, compiled together for a chip, or the program in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tilesim import api
from tilesim.cli.faults import kept, refuse
from tilesim.cli.options.batching import BatchOptions
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions, unmet
from tilesim.cli.options.groups import given
from tilesim.cli.options.models import Named, is_program, load_all, ready_program, titles
from tilesim.cli.options.scope import inapplicable, misapplied
from tilesim.errors import CapacityError, ProgramError
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology

SMALLEST_FIRST = (
    "pocket-2x1", "ring-8", "edge-1x1", "edge-1x2", "edge-2x2", "edge-2x4", "fig2-5x2", "edge-4x4", "edge-8x8",
)  # fmt: skip
"""The chips of tiles that come with tilesim, by the MACs that they do in a cycle."""

NO_BATCHES = BatchOptions()


@dataclass(frozen=True)
class Compiled:
    """Programs, and notes: which chip was picked, and what was asked of layers but could not be."""

    programs: list[Program]
    notes: tuple[str, ...] = ()


def programs_of(
    words: Sequence[str],
    chips: ChipOptions,
    options: CompilationOptions,
    say: Callable[[str], None],
    batches: BatchOptions = NO_BATCHES,
    inferences: int = 1,
    pick: bool = False,
) -> Compiled:
    """What models are compiled to, together; or the one program that is given. ``say`` is told what is being tried.
    ``pick``: where no chip is named, the smallest is taken that holds them.
    """
    ready = [word for word in words if is_program(word)]
    alone = [f"{word}: a program runs alone; give the models that are to share the chip" for word in ready]
    misused = misapplied(given(options, batches), words, chips.names)
    refuse([*(alone if len(words) > 1 else []), *misused, *options.faults()])
    if ready:
        return Compiled([ready_program(ready[0], chips)])
    return compiled(words, chips, options, say, batches, inferences, pick)


def compiled(
    models: Sequence[str],
    chips: ChipOptions,
    options: CompilationOptions,
    say: Callable[[str], None],
    batches: BatchOptions = NO_BATCHES,
    inferences: int = 1,
    pick: bool = False,
) -> Compiled:
    """What models are compiled to, together."""
    faults: list[str] = []
    named: list[Named] = []
    with kept(faults):
        named += load_all(models)
    if pick and not (chips.names or chips.changes()):
        refuse(faults)
        return _on_smallest(lambda chip: _compiled(named, chip, options, say, batches, inferences))
    with kept(faults):
        chip = chips.load()
    refuse(faults)
    return _compiled(named, chip, options, say, batches, inferences)


def _on_smallest(compiled_for: Callable[[Topology], Compiled]) -> Compiled:
    """What comes of the smallest chip that is large enough."""
    for name in SMALLEST_FIRST:
        try:
            made = compiled_for(api.load_topology(name))
        except (CapacityError, ProgramError) as error:
            too_small = error
        else:
            note = f"chosen: {name}, the smallest chip that holds all of it; --topology names another"
            return replace(made, notes=(note, *made.notes))
    raise CapacityError(f"{fault}; no chip that comes with tilesim is larger" for fault in too_small.faults)


def _compiled(
    named: Sequence[Named],
    chip: Topology,
    options: CompilationOptions,
    say: Callable[[str], None],
    batches: BatchOptions,
    inferences: int,
) -> Compiled:
    refuse(inapplicable(given(options, batches), chip))
    networks = [replace(model.network, name=title) for model, title in zip(named, titles(named), strict=True)]
    cache, partition = options.cache_policy(named, not options.no_cache), options.partition_policy(named)
    plan = batches.plan(networks[0], chip, inferences, say)
    programs = api.compile_networks(networks, chip, cache, partition, say, plan)
    return Compiled(programs, tuple(unmet(networks, programs, partition)))
