"""The frame of every simulation: what is the same before and behind a run, whatever the chip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar

from tilesim.errors import AccessError, CollisionError, HangError, RunError, refuse
from tilesim.machines.options import RunOptions
from tilesim.machines.program import Instruction, Program
from tilesim.printable import unknown
from tilesim.run import Look, Run, RunProgress
from tilesim.sim.core.unit import Unit
from tilesim.sim.trace.recorder import Recorder
from tilesim.sim.trace.trace import Trace
from tilesim.sim.trace.wakeups import WakeupSources
from tilesim.statistics import EndStatistics, RunStatistics

if TYPE_CHECKING:
    from tilesim.sim.trace.state_log import StateLog

P = TypeVar("P", bound=Program)
Op = TypeVar("Op", bound=Instruction)

NOBODY: WakeupSources = MappingProxyType({})


def named(program: P) -> P:
    """The program with a label for each instruction: always the same one, for a chip."""
    if all(op.label for op in (*program.load, *program.run)):
        return program
    labelled = program.once(_named)
    return labelled if labelled.topology is program.topology else labelled.retargeted(program.topology)


def _named(program: P) -> P:
    return replace(program, load=_labelled(program.load, "load"), run=_labelled(program.run, "run"))


def _labelled(ops: Sequence[Op], section: str) -> tuple[Op, ...]:
    from tilesim.machines.changed import changed  # which compiled programs don't need

    return tuple([op if op.label else changed(op, label=f"{section}[{k}]") for k, op in enumerate(ops)])


def recorder_of(options: RunOptions) -> Recorder | None:
    """Who records the run, if it is to be recorded."""
    return None if options.recording is None else Recorder(options.recording)


def log_of(options: RunOptions) -> StateLog | None:
    """Who logs the run's signals, if they are to be logged."""
    if options.signals is None:
        return None
    from tilesim.sim.trace.state_log import StateLog  # which few runs need

    return StateLog(options.signals)


def forget(*_retired: object) -> None:
    """What a chip tells of what retires where nobody keeps tensors."""


def must_match_tracks(options: RunOptions, program: Program, units: Iterable[Unit | str]) -> None:
    """Raises InputError for patterns of tracks to record that match none of the chip's ``units``, or their tracks."""
    if options.recording is None:
        return
    tracks = [unit if isinstance(unit, str) else unit.track for unit in units]
    what = f"a unit or link of {program.topology.name}, or a pattern of such"
    unmatched = options.recording.unmatched(tracks)
    refuse(f"tracks to trace: each {unknown(pattern, tracks, what)}" for pattern in unmatched)


def look_at(program: Program, section_of: Callable[[], tuple[str, int]], controls: Sequence[Unit]) -> Look:
    """Who tells how far a chip is, by the instructions that its ``controls`` are at; what it reads another thread may
    read too. ``section_of`` says which section it runs, ``load`` or ``run``, and its first cycle.
    """
    layer_of = {op.label: op.layer for op in program.run}
    layers = tuple(layer.name for layer in program.layers)

    def look() -> RunProgress:
        section, start = section_of()
        foremost = max(layer_of.get(unit.instruction, -1) for unit in controls)
        return RunProgress(section, controls[0].clock.cycle - start, None if foremost < 0 else foremost, layers)

    return look


def trace_of(program: Program, recorder: Recorder | None, wakeup_sources: WakeupSources = NOBODY) -> Trace | None:
    """What was recorded of the program's instructions, if anything; ``wakeup_sources`` as in :meth:`Recorder.trace`."""
    if recorder is None:
        return None
    layers = {op.label: op.layer for op in (*program.load, *program.run)}
    return recorder.trace([layer.name for layer in program.layers], layers, wakeup_sources)


ENDS: Mapping[type[RunError], Literal["hang", "collision", "access"]] = {
    HangError: "hang",
    CollisionError: "collision",
    AccessError: "access",
}
"""What ``run.json`` calls the end of a run that can't go on."""


@contextmanager
def keeping(made: Callable[[RunError], Run]) -> Iterator[None]:
    """A run that can't go on in here is ``made`` of what there is, when somebody asks the error for it."""
    try:
        yield
    except RunError as error:
        error.makes(partial(made, error))
        raise


def ended(statistics: RunStatistics, error: RunError, section: str, cycle: int) -> RunStatistics:
    """The statistics of a run that ended with ``error`` in ``cycle`` of a section."""
    [word] = [word for kind, word in ENDS.items() if isinstance(error, kind)]
    end: EndStatistics = {"kind": word, "section": section, "cycle": cycle, "report": str(error).splitlines()}
    return {**statistics, "findings": error.findings or statistics.get("findings", []), "end": end}
