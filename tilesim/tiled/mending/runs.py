"""What a program does in a run: how long it takes, and what it leaves in the memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim import compiled
from tilesim.errors import RunError
from tilesim.machines import frame
from tilesim.machines.holds import NO_HOLDS
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.soundness import unrunnable
from tilesim.tiled.rules.tile.hazards import hazards
from tilesim.tiled.run import host_driver
from tilesim.tiled.run.simulate import MOST_RACING_CYCLES, run_sections
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.ring.announcement import Unforeseen

SEED = 0
"""Of the bytes that stand in the memories at first, and of inputs."""


@dataclass(frozen=True)
class Outcome:
    """``cycles`` of the run, a digest of what the memories and the host hold then, and whether it was ``orderly``: no
    two transfers met, and no bytes were touched in another order than that of the program.
    """

    cycles: int
    digest: str
    orderly: bool


def outcome_of(program: Program) -> Outcome | None:
    """That of a run that lets happen whatever happens, with any bytes in the memories at first; None if there can be no
    run, or it doesn't come to its end.
    """
    if unrunnable(program):
        return None
    program = frame.named(program)
    random = np.random.default_rng(SEED)
    inputs = [_any(random, tensor.shape, tensor.dtype) for tensor in program.inputs]
    try:
        try:
            chip, cycles = _run(program, inputs, bursts=program.topology.ring.no_consumer == "stall")
        except Unforeseen:
            chip, cycles = _run(program, inputs, bursts=False)
    except RunError:
        return None
    met = any(finding["kind"] != "under way at once" for finding in chip.monitor.findings())
    return Outcome(cycles, _digest(chip, len(program.outputs)), not met and _in_order(program, inputs, cycles))


def _any(random: np.random.Generator, shape: Sequence[int], dtype: str) -> NDArray[Any]:
    """Numbers of a type, the same each time."""
    if np.issubdtype(dtype, np.integer):
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    return random.standard_normal(shape).astype(dtype)


def _run(program: Program, inputs: Sequence[NDArray[Any]], bursts: bool) -> tuple[Chip, int]:
    rows, samples = host_driver.rows_of_inputs(program, inputs)
    flat = compiled.pays(sum(getattr(op, "tiles", 1).bit_count() for op in (*program.load, *program.run)))
    chip = Chip(program.topology, samples, None, frame.forget, bursts=bursts, flat=flat)
    random = np.random.default_rng(SEED)
    for tile in chip.tiles:
        for memory in (tile.memories.narrow, tile.memories.wide):
            memory.bytes[:] = random.integers(0, 256, memory.bytes.shape, np.uint8)
    _, cycles = run_sections(chip, program, rows, NO_HOLDS)
    return chip, len(cycles)


def _digest(chip: Chip, outputs: int) -> str:
    digest = sha256()
    for tile in chip.tiles:
        digest.update(tile.memories.narrow.bytes.tobytes() + tile.memories.wide.bytes.tobytes())
    for output in range(outputs):
        digest.update(np.ascontiguousarray(chip.host_outfeed.output(output)).tobytes())
    return digest.hexdigest()


def _in_order(program: Program, inputs: Sequence[NDArray[Any]], cycles: int) -> bool:
    """Whether accesses that nothing orders came in the order of the program all the same; too long a run can't tell."""
    if not program.once(hazards):
        return True
    if cycles > MOST_RACING_CYCLES:
        return False
    from tilesim.tiled.run.touched import raced  # with all of the stepped model, which other runs don't need

    _, findings = raced(program, inputs, 1, NO_HOLDS)
    return not findings
