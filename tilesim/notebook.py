"""What notebooks show of a value: HTML tables in which any text shows as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from tilesim.printable import printable

MOST_ROWS = 100
"""Rows of a table; a notebook has to scroll past them."""


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table under its title; whole numbers stand on the right."""
    return "".join(_parts(title, header, list(rows)))


def _parts(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"<table><caption>{_text(title)}</caption>"
    if any(header):
        yield f"<thead><tr>{''.join(f'<th>{_text(name)}</th>' for name in header)}</tr></thead>"
    yield "<tbody>"
    yield from (f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
    if more := len(rows) - MOST_ROWS:
        yield f'<tr><td colspan="{len(rows[0])}">{more:,} more</td></tr>' if more > 0 else ""
    yield "</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align: right">{value:,}</td>'
    return f'<td style="text-align: left">{_text(str(value))}</td>'


def _text(words: str) -> str:
    return escape(printable(words))
