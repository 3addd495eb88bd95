"""What is said of the systolic machine's instructions: what they do, and whom a sync waits for."""

from __future__ import annotations

import tilesim
from tilesim.machines.instructions import Wait
from tilesim.systolic.explanations import explanations
from tilesim.systolic.isa.model.instructions import Sync
from tilesim.systolic.isa.model.program import Program


def test_a_sync_waits_for_the_instruction_that_its_count_ends_with() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("systolic-4"))
    assert isinstance(program, Program)
    found = explanations(program)
    syncs = [(op, explanation) for op, explanation in zip(program.run, found, strict=True) if isinstance(op, Sync)]
    assert syncs
    for op, explanation in syncs:
        [wait] = explanation.waits
        [by] = wait.by
        behind = [other for other in program.run[: by + 1] if other.queue is op.until]
        assert program.run[by].queue is op.until
        assert len(behind) == op.count
        assert wait == Wait(f"{op.until.owner} to have retired {op.count:,}", (by,))


def test_the_words_name_operands_and_units() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("systolic-4"))
    assert isinstance(program, Program)
    found = {op.mnemonic: said for op, said in zip(program.run, explanations(program), strict=True)}
    assert found["read_weights"].unit == "weight_fetcher"
    assert "tiles of weights at" in found["read_weights"].operands
    assert found["convolve"].unit == "matrix"
    assert "windows of 3 × 3 over a map of" in found["convolve"].operands
    assert found["halt"].unit == "sequencer"
