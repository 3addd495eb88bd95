"""What the host computed itself in a run: for what, when, and what crossed its link for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.statistics import HostStepStatistics
from tilesim.tiled.isa.model.program import HostTensor, Program, awaited_by_step


def host_steps(program: Program, began: Mapping[str, int], start: int) -> Iterator[HostStepStatistics]:
    """Each step of the host that has begun, in cycles from the ``start`` of the run. What several steps read is counted
    with the first of them. They ``began`` when that says, by label.
    """
    come: set[int] = set()
    for step, awaited in awaited_by_step(program):
        if step.label not in began:
            continue
        layer, first = program.layers[step.layer], [number for number in awaited if number not in come]
        come.update(first)
        yield {
            "layer": step.layer,
            "name": layer.name,
            "kind": step.operator,
            "from_chip_bytes": sum(_link_bytes(program, program.leaving[number]) for number in first),
            "to_chip_bytes": sum(_link_bytes(program, given) for given in program.given if given.index == step.makes),
            "bytes": step.bytes,
            "start_cycle": began[step.label] - start,
            "cycles": program.topology.step_cycles(step.bytes),
        }


def _link_bytes(program: Program, tensor: HostTensor) -> int:
    """What of a tensor crosses the link."""
    row_bytes = program.topology.wide_memory.row_bytes
    if program.topology.host.sends_padding:
        return tensor.rows * row_bytes
    return sum(tensor.own_bytes(row_bytes))
