"""What a run noticed, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Finding = dict[str, Any]
"""One thing found, in plain values: what ``findings`` of ``run.json`` holds."""


def sentence(finding: Finding) -> str:
    """A finding in words; one of another kind as it is."""
    return _SENTENCES.get(finding["kind"], str)(finding)


def _meeting_words(finding: Finding) -> str:
    first, second = _parties(finding)
    reaches = _reaches(finding)
    return (
        f"in cycle {finding['cycle']:,} a packet of {second}, which occupies {reaches[1]}, passes {finding['stop']}, "
        f"where {first}, which occupies {reaches[0]}, began first and has not ended"
    )


def _at_once_words(finding: Finding) -> str:
    first, second = _parties(finding)
    reaches = _reaches(finding)
    return (
        f"in cycle {finding['cycle']:,} {second}, which occupies {reaches[1]}, begins while {first}, which occupies "
        f"{reaches[0]}, is under way"
    )


def _parties(finding: Finding) -> list[str]:
    pairs = zip(finding["instructions"], finding["transfers"], finding["masters"], strict=True)
    return [_party(*each) for each in pairs]


def _reaches(finding: Finding) -> list[str]:
    return [f"{nodes[0]} to {nodes[-1]}" for nodes in finding["nodes"]]


def _mixed_words(finding: Finding) -> str:
    parts = [
        f"{', '.join(map(str, each['rows']))} of {_party(each['instruction'], each['transfer'], each['master'])}"
        for each in finding["rows"]
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
