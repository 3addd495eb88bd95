"""Static checks of one instruction: its loops, what names them, and what its numbers mean to the arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tilesim.machines.checks import function_faults
from tilesim.printable import unknown
from tilesim.tiled.isa.checks.tensorop import NEEDS
from tilesim.tiled.isa.model.accesses import operands
from tilesim.tiled.isa.model.fields import ByteFilter, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import Classify, ElementType, Instruction, TensorOp, Work, counted_nest
from tilesim.tiled.isa.model.likeness import bases
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.topology import Topology

WORD_BITS = 32
SMALLEST, LARGEST = -(1 << 31), (1 << 31) - 1
BITMAPS = ("tiles", "to")
"""Numbers of as many bits as the chip has stops."""
MOST_ITERATIONS, MOST_WORDS = 1 << 28, 1 << 18
"""How often a tensorop's nest may run and how many words a DMA may move: more is no layer, and would only fill the
simulator's own memory.
"""

RANGES = {ElementType.I8: (-128, 127), ElementType.U8: (0, 255), ElementType.I16: (-32768, 32767)}


def value_faults(op: Instruction) -> Iterator[str]:
    """What is wrong with the numbers and names of an instruction whose loops are sound."""
    for name, value in vars(op).items():
        for number in _numbers(value) if name not in BITMAPS else ():
            if not SMALLEST <= number <= LARGEST:
                yield f"{name} must be a number of 32 bits, not {number}"
    most = MOST_ITERATIONS if isinstance(op, TensorOp) else MOST_WORDS
    for name, value in vars(op).items():
        nest = value.nest if isinstance(value, Traversal) else value
        if isinstance(nest, Nest) and iterations(nest) > most:
            yield f"{name} must run at most {most} times, not {iterations(nest)}"
    if isinstance(op, TensorOp):
        yield from _rule_faults(op)
    if isinstance(op, Classify):
        yield from function_faults(op.function, op.scaling, op.elements)
        yield from (f"{name} must be i8 or u8 for the classifier, not i16" for name in _types_of_16_bits(op))


def _numbers(value: Any) -> list[int]:
    """Every whole number in a value of an instruction."""
    if type(value) is int:
        return [value]
    if isinstance(value, ByteFilter):
        value = tuple(vars(value).values())
    if not isinstance(value, tuple):
        return []
    numbers: list[int] = []
    for item in value:
        if type(item) is int:
            numbers.append(item)
        elif type(item) is not str:
            numbers += _numbers(item)
    return numbers


def _rule_faults(op: TensorOp) -> Iterator[str]:
    for name in ("input", "weight", "output"):
        zero_point, (low, high) = getattr(op, f"{name}_zero_point"), RANGES[getattr(op, f"{name}_type")]
        if not low <= zero_point <= high:
            yield f"{name}_zero_point must be {low} to {high}, not {zero_point}"
    low, high = RANGES[op.output_type]
    if len(op.clamp) == 2 and not low <= op.clamp[0] <= op.clamp[1] <= high:
        yield f"clamp must lie in {low} to {high}, the range of {op.output_type}, not be {op.clamp[0]}, {op.clamp[1]}"
    rules = NEEDS[op.operation].rules
    if not rules or op.output is None or not op.rule:
        return
    if op.rule not in rules:
        yield f"rule {unknown(op.rule, rules, f'a rule of {op.operation}')}"
    elif op.parameters is None and len(op.scaling) != rules[op.rule]:
        yield f"scaling must hold {rules[op.rule]} numbers for the rule {op.rule}, not {len(op.scaling)}"
    elif op.parameters is None and (divisor := _divisor(op)) < 1:
        yield f"scaling must divide by at least 1, not by {divisor}"
    elif op.rule == "shift" and not all(0 <= places < WORD_BITS for places in op.scaling[:2]):
        yield f"scaling must shift by 0 to {WORD_BITS - 1} places, not by {op.scaling[0]} and {op.scaling[1]}"


def _types_of_16_bits(op: TensorOp | Classify) -> list[str]:
    return [name for name in ("input_type", "output_type") if getattr(op, name) is ElementType.I16]


def _divisor(op: TensorOp) -> int:
    """What its scaling divides by."""
    place = NEEDS[op.operation].divisors.get(op.rule)
    return 1 if place is None else op.scaling[place]


def nest_faults(instruction: Instruction, topology: Topology) -> Iterator[str]:
    """Nests too deep or with unsound loops, and loop names that no nest has."""
    for field, nest, deepest, references in _nests(instruction, topology):
        inside = [loop.name for loop in nest.loops]
        yield from (f"{field} {sentence}" for sentence in _loop_faults(nest, inside, deepest))
        for name, reference in references:
            yield from _stride_faults(name, reference, inside)
    counted = counted_nest(instruction) if isinstance(instruction, Work) else Nest(())
    yield from _sync_faults(instruction, {loop.name for loop in counted.loops})


def _nests(
    instruction: Instruction, topology: Topology
) -> Iterator[tuple[str, Nest, int, list[tuple[str, Reference]]]]:
    """Each nest with its field, its most loops, and the references that move with it."""
    moved = [(operand, getattr(instruction, operand.field)) for operand in operands(instruction, topology)]
    if isinstance(instruction, TensorOp):
        references = [(operand.field, reference) for operand, reference in moved if reference is not None]
        yield "nest", instruction.nest, topology.tile.loop_depth, references
        return
    for operand, traversal in moved:
        yield operand.field, traversal.nest, operand.loops, [(operand.field, traversal.reference)]


def _loop_faults(nest: Nest, names: list[str], deepest: int) -> Iterator[str]:
    if len(names) > deepest:
        yield f"must have at most {deepest} loops, not {len(names)}"
    for name in _twice(names):
        yield f"must have one loop called {name!r}, not {names.count(name)}"
    for loop in nest.loops:
        if loop.bound < 1:
            yield f"must run the loop {loop.name} at least once, not {loop.bound} times"
    if nest.alternate is None:
        return
    limit, outer, most = nest.alternate.limit, names[:-1], nest.loops[-1].bound if nest.loops else 0
    if nest.alternate.loop not in outer:
        yield f"alternate {unknown(nest.alternate.loop, outer, 'a loop around the innermost one')}"
    if not 1 <= limit <= most:
        yield f"alternate must be from 1 to the innermost bound {most}, not {limit}"


def _stride_faults(field: str, reference: Reference, loops: list[str]) -> Iterator[str]:
    names = [name for name, _ in reference.strides]
    for name in _twice(names):
        yield f"{field} must have one stride for the loop {name!r}, not {names.count(name)}"
    for name in names:
        if name not in loops:
            yield f"{field} {unknown(name, loops, 'moved by loops of the nest')}"


def _sync_faults(instruction: Instruction, loops: set[str]) -> Iterator[str]:
    watchers: tuple[Watcher, ...] = getattr(instruction, "wait", ())
    for watcher in watchers:
        if watcher.loop is not None and watcher.loop not in loops:
            yield f"wait on {watcher.flag} {unknown(watcher.loop, loops, 'in a loop of the instruction')}"
        if watcher.loop is None and watcher.stride:
            yield f"wait on {watcher.flag} must name a loop to count by {watcher.stride} in"
    produce = getattr(instruction, "produce", None)
    if produce is not None and produce not in loops:
        yield f"produce {unknown(produce, loops, 'a loop of the instruction')}"


def differs_soundly(instruction: Instruction) -> bool:
    """Whether nothing is wrong with what instructions may differ in that are alike, beside who they are for: they wait
    in loops of their own, and their numbers have 32 bits.
    """
    watchers: tuple[Watcher, ...] = getattr(instruction, "wait", ())
    loops = (
        {loop.name for loop in counted_nest(instruction).loops} if watchers and isinstance(instruction, Work) else ()
    )
    return SMALLEST <= instruction.layer <= LARGEST and all(
        SMALLEST <= watcher.expected <= LARGEST
        and SMALLEST <= watcher.stride <= LARGEST
        and (watcher.loop in loops if watcher.loop is not None else not watcher.stride)
        for watcher in watchers
    )


def bases_are_sound(instruction: Instruction) -> bool:
    """Whether the addresses at which operands begin are numbers of 32 bits."""
    return all(SMALLEST <= base <= LARGEST for base in bases(instruction))


def _twice(names: Iterable[str]) -> list[str]:
    listed = list(names)
    repeated = len(set(listed)) < len(listed)
    return sorted({name for name in listed if listed.count(name) > 1}) if repeated else []
