"""``--engine``: who runs a program, as the terminal says it."""

import json

import pytest

from tests.cli.conftest import Tilesim
from tests.tiled.dataflow.agreement import COMPILED
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.run import engine as engine_module


@COMPILED
def test_the_terminal_says_which_engine_ran(tilesim: Tilesim) -> None:
    words = ("run", "pocket", "-t", "edge-2x2")
    assert "\nengine: compiled\n" in tilesim(*words).stdout
    for name in ("simpy", "compiled"):
        assert f"\nengine: {name}\n" in tilesim(*words, "--engine", name).stdout
    both = [json.loads(tilesim(*words, "--engine", name, "--json").stdout) for name in ("simpy", "compiled")]
    assert both[0] == both[1]


def test_a_warning_is_one_line(tilesim: Tilesim, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise NoCompiler("no C compiler is there to make the core")

    monkeypatch.setattr(engine_module, "library", none)
    lines = tilesim("run", "pocket", "-t", "edge-2x2", "--engine", "compiled").stdout.splitlines()
    said = "SimPy ran this, not the compiled engine: no C compiler is there to make the core"
    assert [line for line in lines if "ngine" in line] == [said, "engine: simpy"]


def test_it_is_said_where_there_is_a_choice(tilesim: Tilesim) -> None:
    words = ("run", "pocket", "-t", "edge-2x2")
    assert "engine" not in tilesim(*words, "--quiet").stdout
    assert tilesim(*words, "--json").stderr == ""
    assert "engine" not in tilesim(*words, "-t", "edge-1x1").stdout
    assert "engine" not in tilesim("run", "pocket", "-t", "systolic-32").stdout


def test_a_wrong_engine_is_an_error(tilesim: Tilesim) -> None:
    result = tilesim("run", "pocket", "-t", "edge-2x2", "--engine", "compield")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: --engine must be auto, compiled or simpy, not 'compield'; did you mean 'compiled'?\n"
    )
