"""The table of a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from tests.explore.stepped import MADE, row, sensitivity
from tilesim.report.sensitivity import sensitivity_document
from tilesim.report.sensitivity_tables import sensitivity_tables
from tilesim.report.terminal import print_on


def printed(every: bool = False) -> str:
    console = Console(file=StringIO(), width=100)
    print_on(console, sensitivity_tables(sensitivity_document(MADE), every))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_effects_come_first_and_what_has_none_in_a_line() -> None:
    assert printed().splitlines() == [
        "net on chip: 8 steps of 6 keys, 4 with an effect, 1 step refused",
        "as it is: 100 cycles = 100 us, 1 nJ, 2 mm2, bound by ring",
        "that is: tilesim run net -t chip",
        "",
        "key          from     to    time  cycles  energy    area",
        "tile.lanes     64     32   +100%   +100%  -10.0%       0",
        "clock_hz    1 MHz  2 MHz  -50.0%       0       0       0",
        "ring.width      8      4  +10.0%  +10.0%  +20.0%       0",
        "                      16   -5.0%   -5.0%       0  +25.0%",
        "mesh.words  short   long       0       0   +1.0%       0",
        "",
        "Without effect",
        "idle_bytes (32: area -25.0%)",
        "",
        "Left out",
        "tile.lanes=128  no, not 128",
        "hop_cycles      1 has no half",
    ]


def test_all_of_them() -> None:
    lines = printed(every=True).splitlines()
    assert [line.split() for line in lines if line.startswith("idle_bytes")] == [
        ["idle_bytes", "64", "32", "0", "0", "0", "-25.0%"]
    ]
    assert "Without effect" not in lines


def test_no_name_steers_a_terminal() -> None:
    console = Console(file=StringIO(), width=100)
    made = sensitivity([("a\x1b", "b\x1b", [("c\x1b", row(50)), ("d", row(None, reason="e\x1b"))])])
    print_on(console, sensitivity_tables(sensitivity_document(made)))
    assert isinstance(console.file, StringIO)
    assert "\x1b" not in console.file.getvalue()
