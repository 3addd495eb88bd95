"""Who is in whose way: as a comparison byte by byte says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tilesim.errors import AccessError
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.read_out import read_out
from tilesim.tiled.isa.model.instructions import TensorOp, Work
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.footprint import footprints

Touched = tuple[int, int]
"""The bytes that an instruction writes, and those that it reads or writes, as bitmaps; wide memory is far behind."""
FAR = 1 << 24


class Whole:
    """All bytes of a program's instructions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ops = (*self.program.load, *self.program.run)
        self.places = [place for place, op in enumerate(self.ops) if isinstance(op, Work)]
        self.read_out = {place - 1: standing for place, standing in read_out(self.program).items()}
        """Of each, when the instruction before the one that makes it has retired: so others than its maker disturb."""
        self.touched = {place: self._touched(place) for place in self.places}
        self.read_afterwards = {place: self._read_afterwards(place) for place in self.places}

    def meet(self, one: int, other: int) -> bool:
        (written, touched), (other_written, other_touched) = self.touched[one], self.touched[other]
        return one == other or bool(written & other_touched or touched & other_written)

    def disturbs(self, one: int, other: int) -> bool:
        return bool(self.touched[one][0] & self.read_afterwards[other])

    def _touched(self, place: int) -> Touched:
        written = touched = 0
        for footprint in footprints(self.ops[place], self.program.topology):
            bits = footprint.touched << (FAR if footprint.memory == "wide" else 0)
            touched |= bits
            written |= bits if footprint.writes else 0
        return written, touched

    def _read_afterwards(self, place: int) -> int:
        bits = 0
        for standing in self.read_out.get(place, ()):
            bits |= standing.pattern << standing.first
        return bits


@pytest.fixture(scope="module")
def whole(program: Program) -> Whole:
    return Whole(program)


def pairs(whole: Whole) -> Iterator[tuple[int, int]]:
    return ((one, other) for one in whole.places for other in whole.places)


def test_those_who_touch_the_same_bytes_clash_and_no_others(whole: Whole) -> None:
    meetings = Meetings(whole.program)
    expected = {pair: whole.meet(*pair) for pair in pairs(whole)}
    assert {pair: meetings.clash(*pair) for pair in pairs(whole)} == expected
    assert len(whole.places) < sum(expected.values()) < len(expected)


def test_those_who_write_what_is_read_out_clash_too(whole: Whole) -> None:
    meetings = Meetings(whole.program, whole.read_out)
    for one in whole.places:
        expected = [
            whole.meet(one, other) or whole.disturbs(one, other) or whole.disturbs(other, one) for other in whole.places
        ]
        assert [meetings.clash(one, other) for other in whole.places] == expected
    assert any(whole.disturbs(*pair) and not whole.meet(*pair) for pair in pairs(whole))


def test_of_those_who_clash_none_is_passed_over_and_few_others_are_asked(whole: Whole) -> None:
    one, other = np.array([*pairs(whole)]).T
    clash = np.array([whole.meet(*pair) for pair in pairs(whole)])
    may_clash = Meetings(whole.program).may_clash(one, other)
    assert may_clash[clash].all()
    assert clash.sum() <= may_clash.sum() < len(clash) / 2
    assert Meetings(whole.program, whole.read_out).may_clash(one, other).all()
    assert not len(Meetings(whole.program).may_clash(one[:0], other[:0]))


@pytest.mark.parametrize("base", [-1024, 1 << 24, 1 << 45, 1 << 62])
def test_an_address_outside_its_memory_is_told_by_name_also_of_what_claims_to_be_sound(whole: Whole, base: int) -> None:
    """As a file can whose seal is forged: nothing else has looked at it then."""
    number = next(k for k, op in enumerate(whole.program.run) if isinstance(op, TensorOp))
    op = whole.program.run[number]
    assert isinstance(op, TensorOp)
    moved = replace(op, input=op.input._replace(base=base))
    program = replace(whole.program, run=(*whole.program.run[:number], moved, *whole.program.run[number + 1 :]))
    program.know_sound()
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    with pytest.raises(AccessError, match="narrow_memory has bytes 0 to"):
        tilesim.simulate(program, inputs)
