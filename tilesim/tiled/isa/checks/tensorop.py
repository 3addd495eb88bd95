"""Static checks of a tensorop: the operands that each operation needs, its lanes, reduction loops and numbers."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.accesses import OPERANDS
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import Topology

NEEDS: dict[Operation, tuple[str, ...]] = {
    Operation.CONVOLUTION: ("weights",),
    Operation.DEPTHWISE: ("weights",),
    Operation.SUM: (),
    Operation.AVERAGE: (),
    Operation.MAXIMUM: (),
    Operation.ADD: ("input_b",),
    Operation.MULTIPLY: ("input_b",),
    Operation.TABLE: (),
}
"""The operands that an operation needs, beside its input; operations that do not need them do not take them."""

REQUANTISED = frozenset(Operation) - {Operation.MAXIMUM, Operation.TABLE}
BY_CHANNEL = frozenset({Operation.CONVOLUTION, Operation.DEPTHWISE})
"""Operations whose results are requantised channel by channel, by parameter rows; others carry one scaling."""
PARAMETRISED = BY_CHANNEL | {Operation.TABLE}

WIDTHS = (8, 16)


def tensorop_faults(op: TensorOp, topology: Topology) -> Iterator[str]:
    """What is wrong with ``op`` beyond its loops and addresses."""
    yield from _operand_faults(op)
    yield from _result_faults(op)
    yield from _lane_faults(op, topology)
    yield from _reduce_faults(op)
    if len(op.widths) != 2 or not set(op.widths) <= set(WIDTHS):
        yield f"widths must be two of {_listed(WIDTHS)}, for activations and weights, not {_listed(op.widths)}"
    if len(op.clamp) != 2 or op.clamp[0] > op.clamp[1]:
        yield f"clamp must be the smallest and the largest result, not {_listed(op.clamp)}"


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers)) or "nothing"


def _operand_faults(op: TensorOp) -> Iterator[str]:
    for field in sorted({field for needed in NEEDS.values() for field in needed}):
        needed, given = field in NEEDS[op.operation], getattr(op, field) is not None
        if needed and not given:
            yield f"{field} must be given for {op.operation}"
        if given and not needed:
            yield f"{field} must not be given for {op.operation}, which has none"


def _result_faults(op: TensorOp) -> Iterator[str]:
    if (op.output is None) == (op.sums_out is None):
        yield f"output or sums_out must be given, not {'neither' if op.output is None else 'both'}"
    if op.operation is Operation.TABLE and (op.output is None or op.parameters is None):
        yield "parameters and output must be given for table, which looks up bytes"
    if op.parameters is not None and op.operation not in PARAMETRISED:
        yield f"parameters must not be given for {op.operation}, which has none"
    if op.output is None or op.operation not in REQUANTISED:
        return
    if not op.rule:
        yield f"rule must say how the results of {op.operation} are requantised"
    if op.operation in BY_CHANNEL and op.parameters is None:
        yield f"parameters must be given, to requantise the results of {op.operation}"
    if op.operation not in BY_CHANNEL and not op.scaling:
        yield f"scaling must be given, to requantise the results of {op.operation}"


def _lane_faults(op: TensorOp, topology: Topology) -> Iterator[str]:
    if not op.nest.loops:
        yield "nest must have at least the loop of the lanes"
        return
    broadcast = op.operation is Operation.CONVOLUTION
    most, key = (topology.tile.lanes, "lanes") if broadcast else (topology.tile.vector_bytes, "vector_bytes")
    innermost = op.nest.loops[-1]
    if innermost.bound > most:
        yield f"nest must have at most {most} lanes (tile.{key}) in its innermost loop, not {innermost.bound}"


def _reduce_faults(op: TensorOp) -> Iterator[str]:
    names = [loop.name for loop in op.nest.loops]
    count = len(op.reduce)
    inside = names[max(0, len(names) - 1 - count) : -1]
    if sorted(op.reduce) != sorted(inside):
        there = ", ".join(inside) or "none"
        yield f"reduce must be the {count} loops just around the lanes ({there}), not {', '.join(op.reduce)}"
    inner = {*op.reduce, *names[-1:]}
    for watcher in op.wait:
        if watcher.loop in inner:
            yield f"wait must watch at a loop around the result groups, not at {watcher.loop}"
    if op.produce in inner and [op.produce] != [name for name in names if name in op.reduce][:1]:
        yield f"produce must name a loop around the result groups, or the outermost of the reduction, not {op.produce}"
    if op.nest.alternate is not None and op.nest.alternate.loop in inner:
        yield f"nest must have its alternate limit in a loop around the result groups, not in {op.nest.alternate.loop}"
    for field, operand in OPERANDS.items():
        reference = getattr(op, field)
        for loop, stride in reference.strides if reference and operand.once_a_group else ():
            if stride and loop in op.reduce:
                yield f"{field} must not move in the reduction loop {loop}: there is one a result group"
