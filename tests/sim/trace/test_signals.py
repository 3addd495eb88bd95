"""A state log is the same after it was saved, says what held in which cycle, and a file that is none is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilesim.budgets import MOST_SIGNAL_VALUES, MOST_TRACE_NAMES
from tilesim.errors import ArrayError
from tilesim.files import write_npz
from tilesim.sim.trace.signals import Signals


def logged() -> Signals:
    return Signals(
        names=("chip.flags.a", "chip.fifo", "chip.ring.link0"),
        kinds=("flag", "fill", "packet"),
        texts=("send 0 1", "send 1 1"),
        window=range(10, 16),
        signal=np.array([0, 1, 2, 2, 0, 2], np.int32),
        cycle=np.array([10, 10, 10, 11, 13, 13]),
        value=np.array([1, 0, -1, 0, 4, 1]),
    )


def test_it_is_the_same_after_it_was_saved(tmp_path: Path) -> None:
    signals = logged()
    signals.save(f"{tmp_path}/signals.npz")
    found = Signals.load(f"{tmp_path}/signals.npz")
    for name, column in signals.columns().items():
        np.testing.assert_array_equal(found.columns()[name], column)
        assert found.columns()[name].dtype == column.dtype
    assert (found.names, found.texts, found.window) == (signals.names, signals.texts, range(10, 16))


def test_an_empty_one_is_too(tmp_path: Path) -> None:
    none = np.zeros(0, np.int64)
    Signals(("chip.fifo",), ("fill",), (), range(7, 7), none.astype(np.int32), none, none).save(tmp_path / "s.npz")
    found = Signals.load(tmp_path / "s.npz")
    assert (found.names, found.window, found.table().shape) == (("chip.fifo",), range(7, 7), (1, 0))


def test_a_value_holds_until_the_next_change() -> None:
    signals = logged()
    assert signals.table().tolist() == [[1, 1, 1, 4, 4, 4], [0] * 6, [-1, 0, 0, 1, 1, 1]]
    assert signals.table(range(12, 14)).tolist() == [[1, 4], [0, 0], [0, 1]]


def test_values_have_words() -> None:
    signals = logged()
    assert [signals.text(*one) for one in [(0, 4), (1, 0), (2, 1), (2, -1)]] == ["4", "0", "send 1 1", ""]


@pytest.mark.parametrize(
    ("changed", "faults"),
    [
        ({"schema": None}, ["must be a state log of the version tilesim.signals/1, which `tilesim run --signals` "]),
        ({"texts": None, "value": None}, ["column texts is missing", "column value is missing"]),
        ({"names": np.zeros(3)}, ["column names must be of names"]),
        ({"cycle": np.zeros(6)}, ["column cycle must be of integers"]),
        ({"window": np.zeros(2)}, ["column window must be of integers"]),
        ({"signal": np.zeros((6, 1), int)}, ["column signal must have one dimension", "column cycle must have the "]),
        ({"kinds": np.array(["flag"])}, ["column kinds must have the shape (3,), not (1,)"]),
        ({"window": np.array([10])}, ["column window must have the shape (2,), not (1,)"]),
        (
            {"texts": np.zeros(MOST_TRACE_NAMES + 1, "<U1")},
            [f"column texts must have at most {MOST_TRACE_NAMES} names"],
        ),
        ({"kinds": np.array(["flag", "fil", "packet"])}, ["column kinds: each must be flag, fill, packet, word or "]),
        ({"names": np.array(["a", "b", "a"])}, ["column names must have no name twice"]),
        ({"window": np.array([16, 10])}, ["column window must be two cycles from 0 to "]),
        ({"window": np.array([10, MOST_SIGNAL_VALUES])}, [f"column window must be of at most {MOST_SIGNAL_VALUES} "]),
        ({"signal": np.array([0, 1, 2, 2, 0, 3])}, ["column signal must hold numbers from 0 to 2"]),
        ({"signal": np.array([1, 0, 2, 2, 0, 2])}, ["column signal must begin with every signal once"]),
        ({"cycle": np.array([10, 10, 10, 11, 13, 16])}, ["column cycle must hold numbers from 10 to 15"]),
        ({"cycle": np.array([10, 10, 10, 13, 13, 13])}, ["columns cycle and signal must rise"]),
        ({"value": np.array([-1, 0, -1, 0, 4, 1])}, ["column value must hold counts of flags and fills"]),
        ({"value": np.array([1, 0, -1, 0, 4, 2])}, ["column value must hold counts of flags and fills"]),
    ],
)
def test_what_is_no_state_log_is_refused(tmp_path: Path, changed: dict[str, Any], faults: list[str]) -> None:
    path = tmp_path / "signals.npz"
    columns = {**logged().columns(), **changed}
    write_npz(path, {name: column for name, column in columns.items() if column is not None})
    with pytest.raises(ArrayError) as raised:
        Signals.load(path)
    for found, fault in zip(raised.value.faults, faults, strict=False):
        assert found.startswith(f"{path}: {fault}")
    assert len(raised.value.faults) >= len(faults)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArrayError, match=r"signals\.npz: there is no such file"):
        Signals.load(tmp_path / "signals.npz")
