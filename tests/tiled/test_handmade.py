"""The programs under ``workloads/tiled``: they run and are proven, and none of their instructions can be left out."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tilesim
from tests.tiled.mutate import instructions, without
from tilesim.shipped import shipped
from tilesim.tiled.isa.model.program import Program

pytestmark = pytest.mark.usefixtures("on_simpy")

HANDMADE = shipped("workloads") / "tiled"
ROW = 16
NAMES = ("forwarding", "broadcast")


@cache
def program(name: str) -> Program:
    made = tilesim.load_program(HANDMADE / f"{name}.tasm")
    assert isinstance(made, Program)
    return made


@cache
def inputs(name: str) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [random.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in program(name).inputs]


def outcome(name: str, changed: Program, rules: str = "strict") -> list[list[int]] | int:
    """The outputs, or the exit status."""
    try:
        outputs = tilesim.simulate(changed, inputs(name), rules=rules).outputs
    except tilesim.TilesimError as error:
        return error.exit_status
    return [output.ravel().tolist() for output in outputs]


def rows(array: np.ndarray, *places: int) -> list[int]:
    """Some rows of a tensor, one after the other."""
    return array.reshape(-1, ROW)[list(places)].ravel().tolist()


def test_all_are_here() -> None:
    assert {path.stem for path in HANDMADE.glob("*.tasm")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_they_are_proven_and_both_models_agree(name: str) -> None:
    assert tilesim.check(program(name)).proven
    assert tilesim.verify(program(name), inputs(name)).agree


def test_rows_that_are_forwarded_come_to_both_tiles() -> None:
    [sent] = inputs("forwarding")
    assert outcome("forwarding", program("forwarding")) == [rows(sent, 0), rows(sent, 1)]


def test_the_broadcast_holds_back_what_came_first() -> None:
    others, sent = inputs("broadcast")
    assert outcome("broadcast", program("broadcast")) == [[*sent.ravel(), *others.ravel()], [*sent.ravel()]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rules", ["strict", "observe"])
def test_no_instruction_can_be_left_out(name: str, rules: str) -> None:
    """Nor where the rules of the ring are only observed, so that the chip does what comes of it."""
    whole = program(name)
    right = outcome(name, whole)
    left = {op.label: outcome(name, without(whole, section, k), rules) for section, k, op in instructions(whole)}
    assert [label for label, found in left.items() if found == right] == []


@pytest.mark.parametrize("label", ["over", "pass"])
def test_without_fence_or_broadcast_the_order_is_not_proven_and_rows_are_mixed_up(label: str) -> None:
    whole = program("broadcast")
    [four, two] = tilesim.simulate(whole, inputs("broadcast")).outputs
    lacking = without(whole, "run", next(k for k, op in enumerate(whole.run) if op.label == label))
    assert not tilesim.check(lacking).proven
    [mixed, same] = tilesim.simulate(lacking, inputs("broadcast"), rules="observe").outputs
    assert np.array_equal(same, two)
    assert not np.array_equal(mixed, four)
    assert sorted(mixed.reshape(-1, ROW).tolist()) == sorted(four.reshape(-1, ROW).tolist())
