"""Tables for a terminal, all of one look."""

from __future__ import annotations

from rich.table import Column, Table
from rich.text import Text


def table(*columns: Column) -> Table:
    """A table without lines, its titles bold."""
    return Table(*columns, box=None, pad_edge=False, header_style="bold")


def grid(*columns: Column) -> Table:
    """A table without titles, two spaces between its columns."""
    return Table.grid(*columns, padding=(0, 2))


def right(*titles: str) -> tuple[Column, ...]:
    """Columns to the right, which no line breaks."""
    return tuple(Column(Text(title), justify="right", no_wrap=True) for title in titles)


def left(*titles: str) -> tuple[Column, ...]:
    """Columns to the left, which no line breaks."""
    return tuple(Column(Text(title), no_wrap=True) for title in titles)


def folded(*titles: str, most: int | None = None) -> tuple[Column, ...]:
    """Columns to the left, of at most so many characters, whose lines break where there is no room."""
    return tuple(Column(Text(title), max_width=most) for title in titles)
