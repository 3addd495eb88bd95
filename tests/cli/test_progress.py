"""What is said while something takes long, and when nothing is."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from threading import Event

import numpy as np
import pytest

import tilesim
from tests.tiled.dataflow.agreement import COMPILED
from tilesim.cli import progress
from tilesim.run import Look, RunProgress


class Terminal(io.StringIO):
    """A standard error that somebody reads, and that tells when it holds a text."""

    def __init__(self, awaited: str) -> None:
        super().__init__()
        self.shown = Event()
        self._awaited = awaited

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._awaited in self.getvalue():
            self.shown.set()
        return written


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Terminal]:
    def make(awaited: str) -> Terminal:
        made = Terminal(awaited)
        monkeypatch.setattr("sys.stderr", made)
        monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
        monkeypatch.setattr(progress, "REFRESH_SECONDS", 0.01)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("TERM", "xterm")
        return made

    return make


def test_the_cycle_and_the_layer_are_told(terminal: Callable[[str], Terminal]) -> None:
    far = iter([RunProgress("load", 1_234, None, ("a", "b"))])
    shown = terminal("layer 2 of 2, b\\x1b[31m")
    with progress.simulating("x on y") as follow:
        follow(lambda: next(far, RunProgress("run", 56_789, 1, ("a", "b\x1b[31m"))))
        assert shown.shown.wait(60)
    assert "simulating x on y: loading, cycle 1,234 " in shown.getvalue()
    assert "simulating x on y: cycle 56,789, layer 2 of 2, b\\x1b[31m" in shown.getvalue()


def test_what_goes_on_now_is_told_instead(terminal: Callable[[str], Terminal]) -> None:
    shown = terminal("second")
    with progress.progress("first") as say:
        say("second")
        assert shown.shown.wait(60)
    assert "[bold]" not in shown.getvalue()


def test_without_a_terminal_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = io.StringIO()
    monkeypatch.setattr("sys.stderr", silent)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    asked: list[None] = []
    with progress.simulating("x") as follow:
        follow(lambda: asked.append(None) or RunProgress("run", 0, None, ()))  # type: ignore[func-returns-value]
    assert (silent.getvalue(), asked) == ("", [])


def test_a_run_tells_how_far_it_is_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x2"))
    images = np.zeros((1, 1, 8, 8), np.float32)
    looks: list[Look] = []
    seen: list[RunProgress] = []
    monkeypatch.setattr("tilesim.machines.frame.forget", lambda _tile, _label: seen.append(looks[-1]()))
    watched = tilesim.simulate(program, images, trace=True, on_start=looks.append, engine="simpy")
    [look] = looks
    assert watched.trace is not None
    assert [each.section for each in seen] == sorted(each.section for each in seen)
    for section in ("load", "run"):
        cycles = [each.cycle for each in seen if each.section == section]
        assert cycles == sorted(cycles)
        assert 0 <= cycles[0] < cycles[-1] <= watched.statistics[f"{section}_cycles".removeprefix("run_")]
    layers = [each.layer for each in seen if each.layer is not None]
    assert {seen[-1].layers[k] for k in layers} >= {"stem"}
    assert layers == sorted(layers)
    assert look().cycle >= watched.cycles - 1
    monkeypatch.undo()
    alone = tilesim.simulate(program, images, trace=True, engine="simpy")
    assert alone.statistics == watched.statistics


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=COMPILED)])
def test_several_inferences_tell_too(engine: str) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    looks: list[Look] = []
    arrays = [np.zeros((1, 4, 4, 4), np.int8)] * 2
    tilesim.simulate_requests([program], arrays, on_start=looks.append, engine=engine)
    assert re.fullmatch(r"cycle [\d,]+(, layer \d of 5, .+)?", progress._how_far(looks[-1]))
