"""Take an instruction away, or change one of its numbers by one, and the answer changes or the run is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import tilesim
from tests.soak import part_of
from tests.tiled.mutate import changed, instructions, places, without
from tilesim.shipped import shipped
from tilesim.tiled.isa.model.program import Program

pytestmark = pytest.mark.usefixtures("on_simpy")

SAME = "one word more (or a row) of zero points, where the next instruction of the engine puts zero points as well"
SPARE = "one word more of zero points, in the spare columns of a tile whose part is cut short"
ALIKE = "one word less of zero points, where whole wide rows or whole blocks have left the zero point already"
LATER = "all rows are waited for instead of all but the last: the wait is longer, the data the same"

BENIGN = {
    "fullyconnected8 nest.loops.3.bound +1": "an eleventh lane computes a padding byte, which the host drops",
    "output0.send0 wait.1.expected -1": "the output is made from the input, whose tail has long passed by then",
}
"""Every number of the digits' program that may change by one without changing the answer, and why."""

BENIGN_KWS = {
    "depthwiseconvolution3 wait.1.expected +1": LATER,
    "depthwiseconvolution5 wait.1.expected +1": LATER,
    "tensor28.south.send.t2 wait.0.expected +1": "the rows leave when one row more than needed is made",
    "tensor0.east.border.t3 write.nest.loops.0.bound +1": SAME,
    "tensor0.east.north.corner.t1 write.nest.loops.0.bound +1": SAME,
    "tensor0.south.border.t3 write.nest.loops.0.bound -1": ALIKE,
    "tensor22.east.border.t3 write.nest.loops.0.bound +1": SAME,
    "tensor22.east.south.border write.nest.loops.0.bound +1": SPARE,
    "tensor24.east.north.border write.nest.loops.0.bound +1": SPARE,
    "tensor24.east.north.corner.t1 write.nest.loops.0.bound +1": SPARE,
    "tensor26.east.border.t1 write.nest.loops.1.bound +1": SPARE,
    "tensor26.east.south.corner.t2 write.nest.loops.0.bound +1": SPARE,
    "tensor28.east.south.corner.t2 write.nest.loops.0.bound +1": SPARE,
}
"""The same for those that are tried of the keyword spotter's program for 2 x 2 tiles."""


BENIGN_INT16 = {
    "convolution0.t1 nest.loops.2.bound +1": "an eighth row of the kernel finds zeros behind the weights",
    "output0.send0 wait.1.expected -1": "the output is made from the input, whose tail has long passed by then",
}
"""Every such number of a convolution of int16 on two tiles."""


@dataclass(frozen=True)
class Subject:
    """A program without what it says of tensors (so that no label is missed, and only the machine can notice) and the
    inputs on which its answer must change.
    """

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

    def without(self, share: slice = slice(None)) -> dict[str, str]:
        """What becomes of it without one of its instructions, by label."""
        some = instructions(self.program)[share]
        return {op.label: self.outcome(without(self.program, section, k)) for section, k, op in some}

    def benign(self, share: int = 0, shares: int = 1) -> tuple[int, set[str]]:
        """How many numbers are changed, one of so many shares of all, and those of which nobody notices."""
        every: dict[str, tuple[Any, int]] = {
            f"{op.label} {'.'.join(map(str, path))} {by:+}": ((section, k, *path), by)
            for section, k, op in instructions(self.program)
            for path in places(op)
            for by in (-1, 1)
        }
        some = [name for name in every if crc32(name.encode()) % shares == share]
        return len(some), {name for name in some if self.outcome(changed(self.program, *every[name])) == "benign"}


@pytest.fixture(scope="module")
def digits() -> Subject:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"), "spatial")
    return Subject(replace(program, tensors=(), pieces=()), np.load(shipped("workloads") / "digits.npz")["in0"][:4])


@pytest.fixture(scope="module")
def kws(models: Path) -> Subject:
    """Its classes are all but certain of real speech: noise is what tells."""
    folder = models / "mlperf_kws_dscnn"
    program = tilesim.compile(
        tilesim.load_network(folder / "model.tflite"), tilesim.load_topology("edge-2x2"), "spatial"
    )
    speech = np.concatenate([np.load(folder / "io.npz")[f"s{k}_in0"] for k in range(2)])
    noise = np.random.default_rng(1).integers(-128, 128, (6, *speech.shape[1:])).astype(np.int8)
    return Subject(replace(program, tensors=(), pieces=()), np.concatenate([speech, noise]))


def test_no_instruction_can_be_left_out(digits: Subject) -> None:
    assert digits.outcome(digits.program) == "benign"
    assert set(digits.without().values()) <= {"exit 2", "exit 3", "changed"}


def test_no_instruction_can_be_left_out_of_what_is_mapped_by_estimate(digits: Subject) -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"), "mixed")
    subject = Subject(replace(program, tensors=(), pieces=()), digits.inputs)
    assert subject.outcome(subject.program) == "benign"
    assert set(subject.without().values()) <= {"exit 2", "exit 3", "changed"}


def test_hardly_any_number_can_be_changed_by_one(digits: Subject) -> None:
    tried, benign = digits.benign()
    assert benign <= BENIGN.keys()
    assert tried >= 300
    assert len(BENIGN) <= 0.05 * tried


@pytest.mark.slow
@pytest.mark.parametrize("share", part_of(range(8), 1))
def test_no_instruction_can_be_left_out_on_many_tiles(kws: Subject, share: int) -> None:
    assert kws.outcome(kws.program) == "benign"
    assert set(kws.without(slice(share, None, 8)).values()) <= {"exit 2", "exit 3", "changed"}


@pytest.mark.slow
@pytest.mark.parametrize("share", part_of(range(3), 1))
def test_hardly_any_number_can_be_changed_by_one_on_many_tiles(kws: Subject, share: int) -> None:
    """A ninth of all numbers, in three parts."""
    tried, benign = kws.benign(share, 27)
    assert benign <= BENIGN_KWS.keys()
    assert tried >= 90
    assert len(BENIGN_KWS) <= 0.05 * 3 * tried


@pytest.fixture(scope="module")
def convolution_of_int16(models: Path) -> Subject:
    network = tilesim.load_network(models / "tflm_seanet_conv0" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-1x2"), "spatial")
    inputs = np.random.default_rng(1).integers(-32768, 32768, (4, 8, 166, 2)).astype(np.int16)
    return Subject(replace(program, tensors=(), pieces=()), inputs)


def test_no_instruction_and_hardly_any_number_of_a_model_of_int16_can_be_spared(convolution_of_int16: Subject) -> None:
    assert convolution_of_int16.outcome(convolution_of_int16.program) == "benign"
    assert set(convolution_of_int16.without().values()) <= {"exit 2", "exit 3", "changed"}
    tried, benign = convolution_of_int16.benign()
    assert benign == BENIGN_INT16.keys()
    assert tried >= 200


def test_a_hang_says_who_waits_for_what_and_who_could_help(digits: Subject) -> None:
    program = digits.program
    place = next(k for k, op in enumerate(program.run) if op.label == "output0")
    with pytest.raises(tilesim.HangError) as caught:
        tilesim.simulate(without(program, "run", place), [digits.inputs])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the run program hangs after ")
    end = "for flag narrow_to_wide to reach 1; it stands at 0, and no instruction in the tile can still raise it"
    assert any(line.startswith("chip.tile0.ring_producer in output0.send0") and line.endswith(end) for line in lines), (
        lines
    )
