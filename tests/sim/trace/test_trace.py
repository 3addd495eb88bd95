"""A trace is the same after it was saved, and a file that is none is refused in words."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.budgets import MOST_TRACE_NAMES
from tilesim.errors import ArrayError
from tilesim.files import write_npz
from tilesim.sim.trace.recorder import Recorder
from tilesim.sim.trace.trace import Trace


def recorded() -> Trace:
    recorder = Recorder()
    recorder.record("chip.a", 0, 4, "busy", "load", 8)
    recorder.begin(4)
    recorder.record("chip.a", 4, 2, "stall:flag", "<op>", 0)
    recorder.record("chip.b", 3, 3, "busy", "send", 2)
    return recorder.trace(["first layer"], {"send": 0})


def test_it_is_the_same_after_it_was_saved(tmp_path: Path) -> None:
    trace = recorded()
    trace.save(tmp_path / "trace.npz")
    found = Trace.load(tmp_path / "trace.npz")
    for name, column in trace.columns().items():
        np.testing.assert_array_equal(found.columns()[name], column)
        assert found.columns()[name].dtype == column.dtype
    assert found.sha256 == trace.sha256
    assert (found.start, found.layers) == (4, ("first layer",))
    assert found.layer_of.tolist() == [-1, -1, 0]


def test_its_hash_is_of_columns_in_as_few_bytes_as_hold_all_of_each() -> None:
    digest = hashlib.sha256()
    for names in (("|u1",) * 6, ("chip.a", "chip.b"), ("busy", "stall:flag"), ("<op>", "load", "send")):
        digest.update("\0".join(names).encode() + b"\1")
    for column in ((0, 0, 1), (0, 4, 3), (4, 2, 3), (0, 1, 0), (1, 0, 2), (8, 0, 2)):
        digest.update(bytes(column))
    assert recorded().sha256 == digest.hexdigest()


@given(st.lists(st.integers(1, 2**48 - 1), min_size=2, max_size=2))
def test_longer_spans_have_another_hash(cycles: list[int]) -> None:
    def of(cycles: int) -> Trace:
        recorder = Recorder()
        recorder.record("chip.a", 0, cycles, "busy", "load", 0)
        return recorder.trace()

    first, second = map(of, cycles)
    assert (first.sha256 == second.sha256) == (cycles[0] == cycles[1])


def test_a_path_may_be_text(tmp_path: Path) -> None:
    trace = recorded()
    trace.save(f"{tmp_path}/trace.npz")
    assert Trace.load(f"{tmp_path}/trace.npz").sha256 == trace.sha256
    with pytest.raises(ArrayError, match=r"none\.npz: there is no such file"):
        Trace.load(f"{tmp_path}/none.npz")


def test_an_empty_one_is_too(tmp_path: Path) -> None:
    Recorder().trace().save(tmp_path / "trace.npz")
    assert Trace.load(tmp_path / "trace.npz").tracks == ()


@pytest.mark.parametrize(
    ("changed", "faults"),
    [
        (
            {"schema": np.asarray("tilesim.trace/0")},
            ["must be a trace of the version tilesim.trace/1, which `tilesim run "],
        ),
        ({"schema": None}, ["must be a trace of the version tilesim.trace/1"]),
        ({"track": None, "bytes": None}, ["column track is missing", "column bytes is missing"]),
        ({"kinds": np.zeros(2)}, ["column kinds must be of names"]),
        ({"cycles": np.zeros(3)}, ["column cycles must be of integers"]),
        ({"bytes": np.zeros(2, int)}, ["column bytes must have the shape (3,), not (2,)"]),
        ({"start": np.zeros(1, int)}, ["column start must have the shape (), not (1,)"]),
        ({"kind": np.array([0, 1, 2])}, ["column kind must hold numbers from 0 to 1"]),
        ({"released_by": np.array([-2, 0, 0])}, ["column released_by must hold numbers from -1 to 2"]),
        ({"layer_of": np.array([0, 0, 1])}, ["column layer_of must hold numbers from -1 to 0"]),
        ({"tracks": np.asarray("x")}, ["column tracks must have one dimension"]),
        (
            {"kinds": np.zeros(MOST_TRACE_NAMES + 1, "<U1")},
            [f"column kinds must have at most {MOST_TRACE_NAMES} names, not {MOST_TRACE_NAMES + 1}"],
        ),
        ({"cycles": np.array([1, -1, 1])}, [f"column cycles must hold numbers from 0 to {2**48 - 1}"]),
        ({"bytes": np.array([1, 2**48, 1])}, [f"column bytes must hold numbers from 0 to {2**48 - 1}"]),
        ({"start": np.asarray(-1)}, [f"column start must hold numbers from 0 to {2**48 - 1}"]),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, changed: dict[str, Any], faults: list[str]) -> None:
    path = tmp_path / "trace.npz"
    columns = {**recorded().columns(), **changed}
    write_npz(path, {name: column for name, column in columns.items() if column is not None})
    with pytest.raises(ArrayError) as raised:
        Trace.load(path)
    assert len(raised.value.faults) == len(faults)
    for found, fault in zip(raised.value.faults, faults, strict=True):
        assert found.startswith(f"{path}: {fault}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArrayError, match=r"trace\.npz: there is no such file"):
        Trace.load(tmp_path / "trace.npz")


def test_its_columns_are_no_larger_than_a_page_can_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded().save(tmp_path / "trace.npz")
    monkeypatch.setattr("tilesim.sim.trace.trace.LARGEST_TRACE_BYTES", 1024)
    with pytest.raises(ArrayError, match=r"trace\.npz: its arrays must have at most 1 KiB, not "):
        Trace.load(tmp_path / "trace.npz")
