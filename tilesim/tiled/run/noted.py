"""What the core has noted of a run: who did what when, for a trace, as columns by track.

A note holds until the next one of its unit. Numbers of instructions go on beyond the program's: of nothing, of what
the host sends and gets, and of the rows that the outfeed takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.flat.accounts import account_tracks
from tilesim.tiled.flat.columns import CAUSES, KINDS
from tilesim.tiled.flat.host import Outgoing, sent
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import (
    WORD_BYTES,
    Infeed,
    Instruction,
    Outfeed,
    Record,
    ScalarFence,
)
from tilesim.tiled.isa.model.program import Program

IDLE, BUSY, CREDIT, WORK = (KINDS.index(kind) for kind in ("idle", "busy", "credit", "work"))
FLAGS = len(KINDS)
"""From this cause on they are flags."""
Column: TypeAlias = NDArray[Any]


class Works(NamedTuple):
    """Whatever units work on, by number: its label, the place of that in ``whats``, and how many bytes a unit moves
    that does nothing else with it.
    """

    whats: Sequence[str]
    what: Column
    bytes: Numbers


class Noted(NamedTuple):
    """Who did what when: spans by track, in the order of their starts; ``track`` is a place in ``tracks``, ``cause``
    one in :data:`~tilesim.tiled.flat.columns.CAUSES`. ``wakes`` are the notes of those who waited for a flag.
    """

    tracks: Sequence[str]
    works: Works
    track: Column
    start: Column
    end: Column
    work: Column
    cause: Column
    wakes: Column


def bus_bytes(ops: Sequence[Instruction]) -> Iterator[int]:
    """What each instruction of a section takes on the instruction bus; none, if it is the controller's own."""
    announced = 0
    for op in ops:
        size_bytes = (op.words - (announced > 0)) * WORD_BYTES
        announced = op.parts if isinstance(op, Record) else max(announced - 1, 0)
        yield 0 if isinstance(op, Infeed | Outfeed | ScalarFence) else size_bytes


def noted(program: Program, timing: Timing) -> Noted:
    """All of a run that has come to its end."""
    assert timing.load is not None
    assert timing.run is not None
    accounts = account_tracks(program.topology)
    tracks = sorted(filter(None, accounts))
    works, first = _works(program)
    logs = [timing.load.notes, timing.run.notes]
    notes = _columns([*logs, _rests(accounts, logs[-1], timing.start, len(program.load) + len(program.run))])
    _number(notes, accounts, first, len(logs[0]))
    places = {track: k for k, track in enumerate(tracks)}
    place = np.array([places.get(track, len(tracks)) for track in accounts], np.min_scalar_type(len(tracks)))
    spans = _by_track(notes, place, timing.start + timing.cycles)
    _name_waits(spans, [name.startswith("chip.ring.link") for name in tracks])
    return Noted(tracks, works, *spans, np.concatenate([timing.load.wakes, timing.run.wakes]))


class _Notes(NamedTuple):
    """Columns of what is noted, as narrow as can be: there may be millions."""

    account: Column
    start: Column
    work: Column
    cause: Column


class _Stays(NamedTuple):
    """Columns of what notes say until the next one."""

    track: Column
    start: Column
    end: Column
    work: Column
    cause: Column


def _columns(logs: Sequence[Column]) -> _Notes:
    account, start, work = (np.concatenate([log[name] for log in logs]) for name in ("account", "cycle", "op"))
    return _Notes(
        account, start, work, np.concatenate([log["cause"] for log in logs], dtype=np.uint8, casting="unsafe")
    )


_NUMBERED = ("host.infeed", "host.outfeed", "outfeed")


def _works(program: Program) -> tuple[Works, list[list[int]]]:
    """The works; and where those of load and run begin of units whose works are no instructions."""
    ops = (*program.load, *program.run)
    rows = [*zip((op.label for op in ops), [*bus_bytes(program.load), *bus_bytes(program.run)], strict=True), ("", 0)]
    outgoing, row_bytes = Outgoing(program), program.topology.wide_memory.row_bytes
    first = []
    for section in (program.load, program.run):
        sizes = [(op, outgoing.sizes(op)) for op in section if isinstance(op, Outfeed)]
        parts = [
            [(each.label, each.size_bytes) for each in sent(program, section)],
            [(op.label, size) for op, of_op in sizes for size in of_op],
            [*_of_outfeed(section, row_bytes)],
        ]
        first.append([len(rows) + sum(map(len, parts[:k])) for k in range(len(parts))])
        rows += [row for part in parts for row in part]
    whats = sorted({label for label, _ in rows})
    places = {label: k for k, label in enumerate(whats)}
    what, size = np.array([(places[label], size) for label, size in rows], np.int64).T
    return Works(whats, what.astype(np.int32), size), first


def _of_outfeed(section: Sequence[Instruction], row_bytes: int) -> Iterator[tuple[str, int]]:
    """What the outfeed works on: each row, also such as go back to the infeed, and the end of an instruction."""
    yield "", 0
    for op in section:
        if isinstance(op, Outfeed):
            yield from [(op.label, row_bytes)] * op.rows
        elif isinstance(op, Infeed) and op.source == "ring":
            yield from [(op.label, 0)] * op.total_rows
        if isinstance(op, Outfeed) or (isinstance(op, Infeed) and op.source == "ring"):
            yield op.label, 0


def _number(notes: _Notes, accounts: Sequence[str], first: Sequence[Sequence[int]], loads: int) -> None:
    """Let numbers of what is no instruction go on beyond the program's; so many notes are of the load section."""
    of_load, of_run = first
    for k, name in enumerate(_NUMBERED):
        of_unit = np.flatnonzero(notes.account == accounts.index(f"chip.{name}"))
        notes.work[of_unit] += np.where(of_unit < loads, of_load[k], of_run[k])


def _rests(accounts: Sequence[str], notes: Column, start: int, nothing: int) -> Column:
    """Each tensor control, with its MAC array, has no more work behind its last note of the run."""
    last = np.full(len(accounts), start)
    last[notes["account"]] = notes["cycle"]
    resting = [k for k, track in enumerate(accounts) if track.endswith((".tensor", ".mac_array"))]
    rests = np.zeros(len(resting), notes.dtype)
    rests["account"], rests["cycle"], rests["op"], rests["cause"] = resting, last[resting], nothing, WORK
    return rests


def _by_track(notes: _Notes, place: Column, end: int) -> _Stays:
    """What lasts any time and is no idleness, up to the ``end``; accounts have their ``place`` among tracks."""
    track = place[notes.account]
    order = np.argsort(track, kind="stable")
    track, start, cause = track[order], notes.start[order], notes.cause[order]
    lasts = cause != IDLE
    lasts[:-1] &= (start[1:] > start[:-1]) | (track[1:] != track[:-1])
    some = np.flatnonzero(lasts)
    track, ends = track[some], np.take(start, some + 1, mode="clip")
    ends[np.flatnonzero(cause[some] == WORK)] = end
    stays = _Stays(track, start[some], ends, notes.work[order[some]], cause[some])
    void = np.flatnonzero(stays.start == stays.end)  # at the end of the run
    return _Stays(*(np.delete(column, void) for column in stays)) if len(void) else stays


def _name_waits(stays: _Stays, is_link: Sequence[bool]) -> None:
    """A link that lacks a credit does so for the packet that then gets it."""
    track, start, end, work, cause = stays
    found = np.flatnonzero(cause[:-1] == CREDIT)
    found = found[np.array(is_link)[track[found]]]
    found = found[(track[found + 1] == track[found]) & (start[found + 1] == end[found])]
    work[found] = work[found + 1]


def kinds() -> tuple[list[str], Column]:
    """The kinds of spans by name, and for each cause the place of its kind."""
    names = [kind if kind in ("idle", "busy") else f"stall:{kind}" for kind in KINDS]
    return names, np.array([k if k < FLAGS else KINDS.index("flag") for k in range(len(CAUSES))], np.uint8)
