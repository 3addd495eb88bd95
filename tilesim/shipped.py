"""The chips and workloads that come with tilesim: where they are, and which name means which file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeAlias

from tilesim.errors import ConfigError
from tilesim.printable import shown

Kind: TypeAlias = Literal["topologies", "workloads"]

SUFFIXES: Mapping[Kind, tuple[str, ...]] = {"topologies": (".yaml",), "workloads": (".onnx", ".tflite", ".yaml")}
LARGE = "large"
"""The folder of those that take many seconds to read: they have a name like the others, and are not listed."""
CALIBRATION = "calibration"
"""The folder of tables of published points, and of small networks that these name, which are not listed either."""
SINGULAR: Mapping[Kind, str] = {"topologies": "topology", "workloads": "workload"}

_PACKAGE = Path(__file__).resolve().parent


def shipped(kind: Kind) -> Path:
    """The folder of shipped ``topologies`` or ``workloads``, of a wheel as of a checkout, whatever the working folder.

    A wheel carries both folders inside the package; in a checkout they stand beside it.
    """
    packaged = _PACKAGE / "_shipped" / kind
    return packaged if packaged.is_dir() else _PACKAGE.parent / kind


def names(kind: Kind) -> tuple[str, ...]:
    """Names of the topologies or workloads that come with tilesim."""
    return tuple(sorted({path.stem for path in shipped(kind).iterdir() if path.suffix in SUFFIXES[kind]}))


def located(name_or_path: Path | str, kind: Kind) -> Path:
    """A path (anything with ``/`` or an ending), or that of what is shipped under a name.

    Raises:
        ConfigError: nothing is, or it is neither text nor a path.
    """
    if not isinstance(name_or_path, (str, Path)):
        raise ConfigError(f"the {SINGULAR[kind]} must be a name or a path, not a {type(name_or_path).__name__}")
    text = str(name_or_path)
    if text in {"", "."}:  # a path of nothing is the folder one is in
        raise ConfigError(f"a {SINGULAR[kind]} must be given by its name or file, not by {shown(text)}")
    if "/" in text or Path(text).suffix:
        return Path(text)
    beside = (path for folder in (LARGE, CALIBRATION) for path in (shipped(kind) / folder).glob("*"))
    for path in (*shipped(kind).iterdir(), *beside):
        if path.stem == text and path.suffix in SUFFIXES[kind]:
            return path
    raise ConfigError(f"{text}: there is no such {SINGULAR[kind]}; {_advice(text, kind)}")


def _advice(text: str, kind: Kind) -> str:
    """What may have been meant by a name that does not exist; one that differs in its numbers alone is no slip."""
    known = names(kind)
    near = [name for name in get_close_matches(text, known, 1) if re.sub(r"\d", "", name) != re.sub(r"\d", "", text)]
    if near:
        return f"did you mean {near[0]}?"
    grid = "; the override grid=RxC gives a chip another grid of tiles" if kind == "topologies" else ""
    return f"there are {', '.join(known)}; a file's name has a / or an ending{grid}"
