"""A saved run as read back from its folder: whatever is wrong with it is said in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from tilesim.api.arguments import checked
from tilesim.api.files import load_program
from tilesim.budgets import LARGEST_RUN_BYTES, MOST_RUN_VALUES
from tilesim.errors import InputError, ProgramError, refuse
from tilesim.files import odd_kind, read_text
from tilesim.machines.program import Program
from tilesim.report.analysis.blame import Stalls, stalls
from tilesim.report.analysis.critical_path import CriticalPath, critical_path
from tilesim.run import run_words
from tilesim.saving import undisturbed
from tilesim.sim.trace.signals import Signals
from tilesim.sim.trace.trace import MOST, Trace
from tilesim.statistics import SCHEMA, ArrayShape, RunStatistics

TRACE_FILE = "trace.npz"
SIGNALS_FILE = "signals.npz"
RUN_FILE = "run.json"
PROGRAM_FILE = "program.tasm"


@dataclass(frozen=True, repr=False)
class SavedRun:
    """A run as it was read back, its outputs left where they are."""

    folder: Path
    """Where it was."""
    statistics: RunStatistics
    """The document of its ``run.json``."""
    trace: Trace | None
    """What every unit did when, if it was recorded."""
    signals: Signals | None = None
    """What flags, queues, buses and units held in each cycle of a window, if that was logged."""
    instant_cycles: Mapping[str, int] | None = None
    """Of transfers, by label, the cycles of a run in which they take no time, if such were simulated."""

    @cached_property
    def program(self) -> Program | None:
        """The program that ran, read from the folder when it is first asked for; None if it is not there.

        Raises:
            ProgramError: a file that is no program, or that of another run.
        """
        path = self.folder / PROGRAM_FILE
        if not path.is_file():
            return None
        program, ran = load_program(path), (self.statistics["network"], self.statistics["topology"])
        if (program.name, program.topology.name) != ran:
            raise ProgramError(f"{path}: must be the program of the run in {RUN_FILE} beside it, and is another one")
        return program

    @cached_property
    def path(self) -> CriticalPath | None:
        """Its critical path, worked out when it is first asked for; None without a trace."""
        return None if self.trace is None else critical_path(self.statistics, self.trace)

    @cached_property
    def stalls(self) -> Stalls | None:
        """What was recorded of its stalls, worked out when it is first asked for; None without a trace."""
        return None if self.trace is None else stalls(self.statistics, self.trace)

    def __repr__(self) -> str:
        return f"<SavedRun in {self.folder} of {run_words(self.statistics, self.trace)}>"


BOUNDS: Mapping[type, float] = {int: MOST, float: 1e30}
"""What is beyond every number of a run."""


@checked
def load_run(folder: Path | str, with_trace: bool = True) -> SavedRun:
    """The run in ``folder``, which :meth:`Run.save` or ``tilesim run ... --out`` has written; its trace and
    its state log too if ``with_trace``.

    Raises:
        InputError: there is no run, or its files are not what they must be: every fault a sentence.
    """
    folder = Path(folder)
    is_folder = odd_kind(folder) == "folder"
    if not is_folder or not (folder / RUN_FILE).is_file():
        reason = f"has no {RUN_FILE}" if is_folder else "is no folder"
        raise InputError(f"{folder}: {reason}; give one that `tilesim run MODEL --out DIR` has written")
    with undisturbed(folder):
        statistics = _statistics(folder / RUN_FILE)
        if not with_trace:
            return SavedRun(folder, statistics, None)
        return SavedRun(
            folder, statistics, _trace(folder / TRACE_FILE, statistics), _signals(folder / SIGNALS_FILE, statistics)
        )


def _statistics(path: Path) -> RunStatistics:
    try:
        document = json.loads(read_text(path, LARGEST_RUN_BYTES, InputError))
        _must_be_bearable(path, document)
        faults = [f"{path}: {fault}" for fault in _strange_numbers(document)]
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: must be JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: must be an object with the statistics of a run, not {shown(document)}")
    if document.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema must be {SCHEMA!r}, not {shown(document.get('schema'))}")
    refuse(faults)
    return _validated(path, document)


def _validated(path: Path, document: Any) -> RunStatistics:
    refuse(f"{path}: {fault}" for fault in invalid(RunStatistics, document))
    statistics: RunStatistics = document
    if any(layer.get("matrix") for layer in statistics["layers"]):  # which have gone through an array
        shape = statistics["chip"].get("array")
        refuse(f"{path}: {fault}" for fault in invalid(ArrayShape, shape, "chip", "array"))
    energy, layers = statistics.get("energy"), statistics["layers"]
    if energy and len(energy["layers"]) != len(layers):
        raise InputError(f"{path}: energy.layers must be those of {len(layers)} layers, not of {len(energy['layers'])}")
    return statistics


def invalid(kind: type, part: object, *place: str) -> Iterator[str]:
    """What is not as the ``kind`` says in the part of the document at ``place``; it may hold more."""
    try:
        _adapter(kind).validate_python(part, strict=True)
    except ValidationError as error:
        yield from (_sentence(fault, place) for fault in error.errors(include_url=False))


@cache  # made when a run is read, and not before
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _must_be_bearable(path: Path, document: Any) -> None:
    """Refuse more values than a run has: each may be a fault, which takes more memory than the value."""
    parts, count = [document], 1
    while parts:
        part = parts.pop()
        inside = [*part.values()] if isinstance(part, dict) else part if isinstance(part, list) else []
        count += len(inside)
        if count > MOST_RUN_VALUES:
            raise InputError(f"{path}: must have at most {MOST_RUN_VALUES} values")
        parts += inside


def _strange_numbers(part: Any, *steps: int | str) -> Iterator[str]:
    """What is too large to be of a run, or no number at all, as Python's JSON lets them be."""
    if isinstance(part, dict | list):
        for step, inner in part.items() if isinstance(part, dict) else enumerate(part):
            yield from _strange_numbers(inner, *steps, step)
    elif type(part) in BOUNDS and not -(most := BOUNDS[type(part)]) < part < most:
        yield f"{_place(steps)} must be a number between -{most:g} and {most:g}, not {shown(part)}"


def _place(steps: Iterable[int | str]) -> str:
    """Where something is; names may hold anything, and a terminal is not to obey them."""
    words = (f"[{step}]" if isinstance(step, int) else f".{json.dumps(step)[1:-1]}" for step in steps)
    return "".join(words).lstrip(".")


def _sentence(error: ErrorDetails, above: tuple[str, ...]) -> str:
    place = _place((*above, *error["loc"]))
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] == "dict_type":
        return f"{place} must be an object, not {shown(error['input'])}"
    if error["type"] == "too_long":
        return f"{place} must have at most {error['ctx']['max_length']} entries, not {len(error['input'])}"
    wanted = error["msg"].removeprefix("Input should be ").lower()
    return f"{place} must be {wanted}, not {shown(error['input'])}"


def shown(value: object) -> str:
    """A value in a sentence about it, not too long."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _signals(path: Path, statistics: RunStatistics) -> Signals | None:
    if not path.exists():
        return None
    signals = Signals.load(path)
    if signals.window and signals.window.stop > statistics["cycles"]:
        raise InputError(f"{path}: must be the state log of the run of {RUN_FILE} beside it, and goes beyond its end")
    return signals


def _trace(path: Path, statistics: RunStatistics) -> Trace | None:
    if not path.exists():
        return None
    trace = Trace.load(path)
    if statistics.get("trace_sha256") not in (trace.sha256, trace.sha256_of_words):
        raise InputError(f"{path}: must be the trace of the run that {RUN_FILE} beside it is of, and is of another one")
    return trace
