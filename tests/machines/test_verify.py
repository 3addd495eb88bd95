"""What is compared of two runs, and what a difference says."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.soak import part_of
from tests.tiled.dataflow.agreement import COMPILED
from tests.tiled.mutants import MUTANTS, at_large
from tests.tiled.programs import program
from tilesim import verify
from tilesim.errors import ArrayError, InputError
from tilesim.machines.machine import ModelResult, Span
from tilesim.machines.verify import COLLIDED, ENDED, Difference, Divergence, differences, find_divergence
from tilesim.tiled.isa.model.program import Program

MODELS = ("mlperf_kws_dscnn", "mlperf_resnet8", "mlperf_ad_ae")
CHIPS = ("edge-1x1", "edge-2x2", "fig2-5x2")
"""Of 1, 4 and 10 tiles: larger ones take the stepped model longer, though no more happens in them."""
PAIRS = sorted(product(MODELS, CHIPS), key=lambda pair: MODELS.index(pair[0]) != CHIPS.index(pair[1]))
"""First each model on one of the chips."""
TAKE = "take: ring_consume tiles=0x4 write=[r:8,b:1 @0x40+r*16]"
SEND = "m{0}: ring_produce tiles=0x{0} read=[r:4 @0x0+r*16] to=0x4"
SAME = ModelResult(ENDED, [np.zeros((1, 2), np.int8)], 7, 5, {"chip.a": {"busy": 3, "idle": 4}})
LOAD: list[Span] = [("chip.a", 0, 5, "busy", "load[0]")]
RUN: list[Span] = [("chip.a", 9, 2, "busy", "x"), ("chip.a", 11, 3, "stall:port", "x"), ("chip.b", 10, 1, "busy", "y")]
LABELS = {"x", "y"}


def pocket() -> Program:
    return tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))


def test_a_network_agrees() -> None:
    verdict = verify(pocket(), [np.full((1, 4, 4, 4), 3, np.int8)])
    assert (verdict.agree, verdict.differences, verdict.divergence) == (True, (), None)
    assert (verdict.end, verdict.cycles, verdict.load_cycles) == (ENDED, 225, 177)
    assert verdict.compared_units == 38


def test_runs_that_do_not_end_agree_on_that() -> None:
    hung = verify(program(TAKE, grid__rows=3), [])
    assert (hung.agree, hung.end, hung.ended) == (True, "the run program hangs", False)
    stuck = verify(program("", load="stay: infeed source=data rows=1 to=0x1"), [])
    assert (stuck.agree, stuck.end) == (True, "the load program hangs")
    met = verify(program("\n".join((TAKE, SEND.format(1), SEND.format(2))), grid__rows=3), [])
    assert (met.agree, met.end) == (True, COLLIDED)


def test_the_first_difference_has_unit_cycle_and_instruction() -> None:
    hop = next(mutant for mutant in MUTANTS if mutant.name == "ring hop")
    with at_large(hop):
        verdict = verify(pocket(), [np.full((1, 4, 4, 4), 3, np.int8)])
    assert not verdict.agree
    assert verdict.differences[:2] == (
        Difference("", "load_cycles", "177", "178"),
        Difference("", "cycles", "225", "232"),
    )
    assert verdict.divergence == Divergence("load", "chip.ring.link1", 14, "busy in parameters0.send", "idle")


def test_every_figure_counts() -> None:
    assert not differences(SAME, SAME)
    other = {
        "cycles": replace(SAME, cycles=8),
        "load_cycles": replace(SAME, load_cycles=6),
        "output 0": replace(SAME, outputs=[np.array([[0, 1]], np.int8)]),
        "idle": replace(SAME, units={"chip.a": {"busy": 3, "idle": 5}}),
        "stall:port": replace(SAME, units={"chip.a": {"busy": 3, "idle": 4, "stall:port": 1}}),
        "unit": replace(SAME, units={**(SAME.units or {}), "chip.b": {}}),
        "end": ModelResult(COLLIDED),
    }
    for what, account in other.items():
        assert [each.what for each in differences(SAME, account)] == [what]
        assert [each.what for each in differences(account, SAME)] == [what]
    [output] = differences(SAME, other["output 0"])
    assert (output.one, output.other) == ("0 at (0, 1)", "1 at (0, 1)")


@COMPILED
@pytest.mark.parametrize("engines", [*permutations(("simpy", "compiled", "stepped"), 2)])
def test_any_two_engines_agree(engines: tuple[str, str]) -> None:
    verdict = verify(pocket(), [np.full((1, 4, 4, 4), 3, np.int8)], engines=engines)
    assert (verdict.agree, verdict.models, verdict.cycles, verdict.compared_units) == (True, engines, 225, 38)


def test_an_engine_that_did_not_run_a_program_does_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILESIM_CC", "none")
    verdict = verify(pocket(), [np.zeros((1, 4, 4, 4), np.int8)], engines=("compiled", "simpy"))
    [difference] = verdict.differences
    assert (difference.what, difference.other) == ("end", ENDED)
    assert "SimPy ran this" in difference.one


def test_engines_are_two_that_there_are() -> None:
    for engines, said in (
        (("simpy", "simpy"), "engines must be two of simpy, compiled, stepped, not 'simpy', 'simpy'"),
        (("simpy",), "engines must be two of simpy, compiled, stepped, not 'simpy'"),
        (("simpy", "steped"), "engines must be simpy, compiled or stepped, not 'steped'; did you mean 'stepped'?"),
    ):
        with pytest.raises(InputError) as error:
            verify(pocket(), engines=engines)  # type: ignore[arg-type]
        assert str(error.value) == said


def test_one_sample_at_a_time() -> None:
    with pytest.raises(ArrayError, match="must hold one sample, not 2"):
        verify(pocket(), [np.zeros((2, 4, 4, 4), np.int8)])


def test_equal_traces_do_not_part() -> None:
    assert find_divergence(LOAD + RUN, LOAD + RUN[::-1], LABELS) is None


def test_neither_idleness_nor_cuts_nor_names_part_them() -> None:
    cut: list[Span] = [
        ("chip.a", 0, 2, "busy", ""),
        ("chip.a", 2, 3, "busy", "load[0]"),
        ("chip.a", 5, 4, "idle", ""),
        ("chip.a", 9, 0, "stall:flag", "x"),
    ]
    assert find_divergence(LOAD + RUN, cut + RUN, LABELS) is None


def test_the_run_is_counted_from_its_own_start() -> None:
    later = [(track, start + 7, *rest) for track, start, *rest in RUN]
    assert find_divergence(LOAD + RUN, LOAD + later, LABELS) is None  # type: ignore[operator]
    longer: list[Span] = [*RUN[:1], ("chip.a", 11, 4, "stall:port", "x"), *RUN[2:]]
    found = find_divergence(LOAD + RUN, LOAD + longer, LABELS)
    assert found == Divergence("run", "chip.a", 5, "idle", "waits for port in x")


def test_the_first_one_counts_whatever_the_track() -> None:
    other: list[Span] = [("chip.a", 9, 5, "busy", "x"), ("chip.b", 9, 2, "busy", "y")]
    assert find_divergence(RUN, other, LABELS) == Divergence("run", "chip.b", 0, "idle", "busy in y")
    assert find_divergence(LOAD + RUN, [*RUN, ("chip.a", 0, 5, "stall:flag", "z")], LABELS) == Divergence(
        "load", "chip.a", 0, "busy in load[0]", "waits for flag in z"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "chip"), part_of(PAIRS, 3))
def test_real_models_agree(models: Path, name: str, chip: str) -> None:
    of = tilesim.compile(tilesim.load_network(models / name / "model.tflite"), tilesim.load_topology(chip))
    verdict = verify(of, [np.load(models / name / "io.npz")["s0_in0"]])
    assert not verdict.differences
    assert verdict.ended
