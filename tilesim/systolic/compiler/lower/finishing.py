"""What the vector unit does with sums besides scaling them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilesim.network.operators.normalise import Normalise as NormaliseOperator
from tilesim.network.operators.table import Table
from tilesim.systolic.compiler.call import TaskCall
from tilesim.systolic.compiler.lower.elementwise import normalise_of
from tilesim.systolic.compiler.lower.pool import pooling_of, window_of
from tilesim.systolic.compiler.task import POOLS
from tilesim.systolic.isa.model.instructions import Normalise, Pooling, Window


@dataclass(frozen=True)
class Finishing:
    """A look-up, and a normalisation and a pool in either order, any of which there need not be; ``positions`` is
    how many pixels an image has in the end.
    """

    positions: int
    table: Table | None = None
    normalise: Normalise | None = None
    pool: Pooling | None = None
    window: Window | None = None
    pool_first: bool = False


def finishing_of(call: TaskCall) -> Finishing:
    """The followers of a task, as an instruction has them."""
    assert call.product is not None
    finishing = Finishing(call.product.shape.positions)
    for node in call.task.followers:
        op = node.operator
        if isinstance(op, Table):
            finishing = replace(finishing, table=op)
        elif isinstance(op, NormaliseOperator):
            finishing = replace(finishing, normalise=normalise_of(op), pool_first=finishing.pool is not None)
        elif isinstance(op, POOLS):
            made = call.task.made.shape
            window = window_of(op, made)
            positions = window.output_height * window.output_width
            finishing = replace(finishing, pool=pooling_of(op, made), window=window, positions=positions)
    return finishing
