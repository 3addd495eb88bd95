"""``tilesim guide``."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from tests.scripts import ROOT

GUIDE = ROOT / "tilesim" / "guide"


def test_without_a_page_it_lists_all_of_them(tilesim: Any) -> None:
    result = tilesim("guide")
    assert (result.exit_code, result.stderr) == (0, "")
    names = {line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ")}
    assert names == {path.stem for path in GUIDE.glob("*.md")} - {"README"}
    assert "](" not in result.stdout


def test_elsewhere_than_in_a_terminal_it_is_the_page(tilesim: Any) -> None:
    result = tilesim("guide", "energy")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (GUIDE / "energy.md").read_text(encoding="utf-8")


def test_links_and_pictures_are_words(tilesim: Any) -> None:
    shown = "".join(tilesim("guide", page).stdout for page in ("trace", "compare", "run-json"))
    assert "(In the repository: The timeline of the digits on four tiles)" in shown
    assert "time (`tilesim guide time`)" in shown
    assert ".md)" not in shown
    assert "](#" not in shown
    assert ".png)" not in shown


def test_in_a_terminal_it_is_set_in_type(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from tilesim.cli.commands.guide import command

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    command("support")
    shown = capsys.readouterr().out
    assert "# See what stands" not in shown
    assert "See what stands in the way of a run" in shown
    assert "│" in shown or "─" in shown or "━" in shown


def test_in_a_narrow_terminal_nothing_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tilesim.cli.commands.guide import command

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for page in ("sources", "commands"):
        command(page)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "• tested by: tiled/units/tensor/test_mac_array::products" in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("page", "advice"),
    [("enrgy", "did you mean energy?"), ("RUN", "did you mean run?"), ("zzz", "`tilesim guide` lists them")],
)
def test_another_page_is_a_fault(tilesim: Any, page: str, advice: str) -> None:
    result = tilesim("guide", page)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: there is no page '{page}' in the guide; {advice}\n"
