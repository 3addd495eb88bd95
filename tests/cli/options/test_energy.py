"""What ``tilesim run --energy`` promises to scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

POCKET = ("run", "pocket", "--topology", "pocket-2x1")


def test_a_table_of_the_user_s_changes_energies_and_nothing_else(tilesim: Any, tmp_path: Path) -> None:
    table = tmp_path / "table.yaml"
    table.write_text("wide_read: {pj: 0}\nnarrow_read: {pj: 1000, technology: 7 nm}\n")
    plain, ours = (json.loads(tilesim(*POCKET, "--json", *more).stdout) for more in ((), ("--energy", table)))
    energies = plain.pop("energy"), ours.pop("energy")
    assert plain == ours
    assert energies[1]["table"]["narrow_read"]["technology"] == "7 nm"
    reads = [energy["actions"]["narrow_read"] for energy in energies]
    assert reads[0]["bytes"] == reads[1]["bytes"] == reads[1]["pj"] / 1000
    shown = tilesim(*POCKET, "--energy", table, "--out", tmp_path / "out")
    assert "for reading narrow memory" in shown.stdout
    assert json.loads((tmp_path / "out" / "run.json").read_text())["energy"] == energies[1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("wide_raed: {pj: 1}\n", ":1:1: unknown key 'wide_raed'; did you mean 'wide_read'?"),
        (None, ": there is no such"),
    ],
)
def test_a_faulty_table_ends_it_before_it_begins(tilesim: Any, tmp_path: Path, text: str | None, fault: str) -> None:
    table = tmp_path / "table.yaml"
    if text is not None:
        table.write_text(text)
    result = tilesim(*POCKET, "--energy", table, "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {table}{fault}")
    assert not (tmp_path / "out").exists()
