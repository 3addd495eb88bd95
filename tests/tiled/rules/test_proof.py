"""What is proven of whole programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tilesim
from tests.tiled.rules.lines import consume, fence, proof, rules, send
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import Instruction, RingProduce
from tilesim.tiled.rules.proof import RULES, proof_of


@pytest.mark.parametrize(("network", "chip"), [("digits", "edge-2x4"), ("example-residual", "edge-1x2")])
def test_compiled_programs_are_proven(network: str, chip: str) -> None:
    outcome = proof_of(tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip)))
    assert [refutation.sentence for refutation in outcome.refutations] == []
    assert outcome.masters is not None
    assert len(outcome.masters.history.order) == outcome.transfers > 1


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["edge-2x2", "edge-8x8"])
def test_a_real_model_is_proven(models: Path, chip: str) -> None:
    [path] = (models / "mlperf_kws_dscnn").glob("*.tflite")
    assert proof_of(tilesim.compile(tilesim.load_network(path), tilesim.load_topology(chip))).proven


def test_a_compiled_program_without_its_turns_is_refuted() -> None:
    """The masters of the last layer's rows, one each, wait for those before them: take the waits away."""
    made = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x4"))
    outcome = proof_of(replace(made, run=tuple(map(without_turn, made.run))))
    assert any("in either order" in refutation.sentence for refutation in outcome.refutations)


def without_turn(op: Instruction) -> Instruction:
    if not isinstance(op, RingProduce):
        return op
    return replace(op, wait=tuple(watcher for watcher in op.wait if watcher.flag != Flag.RING_PRODUCER_A))


def test_the_document_is_plain() -> None:
    outcome = proof(consume(2), consume(3), send("a", 0, 2), send("b", 1, 3), fence("tensor", 0))
    document = json.loads(json.dumps(outcome.document()))
    assert document == outcome.document()
    assert {refutation["rule"] for refutation in document["refutations"]} <= RULES.keys()
    assert (document["proven"], document["transfers"], document["pairs"]["open"]) == (False, 2, 1)


def test_what_no_chip_could_run_is_all_that_is_said() -> None:
    assert set(rules(proof(consume(3).replace("@0x80", "@0x88")))) == {"instructions"}
