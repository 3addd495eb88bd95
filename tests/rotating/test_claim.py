"""The program of the claim, as it comes with tilesim."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.rotating.convolutions import direct, w_of, x_of
from tests.rotating.models import Model, on_all_models
from tests.scripts import ROOT, script
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.program import Program

NUMBERS = json.loads((Path(__file__).parent / "oracles.json").read_text(encoding="utf-8"))
BEFORE = 2
"""Slots in front of the first step: parameters are asked for, and the rule is set."""
SENT_CYCLES = 3
"""From the last row's write to the end: it is read, and crosses the link."""


@pytest.fixture(name="program", scope="module")
def _program() -> Program:
    program = tilesim.load_program(ROOT / "workloads" / "rotating" / "claim.tasm")
    assert isinstance(program, Program)
    return program


@on_all_models
def test_it_takes_the_clocks_of_the_book(model: Model, program: Program) -> None:
    result = model(program)
    array = result.units["nnu.array"]
    assert (array["busy"], result.stalls) == (BEFORE + 34, {})
    assert result.cycles == BEFORE + 37 + SENT_CYCLES


@on_all_models
def test_it_convolves(model: Model, program: Program) -> None:
    (output,) = model(program).outputs
    assert output.dtype == np.int8
    assert output[0].tolist() == direct(x_of(3, 3, 2), w_of(2, 2, 2, 2)).tolist()


def test_both_models_agree_on_every_unit(program: Program) -> None:
    assert tilesim.verify(program).agree


def test_registers_hold_the_words_of_the_book_in_each_clock(program: Program) -> None:
    registers = stepped.simulate(program, (), observes=True).registers[BEFORE : BEFORE + 34]
    assert [mux.tolist() for mux, _ in registers] == [[word % 256 for word in row] for row in NUMBERS["mux"]]
    assert [sums.tolist() for _, sums in registers] == NUMBERS["acc"]


def test_it_does_as_much_as_the_claim_says(program: Program) -> None:
    outcome = stepped.simulate(program, ())
    names = ("data_reads", "weight_reads", "rotations", "macs", "out")
    assert [outcome.counts[name] for name in names] == [4, 16, 28, 16, 2]
    assert outcome.writes == [(BEFORE + 19, 3), (BEFORE + 36, 4)]


def test_its_data_are_those_that_the_script_makes(program: Program) -> None:
    made = script("make_claim")
    assert {segment.name: segment.data.tolist() for segment in program.data} == {
        name: data.tolist() for name, data in made.segments().items()
    }
    assert made.lines().tolist() == NUMBERS["data_rows"]
    assert made.weights().tolist() == NUMBERS["weight_rows"]
