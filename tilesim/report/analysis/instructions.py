"""The instructions of a run's program: what each does, what it waits for, and who brings that about."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.machines.instructions import Explanation
from tilesim.machines.machine import Explains
from tilesim.machines.program import Program, where
from tilesim.registry import machine_of


@dataclass(frozen=True)
class Listed:
    """An instruction of the run section: by the ``label`` that traces call it, with the words of its ``assembly`` but
    for label and layer; -1 is no layer.
    """

    label: str
    kind: str
    layer: int
    assembly: str
    explanation: Explanation


def listed(program: Program) -> list[Listed]:
    """The instructions of ``run``, in order; of a machine that does not explain them, without any explanation."""
    machine = machine_of(program.topology)
    known = machine.explain(program) if isinstance(machine, Explains) else [Explanation("", "")] * len(program.run)
    forms = machine.assembly.mnemonics
    return [
        Listed(
            label=where("run", place, op).rpartition(" ")[0],
            kind=op.mnemonic,
            layer=op.layer,
            assembly=" ".join(word for word in forms[op.mnemonic].write(op) if not word.startswith("layer=")),
            explanation=explanation,
        )
        for place, (op, explanation) in enumerate(zip(program.run, known, strict=True))
    ]
