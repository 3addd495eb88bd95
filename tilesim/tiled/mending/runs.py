"""What a program does in a run: how long it takes, and what it leaves in the memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tilesim.errors import RunError
from tilesim.machines import frame
from tilesim.machines.holds import Holds
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.soundness import races, unrunnable
from tilesim.tiled.run import host_driver
from tilesim.tiled.run.delayed_issue import holds_of
from tilesim.tiled.run.event_driven import run_sections
from tilesim.tiled.units.chip import Chip

MOST_STEPS = 1_000_000
"""Cycles, times tiles, of a run whose accesses are followed one by one."""
SEED = 0
"""Of the bytes that stand in the memories at first, and of inputs."""
NOT_HELD: Mapping[str, int] = {}

Arrays: TypeAlias = Sequence[NDArray[Any]]
Taken: TypeAlias = tuple[tuple[int, str, tuple[tuple[str, int, int], ...]], ...]
"""Whose rows each instruction has taken off the ring at each node, row by row."""


class Outcome(Struct, frozen=True):
    """``cycles`` of the run, a digest of what the memories and the host hold then, and whether it was ``orderly``: no
    two transfers met, and no bytes were touched in another order than that of the program.
    """

    cycles: int
    digest: str
    orderly: bool
    taken: Taken = ()


def outcome_of(program: Program, held: Mapping[str, int] = NOT_HELD) -> Outcome | None:
    """That of a run that lets happen whatever happens, with any bytes in the memories at first; None if there can be no
    run, or it doesn't come to its end. ``held`` are cycles before which instructions must not begin, by label.
    """
    if unrunnable(program):
        return None
    program = frame.named(program)
    random = np.random.default_rng(SEED)
    inputs = [_any(random, tensor.shape, tensor.dtype) for tensor in program.inputs]
    until = holds_of(program, held)
    try:
        outcome = _run(program, inputs, until)
    except RunError:
        return None
    return _followed(program, inputs, until, outcome) if races(program) else outcome


def _any(random: np.random.Generator, shape: Sequence[int], dtype: str) -> NDArray[Any]:
    """Numbers of a type, the same each time."""
    if np.issubdtype(dtype, np.integer):
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    return random.standard_normal(shape).astype(dtype)


def _first_bytes(sizes: Iterable[int]) -> list[NDArray[np.uint8]]:
    """What stands in the memories of all tiles at first, narrow and wide in turn."""
    random = np.random.default_rng(SEED)
    return [random.integers(0, 256, size, np.uint8) for size in sizes]


def _run(program: Program, inputs: Arrays, held: Holds) -> Outcome:
    host = host_driver.HostSide(program, inputs)
    tasks = host.tasks(lambda: chip.host_outfeed)
    chip = Chip(program.topology, host.samples, None, frame.forget, host_tasks=tasks)
    memories = [memory for tile in chip.tiles for memory in (tile.memories.narrow, tile.memories.wide)]
    for memory, content in zip(memories, _first_bytes(memory.size_bytes for memory in memories), strict=True):
        memory.bytes[:] = content
    _, cycles = run_sections(chip, program, host.rows, held)
    outputs = host.outputs(chip.host_outfeed)
    met = any(finding["kind"] != "under way at once" for finding in chip.monitor.findings())
    digest = _digest([*(memory.bytes for memory in memories), *outputs])
    return Outcome(len(cycles), digest, not met, _taken(chip))


def _taken(chip: Chip) -> Taken:
    return tuple(
        (passage.node, label, tuple((sent.sender, sent.ordinal, sent.master) for sent in transfers))
        for passage in chip.monitor.passages
        for label, transfers in passage.taken.items()
    )


def _digest(arrays: Arrays) -> str:
    digest = sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _followed(program: Program, inputs: Arrays, held: Holds, outcome: Outcome) -> Outcome:
    """The outcome of a program whose accesses nothing orders: which bytes it leaves, only accesses cycle by cycle tell.
    Of too long a run that is left open.
    """
    if not outcome.orderly or outcome.cycles * program.topology.tiles > MOST_STEPS:
        return replace(outcome, orderly=False)
    from tilesim.tiled.run.touched import misplaced, races  # with all of that model, which other runs don't need
    from tilesim.tiled.stepped import host_driver as stepped_host
    from tilesim.tiled.stepped.chip import Chip as SteppedChip

    watched = {(pair.tile, label) for pair in races(program) for label in (pair.first, pair.other)}
    side = stepped_host.HostSide(program, list(inputs))
    chip = SteppedChip(program.topology, program.data, False, True, watched, (program, side))
    memories = [memory for tile in chip.tiles for memory in (tile.memories.narrow, tile.memories.wide)]
    sizes = [size for _ in chip.tiles for size in _sizes(program)]
    for memory, content in zip(memories, _first_bytes(sizes), strict=True):
        memory.write(0, content)
    chip.run(program.load, [], held)
    chip.start_host()
    chip.run(program.run, side.rows, held)
    outputs = side.outputs(chip.host_outfeed.received)
    held_bytes = [memory.read(0, size) for memory, size in zip(memories, sizes, strict=True)]
    return replace(outcome, digest=_digest([*held_bytes, *outputs]), orderly=not misplaced(program, chip.touches))


def _sizes(program: Program) -> tuple[int, int]:
    return program.topology.narrow_memory.size_bytes, program.topology.wide_memory.size_bytes
