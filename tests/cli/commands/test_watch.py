"""What ``tilesim watch`` promises to people and to scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim
from tests.tiled.programs import program
from tilesim.tiled.isa.assembly import ASSEMBLY

OVERLAP = Path(__file__).parents[3] / "workloads/dual-master/overlap.tasm"


@pytest.mark.parametrize("chip", ["pocket-2x1", "systolic-4"])
def test_a_line_a_cycle(tilesim: Tilesim, chip: str) -> None:
    result = tilesim("watch", "pocket", "-t", chip, "--from", 30, "--to", 60)
    assert (result.exit_code, result.stderr) == (0, "")
    first, *others = result.stdout.splitlines()
    assert first.startswith(f"pocket on {chip}: cycles 30 to 59 of ")
    assert [line[:5].strip() for line in others if line[5:8] == " | " and line[:5].strip().isdigit()] == [
        str(cycle) for cycle in range(30, 60)
    ]
    shown = tilesim("watch", "pocket", "-t", chip, "--from", 30, "--to", 60, "--json").stdout.splitlines()
    assert [json.loads(line)["cycle"] for line in shown] == [*range(30, 60)]


def test_it_ends_where_transfers_meet(tilesim: Tilesim) -> None:
    result = tilesim("watch", OVERLAP)
    assert (result.exit_code, result.stderr.startswith("error: ")) == (3, True)
    assert "in cycle 20 a packet of other.send" in result.stderr
    assert result.stdout.splitlines()[-1].startswith("   20 | ")
    observed = tilesim("watch", OVERLAP, "--rules", "observe")
    assert (observed.exit_code, observed.stderr) == (0, "")
    assert observed.stdout.splitlines()[-1].startswith("in cycle 20 a packet of other.send")


def test_it_ends_where_the_run_hangs(tilesim: Tilesim, tmp_path: Path) -> None:
    hangs = program("copy: wide_to_narrow tiles=0x1 read=[r:2 @0x40+r*16] write=[w:8 @0x0+w*4] wait=ring_read_a>=3")
    (tmp_path / "hangs.tasm").write_text(ASSEMBLY.write(hangs))
    result = tilesim("watch", tmp_path / "hangs.tasm", "--rules", "observe")
    assert result.exit_code == 3
    assert "copy has waited since cycle " in result.stderr
    assert "~flag" in result.stdout.splitlines()[-1]
    shown = tilesim("watch", tmp_path / "hangs.tasm", "--rules", "observe", "--json")
    assert shown.exit_code == 3
    last = json.loads(shown.stdout.splitlines()[-1])
    assert last["units"] == {"chip.tile0.wide_to_narrow": {"state": "flag", "instruction": "copy"}}


def test_what_is_wrong_is_said_at_once(tilesim: Tilesim) -> None:
    result = tilesim("watch", "pocket", "-t", "pocket-9x9", "--from", 10, "--to", 5, "--rules", "loose")
    assert result.exit_code == 2
    told = result.stderr.splitlines()
    assert any("pocket-9x9" in line for line in told)
    assert "error: --to must be a cycle after --from, 10, not 5" in told
    word = tilesim("watch", "pocket", "-t", "pocket-2x1", "--from", "a")
    assert (word.exit_code, "--from and --to must be cycles of the run, such as 100, not 'a'" in word.stderr) == (
        2,
        True,
    )
    wide = tilesim("watch", "pocket", "-t", "edge-2x2")
    assert (wide.exit_code, wide.stdout) == (2, "")
    assert "a line has 120: choose some with --units, such as --units '" in wide.stderr


def test_it_watches_one_chip(tilesim: Tilesim) -> None:
    result = tilesim("watch", "digits", "-t", "edge-1x1", "-t", "edge-1x2")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: --topology must be given once, not 2 times; `tilesim run` compares chips\n"
