"""What is checked before a run, and how often."""

import pickle
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program
from tilesim.errors import ProgramError
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules import soundness
from tilesim.tiled.rules.soundness import unsound

RECEIVE = "in: ring_consume tiles=0x1 write=[r:2 @0x0+r*16] produce=r"
SEND = "send: infeed source=data rows=2 to=0x1"
MOVE = "move: wide_to_narrow tiles=0x1 read=[r:2 @0x0+r*16] write=[w:8 @0x0+w*4]"
FINE = f"{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=1"


def test_addresses_mean_something_only_to_instructions_that_the_chip_can_run() -> None:
    wrong = program(f"{RECEIVE}\n{SEND}\n{MOVE}\nwide_to_narrow tiles=0x1 read=[r:2 @0x0+r*8] write=[w:8 @0x0+w*4]")
    assert all("multiple of 16 bytes" in sentence for sentence in unsound(wrong))
    assert [sentence for sentence in unsound(program(f"{RECEIVE}\n{SEND}\n{MOVE}")) if "nothing orders in" in sentence]
    assert unsound(program(FINE)) == []


def test_a_finding_belongs_to_one_program_and_is_made_once(tmp_path: Path) -> None:
    asked: list[Program] = []

    def count(made: Program) -> int:
        asked.append(made)
        return len(asked)

    first = program(FINE)
    assert [first.once(count), first.once(count)] == [1, 1]
    tilesim.save_program(first, tmp_path / "program.tbin")
    loaded = tilesim.load_program(tmp_path / "program.tbin")
    others = [replace(first, name="other"), copy(first), pickle.loads(pickle.dumps(first)), loaded]  # noqa: S301
    assert [other.once(count) for other in others] == [2, 3, 4, 5]
    assert first.once(count) == 1


def test_nothing_that_a_file_says_spares_it_the_checks(tmp_path: Path) -> None:
    bad = program(f"{RECEIVE}\n{SEND}\n{MOVE}")
    for name in ("program.tasm", "program.tbin"):
        tilesim.save_program(bad, tmp_path / name)
        loaded = tilesim.load_program(tmp_path / name)
        for _ in range(2):  # what was refused once is refused again
            with pytest.raises(ProgramError, match="nothing orders in"):
                tilesim.simulate(loaded, [])


def test_what_was_compiled_or_has_run_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x2"))
    written = program(FINE)
    tilesim.simulate(written, [])

    def refuse(_: Program) -> None:
        raise ProgramError(["checked again"])

    monkeypatch.setattr(soundness, "effects_of", refuse)
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in compiled.inputs]
    assert tilesim.simulate(compiled, inputs).cycles > 0
    assert tilesim.simulate(written, []).cycles > 0
    with pytest.raises(ProgramError, match="checked again"):
        tilesim.simulate(replace(written, name="other"), [])
