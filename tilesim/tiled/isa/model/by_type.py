"""The instructions of a program by what they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program

Op = TypeVar("Op", bound=Instruction)


class ByType:
    """All instructions of a program, which are counted from the first of the load section on."""

    def __init__(self, program: Program) -> None:
        self._found: dict[type, list[tuple[int, Any]]] = defaultdict(list)
        for place, op in enumerate((*program.load, *program.run)):
            self._found[type(op)].append((place, op))

    def of(self, kind: type[Op]) -> Sequence[tuple[int, Op]]:
        """Those of one type, in order, each with its place."""
        return self._found.get(kind, ())
