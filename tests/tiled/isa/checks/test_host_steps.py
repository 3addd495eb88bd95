"""What is wrong with the host's steps of a program, in a sentence each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

import tilesim
from tests.tiled.hosted import hosted
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.program import Program


@cache
def program(name: str = "middle") -> Program:
    return tilesim.compile(hosted(name)[0], tilesim.load_topology("edge-1x1"))


def changed(place: int, name: str = "middle", **what: object) -> Program:
    steps = [*program(name).steps]
    steps[place] = replace(steps[place], **what)  # type: ignore[arg-type]
    return replace(program(name), steps=tuple(steps))


def test_what_compilers_make_is_sound() -> None:
    assert not [*faults(program()), *faults(program("tail")), *faults(program("head"))]


WRONG: dict[str, Callable[[], Program]] = {
    "step[0] 'stridedslice1.host': reads must name tensors that the host has by then, not 99": lambda: changed(
        0, reads=(99,)
    ),
    "step[0] 'stridedslice1.host': reads must name at least one tensor": lambda: changed(0, reads=()),
    "given 'StridedSlice1': must be uint8 of (1, 5, 5, 8), which its step makes, not int8 of": lambda: changed(
        0, dtype="uint8"
    ),
    "step[1] 'concatenation4.host': layer must be below the number of layers 7, not 7": lambda: changed(1, layer=7),
    "step[1] 'concatenation4.host': operator must be one of a network's, not 'sum'": lambda: changed(1, operator="sum"),
    "step[1] 'concatenation4.host': dtype must be one of numbers, not 'text'": lambda: changed(1, dtype="text"),
    "shape must be sizes of at least 1 and 268435456 bytes in all at most, not (0, 4)": lambda: changed(
        1, shape=(0, 4)
    ),
    "step[1] 'concatenation4.host': read_bytes must be those of what it reads, not -1": lambda: changed(
        1, read_bytes=-1
    ),
    "output 'ArgMax2': must come from the tiles or be made by a step": lambda: replace(
        program("tail"), steps=program("tail").steps[:1]
    ),
    "given: behind must rise from 0 to at most 1, the inputs, not [1, 2]": lambda: replace(
        program(), given=(program().given[0], replace(program().given[1], behind=2))
    ),
    "output must be below the number of outputs 3, not 3": lambda: replace(program(), taken=program().taken[:-1]),
    "run: the outfeeds of output 4 must pass on its 1 rows, not 0": lambda: replace(
        program(), taken=(*program().taken, replace(program().taken[-1]))
    ),
    "blocks, function, lookup and scale must not be given for what stays at the host": lambda: replace(
        program("tail"), outputs=tuple(replace(tensor, scale=1.0) for tensor in program("tail").outputs)
    ),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_can_not_be_is_said(sentence: str) -> None:
    found = faults(WRONG[sentence]())
    assert any(sentence in fault for fault in found), found


def test_a_tensor_is_made_once() -> None:
    twice = replace(program(), steps=(*program().steps, program().steps[0]))
    assert faults(twice) == [f"step: the tensor {program().steps[0].makes} must be made once, not 2 times"]
