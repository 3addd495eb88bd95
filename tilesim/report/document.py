"""A saved run as read back from its folder: whatever is wrong with it is said in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from tilesim.budgets import LARGEST_RUN_BYTES, MOST_RUN_VALUES
from tilesim.errors import InputError
from tilesim.files import read_text
from tilesim.saving import undisturbed
from tilesim.sim.trace.trace import MOST, Trace
from tilesim.statistics import SCHEMA

TRACE_FILE = "trace.npz"
RUN_FILE = "run.json"


@dataclass(frozen=True)
class SavedRun:
    """The folder of a run, the document of its ``run.json``, and its trace if one was recorded."""

    folder: Path
    statistics: dict[str, Any]
    trace: Trace | None


BOUNDS: Mapping[type, float] = {int: MOST, float: 1e30}
"""What is beyond every number of a run."""
Count = Annotated[int, Field(ge=0)]
Counts = Annotated[dict[str, Count], Field(max_length=1000)]
"""By causes, buses or memories, of which a chip has few."""


class _Part(BaseModel):
    """A part of run.json, as far as reports read it; it may hold more."""

    model_config = ConfigDict(strict=True)


class _Bytes(_Part):
    entered: Count
    carried: Count


class _Account(_Part):
    track: str
    busy_cycles: Count
    stall_cycles: Counts
    idle_cycles: Count


class _Link(_Account):
    bytes: Count


class _Action(_Part):
    count: Count
    bytes: Count
    pj: float


class _LayerEnergy(_Part):
    actions: dict[str, _Action]
    total_pj: float


class _Energy(_LayerEnergy):
    table: dict[str, Any]
    layers: list[_LayerEnergy]
    outside_layers: _LayerEnergy


class _Matrix(_Part):
    vectors: Count
    inputs: Count
    outputs: Count
    groups: Count


class _Layer(_Part):
    network: str
    name: str
    parameters: str = ""
    kind: str
    macs: Count
    start_cycle: int | None
    cycles: Count
    tiles: Count
    mac_utilisation: float
    mac_busy_cycles: Count
    bound_by: str | None
    breakdown: Counts
    bytes: dict[str, _Bytes]
    matrix: _Matrix | None = None


class _Request(_Part):
    network: str
    start_cycle: Count
    end_cycle: Count
    latency_cycles: Count


class _BatchStep(_Part):
    layer: Count
    first: Count
    count: Count
    start_cycle: Count
    end_cycle: Count
    buffer_bytes: Count


class _Batching(_Part):
    schedule: str
    steps: list[_BatchStep]
    weight_set_loads: Count
    weight_bytes: Count
    peak_buffer_bytes: Count
    latency_first_cycles: Count
    latency_last_cycles: Count


class _Array(_Part):
    rows: Annotated[int, Field(gt=0)]
    columns: Annotated[int, Field(gt=0)]
    weights: Literal["columns", "rows"]


class _Chip(_Part):
    array: _Array | None = None


class _Statistics(_Part):
    network: str
    topology: str
    machine: str
    cycles: Count
    load_cycles: Count
    clock_hz: Annotated[int, Field(gt=0)]
    latency_us: float
    macs: Count
    mac_utilisation: float
    inferences: Count
    requests: list[_Request]
    bytes: dict[str, _Bytes]
    bound_by: str | None
    streamed_bytes: Count = 0
    partition: dict[str, Any] | None = None
    energy: _Energy | None = None
    batching: _Batching | None = None
    breakdown: Counts
    chip: _Chip
    units: list[_Account]
    links: list[_Link]
    layers: list[_Layer]


def load_run(folder: Path, with_trace: bool = True) -> SavedRun:
    """The run in ``folder``, which ``tilesim run ... --out`` has written; its trace too if ``with_trace``.

    Raises:
        InputError: there is no run, or its files are not what they must be: every fault a sentence.
    """
    if not (folder / RUN_FILE).is_file():
        reason = f"has no {RUN_FILE}" if folder.is_dir() else "is no folder"
        raise InputError(f"{folder}: {reason}; give one that `tilesim run MODEL --out DIR` has written")
    with undisturbed(folder):
        statistics = _statistics(folder / RUN_FILE)
        path = folder / TRACE_FILE
        with_trace = with_trace and path.exists()
        return SavedRun(folder, statistics, _trace(path, statistics) if with_trace else None)


def _statistics(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_text(path, LARGEST_RUN_BYTES, InputError))
        _must_be_bearable(path, document)
        faults = [f"{path}: {fault}" for fault in _strange_numbers(document)]
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: must be JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: must be an object with the statistics of a run, not {_shown(document)}")
    if document.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema must be {SCHEMA!r}, not {_shown(document.get('schema'))}")
    if faults:
        raise InputError(faults)
    try:
        found = _Statistics.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{path}: {_sentence(each)}" for each in error.errors(include_url=False)) from None
    if found.energy is not None and len(found.energy.layers) != len(found.layers):
        raise InputError(
            f"{path}: energy.layers must be those of {len(found.layers)} layers, not of {len(found.energy.layers)}"
        )
    return document


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
        yield f"{_place(steps)} must be a number between -{most:g} and {most:g}, not {_shown(part)}"


def _place(steps: Iterable[int | str]) -> str:
    """Where something is; names may hold anything, and a terminal is not to obey them."""
    words = (f"[{step}]" if isinstance(step, int) else f".{json.dumps(step)[1:-1]}" for step in steps)
    return "".join(words).lstrip(".")


def _sentence(error: ErrorDetails) -> str:
    place = _place(error["loc"])
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] in {"model_type", "dict_type"}:
        return f"{place} must be an object, not {_shown(error['input'])}"
    if error["type"] == "too_long":
        return f"{place} must have at most {error['ctx']['max_length']} entries, not {len(error['input'])}"
    wanted = error["msg"].removeprefix("Input should be ").lower()
    return f"{place} must be {wanted}, not {_shown(error['input'])}"


def _shown(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _trace(path: Path, statistics: dict[str, Any]) -> Trace:
    trace = Trace.load(path)
    if trace.sha256 != statistics.get("trace_sha256"):
        raise InputError(f"{path}: must be the trace of the run that {RUN_FILE} beside it is of, and is of another one")
    return trace
