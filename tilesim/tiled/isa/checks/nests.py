"""Static checks of nests and of what names their loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilesim.printable import unknown
from tilesim.tiled.isa.model.accesses import operands
from tilesim.tiled.isa.model.fields import Nest, Reference, Watcher
from tilesim.tiled.isa.model.instructions import Instruction, TensorOp, Work, counted_nest
from tilesim.tiled.topology import Topology


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


def _twice(names: Iterable[str]) -> list[str]:
    listed = list(names)
    repeated = len(set(listed)) < len(listed)
    return sorted({name for name in listed if listed.count(name) > 1}) if repeated else []
