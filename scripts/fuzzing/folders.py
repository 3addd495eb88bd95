"""Damage to the folder of a saved run."""

from __future__ import annotations

import io
import json
import warnings
from random import Random
from typing import Any

import numpy as np

from scripts.fuzzing import archives, documents, nasty
from scripts.fuzzing.bytewise import damaged as bytewise
from scripts.fuzzing.case import Files
from tilesim.sim.trace.trace import Trace

STATISTICS, TRACE, SIGNALS = "run.json", "trace.npz", "signals.npz"


def damaged(rng: Random, files: Files, others: list[Files]) -> Files:
    """A run with one of its files changed, missing, of another run, or a folder."""
    folder = dict(files)
    choice = rng.random()
    if choice < 0.55:
        folder[STATISTICS] = documents.json_damaged(rng, folder[STATISTICS] or b"")
    elif choice < 0.75 and TRACE in folder:
        folder[TRACE] = _columns(rng, folder, TRACE, others)
        if rng.random() < 0.8:
            _sign(folder)
    elif choice < 0.85 and SIGNALS in folder:
        folder[SIGNALS] = _columns(rng, folder, SIGNALS, others)
    elif choice < 0.9:
        name = rng.choice(list(folder))
        folder[name] = bytewise(rng, folder[name] or b"", [content for content in folder.values() if content])
    else:
        _mix(rng, folder, rng.choice(others))
    return folder


def _columns(rng: Random, folder: Files, name: str, others: list[Files]) -> bytes:
    """A file of columns with some of them changed, or with other damage."""
    data = folder[name] or b""
    if rng.random() < 0.3:
        return archives.damaged(rng, data, [other[name] or b"" for other in others if name in other])
    members = archives.unpacked(data)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(members))
        values = archives.array(members[name])
        if values is not None:
            members[name] = archives.member(archives.changed(rng, values) if rng.random() < 0.4 else _near(rng, values))
    return archives.packed(members)


def _near(rng: Random, values: Any) -> Any:
    """An element with another one's value, or grown by one: what a trace may well hold."""
    values = values.copy()
    if values.size and values.dtype.kind in "iu":
        place = rng.randrange(values.size)
        other = int(values.flat[rng.randrange(values.size)])
        values.flat[place] = rng.choice((0, 1, 1 << 30, 1 << 47, other, int(values.flat[place]) + 1)) % (1 << 31)
    return values


def _sign(files: dict[str, bytes | None]) -> None:
    """Make ``run.json`` say that the trace is its own, if it can be read as one at all."""
    try:
        with warnings.catch_warnings(action="ignore"), np.load(io.BytesIO(files[TRACE] or b"")) as loaded:
            columns: dict[str, Any] = {name: loaded[name] for name in loaded.files if name != "schema"}
            digest = Trace(**columns).sha256
    except Exception:  # noqa: BLE001  (whatever is wrong with it is for tilesim to say)
        return
    statistics = json.loads(files[STATISTICS] or b"{}")
    files[STATISTICS] = json.dumps({**statistics, "trace_sha256": digest}).encode()


def _mix(rng: Random, folder: dict[str, bytes | None], other: Files) -> None:
    name = rng.choice(list(folder))
    choice = rng.random()
    if choice < 0.3:
        del folder[name]
    elif choice < 0.5:
        folder[name] = None
    elif choice < 0.6:
        folder[name] = b""
    elif choice < 0.65:
        folder[nasty.text(rng).replace("/", "").replace("\0", "")[:50] or "x"] = b""
    elif other.get(name):
        folder[name] = other[name]
