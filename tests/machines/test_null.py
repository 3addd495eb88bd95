"""A machine from outside takes part in everything that the house does, or is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import tilesim
from tilesim.cli import COMMANDS, app

CHIP = 'machine: "null"\nname: nothing\n'
CANNOT = "nothing: must be a chip whose machine can"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a null chip in it, whose machine is registered."""
    monkeypatch.setitem(tilesim.MACHINES, "null", "tests.machines.null:Null")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing.yaml").write_text(CHIP)
    return tmp_path


@pytest.fixture
def command(folder: Path) -> Callable[..., Result]:
    def call(*words: object) -> Result:
        assert folder.is_dir()
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


def test_it_computes_what_the_network_does_and_takes_its_time(folder: Path) -> None:
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology(folder / "nothing.yaml", {"layer_cycles": 7})
    program = tilesim.compile(network, chip)
    image = np.arange(64, dtype=np.int8).reshape(1, 4, 4, 4)
    run = tilesim.simulate(program, image, keep_tensors=True, trace=True)
    values = network.evaluate([network.tensors[network.inputs[0]].from_model(image)])
    golden = network.tensors[network.outputs[0]].to_model(values[network.outputs[0]])
    np.testing.assert_array_equal(run.outputs[0], golden)
    np.testing.assert_array_equal(run.tensors[network.outputs[0]], golden)
    assert run.cycles == run.statistics["cycles"] == 7 * len(network.nodes)
    assert run.trace is not None
    assert set(run.trace.layers) == {node.name for node in network.nodes}


@pytest.mark.parametrize("name", ["program.tasm", "program.tbin"])
def test_its_programs_are_saved_and_loaded(folder: Path, name: str) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("./nothing.yaml"))
    tilesim.save_program(program, folder / name)
    again = tilesim.load_program(folder / name)
    image = np.ones((1, 4, 4, 4), np.int8)
    runs = [tilesim.simulate(each, image, trace=True) for each in (program, again)]
    assert runs[0].statistics == runs[1].statistics


def test_options_that_mean_nothing_to_it_are_refused_together(folder: Path) -> None:
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology(folder / "nothing.yaml")
    why = "a null machine has one unit and no choice"
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compile_networks([network, network], chip, tilesim.CachePolicy(cache=False), "channel")
    assert caught.value.faults == (
        f"nothing: networks must be one at a time, not 2: {why}",
        f"nothing: partition must be left out: {why}",
        f"nothing: cache must be left out: {why}",
    )
    image = np.ones((1, 4, 4, 4), np.int8)
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.simulate(tilesim.compile(network, chip), image, holds={"layer0": 3}, masters="single")
    assert caught.value.faults == (
        f"nothing: masters must be left out: {why}",
        f"nothing: holds must be left out: {why}",
    )


def test_a_machine_that_nobody_registered_is_named(tmp_path: Path) -> None:
    (tmp_path / "nothing.yaml").write_text(CHIP)
    with pytest.raises(tilesim.ConfigError, match="machine must be 'tiled' or 'systolic' or 'rotating', not 'null'"):
        tilesim.load_topology(tmp_path / "nothing.yaml")
    (tmp_path / "nothing.tasm").write_text(".tasm 1\n.program name=x\n.chip machine=null name=nothing\n")
    with pytest.raises(tilesim.ProgramError, match=r"nothing.tasm: .chip machine must be a machine that there is, not"):
        tilesim.load_program(tmp_path / "nothing.tasm")


def test_a_machine_that_can_not_be_imported_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tilesim.MACHINES, "null", "tests.machines.nowhere:Null")
    sentence = r"machine tests.machines.nowhere:Null: must be a class that can be imported: No module named"
    with pytest.raises(tilesim.InputError, match=sentence):
        tilesim.load_topology(folder / "nothing.yaml")


ANSWERED: dict[str, tuple[str, ...]] = {
    "run": ("run", "pocket", "-t", "nothing.yaml", "--trace", "--out", "one"),
    "sensitivity": ("sensitivity", "pocket", "-t", "nothing.yaml"),
    "calibrate": ("calibrate", "points.csv", "-t", "nothing.yaml", "--fit", "clock_hz"),
    "compare": ("compare", "one", "two"),
    "report": ("report", "one"),
    "compile": ("compile", "pocket", "-t", "nothing.yaml", "-o", "pocket.tbin"),
    "trace": ("trace", "one", "-o", "one.perfetto"),
    "support": ("support", "pocket", "-t", "nothing.yaml"),
    "sweep": ("sweep", "pocket", "-t", "nothing.yaml", "--store", "one.sqlite"),
    "sweep report": ("sweep", "report", "one.sqlite"),
    "topologies": ("topologies", "nothing.yaml"),
    "workloads": ("workloads",),
    "demo": ("demo",),
    "guide": ("guide",),
    "masters": ("masters", "pair-adjacent-01"),
    "masters suite": ("masters", "suite"),
    "watch": ("watch", "pocket", "-t", "nothing.yaml"),
}
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "cache": (("cache", "pocket", "-t", "nothing.yaml"), "keep parameters in tiles, such as edge-4x4"),
    "batch": (("batch", "pocket", "-t", "nothing.yaml"), "run batches, such as tpu-v1"),
    "check": (("check", "pocket", "-t", "nothing.yaml"), "prove programs before they run, such as edge-4x4"),
    "verify": (("verify", "pocket", "-t", "nothing.yaml"), "be run on a second model, such as edge-4x4 or nnu-1024"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_or_says_that_the_machine_can_not(command: Any, name: str) -> None:
    if name in REFUSED:
        words, what = REFUSED[name]
        result = command(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert " ".join(result.stderr.split()) == f"error: {CANNOT} {what}, not one of the null machine"
        return
    Path("points.csv").write_text("model,condition,value,unit,use\npocket,,1,us,train\n")
    second = ANSWERED["sweep"] if name == "sweep report" else ("run", "pocket", "-t", "nothing.yaml", "--out", "two")
    for words in (ANSWERED["run"], second, ANSWERED[name]):
        result = command(*words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("-n", 2), f"{CANNOT} run several inferences in turn, such as edge-4x4 or tpu-v1, not one of the null"),
        (
            ("--partition", "channel"),
            "--partition applies to chips that can spread layers over tiles, such as edge-4x4, not",
        ),
        (("--hold", "layer0=3"), "nothing: --hold must be left out: a null machine has one unit"),
        (("--fit",), "--fit applies to chips that can run batches, such as tpu-v1, not to nothing"),
        (("--trace-tracks", "chip.x*"), "tracks to trace: each must be a unit or link of nothing"),
    ],
)
def test_options_of_run_are_refused_as_the_command_line_calls_them(
    command: Any, words: tuple[object, ...], fault: str
) -> None:
    result = command("run", "pocket", "-t", "nothing.yaml", *words)
    assert result.exit_code == 2
    assert fault in " ".join(result.stderr.split())


def test_it_is_compared_with_the_others(command: Any) -> None:
    result = command("run", "pocket", "-t", "nothing.yaml", "-t", "pocket-2x1", "-t", "systolic-4")
    assert (result.exit_code, result.stderr) == (0, "")
    assert all(name in result.stdout for name in ("nothing", "pocket-2x1", "systolic-4"))


def test_every_report_is_made_of_a_machine_that_says_nothing_of_itself(folder: Path) -> None:
    """Whatever it calls its units and its causes; page, pictures, traces, and a comparison with another machine."""
    pytest.importorskip("matplotlib")
    network = tilesim.load_network("pocket")
    runs = [
        tilesim.simulate(tilesim.compile(network, tilesim.load_topology(chip)), trace=True)
        for chip in ("nothing.yaml", "pocket-2x1")
    ]
    runs[0].save(folder / "run")
    tilesim.save_report(folder / "run", folder / "report.html")
    assert "chip.evaluator" in (folder / "report.html").read_text(encoding="utf-8")
    assert {path.stem for path in tilesim.save_figures(runs[0], folder / "figures")} == {"timeline", "stalls", "layers"}
    assert tilesim.save_trace(folder / "run", folder / "trace.json", chrome=True) == 5
    comparison = tilesim.compare(runs)
    assert [row["cause"] for row in comparison["causes"]] == ["macs", "waiting"]
    tilesim.save_comparison(comparison, folder / "compare.html")
