"""What the host sends only once it has results: rows of the tensors that it makes of them."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.instructions import Outfeed
from tilesim.tiled.isa.model.program import GivenTensor, Program, awaited_by_step


def waiting_rows(program: Program) -> Iterator[tuple[int, int]]:
    """The first row of each such tensor among all that the host sends, and how many rows the outfeed must have taken
    before, which takes them in order; the host does one step after the other.
    """
    through, needed, taken = _through(program), dict[int, int](), 0
    for step, awaited in awaited_by_step(program):
        taken = max(taken, *(through.get(number, 0) for number in awaited), 0)
        needed[step.makes] = taken
    row = 0
    for tensor in program.sent:
        if isinstance(tensor, GivenTensor) and needed.get(tensor.index):
            yield row, needed[tensor.index]
        row += tensor.rows


def _through(program: Program) -> dict[int, int]:
    """How many rows the outfeed has taken in all when it has those of an output, by number."""
    taken, through = 0, dict[int, int]()
    for op in program.run:
        if isinstance(op, Outfeed):
            taken += op.rows
            through[op.output] = taken
    return through
