"""What is replayed: a name, and what is done, step by step, in a folder of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Step: TypeAlias = tuple[str, ...]
"""``tilesim`` and its words; ``python``, a network and a chip, which go through the library's calls; or ``edit``, the
name of a text, a pattern and what comes in its place."""


@dataclass(frozen=True)
class Case:
    """One row. ``files`` are there before the first step, by name; what the last step leaves in ``out`` is digested."""

    name: str
    steps: tuple[Step, ...]
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def weight_bytes(self) -> int:
        """What it takes, roughly: those with large files go first."""
        return sum(path.stat().st_size for path in self.files.values())

    def drawn(self, share: int) -> bool:
        """Whether it belongs to a part of one in ``share`` cases: the same ones, whatever others there are."""
        return int(hashlib.sha256(self.name.encode()).hexdigest(), 16) % share == 0
