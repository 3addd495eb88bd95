"""Take an instruction away, or change one of its numbers by one, and the answer changes or the run is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import tilesim
from tests.soak import part_of
from tests.tiled.mutate import Path, changed, instructions, without
from tilesim.rotating.isa.model.instructions import Alu, Instruction, Mask, Out, Set, Step, Sync
from tilesim.rotating.isa.model.program import Program
from tilesim.shipped import shipped

LOADED = "the same row is loaded, copied or compared once more"
REASONS: tuple[tuple[type[Instruction], set[str], str], ...] = (
    (Set, {"clamp"}, "no result comes that close to the largest, or the smallest, that there is"),
    (Set, {"weight_zero", "data_zero", "zero_point"}, "the layer only compares, or its zero points are in the scaling"),
    (Set, {"scaling"}, "the last bit of a float32 changes no rounded sum of these inputs"),
    (Sync, {"count", "strides"}, "a later row is waited for: the wait is longer, the data the same"),
    (Mask, {"offset", "block", "stride", "count", "blocks"}, "weights are 0 for words that are written besides"),
    (Out, {"fill"}, "weights of the next layer are 0 for the words that are filled"),
    (Out, {"place"}, "the first slot begins where the block does, however many there are"),
)
"""Why nobody notices that a number of the digits' program is changed by one."""


def reason(op: Instruction, path: Path) -> str:
    """Empty if somebody must."""
    if isinstance(op, Step) and path[0] == "repeat" and op.alu in {Alu.NONE, Alu.COPY, Alu.MAX} and op.data:
        return LOADED
    return next((words for kind, names, words in REASONS if isinstance(op, kind) and path[0] in names), "")


@dataclass(frozen=True)
class Subject:
    """A program without what it says of tensors, and the inputs on which its answer must change."""

    program: Program
    inputs: np.ndarray

    @cached_property
    def answer(self) -> np.ndarray:
        return tilesim.simulate(self.program, [self.inputs]).outputs[0]

    def outcome(self, program: Program) -> str:
        try:
            outputs = tilesim.simulate(program, [self.inputs]).outputs
        except tilesim.TilesimError as error:
            return f"exit {error.exit_status}"
        return "benign" if np.array_equal(outputs[0], self.answer) else "changed"


@pytest.fixture(scope="module")
def digits() -> Subject:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("nnu-1024-jump"))
    assert isinstance(program, Program)
    return Subject(replace(program, tensors=()), np.load(shipped("workloads") / "digits.npz")["in0"][:4])


def numbers(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where the numbers of an instruction stand; the number of its layer is only for statistics."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield path
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from numbers(item, (*path, place))
    elif is_dataclass(value):
        for field in fields(value):
            if field.name != "layer":
                yield from numbers(getattr(value, field.name), (*path, field.name))


@pytest.mark.parametrize("share", part_of(range(4), 1))
def test_no_instruction_can_be_left_out(digits: Subject, share: int) -> None:
    assert digits.outcome(digits.program) == "benign"
    some = instructions(digits.program)[share::4]
    outcomes = {op.label: digits.outcome(without(digits.program, section, place)) for section, place, op in some}
    assert set(outcomes.values()) <= {"exit 2", "exit 3", "changed"}, outcomes


@pytest.mark.parametrize(("shares", "most_benign"), part_of([(16, 0.1), (1, 0.05)], 1))
def test_hardly_any_number_can_be_changed_by_one(digits: Subject, shares: int, most_benign: float) -> None:
    """All of them, or one of so many shares, in which more may have a reason."""
    tried = benign = 0
    for section, place, op in instructions(digits.program):
        for path in numbers(op):
            for by in (-1, 1):
                if crc32(f"{section} {place} {path} {by}".encode()) % shares:
                    continue
                tried += 1
                if digits.outcome(changed(digits.program, (section, place, *path), by)) == "benign":
                    benign += 1
                    assert reason(op, path), (op, path, by)
    assert tried >= 1200 / shares
    assert benign <= most_benign * tried
