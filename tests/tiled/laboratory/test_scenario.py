"""Files of transfers: what they may say, and what is said of those that say anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesim.errors import ConfigError
from tilesim.tiled.laboratory.scenario import Scenario, When, read_scenario

FIRST = "{name: a, master: 0, to: 1}"
FAULTS = {
    "name: b!, master: 1, to: 2": (
        12,
        "transfers.1.name must be a letter, then up to 23 letters, digits, - or _, not 'b!'",
    ),
    "name: a, master: 1, to: 2": (12, "transfers.1.name must not be that of an earlier one, 'a'"),
    "name: b, master: sorce, to: 2": (
        23,
        "transfers.1.master must be the number of a tile or source, not 'sorce'; did you mean 'source'?",
    ),
    "name: b, master: sink, to: 2": (23, "transfers.1.master must be the number of a tile or source, not 'sink'"),
    "name: b, master: 1.5, to: 2": (23, "transfers.1.master must be the number of a tile or source"),
    "name: b, master: 4, to: 2": (23, "transfers.1.master must be a tile from 0 to 3 or source, not 4"),
    "name: b, master: 1, to: []": (30, "transfers.1.to must have at least 1 entry, not 0"),
    "name: b, master: 1, to: [0, 9]": (34, "transfers.1.to.1 must be a tile from 0 to 3 or sink, not 9"),
    "name: b, master: 1, to: 1": (30, "transfers.1.to.0 must not be the master itself, tile 1"),
    "name: b, master: 1, to: [2, 2]": (34, "transfers.1.to.1 must be given once, not twice: 2"),
    "name: b, master: 1, to: source": (30, "transfers.1.to must be the number of a tile or sink, not 'source'"),
    "name: b, master: 1, to: 2, rows: 0": (39, "transfers.1.rows must be at least 1, not 0"),
    "name: b, master: 1, to: 2, rows: 5000": (39, "transfers.1.rows must be at most 1024, not 5000"),
    "name: b, master: 1, to: 2, row: 1": (33, "unknown key 'transfers.1.row'; did you mean 'transfers.1.rows'?"),
    "name: b, master: 1, to: 2, start: -1": (40, "transfers.1.start must be at least 0, not -1"),
    "name: b, master: 1, to: 2, after: {a: recieved}": (
        44,
        "transfers.1.after.a must be 'sent', 'passed', 'received' or 'taken', not 'recieved'; did you mean 'received'?",
    ),
    "name: b, master: 1, to: 2, after: 3": (
        40,
        "transfers.1.after must be the names of transfers, or keys such as first: taken",
    ),
    "name: b, master: 1, to: 2, after: [a, a]": (40, "transfers.1.after must name each transfer once"),
    "name: b, master: 1, to: 2, after: b": (
        40,
        "transfers.1.after.b must be the name of a transfer that stands before this one, not 'b' (one of a)",
    ),
    "name: b, master: 2, to: 3, after: {a: received}": (
        44,
        "transfers.1.after.a must be one of the others, not received: tile 2 gets no rows of a",
    ),
    "name: b, master: 2, to: 3, after: {a: passed}": (
        44,
        "transfers.1.after.a must be one of the others, not passed: the tail of a never passes tile 2",
    ),
    "name: b, master: source, to: 3, after: {a: passed}": (
        49,
        "transfers.1.after.a must be one of the others, not passed: the tail of a never passes the source",
    ),
}
"""Of a second transfer on four tiles: the keys, the column and the sentence."""


def read(folder: Path, text: str) -> Scenario:
    path = folder / "t.yaml"
    path.write_text(text)
    return read_scenario(path)


def faults(folder: Path, text: str) -> list[str]:
    """What is wrong, without the folder."""
    with pytest.raises(ConfigError) as caught:
        read(folder, text)
    return [fault.removeprefix(f"{folder}/") for fault in caught.value.faults]


def of_second(folder: Path, keys: str) -> list[str]:
    """What is wrong with a second transfer on four tiles."""
    found = faults(folder, f"tiles: 4\ntransfers:\n  - {FIRST}\n  - {keys}\n")
    return [fault.removeprefix("t.yaml:") for fault in found]


def test_the_short_forms_mean_the_long_ones(tmp_path: Path) -> None:
    text = """\
tiles: 4
transfers:
  - {name: a, master: source, to: [1]}
  - {name: b, master: 1, to: [3, sink], rows: 2, after: a, start: 7}
  - {name: c, master: 2, to: 3, after: [a, b]}
  - {name: d, master: 1, to: 0, after: {a: received, b: passed}}
"""
    first, second, third, fourth = read(tmp_path, text).transfers
    assert (first.master, first.to, first.rows, first.after, first.start) == ("source", (1,), 4, {}, None)
    assert (second.to, second.rows, second.start) == ((3, "sink"), 2, 7)
    assert (second.after, third.after) == ({"a": When.TAKEN}, {"a": When.TAKEN, "b": When.TAKEN})
    assert fourth.after == {"a": When.RECEIVED, "b": When.PASSED}


def test_the_ring_is_that_of_a_chip_or_of_so_many_tiles(tmp_path: Path) -> None:
    small = read(tmp_path, f"tiles: 5\ntransfers: [{FIRST}]\n").topology()
    assert (small.name, small.grid.rows, small.tiles) == ("ring-5", 1, 5)
    assert read(tmp_path, f"transfers: [{FIRST}]\n").topology().name == "ring-8"
    changed = read(tmp_path, f"chip: edge-2x2\nkeys: {{ring.hop_cycles: 3}}\ntransfers: [{FIRST}]\n").topology()
    assert (changed.tiles, changed.ring.hop_cycles) == (4, 3)


@pytest.mark.parametrize(("keys", "fault"), FAULTS.items())
def test_what_a_transfer_must_be(tmp_path: Path, keys: str, fault: tuple[int, str]) -> None:
    column, sentence = fault
    assert of_second(tmp_path, f"{{{keys}}}") == [f"4:{column}: {sentence}"]


def test_the_source_has_no_engine_to_wait_for_and_little_memory(tmp_path: Path) -> None:
    first, second = "{name: a, master: source, to: 1, rows: 300}", "{name: b, master: 2, to: 3, after: {a: sent}}"
    text = f"transfers:\n  - {first}\n  - {second}\n"
    [rows, after] = faults(tmp_path, text)
    assert rows == "t.yaml:2:44: transfers.0.rows must be at most 256, which data memory holds, not 300"
    assert after == (
        "t.yaml:3:44: transfers.1.after.a must be one of the others, not sent: no fence tells when the source has sent "
        "its rows"
    )


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = "tile: 4\ntransfers:\n  - {name: a, master: x, to: 1}\n  - {name: b, to: 1, rows: many}\n"
    assert faults(tmp_path, text) == [
        "t.yaml:1:1: unknown key 'tile'; did you mean 'tiles'?",
        "t.yaml:3:23: transfers.0.master must be the number of a tile or source, not 'x'",
        "t.yaml:4:5: transfers.1.master is missing",
        "t.yaml:4:28: transfers.1.rows must be a whole number, not 'many'",
    ]
    text = "tiles: 4\ntransfers:\n  - {name: a, master: 7, to: 1}\n  - {name: b, master: 2, to: 2, after: c}\n"
    assert len(faults(tmp_path, text)) == 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("tiles: 4\n", "t.yaml:1:1: transfers is missing"),
        ("transfers: []\n", "t.yaml:1:12: transfers must have at least 1 entry, not 0"),
        (f"tiles: 1\ntransfers: [{FIRST}]\n", "t.yaml:1:8: tiles must be at least 2, not 1"),
        (f"tiles: 65\ntransfers: [{FIRST}]\n", "t.yaml:1:8: tiles must be at most 64, not 65"),
        (
            f"chip: ring-8\ntiles: 4\ntransfers: [{FIRST}]\n",
            "t.yaml:2:8: tiles must be left out where there is a chip: its keys grid.rows and grid.columns say it",
        ),
        (
            f"chip: edge-8x8\nkeys: {{grid.rows: 9}}\ntransfers: [{FIRST}]\n",
            "t.yaml:1:7: chip must have at most 64 tiles, not 72",
        ),
        (
            f"transfers: [{FIRST}, {{name: b, master: 1, to: 2, rows: 1021}}]\n",
            "t.yaml:1:12: transfers must have at most 1024 rows in all, not 1025",
        ),
        (
            f"chip: rong-8\ntransfers: [{FIRST}]\n",
            "t.yaml:1:7: chip rong-8: there is no such topology; did you mean ring-8?",
        ),
        (
            f"keys: {{ring.hop_cycle: 3}}\ntransfers: [{FIRST}]\n",
            "t.yaml:1:24: keys.ring.hop_cycle: unknown key 'ring.hop_cycle'; did you mean 'ring.hop_cycles'?",
        ),
    ],
)
def test_what_a_file_must_be(tmp_path: Path, text: str, fault: str) -> None:
    assert faults(tmp_path, text) == [fault]


def test_a_chip_of_another_machine_has_no_ring(tmp_path: Path) -> None:
    assert "machine must be 'tiled', not 'systolic'" in faults(tmp_path, f"chip: systolic-4\ntransfers: [{FIRST}]\n")[0]
