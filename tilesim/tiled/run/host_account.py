"""What the host computed itself in a run: for what, when, and what crossed its link for it."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.statistics import HostStepStatistics
from tilesim.tiled.isa.model.program import Program, awaited_by_step
from tilesim.tiled.units.chip import Chip


def host_steps(program: Program, chip: Chip, start: int) -> Iterator[HostStepStatistics]:
    """Each step of the host that has begun, in cycles from the ``start`` of the run. What several steps read is counted
    with the first of them.
    """
    row_bytes = program.topology.wide_memory.row_bytes
    began = chip.host_processor.began if chip.host_processor else {}
    come: set[int] = set()
    for step, awaited in awaited_by_step(program):
        if step.label not in began:
            continue
        layer, first = program.layers[step.layer], [number for number in awaited if number not in come]
        come.update(first)
        yield {
            "layer": step.layer,
            "name": layer.name,
            "kind": layer.kind,
            "from_chip_bytes": sum(program.leaving[number].rows for number in first) * row_bytes,
            "to_chip_bytes": sum(given.rows for given in program.given if given.index == step.makes) * row_bytes,
            "bytes": step.bytes,
            "start_cycle": began[step.label] - start,
            "cycles": program.topology.step_cycles(step.bytes),
        }
