"""What scripts/bench does with its measurements, and that it makes some."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.benchmarks import __main__ as bench
from scripts.benchmarks import groups, material, processes
from scripts.benchmarks.groups import GROUPS, Group, Ratio, Settings
from scripts.benchmarks.instructions import repeated
from scripts.benchmarks.material import MaterialError, scalesim_python
from scripts.benchmarks.measured import agree, measured, median, quotient
from scripts.benchmarks.processes import ROOT, Patience, Subject, interleaved, ran
from scripts.benchmarks.scalesim_subject import _table
from scripts.benchmarks.subject import _proven_elsewhere, first_layers, hashed, inputs, instructions, main, peak_bytes
from scripts.benchmarks.table import goals, markdown
from tests.networks import Weave
from tests.soak import part_of

PAGE = (ROOT / "tilesim" / "guide" / "benchmarks.md").read_text(encoding="utf-8")
PATIENCE = Patience(rounds=3, budget_seconds=60, limit_seconds=60)


def fake(label: str, code: str, **arguments: Any) -> Subject:
    """A subject that is this Python code; ``given`` are its arguments."""
    lines = f"import json, sys; given = json.loads(sys.argv[1]); {code}"
    return Subject(label, arguments=arguments, python=(sys.executable, "-c", lines))


def prints(label: str, **record: Any) -> Subject:
    return fake(label, "print('chatter'); print(json.dumps(given))", **record)


def silent(_what: str) -> None:
    """Nobody listens."""


def test_subjects_take_turns_and_one_that_fails_is_not_tried_again() -> None:
    said: list[str] = []
    subjects = [prints("a", seconds=1.5), fake("b", "sys.exit('no luck')"), prints("c", seconds=2.5)]
    records = interleaved(subjects, PATIENCE, said.append)
    assert [line.split(",")[0] for line in said] == ["a", "b", "c", "a", "c", "a", "c"]
    assert said[0] == "a, round 1: 1.500 s"
    assert records == {"a": [{"seconds": 1.5}] * 3, "b": [{"error": "no luck"}], "c": [{"seconds": 2.5}] * 3}


def turns(monkeypatch: pytest.MonkeyPatch, took_seconds: dict[str, float], budget_seconds: float) -> str:
    """The labels of subjects that take so long each, as they are run."""
    now, order = [0.0], list[str]()

    def fake_run(subject: Subject, _limit_seconds: float) -> dict[str, Any]:
        now[0] += took_seconds[subject.label]
        order.append(subject.label)
        return {"seconds": 1.0}

    monkeypatch.setattr(processes, "ran", fake_run)
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: now[0]))
    interleaved([*map(Subject, took_seconds)], Patience(5, budget_seconds, limit_seconds=60), silent)
    return "".join(order)


def test_no_further_round_begins_once_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert turns(monkeypatch, {"a": 9.0, "b": 9.0, "c": 9.0, "d": 9.0}, budget_seconds=100) == "abcd" * 3


def test_what_takes_a_large_part_of_the_budget_is_run_once_and_takes_nobody_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert turns(monkeypatch, {"a": 1.0, "slow": 500.0, "b": 10.0}, budget_seconds=100) == "aslowb" + "ab" * 4


def test_what_takes_too_long_or_is_not_there_is_said() -> None:
    slow = fake("slow", "import time; time.sleep(60)")
    assert ran(slow, 0.2) == {"error": "took more than 0.2 s"}
    assert ran(Subject("a", needs=("no_such_package",)), 9) == {"error": "no_such_package is not installed"}


def test_a_ratio_is_the_median_of_those_of_the_rounds() -> None:
    rounds = {"a": [{"seconds": s} for s in (2.0, 9.0, 4.0)], "b": [{"seconds": s} for s in (1.0, 1.0, 1.0)]}
    assert quotient(Ratio("a", "b"), rounds) == {"ratio": 4.0, "of_rounds": [2.0, 9.0, 4.0]}
    each = {"seconds_each": 0.003, "of_rounds": [0.001, 0.008, 0.003]}
    assert quotient(Ratio("a", "b", per=1000), rounds) == each
    assert quotient(Ratio("a", "b"), {**rounds, "b": [{"error": "no"}]}) == {}


def test_medians_keep_whole_numbers_whole() -> None:
    records = [{"seconds": s, "cycles": c, "answer": "x"} for s, c in ((1.0, 7), (4.0, 8))]
    assert median(records) == {"seconds": 2.5, "cycles": 7, "answer": "x"}
    assert median([records[0], {"error": "no"}]) == {"error": "no"}


def test_outputs_that_must_be_the_same_are_compared() -> None:
    subjects = [Subject("a", answer="exact"), Subject("b", answer="exact"), Subject("c")]
    rounds = {"a": [{"answer": "x"}, {"answer": "x"}], "b": [{"error": "no"}], "c": [{"answer": "z"}]}
    assert agree(subjects, rounds)
    assert not agree(subjects, {**rounds, "b": [{"answer": "y"}]})


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_ratios_are_of_subjects_that_there_are(group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mlperf_kws_dscnn", "coral_tf2_mnv2_ptq"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.tflite").touch()
    monkeypatch.setattr(groups, "resnet50", lambda *_: Path("resnet50.onnx"))
    monkeypatch.setattr(groups, "scalesim_python", lambda *_: Path("python"))
    labels = [subject.label for subject in group.subjects(Settings(tmp_path, tmp_path, silent))]
    assert len(set(labels)) == len(labels)
    assert {label for ratio in group.ratios for label in (ratio.over, ratio.under)} <= set(labels)
    assert group.ratios


def test_a_group_without_its_material_is_left_out(tmp_path: Path) -> None:
    entry = measured(GROUPS["mobilenet"], Settings(tmp_path, tmp_path, silent), PATIENCE)
    assert entry["skipped"] == "there is no coral_tf2_mnv2_ptq in the folder that --models or TILESIM_MODELS names"
    assert markdown({"date": "today", "processor": "P", "versions": {}, "groups": [entry]}).endswith(
        "- mobilenet was left out: there is no coral_tf2_mnv2_ptq in the folder that --models or TILESIM_MODELS names\n"
    )


def test_an_environment_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "scalesim-3.0.0").write_text("in the way")
    with pytest.raises(MaterialError, match=r"^can't make an environment for SCALE-Sim: "):
        scalesim_python(tmp_path, silent)


def test_resnet50_is_made_once_and_again_when_its_maker_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker, said = tmp_path / "maker.py", list[str]()
    maker.write_text("import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('made')")
    monkeypatch.setattr(material, "MAKER", maker)
    for _ in range(2):
        assert material.resnet50(tmp_path, said.append).read_text() == "made"
    assert said == ["making ResNet-50"]
    os.utime(tmp_path / "resnet50.onnx", (0, 0))
    maker.write_text("import sys; sys.exit('no luck')")
    with pytest.raises(MaterialError, match=r"^can't make ResNet-50: no luck$"):
        material.resnet50(tmp_path, said.append)


def test_the_table() -> None:
    size = {"instructions": 1500, "compile_seconds": 1.25, "peak_bytes": 98_765_432}
    group = Group(
        "g", lambda _: [prints("a", seconds=0.5, cycles=1200, **size), prints("b", seconds=0.25), fake("c", "1/0")],
        ratios=(Ratio("a", "b", "3"), Ratio("a", "b", "10 us", per=1000), Ratio("a", "c")), sizes=True,
    )  # fmt: skip
    entry = measured(group, Settings(Path(), Path(), silent), Patience(1, 60, 60))
    entry["ratios"][1]["over"], entry["subjects"]["b"] = "2000 copy", {**entry["subjects"]["a"], "seconds": 0.25}
    document = {"date": "2026-01-02", "processor": "P", "versions": {"python": "3", "numpy": "2"}, "groups": [entry]}
    assert markdown(document) == (
        "| what | takes | compared with | takes | ratio | goal |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| a | 500 ms for 1,200 cycles | b | 250 ms for 1,200 cycles | 2 | ≤ 3 |\n\n"
        "| one instruction more | takes | goal |\n"
        "| --- | ---: | ---: |\n"
        "| copy | 250 us | ≤ 10 us |\n\n"
        "| network | instructions | compile | simulate | peak memory | cycles |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| a | 1,500 | 1.25 s | 500 ms | 99 MB | 1,200 |\n"
        "| b | 1,500 | 1.25 s | 250 ms | 99 MB | 1,200 |\n\n"
        "Measured on 2026-01-02 on one core of P, with python 3, numpy 2.\n\n"
        "- c: ZeroDivisionError: division by zero\n"
    )
    assert goals(document) == (
        "| what | compared with | takes | goal |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| a | b | 2 times | ≤ 3 |\n"
        "| one instruction more: copy |  | 250 us | ≤ 10 us |\n"
    )


def test_several_rounds_show_how_far_they_lie_apart() -> None:
    ratio = {"over": "8000 a", "under": "b", "goal": "3", "of_rounds": [1.5e-05, 2.25e-05, 3e-05]}
    subjects = {"8000 a": {"seconds": 2.0}, "b": {"seconds": 1.0}}
    group = {"ratios": [{**ratio, "ratio": 2.25e-05}, {**ratio, "seconds_each": 2.25e-05}], "subjects": subjects}
    assert goals({"groups": [group]}).splitlines()[2:] == [
        "| 8000 a | b | 2.25e-05 (1.5e-05 to 3e-05) times | ≤ 3 |",
        "| one instruction more: a |  | 22 us (15 to 30) | ≤ 3 |",
    ]


def test_the_guide_has_a_place_for_it_and_every_group_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.rewritten("a\n<!-- bench -->\nold\n<!-- /bench -->\nb", "| new |\n") == (
        "a\n<!-- bench -->\n| new |\n<!-- /bench -->\nb"
    )
    place = bench.PLACE.search(PAGE)
    assert place
    assert bench.PLACE.search(bench.README.read_text(encoding="utf-8"))
    for header in ("| what | takes |", "| one instruction more |", "| network | instructions |"):
        assert header in place[0]
    with pytest.raises(SystemExit):
        bench.parsed(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in GROUPS)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--guide", "--quick"], "--guide must have a whole run, not --quick or --only"),
        (["--rounds", "0"], "must be a number from 1 up, not 0"),
        (["--only", "nothing"], "invalid choice: 'nothing'"),
        (["--out", "/dev/null/x"], "--out must be a folder that can be written, not /dev/null/x: Not a directory"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.parsed(words)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_groups_are_chosen(tmp_path: Path) -> None:
    def names(*words: str) -> list[str]:
        return [group.name for group in bench.chosen(bench.parsed([*words, "--out", str(tmp_path)]))]

    assert names() == list(GROUPS)
    assert names("--quick") == ["keywords", "digits", "instructions"]
    assert names("--only", "resnet50", "--only", "digits") == ["digits", "resnet50"]


def test_a_network_is_cut_behind_its_first_layers() -> None:
    weave = Weave()
    first = weave.convolution(weave.input(6, 6, 4), 8)
    network = weave.network(weave.convolution(first, 4))
    image = inputs(network)
    [cut] = (first_layers(network, 1).evaluate(image)[index] for index in first_layers(network, 1).outputs)
    assert hashed([cut]) == hashed([network.evaluate(image)[first]]) != hashed([cut + 1])
    assert peak_bytes() > 1 << 20


def test_what_does_not_fit_is_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"model": "digits", "topology": "edge-1x1", "changes": {"wide_memory.size_bytes": "4 KiB"}}
    main("simulate", json.dumps(given))
    assert "must fit the wide memory" in json.loads(capsys.readouterr().out)["error"]


def test_a_layer_for_scalesim() -> None:
    assert _table([58, 3]) == "layer,column0,column1,\nconvolution,58,3,\n"


@pytest.mark.parametrize("words", part_of([["--only", "digits"], ["--quick"]], 1), ids=" ".join)
def test_a_quick_run(words: list[str], tmp_path: Path) -> None:
    """What the guide names, or the quickest of it, with one round."""
    command = [sys.executable, "-m", "scripts.benchmarks", *words, "--rounds", "1", "--out", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    written = json.loads((tmp_path / "bench.json").read_text())
    assert (tmp_path / "bench.md").read_text() == done.stdout == markdown(written)
    assert re.search(r"^\| digits on 1 tile \| .* \| ONNX Runtime \|", done.stdout, re.MULTILINE)
    assert re.search(r"^digits on 1 tile, round 1: \d+\.\d+ s$", done.stderr, re.MULTILINE)
    assert written["schema"] == "tilesim.bench/1"
    [digits] = (group for group in written["groups"] if group["name"] == "digits")
    ours, theirs = digits["subjects"]["digits on 1 tile"], digits["subjects"]["ONNX Runtime"]
    assert ours["answer"] == theirs["answer"]
    assert ours["compile_seconds"] > 0
    assert ours["peak_bytes"] > 1 << 20


def test_a_program_that_has_been_proven_comes_as_such_and_takes_the_same_cycles() -> None:
    assert _proven_elsewhere("copy", 8).is_known_sound
    assert not repeated("copy", 8).is_known_sound
    first, again = (instructions("copy", 8, proves) for proves in (True, False))
    assert first["cycles"] == again["cycles"] > 0
