"""What a chip of the first model holds after each cycle, and what its units did when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from numpy.typing import NDArray

from tilesim.machines.options import RunOptions
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import host_memory_of, simulate
from tilesim.rotating.units.chip import Chip
from tilesim.sim.core.clock import Phase, Work
from tilesim.sim.trace.recorder import Recording

T = TypeVar("T")
Array = NDArray[Any]
Stretch = tuple[int, int, str]
"""First cycle, counted from the start of the run, cycles, and what they were."""


def after_each_cycle(program: Program, look: Callable[[Chip], T], inputs: Sequence[Array] = ()) -> list[T]:
    """What there is to see when a cycle of the run is over, whoever did something in it."""
    chip = Chip(program.topology, host_memory_of(program, inputs))
    chip.run("load", program.load)
    seen: list[T] = []

    def watch() -> Work:
        while True:
            yield chip.clock.phase(Phase.SETTLE)
            seen.append(look(chip))
            yield chip.clock.timeout(1)

    chip.clock.process(watch())
    return seen[: len(chip.run("run", program.run))]


def rows_seen(program: Program, rows: Sequence[int], inputs: Sequence[Array] = ()) -> list[list[list[int]]]:
    """The bytes of ``rows`` of the data RAM after each cycle, of the first sample."""
    return after_each_cycle(program, lambda chip: chip.data_ram.rows[0, list(rows)].tolist(), inputs)


def first_seen(values: Sequence[T], wanted: T) -> int:
    """The first cycle at whose start it is so: the one after that in which it came about."""
    return values.index(wanted) + 1


def stretches(program: Program, inputs: Sequence[Array] = (), holds: Mapping[str, int] | None = None) -> Told:
    """What each unit and link was at, idle cycles left out."""
    run = simulate(program, inputs, RunOptions(recording=Recording(), holds=holds or {}))
    trace = run.trace
    assert trace is not None
    told = Told(run.cycles)
    for k in trace.start_cycle.argsort(kind="stable"):
        start = int(trace.start_cycle[k]) - trace.start
        if start >= 0:
            track = told.by_track.setdefault(trace.tracks[trace.track[k]], [])
            track.append((start, int(trace.cycles[k]), trace.kinds[trace.kind[k]], trace.whats[trace.what[k]]))
    return told


class Told:
    """The ``cycles`` of a run, and by track what was done in which of them, for which instruction."""

    def __init__(self, cycles: int) -> None:
        self.cycles = cycles
        self.by_track: dict[str, list[tuple[int, int, str, str]]] = {}

    def of(self, track: str) -> list[Stretch]:
        """Stretches of a unit, those that follow one another without a change as one."""
        joined: list[Stretch] = []
        for start, cycles, kind, _ in self.by_track.get(f"nnu.{track}", []):
            if joined and (sum(joined[-1][:2]), joined[-1][2]) == (start, kind):
                joined[-1] = (joined[-1][0], joined[-1][1] + cycles, kind)
            else:
                joined.append((start, cycles, kind))
        return joined

    def busy(self, track: str) -> list[int]:
        """The cycles in which a unit was busy."""
        return [
            cycle for start, cycles, kind in self.of(track) for cycle in range(start, start + cycles) if kind == "busy"
        ]
