"""Where the chips and workloads that come with tilesim are."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def shipped(kind: Literal["topologies", "workloads"]) -> Path:
    """The folder of shipped ``topologies`` or ``workloads``, of a wheel as of a checkout, whatever the working folder.

    A wheel carries both folders inside the package; in a checkout they stand beside it.
    """
    packaged = _PACKAGE / "_shipped" / kind
    return packaged if packaged.is_dir() else _PACKAGE.parent / kind
