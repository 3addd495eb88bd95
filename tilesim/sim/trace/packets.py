"""The table of packets: which transfer's passed which stop of the ring when; as a .csv file, a line a packet a stop."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_RING_TRACE_BYTES, MOST_FAULTS, MOST_RING_PACKETS
from tilesim.errors import InputError
from tilesim.files import read_text
from tilesim.printable import shown, unknown
from tilesim.saving import all_or_nothing, writing

COLUMNS = ("cycle", "node", "master", "transfer", "tail")
"""What the header must name; the order is free, and other columns are left alone."""
TAILS = {"0": False, "1": True, "false": False, "true": True}
MOST_DIGITS = 18
_CHUNK = 1 << 16

PacketSeen: TypeAlias = tuple[int, str, str, str, bool]
"""A packet passes a stop: the cycle, the stop's node, the transfer's master and name, whether it is the tail."""


class Packets(Struct, frozen=True, eq=False):
    """A row a packet a stop, in any order: that of transfer ``transfers[k]``, its last if ``tails[k]``, is sent,
    forwarded or taken at node ``nodes[k]`` in cycle ``cycles[k]``.

    Nodes are places in ``node_names``, transfers in ``transfer_names``; ``masters`` has the node of each transfer's.
    """

    cycles: NDArray[np.int64]
    nodes: NDArray[np.int64]
    transfers: NDArray[np.int64]
    tails: NDArray[np.bool_]
    masters: NDArray[np.int64]
    node_names: Sequence[str]
    transfer_names: Sequence[str]


def read_packets(path: Path) -> Packets:
    """The packets in a .csv file.

    Raises:
        InputError: with every fault, by line and column.
    """
    text = read_text(path, LARGEST_RING_TRACE_BYTES, InputError).removeprefix("\ufeff")
    table = _Table()
    try:
        lines = csv.reader(io.StringIO(text, newline=""))
        header = _header(lines, path)
        places = _places(header, path)
        while chunk := list(islice(lines, _CHUNK)):
            table.add(places, len(header), [row for row in chunk if row])
    except (_Odd, csv.Error):
        raise InputError(list(islice(_faults(text, path), MOST_FAULTS))) from None
    return table.packets()


def save_packets(packets: Iterable[PacketSeen], path: Path) -> None:
    """Write packets into a .csv file that :func:`read_packets` reads. Raises InputError if that can't be."""
    with writing(path, "packets"), all_or_nothing(path.parent) as made:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*where, int(tail)) for *where, tail in packets)
        (made / path.name).write_text(text.getvalue(), encoding="utf-8", newline="\n")


class _Odd(Exception):
    """Something in the table is wrong; a slower look tells what."""


def _header(lines: Iterator[list[str]], path: Path) -> list[str]:
    header = next(lines, None)
    if not header:
        raise InputError(f"{path}:1:1: the first line must name the columns {', '.join(COLUMNS)}, not be empty")
    return [name.strip() for name in header]


def _places(header: Sequence[str], path: Path) -> list[int]:
    faults = []
    for name in COLUMNS:
        if header.count(name) > 1:
            faults.append(f"{path}:1:1: the column {name} must be there once, not {header.count(name)} times")
        elif name not in header:
            others = [other for other in header if other not in COLUMNS]
            near = unknown(name, others, "a column of the file").partition("; ")[2]
            faults.append(f"{path}:1:1: there must be a column {name}{f'; {near}' if near else ''}")
    if faults:
        raise InputError(faults)
    return [header.index(name) for name in COLUMNS]


class _Table:
    """Columns in the making, a chunk of rows at a time."""

    def __init__(self) -> None:
        self._cycles: list[NDArray[np.int64]] = []
        self._nodes: list[NDArray[np.int64]] = []
        self._transfers: list[NDArray[np.int64]] = []
        self._tails: list[NDArray[np.bool_]] = []
        self._node_numbers: dict[str, int] = {}
        self._transfer_numbers: dict[tuple[str, str], int] = {}
        self._count = 0

    def add(self, places: Sequence[int], width: int, rows: Sequence[Sequence[str]]) -> None:
        self._count += len(rows)
        if self._count > MOST_RING_PACKETS or not all(len(row) == width for row in rows):
            raise _Odd
        if not rows:
            return
        cycles, nodes, masters, transfers, tails = zip(*map(itemgetter(*places), rows), strict=True)
        if not (_are_cycles(cycles) and all(nodes) and all(masters) and all(transfers) and {*tails} <= {*TAILS}):
            raise _Odd
        number, transfer_number = self._node_numbers, self._transfer_numbers
        both = zip(masters, transfers, strict=True)
        self._cycles.append(np.array([*map(int, cycles)], np.int64))
        self._nodes.append(np.array([number.setdefault(node, len(number)) for node in nodes], np.int64))
        self._transfers.append(
            np.array([transfer_number.setdefault(key, len(transfer_number)) for key in both], np.int64)
        )
        self._tails.append(np.array([TAILS[tail] for tail in tails], np.bool_))

    def packets(self) -> Packets:
        """All of them; nodes are in the order of the ring, as far as their names tell it."""
        for master, _ in self._transfer_numbers:
            self._node_numbers.setdefault(master, len(self._node_numbers))
        names = sorted(self._node_numbers, key=_ring_order)
        places = np.empty(len(names), np.int64)
        places[[self._node_numbers[name] for name in names]] = np.arange(len(names))
        none = np.zeros(0, np.int64)
        return Packets(
            np.concatenate([none, *self._cycles]),
            places[np.concatenate([none, *self._nodes])],
            np.concatenate([none, *self._transfers]),
            np.concatenate([none.astype(np.bool_), *self._tails]),
            places[np.array([self._node_numbers[master] for master, _ in self._transfer_numbers], np.int64)],
            names,
            [transfer for _, transfer in self._transfer_numbers],
        )


def _ring_order(name: str) -> tuple[int, int, str]:
    """The source comes first, tiles by their numbers, the classifier and the sink last; others as they are called."""
    digits = name.removeprefix("tile ")
    if digits.isdecimal() and digits.isascii() and len(digits) <= MOST_DIGITS:
        return 1, int(digits), name
    return {"source": 0, "classifier": 3, "sink": 4}.get(name, 2), 0, name


def _are_cycles(words: Sequence[str]) -> bool:
    return all(map(str.isdecimal, words)) and all(map(str.isascii, words)) and max(map(len, words)) <= MOST_DIGITS


def _faults(text: str, path: Path) -> Iterator[str]:
    """Everything that is wrong with the lines behind the header."""
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        header = _header(lines, path)
        places = dict(zip(COLUMNS, _places(header, path), strict=True))
        for count, row in enumerate(filter(None, lines), 1):
            where = f"{path}:{lines.line_num}"
            if count > MOST_RING_PACKETS:
                yield f"{where}:1: there must be at most {MOST_RING_PACKETS:,} packets"
                return
            if len(row) != len(header):
                yield f"{where}:1: a line must have {len(header)} values, as the first has, not {len(row)}"
            else:
                yield from _row_faults(row, places, where)
    except csv.Error as error:
        yield f"{path}:{lines.line_num}:1: the line must be one of a .csv file, not one with: {error}"


def _row_faults(row: Sequence[str], places: dict[str, int], where: str) -> Iterator[str]:
    for name, place in places.items():
        word, column = row[place], 1 + sum(len(before) + 1 for before in row[:place])
        if name == "cycle" and not _are_cycles([word]):
            yield f"{where}:{column}: cycle must be a whole number from 0 on, of at most 18 digits, not {shown(word)}"
        elif name == "tail" and word not in TAILS:
            yield f"{where}:{column}: tail {unknown(word, TAILS)}"
        elif not word:
            yield f"{where}:{column}: {name} must be a name or a number, not nothing"
