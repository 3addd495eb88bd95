"""Static checks of a tensorop: the operands that each operation needs, its lanes, reduction loops and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilesim.tiled.isa.model.accesses import moves_by_lane
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.topology import Topology


@dataclass(frozen=True)
class OperationNeeds:
    """What an operation needs of its instruction.

    ``operand``: which one beside its input; operations that do not need it do not take it. ``rules``: those by which it
    rounds, and how many numbers ``scaling`` holds for each if there are no parameter rows; ``divisors``: where in
    ``scaling`` stands what it divides by. ``parameters``: whether it takes any; ``by_channel``: whether its results are
    requantised by them, channel by channel, not by one scaling.
    """

    operand: str = ""
    rules: Mapping[str, int] = field(default_factory=dict)
    divisors: Mapping[str, int] = field(default_factory=dict)
    parameters: bool = False
    by_channel: bool = False


_BY_CHANNEL = dict.fromkeys(("double", "single", "long", "float", "wide"), 0)
_PRODUCTS = OperationNeeds("weights", _BY_CHANNEL, parameters=True, by_channel=True)

NEEDS: Mapping[Operation, OperationNeeds] = {
    Operation.CONVOLUTION: _PRODUCTS,
    Operation.DEPTHWISE: _PRODUCTS,
    Operation.SUM: OperationNeeds(rules={"double": 2, "single": 2, "float": 2, "divide": 2}, divisors={"divide": 0}),
    Operation.AVERAGE: OperationNeeds(rules={"real": 5}, divisors={"real": 2}),
    Operation.MAXIMUM: OperationNeeds(),
    Operation.ADD: OperationNeeds("input_b", {"double": 9, "double16": 9, "shift": 3, "float": 3, "real": 6}),
    Operation.MULTIPLY: OperationNeeds("input_b", {"double": 5, "float": 5, "real": 6}),
    Operation.TABLE: OperationNeeds(parameters=True),
    Operation.LEAKY_RELU: OperationNeeds(rules={"double": 4, "single": 4}),
}

WIDTHS = (8, 16)


def tensorop_faults(op: TensorOp, topology: Topology) -> Iterator[str]:
    """What is wrong with ``op`` beyond its loops and addresses."""
    yield from _operand_faults(op)
    yield from _result_faults(op)
    yield from _lane_faults(op, topology)
    yield from _reduce_faults(op)
    if len(op.widths) != 2 or not set(op.widths) <= set(WIDTHS):
        yield f"widths must be two of {_listed(WIDTHS)}, for activations and weights, not {_listed(op.widths)}"
    elif op.widths != op.operand_bits:
        yield f"widths must be {_listed(op.operand_bits)}, as {_types_multiplied(op)}, not {_listed(op.widths)}"
    if op.operation is Operation.TABLE and ElementType.I16 in (op.input_type, op.output_type):
        yield "input_type and output_type must be i8 or u8 for table, which looks up bytes, not i16"
    if len(op.clamp) != 2 or op.clamp[0] > op.clamp[1]:
        yield f"clamp must be the smallest and the largest result, not {_listed(op.clamp)}"


def _types_multiplied(op: TensorOp) -> str:
    weights = "" if op.weights is None else f" and weights {op.weight_type}"
    return f"activations are {op.input_type}{weights}"


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers)) or "nothing"


def _operand_faults(op: TensorOp) -> Iterator[str]:
    for name in sorted({needs.operand for needs in NEEDS.values() if needs.operand}):
        needed, given = name == NEEDS[op.operation].operand, getattr(op, name) is not None
        if needed and not given:
            yield f"{name} must be given for {op.operation}"
        if given and not needed:
            yield f"{name} must not be given for {op.operation}, which has none"


def _result_faults(op: TensorOp) -> Iterator[str]:
    if (op.output is None) == (op.sums_out is None):
        yield f"output or sums_out must be given, not {'neither' if op.output is None else 'both'}"
    if op.operation is Operation.TABLE and (op.output is None or op.parameters is None):
        yield "parameters and output must be given for table, which looks up bytes"
    needs = NEEDS[op.operation]
    if op.parameters is not None and not needs.parameters:
        yield f"parameters must not be given for {op.operation}, which has none"
    if op.output is None or not needs.rules:
        return
    if not op.rule:
        yield f"rule must say how the results of {op.operation} are requantised"
    if needs.by_channel and op.parameters is None:
        yield f"parameters must be given, to requantise the results of {op.operation}"
    if not needs.by_channel and not op.scaling:
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
    for operand in op.row.operands:
        reference = getattr(op, operand.field)
        for loop, stride in reference.strides if reference and operand.once_a_group else ():
            if stride and loop in op.reduce:
                yield f"{operand.field} must not move in the reduction loop {loop}: there is one a result group"
        if reference is not None and operand.field != "output" and moves_by_lane(op, reference):
            yield f"{operand.field} must not move in the loop {names[-1]} of the lanes: one access serves all of them"
