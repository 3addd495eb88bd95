"""Names from everywhere, on their way to a terminal: tables, sentences, JSON; and streams that are closed or full."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.conftest import Tilesim
from tilesim.cli.output import tell

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "tilesim" / "cli"
EVIL = "[red]ä\x1b[31m\x9b\u202e\u2066\u200b\nerror: no"
"""What a name may be: markup, a letter, orders to a terminal, a line of its own."""
READ = "[red]ä\\x1b[31m\\x9b\\u202e\\u2066\\u200b\\nerror: no"

PROGRAM = """
.tasm 1
.program name="evil\\u{1b}\\u{202e}\\u{a}x"
.chip machine=tiled name="evil\\u{9b}\\u{202e}\\u{a}x"
.chip grid rows=1 columns=1
.load
.run
  tile_fence tiles=1 reset=ring_read_a,wide_to_narrow
"f\\u{1b}\\u{a}x": ring_consume tiles=1 write=[r:2 @0x0+r*256] produce=r
"c\\u{202e}\\u{a}x": wide_to_narrow tiles=1 read=[r:2 @0x0+r*256] write=[w:128 @0x0+w*4] wait=ring_read_a@r>=1+1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save_network(path: Path, kind: str = "Relu") -> None:
    """A layer with names that should not be obeyed; ONNX's own writer does not mind them."""
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [1.0])
    zero = helper.make_tensor("zero", TensorProto.INT8, [], [0])
    steps = [("QuantizeLinear", "x", "q"), ("DequantizeLinear", "q", "d"), (kind, "d", "r")]
    steps += [("QuantizeLinear", "r", "s"), ("DequantizeLinear", "s", EVIL)]
    nodes = [
        helper.make_node(op, [source, *(["scale", "zero"] if "Linear" in op else [])], [made], EVIL + made)
        for op, source, made in steps
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in ("x", EVIL)]
    graph = helper.make_graph(nodes, EVIL, ends[:1], ends[1:], [scale, zero])
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def clean(text: str) -> bool:
    return all(line.isprintable() and not line.strip().startswith("error: no") for line in text.split("\n"))


def both(result: Any) -> str:
    assert clean(result.stdout)
    assert clean(result.stderr)
    return f"{result.stdout}{result.stderr}"


def test_the_names_of_a_network_are_shown_and_not_obeyed(tilesim: Tilesim) -> None:
    name = "m\x1b\u202eä.onnx"
    save_network(Path(name))
    ran = tilesim("run", name, "-t", "edge-1x1", "--out", "out\x1b", "--trace")
    assert f"output {READ}: float32" in both(ran)
    for words in (["report", "out\x1b"], ["compare", "out\x1b", "out\x1b"], ["trace", "out\x1b", "-o", "t\x1b"]):
        assert "\\x1b" in both(tilesim(*words)), words
    for words in (["cache"], ["check"], ["verify"], ["run", "-t", "edge-1x2"]):
        assert "m\\x1b\\u202eä" in both(tilesim(words[0], name, "-t", "edge-1x1", *words[1:])), words
    found = tilesim("run", name, "-t", "edge-1x1", "--json").stdout
    assert found.isascii()
    assert any(EVIL in layer["name"] for layer in json.loads(found)["layers"])


@pytest.mark.parametrize(
    "words",
    [
        ("run", "digits", "-t", EVIL),
        ("run", EVIL, "-t", "edge-1x1"),
        ("run", "digits", "-t", "edge-1x1", "--set", f"{EVIL}={EVIL}"),
        ("run", "digits", "-t", "edge-1x1", "--set", f"grid.rows={EVIL}"),
        ("run", "digits", "-t", "edge-1x1", "--partition", f"{EVIL}:{EVIL}"),
        ("run", "digits", "-t", "edge-1x1", "--rules", EVIL),
        ("run", "digits", "-t", "edge-1x1", "--hold", EVIL),
        ("run", "digits", "-t", "edge-1x1", "--inputs", EVIL),
        ("run", "digits", "-t", "edge-1x1", "--energy", EVIL),
        ("run", "digits", "-t", "edge-1x1", "--trace-window", EVIL),
        ("cache", "digits", "-t", "edge-1x1", "--priority", EVIL),
        ("cache", "digits", "-t", "edge-1x1", "--layer-priority", f"digits:{EVIL}"),
        ("batch", "digits", "-t", "systolic-4", "--weight-reuse", EVIL),
        ("compile", "digits", "-t", "edge-1x1", "-o", EVIL),
        ("report", EVIL),
        ("compare", EVIL, EVIL),
        ("topologies", EVIL),
    ],
)
def test_the_words_of_a_command_line_are_quoted_and_not_obeyed(tilesim: Tilesim, words: tuple[str, ...]) -> None:
    result = tilesim(*words)
    assert result.exit_code == 2
    assert "\\x1b[31m" in both(result)


def test_the_members_of_an_archive_and_the_operators_of_a_network(tilesim: Tilesim) -> None:
    np.savez("in.npz", **{EVIL: np.zeros(2)})
    assert READ in both(tilesim("run", "digits", "-t", "edge-1x1", "--inputs", "in.npz"))
    save_network(Path("m.onnx"), "Erf\x1b\n")
    assert "Erf\\x1b\\n" in both(tilesim("run", "m.onnx", "-t", "edge-1x1"))


def test_the_names_in_a_program_and_its_chip(tilesim: Tilesim) -> None:
    Path("p.tasm").write_text(PROGRAM)
    assert "evil\\x1b\\u202e\\nx on evil\\x9b\\u202e\\nx" in both(tilesim("check", "p.tasm"))
    hung = tilesim("run", "p.tasm")
    assert hung.exit_code == 3
    assert "f\\x1b\\nx" in both(hung)
    assert "c\\u202e\\nx" in hung.stderr
    Path("p.tasm").write_text(PROGRAM.replace("grid rows=1", "gr\x1b\u202eid rows=1").replace("produce", "pr\x9boduce"))
    assert "\\x9b" in both(tilesim("run", "p.tasm"))
    Path("c.yaml").write_text('machine: tiled\nname: x\ndescription: "a\\nerror: no"\n')
    assert "a\\nerror: no" in both(tilesim("topologies", "c.yaml"))
    Path("c.yaml").write_text('machine: tiled\n"na\\eme\\n\\u202e": x\n')
    assert "\\x1b" in both(tilesim("topologies", "c.yaml"))


def test_no_width_is_not_a_width(tilesim: Tilesim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert "edge-4x4" in tilesim("topologies").stdout


def started(words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f"{sys.executable} -m tilesim {words}"
    return subprocess.run(["/bin/sh", "-c", command], env=environment, check=False, capture_output=True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs another shell")
def test_what_the_option_parser_says_steers_nothing_either() -> None:
    assert started("run '--\x1b\u202e\x9b'").stderr == (
        b"error: no such option: --\\x1b\\u202e\\x9b (see `tilesim run --help`)\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs another shell")
def test_a_fault_that_nobody_can_read_is_still_one() -> None:
    assert started("run none.onnx 2>&-").returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_device_takes_no_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    with suppress(OSError), Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stderr", full)
        tell("a fault", error=True)
        assert sys.stderr.name == os.devnull
        sys.stderr.close()


def printers(source: str) -> Iterator[str]:
    """What in a module writes to a terminal by itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in {"print", "typer.echo", "typer.secho", "click.echo", "sys.stdout.write", "sys.stderr.write"}:
                yield name


def test_one_module_prints() -> None:
    found = {path.name: [*printers(path.read_text(encoding="utf-8"))] for path in COMMANDS.rglob("*.py")}
    assert {name for name, calls in found.items() if calls} == {"output.py"}


def test_lines_are_whole_where_nobody_looks(tilesim: Tilesim, monkeypatch: pytest.MonkeyPatch) -> None:
    folded = tilesim("topologies", "edge-1x1").stdout
    monkeypatch.delenv("COLUMNS")
    whole = tilesim("topologies", "edge-1x1").stdout
    assert max(map(len, folded.splitlines())) <= 80 < max(map(len, whole.splitlines()))
    assert sorted(whole.split()) == sorted(folded.split())


POCKET = ("pocket", "-t", "pocket-2x1")


def test_no_notes(tilesim: Tilesim, tmp_path: Path) -> None:
    words = ("run", *POCKET, "--trace", "--partition", "2=channel", "--out", tmp_path / "out")
    said, quiet = tilesim(*words).stdout, tilesim(*words, "--quiet").stdout
    assert "could not be spread by channel" in said
    assert "written to" in said
    assert set(said.splitlines()) > set(quiet.splitlines())
    assert "output probabilities" in quiet
    assert "written to" not in quiet
    assert "could not" not in quiet


@pytest.mark.parametrize(
    "words", [("compile", *POCKET, "-o", "p.tasm"), ("report", "out"), ("trace", "out", "-o", "t.json", "--chrome")]
)
def test_commands_that_only_write_say_nothing(
    tilesim: Tilesim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tilesim("run", *POCKET, "--trace", "--out", "out", "-q").exit_code == 0
    result = tilesim(*words, "-q")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert tilesim(*words).stdout != ""


def test_errors_are_told(tilesim: Tilesim) -> None:
    assert tilesim("run", "dgits", "-q").stderr == "error: dgits: there is no such workload; did you mean digits?\n"
