"""Text from files and command lines, for a terminal, for people, for notebooks, and in the sentences of faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from html import escape
from itertools import count

MOST_LISTED = 16
"""Words that a sentence lists, where none is close to the one that was given."""
MOST_ROWS = 100
"""Rows of a table; a notebook has to scroll past them."""


def printable(text: str) -> str:
    """``text`` on one line, with every character that would steer a terminal, or that nobody sees, written as Python
    writes it: ``\\x1b``, ``\\n``, ``\\u202e``. All letters stay, of whatever script.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_lines(text: str) -> str:
    """``text`` with each of its lines :func:`printable`."""
    return "\n".join(map(printable, text.split("\n")))


def short(text: str, most: int = 40) -> str:
    """``text``, cut where it has more than so many characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shown(text: str) -> str:
    """``text`` as a fault quotes it: short, printable, or "nothing"."""
    return repr(short(text)) if text else "nothing"


def alternatives(words: Sequence[str]) -> str:
    """``a, b or c``."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def counted(count: int, noun: str) -> str:
    """So many of a thing whose plural ends in s: ``1 array``, ``2 arrays``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def numbered(names: Iterable[str]) -> Iterator[str]:
    """The ``names``, one that comes again with a number: ``a``, ``a (2)``. No two are alike."""
    taken: set[str] = set()
    for name in names:
        spelt = (f"{name} ({k})" if k > 1 else name for k in count(1))
        taken.add(one := next(word for word in spelt if word not in taken))
        yield one


def kind_of(value: object) -> str:
    """What a ``value`` is, for a sentence that wanted another: ``an int``; text is quoted."""
    name = type(value).__name__
    if value is None or isinstance(value, str):
        return repr(value)
    return f"{'an' if name[0].lower() in 'aeiou' or name == 'ndarray' else 'a'} {name}"


def unknown(word: str, known: Iterable[str], what: str = "") -> str:
    """The sentence for a ``word`` that is none of ``known``; without a word for ``what`` they are, it lists them."""
    names = [*map(str, known)]
    listed = f" (one of {', '.join(sorted(names))})" if what and len(names) <= MOST_LISTED else ""
    close = get_close_matches(word, sorted(names), 1)
    advice = f"; did you mean {close[0]!r}?" if close else listed
    return f"must be {what or alternatives(names)}, not {shown(word)}{advice}"


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


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
