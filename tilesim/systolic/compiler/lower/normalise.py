"""Local response normalisation of maps that are in the unified buffer."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.network.operators.normalise import Normalise as NormaliseOperator
from tilesim.systolic.compiler.call import TaskCall
from tilesim.systolic.compiler.lower.elementwise import pieces
from tilesim.systolic.compiler.lower.traits import Traits
from tilesim.systolic.isa.model.instructions import Instruction, Normalisation, Normalise


def normalise_of(op: NormaliseOperator) -> Normalise:
    return Normalise(op.size, tuple(op.scaling), op.clamp)


def lower_normalise(call: TaskCall, op: NormaliseOperator) -> Iterator[Instruction]:
    """Pixel by pixel."""
    for source, destination in pieces(call, rows=True):
        yield Normalisation(source=source, destination=destination, normalise=normalise_of(op), element=call.element)


OPERATORS = {NormaliseOperator: Traits(lower_normalise)}
