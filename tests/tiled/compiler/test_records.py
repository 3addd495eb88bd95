"""Neighbours joined into records: when, how many, and what comes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tests.tiled.mutate import instructions, without
from tests.tiled.programs import program
from tilesim.shipped import shipped
from tilesim.tiled import stepped
from tilesim.tiled.compiler.records import joined
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.instructions import Instruction, Record
from tilesim.tiled.isa.model.issue import record_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import proof_of

FILL = "{0}: mesh_in tiles={1} side=north write=[w:4 @0x0+w*4] fill=0"
FENCE = "fence: tile_fence tiles=0x1 idle=tensor"


def lines(*ops: str, words: int, tiles: int = 2) -> list[str]:
    """What instructions become, by label; of a header how many sub-instructions it has."""
    one = program("\n".join(ops), "edge-1x1", grid__columns=tiles, instruction_bus__record_words=words)
    made = joined(one.run, one.topology)
    assert [op for op in made if not isinstance(op, Record)] == [*one.run]
    return [f"{op.parts} of {op.tiles:#x}" if isinstance(op, Record) else op.label for op in made]


A, B, C = (FILL.format(name, tiles) for name, tiles in (("a", "0x1"), ("b", "0x2"), ("c", "0x1")))


def test_neighbours_for_engines_join_whatever_their_tiles() -> None:
    assert lines(A, B, FENCE, C, words=1) == ["2 of 0x3", "a", "b", "fence", "c"]
    assert lines(A, C, words=1) == ["2 of 0x1", "a", "c"]


def test_a_chip_without_records_has_none() -> None:
    assert lines(A, B, C, words=0) == ["a", "b", "c"]


def test_as_many_as_the_header_has_room_for() -> None:
    """Five in a word for up to eight tiles; a sixth alone would save nothing."""
    six = [FILL.format(f"x{k}", "0x1") for k in range(6)]
    names = [f"x{k}" for k in range(6)]
    assert lines(*six, words=1) == ["5 of 0x1", *names]
    assert lines(*six, words=2) == ["6 of 0x1", *names]


def test_no_record_that_is_as_long_as_its_instructions() -> None:
    """Two for the last of 64 tiles need two words of header; four need three."""
    last = [FILL.format(f"x{k}", hex(1 << 63)) for k in range(4)]
    assert lines(*last[:2], words=3, tiles=64) == ["x0", "x1"]
    assert lines(*last, words=3, tiles=64)[0].startswith("4 of ")


def digits(**keys: object) -> Program:
    changes = {f"instruction_bus.{key}": value for key, value in keys.items()}
    return tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2", changes))


def test_programs_of_networks_have_them_where_the_chip_does() -> None:
    """The same instructions in the same order, and the same answers, in fewer words of the bus."""
    plain, with_records = digits(width_bytes=2), digits(width_bytes=2, record_words=1)
    assert without_headers(with_records.run) == [*plain.run]
    assert not any(isinstance(op, Record) for op in digits().run)
    assert faults(with_records) == []
    assert proof_of(with_records).proven
    x = np.load(shipped("workloads") / "digits.npz")["in0"][:1]
    slow, fast = (tilesim.simulate(each, [x]) for each in (plain, with_records))
    assert np.array_equal(slow.outputs[0], fast.outputs[0])
    assert fast.cycles < slow.cycles
    assert stepped.simulate(with_records, [x]).cycles == fast.cycles
    entered = [run.statistics["bytes"]["instruction_bus"]["entered"] for run in (slow, fast)]
    records = [op for op in (*with_records.load, *with_records.run) if isinstance(op, Record)]
    assert entered[0] - entered[1] == 16 * sum(op.parts - op.words for op in records)


def test_an_instruction_of_tensor_operations_and_transfers() -> None:
    """Claims 10, 11 and 21 of US 19/025,090: opcodes of either kind, several of a transfer's, in one instruction."""
    run = digits(record_words=2).run
    heads = [(place, op.parts) for place, op in enumerate(run) if isinstance(op, Record)]
    opcodes = [[op.mnemonic for op in run[place + 1 : place + 1 + parts]] for place, parts in heads]
    assert any("tensorop" in names and len({*names}) > 1 for names in opcodes)
    assert any(sum(name != "tensorop" for name in names) > 1 for names in opcodes)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(2))
def test_no_sub_instruction_can_be_left_out(share: int) -> None:
    """The answer changes or the run is refused."""
    made = replace(digits(record_words=1), tensors=(), pieces=())
    x = np.load(shipped("workloads") / "digits.npz")["in0"][:4]
    answer = tilesim.simulate(made, [x]).outputs[0]

    def outcome(program: Program) -> int | str:
        """The exit status, or what became of the answer."""
        try:
            outputs = tilesim.simulate(program, [x]).outputs
        except tilesim.TilesimError as error:
            return error.exit_status
        return "the same" if np.array_equal(outputs[0], answer) else "another one"

    parts = [(section, k) for section, k, op in instructions(made) if record_of(getattr(made, section), k) is not None]
    assert len(parts) > 10
    for section, k in parts[share::2]:
        assert outcome(without(made, section, k)) in {"another one", 2, 3}, (section, k)


def test_without_its_header_each_has_its_own() -> None:
    made = digits(record_words=1)
    x = np.load(shipped("workloads") / "digits.npz")["in0"][:1]
    alone = replace(made, run=tuple(without_headers(made.run)))
    assert np.array_equal(tilesim.simulate(alone, [x]).outputs[0], tilesim.simulate(made, [x]).outputs[0])


def without_headers(ops: tuple[Instruction, ...]) -> list[Instruction]:
    return [op for op in ops if not isinstance(op, Record)]
