"""Zero-point borders of a feature map."""

from __future__ import annotations

from typing import NamedTuple


class Padding(NamedTuple):
    """Rows and columns added around a map."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0
