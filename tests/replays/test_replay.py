"""What scripts/replay notices, and says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scripts.replays.__main__ import main
from scripts.replays.cases import Material, quick
from scripts.replays.digests import LEFT_OUT, NONE, Ended, Row, left
from scripts.replays.table import COLUMNS, changes, read, written
from tilesim.sim.trace.trace import Trace

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

RUN, REFUSAL = "run/pocket/pocket-2x1", "program-strict-meet/overlap"


def replay(*words: str | Path) -> int:
    """Of the cases that do without other people's models."""
    return main(["--models", "nowhere", "--processes", "2", *map(str, words)])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows, ``base.txt``, and what their cases left."""
    folder = tmp_path_factory.mktemp("replayed")
    assert replay("--only", RUN, "--only", REFUSAL, "--out", folder / "base.txt", "--keep", folder) == 0
    return folder


def test_a_row_has_what_its_case_leaves(base: Path) -> None:
    rows = read(base / "base.txt")
    assert sorted(rows) == [REFUSAL, RUN]
    assert rows[RUN]._replace(text="") == left(base / "run_pocket_pocket-2x1", Ended())._replace(text="")
    assert rows[RUN].cycles == "225"
    stood = rows[REFUSAL]
    assert stood == Row("-", stood.run_json, stood.program, stood.trace, stood.text, "21")
    assert NONE not in (stood.run_json, stood.program, stood.trace, stood.text)
    assert written(rows) == (base / "base.txt").read_text("utf-8")


def flip_an_output_bit(out: Path) -> None:
    with np.load(out / "outputs.npz") as archive:
        outputs = dict(archive)
    outputs["out0"][0, 3] ^= 1
    np.savez(out / "outputs.npz", allow_pickle=False, **outputs)


def add_a_cycle(out: Path) -> None:
    document = json.loads((out / "run.json").read_text("utf-8"))
    document["layers"][0]["cycles"] += 1
    (out / "run.json").write_text(json.dumps(document), "utf-8")


def move_an_operand(out: Path) -> None:
    text = (out / "program.tasm").read_text("utf-8")
    (out / "program.tasm").write_text(text.replace("@0x60", "@0x64", 1), "utf-8")


def change_a_parameter(out: Path) -> None:
    with np.load(out / "program.npz") as archive:
        data = dict(archive)
    data["parameters"][7] ^= 1
    np.savez(out / "program.npz", allow_pickle=False, **data)


def change_the_trace(out: Path) -> None:
    trace = Trace.load(out / "trace.npz")
    trace.cycles[3] += 1
    trace.save(out / "trace.npz")


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("outputs", flip_an_output_bit),
        ("run.json", add_a_cycle),
        ("program", move_an_operand),
        ("program", change_a_parameter),
        ("trace", change_the_trace),
    ],
)
def test_a_change_shows_in_its_column_alone(base: Path, column: str, change: Callable[[Path], None]) -> None:
    case = base / "run_pocket_pocket-2x1"
    before = {path: path.read_bytes() for path in (case / "out").iterdir()}
    old = left(case, Ended())
    change(case / "out")
    new = left(case, Ended())
    for path, data in before.items():
        path.write_bytes(data)
    assert [name for name, a, b in zip(COLUMNS, old, new, strict=True) if a != b] == [column]


def test_texts_differ_by_their_words_and_status_alone(tmp_path: Path) -> None:
    def text(status: int, said: str, *without: str) -> str:
        return left(tmp_path, Ended(status, said), LEFT_OUT.union(without)).text

    assert text(2, f"error: {tmp_path}/a.tasm:\n  no") == text(2, "error: a.tasm: no")
    assert text(2, "error: a.tasm: no") != text(2, "error: a.tasm: yes")
    assert text(1, "error: a.tasm: no") != text(2, "error: a.tasm: no")
    assert text(0, '{"a": [1], "b": 2}') == text(0, '{"b": 2, "schema": "x/2",\n "a": [1]}')
    assert text(0, '{"a": [1]}') != text(0, '{"a": [2]}')
    assert text(0, '{"a": [{"b": 1}]}') != text(0, '{"a": [{"b": 1, "new": 2}]}')
    assert text(0, '{"a": [{"b": 1}]}') == text(0, '{"a": [{"b": 1, "new": 2}]}', "new")


def test_against_names_the_row_and_its_columns(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = read(base / "base.txt")
    old = rows[RUN]._replace(outputs="0" * 16, cycles="224")
    (tmp_path / "old.txt").write_text(written({RUN: old, "run/gone/away": Row()}), "utf-8")
    assert replay("--only", RUN, "--against", tmp_path / "old.txt") == 1
    changed = f"{RUN}: outputs {'0' * 16} -> {rows[RUN].outputs}, cycles 224 -> 225"
    gone = "run/gone/away: there is no such case any more"
    assert capsys.readouterr().out.splitlines() == [changed, gone, "1 rows compared, 2 changed; 0 are new"]
    assert replay("--only", RUN, "--against", base / "base.txt") == 0
    assert capsys.readouterr().out == "1 rows compared, 0 changed; 0 are new\n"
    assert not [*changes(rows, rows)]


def test_what_is_no_table_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.txt").write_text("case outputs\n", "utf-8")
    with pytest.raises(SystemExit, match="2"):
        replay("--against", tmp_path / "rows.txt")
    assert "rows.txt must be what scripts/replay has written" in capsys.readouterr().err


def test_the_quick_part_has_every_kind(tmp_path: Path) -> None:
    cases = Material(tmp_path).cases()
    kinds = {name.partition("/")[0] for name in cases}
    assert {name.partition("/")[0] for name, case in cases.items() if quick(case)} == kinds
    assert all(f"run/pocket/{chip}" in cases for chip in Material(tmp_path).chips)
