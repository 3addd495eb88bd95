"""Which operator is lowered how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tilesim.network.operators.add import Add
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.concatenation import Concatenation
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.mean import Mean
from tilesim.network.operators.multiply import Multiply as MultiplyOperator
from tilesim.network.operators.normalise import Normalise
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.resize_nearest import ResizeNearest
from tilesim.network.operators.slice import Slice
from tilesim.network.operators.softmax import Softmax
from tilesim.network.operators.table import Table
from tilesim.systolic.compiler.call import TaskCall
from tilesim.systolic.compiler.lower.copy import lower_concatenation, lower_pad, lower_resize_nearest, lower_slice
from tilesim.systolic.compiler.lower.elementwise import lower_pair, lower_rescale, lower_softmax, lower_table
from tilesim.systolic.compiler.lower.matrix import PendingMultiply, lower_product
from tilesim.systolic.compiler.lower.normalise import lower_normalise
from tilesim.systolic.compiler.lower.pool import lower_pool
from tilesim.systolic.isa.model.instructions import Instruction

_LOWER: dict[type, Callable[[TaskCall, Any], Iterator[Instruction]]] = {
    Add: lower_pair,
    AveragePool: lower_pool,
    Concatenation: lower_concatenation,
    MaxPool: lower_pool,
    Mean: lower_pool,
    MultiplyOperator: lower_pair,
    Normalise: lower_normalise,
    Pad: lower_pad,
    Rescale: lower_rescale,
    ResizeNearest: lower_resize_nearest,
    Slice: lower_slice,
    Softmax: lower_softmax,
    Table: lower_table,
}


def lower(call: TaskCall) -> Iterator[Instruction | PendingMultiply]:
    """The instructions of a call, in order, without what keeps them apart."""
    if call.product is not None:
        return lower_product(call)
    op = call.task.node.operator
    return iter(_LOWER[type(op)](call, op))
