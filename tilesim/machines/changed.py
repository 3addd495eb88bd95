"""Instructions like others."""

from __future__ import annotations

from typing import Any, TypeVar

from tilesim.machines.program import Instruction

Op = TypeVar("Op", bound=Instruction)


def changed(op: Op, **changes: Any) -> Op:
    """``op`` with other values of some fields: what ``replace`` makes, which asks each of the fields, and takes many
    times as long. A compiler makes thousands of them.
    """
    made = object.__new__(type(op))
    its_fields = vars(made)
    its_fields.update(vars(op))
    its_fields.update(changes)
    return made
