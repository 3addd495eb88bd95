"""How much of a run is recorded is for the user to say."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim
from tilesim.sim.trace.signals import Signals
from tilesim.sim.trace.trace import Trace


def recorded(tilesim: Tilesim, folder: Path, *words: str) -> Trace:
    result = tilesim("run", "digits", "--topology", "edge-2x2", "--out", folder, *words)
    assert result.exit_code == 0, result.stderr
    return Trace.load(folder / "trace.npz")


def test_a_window_is_of_the_run(tilesim: Tilesim, tmp_path: Path) -> None:
    whole, part = (
        recorded(tilesim, tmp_path / "a", "--trace"),
        recorded(tilesim, tmp_path / "b", "--trace-window", "100:200"),
    )
    assert spans(part) == spans(whole, 100, 200)
    assert spans(recorded(tilesim, tmp_path / "c", "--trace-window", ":")) == spans(whole, 0)


def spans(trace: Trace, first: int = -(10**9), end: int = 10**9) -> list[tuple[str, int, int, str]]:
    """What happened in the cycles from ``first`` to ``end`` of the run: who, from when to when, what."""
    found = zip(trace.track, trace.start_cycle - trace.start, trace.cycles, trace.kind, strict=True)
    cut = [(k, max(at, first), min(at + cycles, end), kind) for k, at, cycles, kind in found]
    return [(trace.tracks[k], at, until, trace.kinds[kind]) for k, at, until, kind in cut if until > at]


def test_only_some_tracks(tilesim: Tilesim, tmp_path: Path) -> None:
    found = recorded(tilesim, tmp_path, "--trace-tracks", "chip.tile0.*", "--trace-tracks", "chip.ring.*")
    assert {track.rpartition(".")[0] for track in found.tracks} == {"chip.tile0", "chip.ring"}


def test_tracks_that_the_chip_does_not_have_are_refused_before_the_run(tilesim: Tilesim, tmp_path: Path) -> None:
    words = [word for pattern in ("chip.tile0.*", "chip.tile9.*", "*MAC*") for word in ("--trace-tracks", pattern)]
    result = tilesim("run", "digits", "--topology", "edge-2x2", "--out", tmp_path / "out", *words)
    assert result.exit_code == 2
    each = "error: tracks to trace: each must be a unit or link of edge-2x2, or a pattern of such, not"
    assert result.stderr.splitlines() == [
        f"{each} 'chip.tile9.*'; did you mean 'chip.tile3.tensor'?",
        f"{each} '*MAC*'",
    ]
    assert not (tmp_path / "out").exists()


def test_a_window_behind_the_run_is_said_to_be_empty(tilesim: Tilesim) -> None:
    words = ("run", "pocket", "-t", "pocket-2x1", "--trace-window")
    note = "the trace is empty: the run ends at cycle 225, before the cycles of --trace-window\n"
    assert note in tilesim(*words, "225:300").stdout
    assert note not in tilesim(*words, "224:300").stdout
    assert note not in tilesim(*words, "225:300", "--quiet").stdout


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("5", "must be FROM:TO, two cycles such as 1000:2000"),
        ("a:b", "must be FROM:TO, two cycles such as 1000:2000"),
        ("-1:5", "must be FROM:TO, two cycles such as 1000:2000"),
        (f"0:{10**18}", "must be FROM:TO, two cycles such as 1000:2000"),
        ("5:5", "must end after it begins"),
        ("7:5", "must end after it begins"),
    ],
)
def test_a_wrong_window_is_refused(tilesim: Tilesim, words: str, fault: str) -> None:
    result = tilesim("run", "digits", "--topology", "edge-1x1", f"--trace-window={words}")
    assert result.exit_code == 2
    assert result.stderr == f"error: --trace-window {words}: {fault}\n"


@pytest.mark.parametrize("pattern", ["*.mac_array", "*.mesh_in_*", "*.mesh_out_*", "chip.mesh.*"])
def test_tracks_are_the_same_alone(tilesim: Tilesim, tmp_path: Path, pattern: str) -> None:
    whole, part = recorded(tilesim, tmp_path / "a", "--trace"), recorded(tilesim, tmp_path, "--trace-tracks", pattern)
    assert part.tracks
    assert spans(part) == [span for span in spans(whole) if fnmatchcase(span[0], pattern)]


def test_signals_of_a_window(tilesim: Tilesim, tmp_path: Path) -> None:
    result = tilesim("run", "pocket", "-t", "pocket-2x1", "--signals", "50:80", "--out", tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    signals = Signals.load(tmp_path / "signals.npz")
    assert signals.window == range(50, 80)
    values = f"{len(signals.names)} signals, cycles 50 to 79, {signals.cycle.size} values"
    assert f"state log: {values}\n" in result.stdout
    assert tilesim("run", "pocket", "-t", "pocket-2x1", "--out", tmp_path).exit_code == 0
    assert not (tmp_path / "signals.npz").exists()


def test_what_the_state_log_lacks_is_said(tilesim: Tilesim, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("run", "pocket", "-t", "pocket-2x1", "--signals")
    empty = "the state log is empty: the run ends at cycle 225, before the cycles that it is for\n"
    assert empty in tilesim(*words, "225:300").stdout
    assert "the state log" not in tilesim(*words, "0:1000").stdout
    wrong = tilesim(*words, "5:5")
    assert (wrong.exit_code, wrong.stderr) == (2, "error: --signals 5:5: must end after it begins\n")
    monkeypatch.setattr("tilesim.sim.trace.state_log.MOST_SIGNAL_VALUES", 1000)
    assert "the state log ends before cycle 10: 8,388,608 values, cycles x signals, are the most" in (
        tilesim(*words, ":").stdout
    )
