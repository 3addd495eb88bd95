"""Take an instruction away, or change one of its numbers by one, and the answer changes or the run is refused."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tests.tiled.mutate import changed, instructions, places, without
from tilesim.shipped import shipped
from tilesim.tiled.isa.program import Program

BENIGN = {
    ("expected", 1): "another instruction raises the flag later as well: the wait is longer, the data the same",
    ("bound", 1): "one more round reads or writes bytes of the same region that nobody needs any more, or zero weights",
}
"""The only kinds of change that may leave the answer as it is, and why."""


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return np.load(shipped("workloads") / "digits.npz")["in0"][:4]


@pytest.fixture(scope="module")
def program() -> Program:
    return tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))


@pytest.fixture(scope="module")
def answer(program: Program, images: np.ndarray) -> np.ndarray:
    return tilesim.simulate(program, [images]).outputs[0]


def outcome(program: Program, images: np.ndarray, answer: np.ndarray) -> str:
    try:
        outputs = tilesim.simulate(program, [images]).outputs
    except tilesim.TilesimError as error:
        return f"exit {error.exit_status}"
    return "benign" if np.array_equal(outputs[0], answer) else "changed"


def test_no_instruction_can_be_left_out(program: Program, images: np.ndarray, answer: np.ndarray) -> None:
    bare = replace(program, tensors=(), pieces=())  # so that no label is missed, and only the machine can notice
    assert outcome(bare, images, answer) == "benign"
    found = {op.label: outcome(without(bare, section, k), images, answer) for section, k, op in instructions(bare)}
    assert "exit 1" not in found.values()
    assert [label for label, result in found.items() if result == "benign"] == []


def test_hardly_any_number_can_be_changed_by_one(program: Program, images: np.ndarray, answer: np.ndarray) -> None:
    found: Counter[str] = Counter()
    for section, k, op in instructions(program):
        for path in places(op):
            for by in (-1, 1):
                result = outcome(changed(program, (section, k, *path), by), images, answer)
                found[result] += 1
                if result == "benign":
                    assert (path[-1], by) in BENIGN, (op.label, path, by)
    assert found.total() >= 300
    assert found["benign"] <= 0.05 * found.total(), found


def test_a_hang_says_who_waits_for_what_and_who_could_help(program: Program, images: np.ndarray) -> None:
    place = next(k for k, op in enumerate(program.run) if op.label == "add5")
    with pytest.raises(tilesim.HangError) as caught:
        tilesim.simulate(replace(without(program, "run", place), tensors=(), pieces=()), [images])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the run program hangs after ")
    end = "for flag avdata to reach 7; it stands at 6, and no instruction in the tile can still raise it"
    assert any(line.startswith("chip.tile0.narrow_to_wide in output0") and line.endswith(end) for line in lines), lines
    assert any("only output0 can still raise it" in line for line in lines)
