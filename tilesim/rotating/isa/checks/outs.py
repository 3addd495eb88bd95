"""Static checks of outs: with the masks and the control registers in effect, and the sets that they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.machines.checks import rule_faults
from tilesim.machines.program import where
from tilesim.rotating.isa.checks.implied import fetched, needed
from tilesim.rotating.isa.checks.in_effect import in_effect
from tilesim.rotating.isa.checks.section import Section
from tilesim.rotating.isa.model.instructions import Function, Instruction, Mask, Out, Parameters, Place, Set


def out_faults(name: str, ops: Sequence[Instruction], units: int) -> Iterator[str]:
    """What is wrong with outs of a section whose loops have no faults."""
    masks, sets = in_effect(ops, Mask, Mask()), in_effect(ops, Set, Set())
    for place in masks:
        op = ops[place]
        assert isinstance(op, Out)
        sentences = [fault for mask in masks[place] for fault in _placed(op.place, mask, units)]
        sentences += [fault for registers in sets[place] for fault in _ruled(op, registers)]
        for sentence in dict.fromkeys(sentences):
            yield f"{where(name, place, op)}: {sentence}"


def register_faults(section: Section) -> Iterator[str]:
    """Outs that take a set of parameters, or the table of look-ups, which nothing before them fetches."""
    there: set[int | None] = set()
    for nested in section.nested:  # the first turns come first, in this order
        if isinstance(nested.op, Parameters):
            there.add(fetched(nested.op))
        elif isinstance(nested.op, Out):
            for register in needed(nested.op):
                if register not in there:
                    what = "the table of look-ups" if register is None else f"set {register} of the parameters"
                    yield f"{where(section.name, nested.place, nested.op)}: {what} must be fetched before it"


def _placed(place: Place | None, mask: Mask, units: int) -> Iterator[str]:
    """Words that are moved keep out of each other's way, and of other slots'."""
    if place is None or place.slots < 1:
        return
    if not mask.count:
        yield "place must have a mask, which says what the blocks are"
    elif mask.blocks * mask.block > units:
        yield f"place must have blocks of at most {units} words in all, and the mask has {mask.blocks * mask.block}"
    elif mask.block % place.slots:
        yield f"place.slots must divide a block of {mask.block} words, not be {place.slots}"
    elif mask.count > mask.block // place.slots:
        room = f"a block of {mask.block} words has slots of {mask.block // place.slots}"
        yield f"place must have room for {mask.count} words, those of a block that the mask names, and {room}"


def _ruled(op: Out, registers: Set) -> Iterator[str]:
    if op.function is Function.REQUANTISE:
        yield from rule_faults("requantise", registers.rule)
    elif op.function is Function.COMBINE:
        yield from rule_faults(registers.combine, registers.rule, registers.scaling)
