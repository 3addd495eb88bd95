"""Digests of what a case has left: the same whatever the day, the folder and the version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tilesim.sim.trace.trace import Trace

NONE = "-"

LEFT_OUT = frozenset({"schema", "version", "trace_sha256"})
"""Keys of documents that say nothing of the run, or have a column of their own."""


class Row(NamedTuple):
    """A digest of each thing that a case may leave, or ``-``; ``cycles`` are the run's, as they are.

    ``text`` is that of refusals, of reports of hangs and of what ``--json`` prints.
    """

    outputs: str = NONE
    run_json: str = NONE
    program: str = NONE
    trace: str = NONE
    text: str = NONE
    cycles: str = NONE


class Ended(NamedTuple):
    """How a case's steps ended: the status, and what was said."""

    status: int = 0
    said: str = ""


def left(folder: Path, ended: Ended, without: frozenset[str] = LEFT_OUT) -> Row:
    """The row of a case that was done in ``folder`` and ended like this; keys ``without`` don't count in documents."""
    out = folder / "out"
    document = json.loads((out / "run.json").read_text("utf-8")) if (out / "run.json").is_file() else {}
    programs = sorted(out.glob("program.*"))
    return Row(
        outputs=arrays(out / "outputs.npz"),
        run_json=digest([canonical(document, without).encode()]) if document else NONE,
        program=digest(files(programs)) if programs else NONE,
        trace=_trace(out / "trace.npz"),
        text=digest([f"{ended.status} {_text(ended.said, folder, without)}".encode()]) if any(ended) else NONE,
        cycles=str(document.get("cycles", NONE)),
    )


def digest(parts: Iterable[bytes]) -> str:
    """A short digest of parts, in order."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.hexdigest()[:16]


def _trace(path: Path) -> str:
    """What was said of a trace up to 0.2, so that rows from then can be compared."""
    return Trace.load(path).sha256_of_words[:16] if path.is_file() else NONE


def arrays(path: Path) -> str:
    """The digest of the arrays of an .npz, if there is one: names, dtypes, shapes, values."""
    return digest(_arrays(path)) if path.is_file() else NONE


def _arrays(path: Path) -> Iterable[bytes]:
    with np.load(path, allow_pickle=False) as archive:
        for name in sorted(archive.files):
            array = archive[name]
            yield f"{name} {array.dtype.str} {array.shape}".encode()
            yield array.tobytes()


def files(paths: Iterable[Path]) -> Iterable[bytes]:
    """What files hold; of an .npz its arrays, whose packing may differ."""
    for path in paths:
        yield path.name.encode()
        yield from _arrays(path) if path.suffix == ".npz" else [path.read_bytes()]


def canonical(document: object, without: frozenset[str]) -> str:
    """A JSON document as one text, whatever the order of its keys, and without some, wherever they are."""
    return json.dumps(_plain(document, without), sort_keys=True)


def _plain(value: object, without: frozenset[str]) -> object:
    if isinstance(value, dict):
        return {key: _plain(part, without) for key, part in value.items() if key not in without}
    return [_plain(part, without) for part in value] if isinstance(value, list) else value


def _text(text: str, folder: Path, without: frozenset[str]) -> str:
    """A text without the folder and the breaks of its lines, in which terminals have a say; or its JSON, canonical."""
    try:
        return canonical(json.loads(text), without)
    except ValueError:
        return " ".join(text.replace(f"{folder}/", "").split())
