"""What a run noticed, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Required

from typing_extensions import TypedDict  # of typing's own, pydantic reads that of Python 3.12 and later only


class NamedTransfer(TypedDict):
    """A transfer on the ring, by what sends it."""

    instruction: str
    """Label and tile of the instruction that sends it."""
    transfer: int
    """Which of the instruction's transfers, from 0."""
    master: str
    """The node that sends it."""


class MixedRows(NamedTransfer):
    """Rows of a transfer that arrived among those of another."""

    rows: list[int]
    """Their numbers in the transfer."""


class Finding(TypedDict, total=False):
    """One thing that a run of a tiled machine noticed; which keys it has depends on its kind."""

    kind: Required[str]
    """``meeting`` or ``under way at once``, of two transfers; ``mixed payload``, of what came of a meeting; ``floating
    packet``; ``touched``, of accesses that nothing orders."""
    section: str
    """``load`` or ``run``. Meeting, under way at once, touched."""
    cycle: int
    """When, from the start of its section. Meeting, under way at once; touched: of the access that came too early."""
    stop: str
    """The stop of the ring where it was seen. Meeting, under way at once, mixed payload, floating packet."""
    instructions: list[str]
    """The instructions that send both, the first to begin first (meeting, under way at once), or that touch the bytes,
    the first of the program first (touched)."""
    transfers: list[int]
    """Which of their transfers, from 0. Meeting, under way at once."""
    masters: list[str]
    """The nodes that send them. Meeting, under way at once."""
    nodes: list[list[str]]
    """The nodes that each occupies. Meeting, under way at once."""
    instruction: str
    """What took the rows (mixed payload), or sent the row (floating packet)."""
    transfer: int
    """Which of its transfers, from 0. Floating packet."""
    master: str
    """The node that sent it. Floating packet."""
    rows: list[MixedRows]
    """Of each transfer, the rows that it took. Mixed payload."""
    row: int
    """Its number in the transfer. Floating packet."""
    bitmap: int
    """The nodes that it is still for, as its header has them. Floating packet."""
    to: list[str]
    """The same, by name. Floating packet."""
    tile: int
    """Whose memory. Touched."""
    memory: str
    """``narrow`` or ``wide``. Touched."""
    bytes: list[int]
    """The first and the last address. Touched."""
    count: int
    """How many bytes between them. Touched."""
    accesses: list[str]
    """What each did there: ``read`` or ``wrote``. Touched."""
    until: int
    """When the first instruction's last access was. Touched."""


def sentence(finding: Finding) -> str:
    """A finding in words; one of another kind, or one that a file has without all that its kind has, as it is."""
    try:
        return _SENTENCES.get(finding["kind"], str)(finding)
    except (KeyError, ValueError, IndexError):
        return str(finding)


def _meeting_words(finding: Finding) -> str:
    first, second = _parties(finding)
    return (
        f"in cycle {finding['cycle']:,} a packet of {second}, passes {finding['stop']}, where {first}, began first and "
        "has not ended"
    )


def _at_once_words(finding: Finding) -> str:
    first, second = _parties(finding)
    return f"in cycle {finding['cycle']:,} {second}, begins while {first}, is under way"


def _parties(finding: Finding) -> list[str]:
    """The two transfers, each with the nodes that it occupies."""
    names = zip(finding["instructions"], finding["transfers"], finding["masters"], strict=True)
    nodes = [f"which occupies {nodes[0]} to {nodes[-1]}" for nodes in finding["nodes"]]
    return [f"{_party(*whose)}, {where}" for whose, where in zip(names, nodes, strict=True)]


def _mixed_words(finding: Finding) -> str:
    parts = [
        f"{', '.join(map(str, part['rows']))} of {_party(part['instruction'], part['transfer'], part['master'])}"
        for part in finding["rows"]
    ]
    return f"{finding['instruction']} at {finding['stop']} took rows of transfers that met: {' and '.join(parts)}"


def _touched_words(finding: Finding) -> str:
    first, other = finding["instructions"]
    had, did = finding["accesses"]
    low, high = finding["bytes"]
    return (
        f"in cycle {finding['cycle']:,} {other} {did} {finding['memory']} memory of tile {finding['tile']} between "
        f"{low:#x} and {high:#x} too early ({finding['count']:,} bytes): {first}, which comes first in the program but "
        f"which nothing orders before it, {had} there until cycle {finding['until']:,}"
    )


def _floating_words(finding: Finding) -> str:
    whose = _party(finding["instruction"], finding["transfer"], finding["master"])
    return (
        f"row {finding['row']} of {whose} goes round for ever with bitmap {finding['bitmap']:#x}, for "
        f"{' and '.join(finding['to'])}, where nobody is posted; it is at {finding['stop']}"
    )


def _party(instruction: str, transfer: int, master: str) -> str:
    return f"{instruction}{f' (transfer {transfer + 1})' if transfer else ''} from {master}"


_SENTENCES: dict[str, Callable[[Finding], str]] = {
    "meeting": _meeting_words,
    "under way at once": _at_once_words,
    "touched": _touched_words,
    "mixed payload": _mixed_words,
    "floating packet": _floating_words,
}
