"""Start times that the user gives instructions: which ones there are, and when they begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.errors import InputError
from tilesim.printable import shown, unknown
from tilesim.systolic.isa.model.instructions import Instruction
from tilesim.systolic.isa.model.program import Program

LATEST = 1 << 40
"""The last cycle up to which an instruction may be held."""


def check_holds(program: Program, not_before: Mapping[str, int]) -> None:
    """See to it that ``not_before`` holds labels of instructions that a unit takes up, and cycles.

    Raises:
        InputError: it does not; everything that is wrong at once.
    """
    if not not_before:
        return
    labelled = {op.label: op for op in (*program.load, *program.run)}
    faults = [
        f"hold {shown(key)}: {fault}" for key, cycle in not_before.items() for fault in _faults(key, cycle, labelled)
    ]
    if faults:
        raise InputError(faults)


def _faults(label: str, cycle: int, labelled: Mapping[str, Instruction]) -> Iterator[str]:
    op = labelled.get(label)
    if op is None:
        yield unknown(label, labelled, "the label of an instruction")
    elif op.queue is None:
        yield f"must be an instruction that a unit takes up, not a {op.mnemonic}"
    if not 0 <= cycle <= LATEST:
        yield f"must be up to a cycle from 0 to {LATEST}, not {cycle}"
