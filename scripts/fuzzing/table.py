"""What a fuzzing came to, as a table for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from scripts.fuzzing.trial import Outcome

TITLES = ("kind", "command", "inputs", "shell", "exit 0", "1", "2", "3", "other", "most s", "most MiB", "failures")


def table(outcomes: Iterable[Outcome]) -> str:
    """A row a kind and command, and one of all."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        known = len(outcome.words[0]) < 12 and outcome.words[0].isidentifier()
        groups[outcome.kind, outcome.words[0] if known else "other"].append(outcome)
    rows = [_row(*name, groups[name]) for name in sorted(groups)]
    rows.append(_row("all", "", [outcome for group in groups.values() for outcome in group]))
    return _aligned([TITLES, *rows])


def _row(kind: str, command: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    statuses = [sum(outcome.status == status for outcome in outcomes) for status in range(4)]
    counts = (len(outcomes), sum(outcome.shell for outcome in outcomes), *statuses, len(outcomes) - sum(statuses))
    seconds = max((outcome.seconds for outcome in outcomes), default=0.0)
    mebibytes = max((outcome.resident_bytes for outcome in outcomes), default=0) >> 20
    failures = sum(bool(outcome.faults) for outcome in outcomes)
    return (kind, command, *(f"{count:,}" for count in counts), f"{seconds:.1f}", f"{mebibytes:,}", f"{failures:,}")


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(f"{_line(row, widths)}\n" for row in rows)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Names on the left, numbers on the right of their columns."""
    sides = "<<" + ">" * (len(cells) - 2)
    padded = [f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths, strict=True)]
    return "  ".join(padded).rstrip()
