"""What is run: models, compiled together for a chip, or the program in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tilesim import api
from tilesim.cli.options.batching import BatchOptions
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions, PlacementOptions, unmet
from tilesim.cli.options.groups import Options, given
from tilesim.cli.options.models import Named, is_program, load_all, ready_program, titles
from tilesim.cli.options.scope import Capability, misapplied
from tilesim.errors import CapacityError, ProgramError, kept
from tilesim.machines.program import Program, host_note
from tilesim.machines.topology import Topology
from tilesim.registry import can, refusal

SMALLEST_FIRST = (
    "pocket-2x1", "ring-8", "edge-1x1", "edge-1x2", "edge-2x2", "edge-2x4", "fig2-5x2", "edge-4x4", "edge-8x8",
    "coral-usb",
)  # fmt: skip
"""The chips of up to 64 tiles that come with tilesim, by the MACs that they do in a cycle; last the one whose
parameters may stay with the host, for networks that no other has room for.
"""

NO_BATCHES = BatchOptions()


@dataclass(frozen=True)
class Sources:
    """What the words of a command line name: models, programs in files, chips for the models; none: one is picked."""

    named: Sequence[Named]
    programs: Sequence[Program]
    chips: Sequence[Topology]


def read_sources(
    words: Sequence[str],
    chips: ChipOptions,
    groups: Sequence[Options],
    faults: list[str],
    needed: Capability | None = None,
    takes_programs: bool = True,
    takes_chips: bool = False,
) -> Sources:
    """Read models, programs and chips as far as it can be done. What is wrong with them, and with the options of
    ``groups`` for them, joins the ``faults``; so does a chip that lacks the capability that is ``needed``.

    What a command ``takes``: files of programs; several chips, or none, where one is picked.
    """
    files = [word for word in words if is_program(word)] if takes_programs else []
    models = [word for word in words if word not in files]
    is_picked = bool(models) and takes_chips and not (chips.names or chips.set_)
    named: list[Named] = []
    programs: list[Program] = []
    with kept(faults):
        named += load_all(models)
    topologies = chips.read(faults, takes_chips) if chips.names or (models and not is_picked) else []
    for file in files:
        with kept(faults):
            programs.append(ready_program(file, chips, topologies))
    used = [*topologies, *(program.topology for program in programs)]
    options = given(*groups)
    used += [api.load_topology(SMALLEST_FIRST[0])] if is_picked and options else []
    faults += misapplied(options, words, chips.names, used)
    faults += [fault for chip in used if needed and not can(chip, needed) for fault in refusal(chip, needed).faults]
    faults += [fault for group in groups if isinstance(group, PlacementOptions) for fault in group.unmeant(named)]
    return Sources(named, programs, topologies)


def programs_of(
    sources: Sources,
    options: CompilationOptions,
    say: Callable[[str], None],
    batches: BatchOptions = NO_BATCHES,
    inferences: int = 1,
) -> tuple[Sequence[Program], list[str]]:
    """What models are compiled to, together, or the program that is given; and notes: which chip was picked, and what
    was asked of layers but could not be. ``say`` is told what is being tried.
    """
    if not sources.named:
        return sources.programs, []
    if sources.chips:
        return compiled(sources.named, sources.chips[0], options, say, batches, inferences)
    for name in SMALLEST_FIRST:
        try:
            programs, notes = compiled(sources.named, api.load_topology(name), options, say, batches, inferences)
        except (CapacityError, ProgramError) as error:
            too_small = error
        else:
            note = f"chosen: {name}, the smallest chip that holds all of it; --topology names another"
            return programs, [note, *notes]
    raise CapacityError(f"{fault}; no chip that comes with tilesim is larger" for fault in too_small.faults)


def compiled(
    named: Sequence[Named],
    chip: Topology,
    options: CompilationOptions,
    say: Callable[[str], None],
    batches: BatchOptions,
    inferences: int,
) -> tuple[Sequence[Program], list[str]]:
    """What models are compiled to, together, for a chip; and what was asked of layers but could not be."""
    networks = [replace(model.network, name=title) for model, title in zip(named, titles(named), strict=True)]
    cache, partition = options.cache_policy(named), options.partition_policy(named)
    plan = batches.plan(networks[0], chip, inferences, say)
    programs = api.compile_networks(networks, chip, cache, partition, say, plan)
    noted = [f"{network.name}: {note}" for network in networks for note in network.notes]
    noted += [f"{program.name}: {note}" for program in programs if (note := host_note(program))]
    return programs, [*noted, *unmet(networks, programs, partition)]
