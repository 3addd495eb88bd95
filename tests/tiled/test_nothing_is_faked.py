"""Take an instruction away, or change one of its numbers by one, and the answer changes or the run is refused."""

from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tests.tiled.mutate import changed, instructions, places, without
from tilesim.shipped import shipped
from tilesim.tiled.isa.program import Program

LATER = "the next border raises the flag as well: the wait is longer, the data the same"
SLOWER = "the tensorop after that raises the flag as well: the border is filled later, still before it is read"
DEAD = "one more round reads and writes bytes of an older, larger region that nobody needs any more"

BENIGN = {
    "border27.south write.nest.loops.0.bound": "one more word of zero points, into the slack behind the map",
    "border58.south write.nest.loops.0.bound": "one more word of zero points, into bytes that nobody reads",
    "input27 wait.1.expected": LATER,
    "convolution1 nest.loops.2.bound": "a fourth kernel row meets the zero weights that fill up the last wide row",
    "convolution1 wait.0.expected": LATER,
    "convolution1 wait.1.expected": LATER,
    "convolution1 wait.2.expected": LATER,
    "border53.north wait.0.expected": SLOWER,
    "border53.west wait.0.expected": SLOWER,
    "depthwiseconvolution2 wait.0.expected": LATER,
    "depthwiseconvolution2 wait.3.expected": LATER,
    "border58.north wait.0.expected": SLOWER,
    "border58.east wait.0.expected": SLOWER,
    "border58.south wait.0.expected": SLOWER,
    "border58.west wait.0.expected": SLOWER,
    "convolution3 wait.0.expected": LATER,
    "convolution3 wait.1.expected": LATER,
    "maxpool6 nest.loops.0.bound": DEAD,
    "maxpool6 nest.loops.1.bound": DEAD,
    "maxpool6 nest.loops.2.bound": DEAD,
    "fullyconnected8 nest.loops.3.bound": "an eleventh lane computes a padding byte, which the host drops",
}
"""Every number that may grow by one without changing the answer, and why; none may shrink by one."""


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
    benign: set[str] = set()
    changes = [
        (section, k, op, path, by) for section, k, op in instructions(program) for path in places(op) for by in (-1, 1)
    ]
    for section, k, op, path, by in changes:
        if outcome(changed(program, (section, k, *path), by), images, answer) == "benign":
            assert by == 1, (op.label, path)
            benign.add(f"{op.label} {'.'.join(map(str, path))}")
    assert benign <= BENIGN.keys()
    assert len(changes) >= 300
    assert len(benign) <= 0.05 * len(changes)


def test_a_hang_says_who_waits_for_what_and_who_could_help(program: Program, images: np.ndarray) -> None:
    place = next(k for k, op in enumerate(program.run) if op.label == "add5")
    with pytest.raises(tilesim.HangError) as caught:
        tilesim.simulate(replace(without(program, "run", place), tensors=(), pieces=()), [images])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the run program hangs after ")
    end = "for flag avdata to reach 7; it stands at 6, and no instruction in the tile can still raise it"
    assert any(line.startswith("chip.tile0.narrow_to_wide in output0") and line.endswith(end) for line in lines), lines
    assert any("only output0 can still raise it" in line for line in lines)
