"""Static checks of a program: what no hardware could run, or would run in no certain order, found before the run."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.machines.program import where
from tilesim.rotating.isa.checks.fields import field_faults, number_faults
from tilesim.rotating.isa.checks.hazards import hazards
from tilesim.rotating.isa.checks.host import move_faults, output_faults, tensor_faults
from tilesim.rotating.isa.checks.loops import loop_faults, size_faults
from tilesim.rotating.isa.checks.order import Order
from tilesim.rotating.isa.checks.outs import out_faults, register_faults
from tilesim.rotating.isa.checks.rows import row_faults, work_faults
from tilesim.rotating.isa.checks.section import Section
from tilesim.rotating.isa.checks.unwritten import Written
from tilesim.rotating.isa.model.instructions import Instruction
from tilesim.rotating.isa.model.program import Program


def faults(program: Program) -> list[str]:
    """Everything that is wrong with ``program``, one sentence each; empty when it is sound.

    A fault names the instruction by its label or its place (``run[3] out``). A program without a halt is sound, and
    hangs. What goes beyond single instructions, their addresses and registers is looked at once these are sound: first
    whether the units can go on, then whether rows are written before they are read, and whether syncs order all that
    must be ordered.
    """
    sentences = list(tensor_faults(program))
    parts = [Section(name, ops, program.topology) for name, ops in sections(program)]
    for section in parts:
        sentences += _section_faults(section, program)
    if not sentences:
        sentences += output_faults(program)
    return sentences or _order_faults(parts, program)


def sections(program: Program) -> tuple[tuple[str, tuple[Instruction, ...]], ...]:
    """The sections of a program by name, in the order in which they run."""
    return ("load", program.load), ("run", program.run)


def _section_faults(section: Section, program: Program) -> Iterator[str]:
    """What is wrong with instructions, in the order in which they stand, then with what loops make of them."""
    name, ops, sound = section.name, section.ops, True
    yield from size_faults(name, ops, program.topology)
    for place, op in enumerate(ops):
        numbers = list(number_faults(op))
        sound &= not numbers
        for sentence in numbers or _instruction_faults(op, name, program):
            yield f"{where(name, place, op)}: {sentence}"
    loops = list(loop_faults(name, ops, program.topology))
    yield from loops
    if sound and not loops:
        yield from out_faults(name, ops, program.topology.units.count)
        yield from register_faults(section)
        yield from row_faults(section)
        yield from work_faults(section)


def _instruction_faults(op: Instruction, name: str, program: Program) -> Iterator[str]:
    if not -1 <= op.layer < len(program.layers):
        yield f"layer must be -1 to {len(program.layers) - 1}, not {op.layer}"
    fields = list(field_faults(op, program.topology))
    yield from fields
    if not fields:
        yield from move_faults(op, name, program)


def _order_faults(parts: list[Section], program: Program) -> list[str]:
    """What is wrong with the order of a program's units, section by section, up to one that can't go on."""
    written, sentences = Written(program.topology), list[str]()
    for section in parts:
        order = Order(section)
        if order.held:
            return [*sentences, *order.deadlock.sentences()]
        sentences += [*written.faults(order), *hazards(order)]
    return sentences
