"""Random programs on random chips: both models say the same of each, to the cycle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.rotating.random_programs import random_program
from tests.soak import counts
from tilesim import verify
from tilesim.machines.verify import ENDED
from tilesim.rotating.isa.assembly import ASSEMBLY
from tilesim.rotating.isa.checks.program import faults
from tilesim.rotating.run.simulate import simulate

REASONS = {"input", "weights", "fifo", "raw", "port"}


@pytest.mark.parametrize("count", counts(150, 3000))
def test_both_models_agree(count: int) -> None:
    for seed in range(count):
        program, inputs = random_program(seed)
        verdict = verify(program, inputs)
        assert verdict.agree, (seed, verdict.differences, verdict.divergence)
        assert verdict.end == ENDED


def test_they_are_sound_and_read_back_from_text_and_bytes() -> None:
    for seed in range(40):
        program, inputs = random_program(seed)
        assert not faults(program), seed
        text = ASSEMBLY.write(program)
        read = ASSEMBLY.read(text, Path("random.tasm"), {segment.name: segment.data for segment in program.data})
        decoded = ASSEMBLY.binary.decode(ASSEMBLY.binary.encode(program))
        first = simulate(program, inputs)
        for other in (read, decoded):
            again = simulate(other, inputs)
            assert (again.cycles, again.outputs[0].tobytes()) == (first.cycles, first.outputs[0].tobytes())


def test_the_array_waits_for_everything_that_there_is() -> None:
    waited: Counter[str] = Counter()
    for seed in range(150):
        program, inputs = random_program(seed)
        [array] = [unit for unit in simulate(program, inputs).statistics["units"] if unit["track"] == "nnu.array"]
        waited.update(array["stall_cycles"].keys())
    assert {reason for reason, runs in waited.items() if runs >= 5} == REASONS
