"""Rows as a text, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.replays.digests import Row

COLUMNS = ("outputs", "run.json", "program", "trace", "text", "cycles")


def written(rows: Mapping[str, Row]) -> str:
    """A line a case, in the order of their names."""
    width = max(map(len, ("case", *rows)))
    lines = [("case", *COLUMNS), *((name, *row) for name, row in sorted(rows.items()))]
    return "".join(f"{name:{width}}  {'  '.join(f'{part:16}' for part in row)}".rstrip() + "\n" for name, *row in lines)


def read(path: Path) -> dict[str, Row]:
    """What :func:`written` wrote.

    Raises:
        ValueError: something else stands there.
    """
    first, *lines = path.read_text("utf-8").splitlines() or [""]
    table = [line.split() for line in lines]
    if tuple(first.split()) != ("case", *COLUMNS) or any(len(words) != 1 + len(COLUMNS) for words in table):
        raise ValueError(f"{path} must be what scripts/replay has written")
    return {name: Row(*digests) for name, *digests in table}


def changes(before: Mapping[str, Row], now: Mapping[str, Row]) -> Iterator[str]:
    """A line for each row of both that differs: its name, and the columns with both digests."""
    for name in sorted(before.keys() & now.keys()):
        pairs = zip(COLUMNS, before[name], now[name], strict=True)
        if parts := [f"{column} {old} -> {new}" for column, old, new in pairs if old != new]:
            yield f"{name}: {', '.join(parts)}"
