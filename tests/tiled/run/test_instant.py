"""Transfers that take no time: nothing but cycles changes, and which can't is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.test_digits import MODEL as DIGITS
from tests.tiled.corpus.programs import inputs_of, random_program
from tilesim import api
from tilesim.errors import InputError, TilesimError
from tilesim.machines.frame import named
from tilesim.report.tracks import accounts_of
from tilesim.run import Run
from tilesim.shipped import shipped
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.event_driven import obstacle

PROGRAMS = 24
LONGER = 1.01
"""A transfer that takes no time may let others come in another order, and so a run be longer, but not by much."""


def transfers(program: Program) -> dict[str, str]:
    """Labels and mnemonics of what can take no time."""
    ops = (*program.load, *program.run)
    return {op.label: op.mnemonic for op in ops if op.label and not obstacle(op, program.topology)}


@pytest.fixture(scope="module")
def digits() -> Program:
    program: Program = api.compile(api.load_network(DIGITS), api.load_topology("edge-2x2"), "spatial")
    return program


@pytest.fixture(scope="module")
def plain(digits: Program) -> Run:
    return api.simulate(digits)


def must_agree(run: Run, plain: Run) -> None:
    """All but the cycles is the same, and every unit's cycles are accounted for."""
    for ours, theirs in zip(run.outputs, plain.outputs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert run.statistics["bytes"] == plain.statistics["bytes"]
    for unit in accounts_of(run.statistics):
        spent = unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"]
        assert spent == run.cycles, unit["track"]


@pytest.mark.parametrize(
    "mnemonic",
    ["infeed", "outfeed", "ring_produce", "mesh_out", "mesh_in", "narrow_to_wide", "wide_to_narrow"],
)
def test_each_kind_saves_cycles_and_nothing_else(mnemonic: str, digits: Program, plain: Run) -> None:
    chosen = [label for label, kind in transfers(digits).items() if kind == mnemonic]
    run = api.simulate(digits, instant=chosen)
    must_agree(run, plain)
    assert run.cycles < plain.cycles
    assert run.statistics["instant"] == sorted(chosen)


def test_all_together_save_more_than_each(digits: Program, plain: Run) -> None:
    run = api.simulate(digits, instant=["*"], trace=True)
    must_agree(run, plain)
    assert run.statistics["instant"] == sorted(transfers(digits))
    assert run.cycles < 0.8 * plain.cycles
    assert run.statistics["load_cycles"] < 0.1 * plain.statistics["load_cycles"]


def test_nothing_instant_is_no_news(digits: Program, plain: Run) -> None:
    assert api.simulate(digits, instant=()).statistics == plain.statistics
    assert "instant" not in plain.statistics


def test_alone_on_the_chip_it_takes_no_cycle() -> None:
    """The two masters of ``legal.tasm`` send nothing on the links any more."""
    program = api.load_program(shipped("workloads") / "dual-master" / "legal.tasm")
    plain, run = api.simulate(program, []), api.simulate(program, [], instant=["*.send", "*send*"])
    must_agree(run, plain)
    links = [link for link in run.statistics["links"] if ".ring." in link["track"]]
    assert sum(link["busy_cycles"] for link in links) == 0
    assert run.cycles < plain.cycles


def random_choice(program: Program, number: int) -> list[str]:
    labels, rng = list(transfers(program)), np.random.default_rng(number)
    some = rng.choice(labels, min(len(labels), int(rng.integers(1, 4))), replace=False) if labels else labels
    return labels if number % 3 == 0 else [str(label) for label in some]


def check(number: int) -> bool:
    """Whether a random program runs at all; if so, a choice of its transfers takes no time."""
    program: Any = named(random_program(number))
    try:
        plain = api.simulate(program, inputs_of(program))
    except TilesimError:
        return False
    run = api.simulate(program, inputs_of(program), instant=random_choice(program, number))
    must_agree(run, plain)
    assert run.cycles <= LONGER * plain.cycles
    return True


def test_random_programs_compute_the_same() -> None:
    assert sum(check(number) for number in range(PROGRAMS)) >= 0.8 * PROGRAMS


@pytest.mark.soak
def test_many_random_programs_compute_the_same() -> None:
    assert sum(check(number) for number in range(PROGRAMS, 2000)) >= 1500


RING, MESH = "takes what others send over the ring", "takes what a neighbour sends over the mesh"


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("input27.receive", f"instant 'input27.receive': {RING}, whose time is that of what sends it: name that"),
        (
            "tensor27.south.receive",
            f"instant 'tensor27.south.receive': {MESH}, whose time is that of the mesh_out: name",
        ),
        ("convolution1", "instant 'convolution1': must be a transfer, not a tensorop"),
        ("conv*1", "instant 'conv*1': must be a transfer, not a tensorop"),
        ("27.send", "instant must be the label of an instruction, not '27.send'; did you mean 'input27.send0'"),
        ("zzz", "instant must be the label of an instruction, not 'zzz'"),
    ],
)
def test_what_can_take_no_time_is_said(word: str, sentence: str, digits: Program) -> None:
    with pytest.raises(InputError) as caught:
        api.simulate(digits, instant=[word, "input27.send0"])
    assert str(caught.value).startswith(sentence)


def test_all_faults_are_told_at_once(digits: Program) -> None:
    with pytest.raises(InputError) as caught:
        api.simulate(digits, instant=["zzz", "yyy"])
    assert len(caught.value.faults) == 2


def test_where_rows_circulate_they_take_their_time() -> None:
    program: Any = api.load_program(shipped("workloads") / "dual-master" / "legal.tasm")
    circulating = replace(program, topology=api.load_topology("ring-8", {"ring.no_consumer": "circulate"}))
    with pytest.raises(InputError, match="in no time they would go round for ever"):
        api.simulate(circulating, [], instant=["low.send"])


def test_one_label_alone_may_be_given(digits: Program) -> None:
    run = api.simulate(digits, instant="input27.send0")
    assert run.statistics["instant"] == ["input27.send0"]
