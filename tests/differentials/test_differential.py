"""scripts/differential: random models through tilesim and the reference runtimes."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from scripts.differentials import __main__ as differential
from scripts.differentials import formats, litert, workers
from scripts.differentials.case import Array, Case, Refusal, drawn
from scripts.differentials.formats import families, make, reference
from scripts.differentials.table import counted, refusals
from scripts.differentials.verdict import Job, Outcome, difference, judged, pattern

ADD = "tflite/add"


@pytest.mark.parametrize("family", families())
def test_each_family_gives_the_runtimes_bits(family: str) -> None:
    outcomes = [judged(Job(family, seed)) for seed in range(8)]
    assert [outcome for outcome in outcomes if outcome.wrong] == []
    assert any(outcome.verdict == "equal" for outcome in outcomes)


@pytest.mark.parametrize("chip", ["edge-1x2", "systolic-4"])
@pytest.mark.parametrize("family", ["tflite/fully_connected", "tflite/conv_2d_uint8", "tflite/softmax"])
def test_so_do_chips(family: str, chip: str) -> None:
    outcomes = [judged(Job(family, seed, chip)) for seed in range(8)]
    assert [outcome for outcome in outcomes if outcome.wrong] == []
    assert any(outcome.on_chip == "equal" for outcome in outcomes)


FORKING = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
"""Where NumPy has threads; the processes do nothing with them."""


def test_a_host_may_look_up_the_other_type_before_it_dequantises() -> None:
    """A softmax of int8, as uint8, as reals."""
    assert judged(Job("tflite/softmax", 177, "edge-1x2")).on_chip == "equal"


@FORKING
@pytest.mark.soak
@pytest.mark.parametrize("family", families())
def test_many_of_each_family(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = differential.main([family, "--count", "300", "--seed", "1000"])
    assert status == 0, capsys.readouterr().out


def test_a_seed_says_all() -> None:
    first, again, other = make(ADD, 3), make(ADD, 3), make(ADD, 4)
    assert first.model == again.model != other.model
    assert all(np.array_equal(array, again.inputs[name]) for name, array in first.inputs.items())


def test_elements_that_differ_are_counted() -> None:
    wanted = [np.array([[1, 2], [3, 4]], np.int8)]
    assert difference([wanted[0].copy()], wanted) == ""
    assert difference([np.array([[1, 0], [3, 5]], np.int8)], wanted) == (
        "output 0 differs in 2 of 4, first at 1: 0 instead of 2"
    )
    assert difference([wanted[0].reshape(-1)], wanted) == "output 0 is int8 [4] instead of int8 [2, 2]"
    assert difference([], wanted) == "0 outputs instead of 1"
    nan = np.array([np.nan, 0.0], np.float32)
    assert difference([nan], [nan.copy()]) == ""
    assert difference([nan], [-nan]) != ""


def test_reasons_are_without_names_and_numbers() -> None:
    fault = "folder/model.tflite: node 0 (CONV_2D): bias t12 must have 0.5, not -1e-05, and be below 2**31, int8"
    assert pattern(fault) == "node N (CONV_2D): bias T must have N, not N, and be below 2**31, int8"


def wrong_reference(case: Case) -> list[Array]:
    return [array ^ 1 for array in reference(case)]


def refusing_reference(case: Case) -> list[Array]:
    raise Refusal(f"not {case.family}")


def dying_reference(case: Case) -> list[Array]:
    if case.seed == 1:
        os._exit(7)
    return reference(case)


@pytest.mark.parametrize(
    ("answer", "words"),
    [(wrong_reference, "output 0 differs in"), (refusing_reference, "the runtime refuses what tilesim runs: not tf")],
)
def test_what_differs_ends_in_status_1_and_can_be_seen_again(
    answer: Callable[[Case], list[Array]],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("scripts.differentials.verdict.reference", answer)
    monkeypatch.setattr(differential, "outcomes", lambda jobs, _processes: map(judged, jobs))
    assert differential.main([ADD, "--count", "1", "--seed", "3", "--chip", "0", "--keep", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert f"tflite/add, seed 3: {words}" in printed
    assert "again: scripts/differential tflite/add --seed 3 --count 1" in printed
    assert (tmp_path / "tflite-add-3.tflite").read_bytes() == make(ADD, 3).model
    assert list(np.load(tmp_path / "tflite-add-3.npz")) == list(make(ADD, 3).inputs)


@FORKING
def test_a_runtime_that_dies_is_told_of_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.differentials.verdict.reference", dying_reference)
    outcomes = list(workers.outcomes([Job(ADD, seed) for seed in range(4)], 1))
    assert [outcome.verdict for outcome in outcomes] == ["equal", "different", "equal", "equal"]
    assert outcomes[1].reason == "its process ended with 7"


def test_outcomes_are_counted_by_family() -> None:
    job, other = Job("a/x", 0), Job("a/y", 0, "edge-1x2")
    outcomes = [Outcome(job, "equal"), Outcome(job, "refused", "why"), Outcome(other, "equal", "", "refused", "small")]
    console = Console(file=StringIO(), width=120)
    console.print(*refusals(outcomes), counted(["a/x", "a/y"], outcomes), sep="\n")
    assert isinstance(console.file, StringIO)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert lines[:2] == [["refused", "1", "x", "why"], ["refused", "1", "x", "on", "a", "chip:", "small"]]
    assert lines[-3:] == [["a/x", "2", "1", "1"], ["a/y", "1", "1", "1", "1"], ["all", "3", "2", "1", "1", "1"]]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["tflite/none"], "there is no family tflite/none"),
        (["--count", "0"], "count and processes must be at least 1"),
        (["--seed", "-1"], "the seed at least 0"),
    ],
)
def test_wrong_words(words: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        differential.main(words)
    assert caught.value.code == 2
    assert fault in capsys.readouterr().err


def test_a_format_stands_for_all_of_its_families() -> None:
    every = [family for family in families() if family.startswith("tflite/")]
    assert differential.parsed(["tflite"]).families == every
    assert len(every) == len(litert.FAMILIES)
    assert {job.family for job in differential.jobs(differential.parsed(["tflite", "--count", "1"]))} == set(every)


def test_every_operator_that_is_read_has_a_family() -> None:
    from tilesim.network.readers.tflite_operators import READERS

    missing = {kind for kind in READERS if kind.lower() not in formats.module("tflite").FAMILIES}
    assert missing == set()


def test_a_family_is_drawn_from_its_own_numbers() -> None:
    def draw(rng: np.random.Generator) -> tuple[bytes, dict[str, Array]]:
        return rng.bytes(8), {}

    assert drawn("a/x", 0, "", draw).model != drawn("a/y", 0, "", draw).model
