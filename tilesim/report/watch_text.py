"""What units are at as text: a line a cycle, a column a unit, and on the right what changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from textwrap import wrap
from typing import NamedTuple

from tilesim.errors import InputError
from tilesim.printable import printable
from tilesim.report.tracks import KINDS, groups, kind_of
from tilesim.report.watch import FIFO, FLAGS, Activity, Packet, Passage, Watch
from tilesim.sim.core.unit import BUSY, Reason

CHANGES = "changes"
ROOM, LITTLE_ROOM = 24, 16
"""Columns of text that are left for what changes."""
MOST_LISTED = 60
"""Instructions whose numbers are told before all else; of more each is told when it begins."""
REPEATED = 30
"""Lines after which the header comes again."""
NARROWEST_CELL = 14
"""Of the legend."""
HARD = "\N{NO-BREAK SPACE}"
IDLE, WAITS, ENTERS, MORE = ".", "~", ">", "…"
LETTERS: Mapping[str, str] = {
    Reason.FLAG: "f", Reason.PORT: "p", Reason.FIFO: "q", Reason.CREDIT: "c", Reason.HAZARD: "z", Reason.HOST: "h",
    Reason.TRAVERSAL: "a", Reason.WEIGHTS: "w", Reason.SHIFT: "s", Reason.RAW: "r", Reason.INPUT: "i",
    Reason.HOLD: "d",
}  # fmt: skip
"""For what a unit waits, where there is no room for words."""


class Layout(NamedTuple):
    """How wide a label may be (0: instructions have numbers), and the name of a unit, before it is shortened."""

    label: int
    name: int


LAYOUTS = (
    *(Layout(width, 14) for width in (24, 18, 14)), *(Layout(width, width) for width in (12, 10)),
    *(Layout(0, width) for width in (14, 10, 8, 7, 3, 2)),
)  # fmt: skip
"""The first one that fits is taken, of those in which no label is shortened."""
ROOMY = 7
"""Columns for a name from which on there is room for more: words for reasons, rows of packets, what waits in queues."""


@dataclass(frozen=True)
class Spelling:
    """How cells are written; ``numbers`` are those of the instructions by their labels."""

    layout: Layout
    numbers: Mapping[str, int]

    @property
    def roomy(self) -> bool:
        return self.layout.name >= ROOMY

    @property
    def separator(self) -> str:
        """What stands between groups of units."""
        return " | " if self.roomy else "|"

    def instruction(self, label: str) -> str:
        return printable(label) if self.layout.label else str(self.numbers.get(label, "?"))

    def reason(self, reason: str) -> str:
        return WAITS + (reason if self.roomy else LETTERS.get(reason, reason[:1]))

    def packet(self, packet: Packet | None) -> str:
        if packet is None:
            return ""
        return self.instruction(packet.instruction) + (f":{packet.row}" if self.roomy else "")

    def doing(self, doing: Activity | None, fill: int) -> str:
        """A unit's cell, behind which so many instructions wait."""
        behind = f"+{fill}" if fill and self.roomy else ""
        if doing is None:
            return f"{IDLE}{behind}"
        is_busy = doing.state == BUSY
        return (self.instruction(doing.instruction) if is_busy else self.reason(doing.state)) + behind

    def passing(self, passage: Passage) -> str:
        """The cell of a stop of the ring."""
        here, leaving = self.packet(passage.standing), self.packet(passage.leaving)
        behind = f"+{passage.packets - 1}" if passage.packets > 1 and self.roomy else ""
        if not leaving:
            return f"{here}{behind}" or IDLE
        return f"{here}{ENTERS}{behind}" if leaving == here else f"{here}{behind}{ENTERS}{leaving}"


@dataclass(frozen=True)
class Column:
    """A unit's column: the group that it stands in, its name there, its cells, a line each."""

    group: str
    name: str
    cells: Sequence[str]
    width: int

    @property
    def heading(self) -> str:
        return self.name if len(self.name) <= self.width else _initials(self.name, self.width)


def lines(watch: Watch, labels: Sequence[str], width: int) -> Iterator[str]:
    """The text, ``width`` columns wide where changes are few; ``labels`` are those of the program, in order.

    Raises:
        InputError: there are more units at work than such lines hold.
    """
    if not watch.signals.window:
        raise InputError(f"the run ends before cycle {watch.signals.window.start:,}, from which on it is to be shown")
    if not watch.units:
        which = " that matches --units" if watch.patterns else ""
        raise InputError(f"no unit{which} is at work in the cycles {_range(watch)}")
    spelling, columns = _fitted(watch, {label: number for number, label in enumerate(labels, 1)}, width)
    changes = _changes(watch, spelling)
    meanings = [*_legend(watch, spelling, columns)]
    wide = max(NARROWEST_CELL, *(len(cell) for cell, _ in meanings))
    for cell, words in meanings:
        text = wrap(f"  {cell:<{wide}} {words}", width, subsequent_indent=" " * (wide + 3))
        yield from (line.replace(HARD, " ") for line in text)
    for place, cycle in enumerate(watch.signals.window):
        if place % REPEATED == 0:
            yield from ("", *_header(columns, spelling.separator))
        cells = _row(columns, [column.cells[place] for column in columns], spelling.separator)
        line = f"{cycle:>5} | {cells} | {changes[place]}".rstrip()
        yield line if len(line) <= width else f"{line[: width - 1]}{MORE}"


def _fitted(watch: Watch, numbers: Mapping[str, int], width: int) -> tuple[Spelling, list[Column]]:
    """The columns in the first layout that fits."""
    labels = watch.instructions
    for layout in LAYOUTS:
        spelling = Spelling(layout, numbers)
        if layout.label and any(len(printable(label)) > layout.label for label in labels):
            continue
        columns = _columns(watch, spelling)
        room = ROOM if spelling.roomy else LITTLE_ROOM
        taken = len(_header(columns, spelling.separator)[1]) - len(CHANGES) + room
        if taken <= width:
            return spelling, columns
    some = f"{watch.units[-1].rpartition('.')[0]}.*"
    raise InputError(
        f"{len(columns)} units are at work in the cycles {_range(watch)}, which take {taken:,} columns of text, and a "
        f"line has {width}: choose some with --units, such as --units '{some}', or fewer cycles with --from and --to"
    )


def _range(watch: Watch) -> str:
    window = watch.signals.window
    return f"{window.start:,} to {window.stop - 1:,}"


def _columns(watch: Watch, spelling: Spelling) -> list[Column]:
    columns = []
    for group in groups(watch.units, watch.description):
        ours = []
        for place, name in zip(group.tracks, group.names, strict=True):
            unit = watch.units[place]
            if watch.is_link(unit):
                cells = [spelling.passing(passage) for passage in watch.passage(unit)]
            else:
                fills = watch.values(f"{unit}{FIFO}")
                cells = [spelling.doing(*one) for one in zip(watch.activity(unit), fills, strict=True)]
            width = max(*map(len, cells), min(len(name), spelling.layout.name))
            ours.append(Column(group.title, name.replace("link", "stop"), cells, width))
        title = len(group.title) if spelling.roomy else spelling.layout.name
        missing = title - sum(column.width + 1 for column in ours) + 1
        last = ours[-1]
        columns += [*ours[:-1], Column(last.group, last.name, last.cells, last.width + max(0, missing))]
    return columns


def _changes(watch: Watch, spelling: Spelling) -> list[str]:
    """What each cycle brings: flags, queues that are no unit's own and, of instructions with numbers, their labels."""
    said: list[list[str]] = [[] for _ in watch.signals.window]
    if not (spelling.layout.label or len(watch.instructions) <= MOST_LISTED):
        for label, place in watch.instructions.items():
            said[place].append(f"{spelling.instruction(label)} is {printable(label)}")
    for name in (*watch.flags, *watch.queues):
        short = name.removeprefix("chip.").replace(FLAGS, ".").removesuffix(FIFO)
        short = short if spelling.roomy else short.replace("tile", "t")
        values = watch.values(name)
        for place, (before, value) in enumerate(pairwise(values), 1):
            if value != before:
                said[place].append(f"{short}={value}")
    return ["  ".join(words) for words in said]


# ---- how it looks


def _header(columns: Sequence[Column], separator: str) -> list[str]:
    titles = []
    for title, members in groupby(columns, key=lambda column: column.group):
        wide = sum(column.width + 1 for column in members) - 1
        titles.append(f"{title if len(title) <= wide else f'{title[: wide - 1]}…':<{wide}}")
    heads = _row(columns, [column.heading for column in columns], separator)
    line = "-" * len(heads)
    return [f"{'':5} | {separator.join(titles)} |", f"cycle | {heads} | {CHANGES}", f"------+-{line}-+--------"]


def _row(columns: Sequence[Column], cells: Sequence[str], separator: str) -> str:
    padded = [(column.group, f"{cell:<{column.width}}") for column, cell in zip(columns, cells, strict=True)]
    grouped = groupby(padded, key=lambda pair: pair[0])
    return separator.join(" ".join(cell for _, cell in members) for _, members in grouped)


def _initials(name: str, width: int) -> str:
    """The first letters of several words, with numbers as they are, the last that fit; of one word its beginning."""
    parts = name.split()
    return "".join(part if part.isdigit() else part[0] for part in parts)[-width:] if len(parts) > 1 else name[:width]


def _legend(watch: Watch, spelling: Spelling, columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """What cells say, as far as there are such cells."""
    units = [unit for unit in watch.units if not watch.is_link(unit)]
    states = {activity.state for unit in units for activity in watch.activity(unit) if activity}
    if label := next(iter(watch.instructions), ""):
        number = "" if spelling.layout.label else f" number {spelling.instruction(label)}"
        yield (spelling.instruction(label), f"busy with the instruction{number}{number and ', ' + printable(label)}")
    waits = [kind.removeprefix("stall:") for kind in KINDS if kind.removeprefix("stall:") in states - {BUSY}]
    yield from ((spelling.reason(reason), kind_of(f"stall:{reason}").words) for reason in waits)
    yield from _ring_legend(watch, spelling)
    if any("+" in cell for column in columns for cell in column.cells):
        yield ("+2", "two more wait behind it, in the unit's queue")
    yield (IDLE, "idle")
    yield (CHANGES, f"flags and queues with their new counts; {MORE} where there are more than fit")
    if not spelling.roomy:
        yield ("left out", "rows of packets, and what waits in queues: choose fewer units with --units")
    if short := [f"{column.heading} = {column.name}" for column in columns if column.heading != column.name]:
        yield ("columns", _listed(dict.fromkeys(short)))
    if not spelling.layout.label and len(watch.instructions) <= MOST_LISTED:
        listed = sorted(watch.instructions, key=lambda label: spelling.numbers.get(label, 0))
        yield ("instructions", _listed(f"{spelling.instruction(one)} {printable(one)}" for one in listed))


def _ring_legend(watch: Watch, spelling: Spelling) -> Iterator[tuple[str, str]]:
    passages = (one for unit in watch.units if watch.is_link(unit) for one in watch.passage(unit))
    packet = next((packet for one in passages for packet in one[:2] if packet), None)
    if packet is not None:
        cell = spelling.packet(packet)
        yield (cell, f"on the ring: its row {packet.row} stands at this stop, where it is taken or waits")
        yield (f"{cell}{ENTERS}", "the same, and it goes on to the next stop in this cycle")
        yield (f"{ENTERS}{cell}", "the same, sent from here in this cycle")


def _listed(words: Iterable[str]) -> str:
    """All of them, none broken over two lines."""
    return ", ".join(one.replace(" ", HARD) for one in words)
