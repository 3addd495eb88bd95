"""A saved run as read back from its folder: whatever is wrong with it is said in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from tilesim.errors import InputError
from tilesim.files import read_npz
from tilesim.run import SCHEMA

NAMES = ("tracks", "kinds", "whats", "layers")
SPANS = ("track", "start_cycle", "cycles", "kind", "what", "bytes", "released_by")
TRACE_FILE = "trace.npz"
RUN_FILE = "run.json"


@dataclass(frozen=True)
class SavedTrace:
    """The columns of a trace: spans sorted by track, then start.

    ``track``, ``kind`` and ``what`` index ``tracks``, ``kinds`` and ``whats``; ``released_by`` is the span that let a
    stall end, ``layer_of`` the layer of each of ``whats``, -1 where there is none. ``start`` is the cycle at which the
    run begins; before it lies the loading of parameters.
    """

    tracks: tuple[str, ...]
    kinds: tuple[str, ...]
    whats: tuple[str, ...]
    layers: tuple[str, ...]
    track: NDArray[np.int32]
    start_cycle: NDArray[np.int64]
    cycles: NDArray[np.int64]
    kind: NDArray[np.int32]
    what: NDArray[np.int32]
    bytes: NDArray[np.int64]
    released_by: NDArray[np.int32]
    layer_of: NDArray[np.int32]
    start: int


@dataclass(frozen=True)
class SavedRun:
    """The folder of a run, the document of its ``run.json``, and its trace if one was recorded."""

    folder: Path
    statistics: dict[str, Any]
    trace: SavedTrace | None


Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    """A part of run.json, as far as reports read it; it may hold more."""

    model_config = ConfigDict(strict=True)


class _Account(_Part):
    track: str
    busy_cycles: Count
    stall_cycles: dict[str, Count]
    idle_cycles: Count


class _Link(_Account):
    bytes: Count


class _Layer(_Part):
    name: str
    kind: str
    macs: Count
    start_cycle: int | None
    cycles: Count
    tiles: Count
    mac_utilisation: float
    mac_busy_cycles: Count
    bound_by: str | None
    breakdown: dict[str, Count]
    bytes: dict[str, Any]


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
    requests: list[dict[str, Any]]
    bytes: dict[str, Any]
    breakdown: dict[str, Count]
    chip: dict[str, Any]
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
    statistics = _statistics(folder / RUN_FILE)
    path = folder / TRACE_FILE
    return SavedRun(folder, statistics, _trace(path) if with_trace and path.exists() else None)


def _statistics(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: must be JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: must be an object with the statistics of a run, not {_shown(document)}")
    if document.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema must be {SCHEMA!r}, not {_shown(document.get('schema'))}")
    try:
        _Statistics.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{path}: {_sentence(each)}" for each in error.errors(include_url=False)) from None
    return document


def _sentence(error: ErrorDetails) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"]).lstrip(".")
    if error["type"] == "missing":
        return f"{place} is missing"
    wanted = error["msg"].removeprefix("Input should be ").lower()
    return f"{place} must be {wanted}, not {_shown(error['input'])}"


def _shown(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _trace(path: Path) -> SavedTrace:
    """The trace's columns; those that a trace may do without are empty, or hold -1."""
    arrays = read_npz(path, (*NAMES, *SPANS, "layer_of", "start"))
    if missing := [name for name in (*NAMES[:3], *SPANS[:6]) if name not in arrays]:
        raise InputError(f"{path}: must have the columns of a trace, but has no {', '.join(missing)}")
    columns: dict[str, Any] = {
        "layers": np.zeros(0, str),
        "released_by": np.full(arrays["track"].shape, -1, np.int32),
        "layer_of": np.full(arrays["whats"].shape, -1, np.int32),
        "start": np.int64(0),
        **arrays,
    }
    if faults := list(_faults(columns)):
        raise InputError(f"{path}: {fault}" for fault in faults)
    columns |= {name: tuple(columns[name].tolist()) for name in NAMES}
    return SavedTrace(**{**columns, "start": int(columns["start"])})


def _faults(columns: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    shape = columns["track"].shape
    for name in NAMES:
        if columns[name].ndim != 1 or columns[name].dtype.kind != "U":
            yield f"{name} must be a row of names"
    for name in (*SPANS, "layer_of", "start"):
        if columns[name].dtype.kind not in "iu":
            yield f"{name} must hold whole numbers, not {columns[name].dtype}"
        elif name in SPANS and (columns[name].ndim != 1 or columns[name].shape != shape):
            yield f"{name} must have one number a span ({shape}), not {columns[name].shape}"
        elif fault := _out_of_range(name, columns):
            yield fault


def _out_of_range(name: str, columns: Mapping[str, NDArray[Any]]) -> str | None:
    limits = {"track": "tracks", "kind": "kinds", "what": "whats", "released_by": "track", "layer_of": "layers"}
    column, least = columns[name], -1 if name in {"released_by", "layer_of"} else 0
    if not column.size or name == "start":
        return None
    if column.min() < least:
        return f"{name} must not be below {least}, and is {column.min()}"
    if name in limits and column.max() >= columns[limits[name]].size:
        return f"{name} must be below {columns[limits[name]].size}, and is {column.max()}"
    return None
