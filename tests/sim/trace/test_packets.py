"""The table of packets on a ring, as a .csv file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesim.errors import InputError
from tilesim.sim.trace import packets as module
from tilesim.sim.trace.packets import COLUMNS, Packets, read_packets, save_packets

HEADER = ",".join(COLUMNS)
SEEN = [
    (4, "tile 1", "source", "a", False),
    (5, "tile 10", "source", "a", True),
    (5, "sink", "tile 2", 'b "x", y', True),
]


def read(folder: Path, *lines: str) -> Packets:
    path = folder / "ring.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return read_packets(path)


def faults(folder: Path, *lines: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, *lines)
    return [fault.removeprefix(str(folder / "ring.csv")) for fault in caught.value.faults]


def rows(packets: Packets) -> list[tuple[int, str, str, str, bool]]:
    names, transfers = packets.node_names, packets.transfer_names
    columns = (packets.cycles, packets.nodes, packets.transfers, packets.tails)
    every = zip(*(column.tolist() for column in columns), strict=True)
    return [
        (cycle, names[node], names[packets.masters[sent]], transfers[sent], tail) for cycle, node, sent, tail in every
    ]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    save_packets(SEEN, tmp_path / "ring.csv")
    packets = read_packets(tmp_path / "ring.csv")
    assert rows(packets) == SEEN
    assert packets.node_names == ["source", "tile 1", "tile 2", "tile 10", "sink"]


def test_columns_come_in_any_order_and_others_are_left_alone(tmp_path: Path) -> None:
    packets = read(tmp_path, "tail,when,transfer,node,cycle, master ", "true,now,7,2,3,1", "", "false,x,7,3,4,1")
    assert rows(packets) == [(3, "2", "1", "7", True), (4, "3", "1", "7", False)]


def test_a_mark_of_its_encoding_and_other_ends_of_lines_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / "ring.csv").write_bytes(b"\xef\xbb\xbf" + f"{HEADER}\r\n1,2,2,a,1\r\n".encode())
    assert rows(read_packets(tmp_path / "ring.csv")) == [(1, "2", "2", "a", True)]


def test_no_packets_are_a_table_too(tmp_path: Path) -> None:
    assert rows(read(tmp_path, HEADER)) == []


def test_one_transfer_of_two_masters_is_two(tmp_path: Path) -> None:
    assert len(read(tmp_path, HEADER, "1,0,0,a,1", "1,1,1,a,1").transfer_names) == 2


def test_all_faults_are_told_at_once_by_line_and_column(tmp_path: Path) -> None:
    assert faults(
        tmp_path, HEADER, "x,1,1,a,0", "1,1,1,a,0", "-1,,1,a,2", "1,1", "2,1,1,,TRUE", "1" * 19 + ",1,,a,0"
    ) == [
        ":2:1: cycle must be a whole number from 0 on, of at most 18 digits, not 'x'",
        ":4:1: cycle must be a whole number from 0 on, of at most 18 digits, not '-1'",
        ":4:4: node must be a name or a number, not nothing",
        ":4:9: tail must be 0, 1, false or true, not '2'",
        ":5:1: a line must have 5 values, as the first has, not 2",
        ":6:7: transfer must be a name or a number, not nothing",
        ":6:8: tail must be 0, 1, false or true, not 'TRUE'",
        f":7:1: cycle must be a whole number from 0 on, of at most 18 digits, not '{'1' * 19}'",
        ":7:23: master must be a name or a number, not nothing",
    ]


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("cycle,node,master,transfer,tails", [":1:1: there must be a column tail; did you mean 'tails'?"]),
        ("cycle,node", [f":1:1: there must be a column {name}" for name in ("master", "transfer", "tail")]),
        (f"{HEADER},node", [":1:1: the column node must be there once, not 2 times"]),
        ("", [":1:1: the first line must name the columns cycle, node, master, transfer, tail, not be empty"]),
    ],
)
def test_the_header_must_name_each_column_once(tmp_path: Path, header: str, told: list[str]) -> None:
    assert faults(tmp_path, header, "1,2,3,4,1") == told


def test_what_is_no_table_is_said(tmp_path: Path) -> None:
    long = "x" * 200_000
    assert faults(tmp_path, HEADER, f"1,{long},1,a,0") == [
        ":2:1: the line must be one of a .csv file, not one with: field larger than field limit (131072)"
    ]
    assert faults(tmp_path, long, "1,1,1,a,0") == [
        ":1:1: the line must be one of a .csv file, not one with: field larger than field limit (131072)"
    ]
    (tmp_path / "ring.csv").write_bytes(f"{HEADER}\n".encode() + b"\xff")
    with pytest.raises(InputError, match=r"ring.csv:2:1: the text must be UTF-8"):
        read_packets(tmp_path / "ring.csv")
    with pytest.raises(InputError, match=r"none\.csv"):
        read_packets(tmp_path / "none.csv")


def test_there_are_so_many_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RING_PACKETS", 2)
    assert faults(tmp_path, HEADER, *["1,1,1,a,0"] * 3) == [":4:1: there must be at most 2 packets"]
    monkeypatch.setattr(module, "MOST_FAULTS", 1)
    assert len(faults(tmp_path, HEADER, "x,1,1,a,0", "y,1,1,a,0")) == 1


def test_what_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the packets cannot be written there"):
        save_packets(SEEN, tmp_path / "file" / "ring.csv")
