"""A line of the text form taken apart: its label, its head and its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilesim.assembly.scanner import Fault, Scanner
from tilesim.assembly.values import Notation
from tilesim.printable import shown

_STRING = r'"(?:[^"\\]|\\.)*+"'


def _bracketed(levels: int) -> str:
    """Brackets in which brackets may stand, down to some levels."""
    inner = f"|{_bracketed(levels - 1)}" if levels > 1 else ""
    inside = rf'(?:[^\[\]()";]++|{_STRING}{inner})*+'
    return rf"\[{inside}\]|\({inside}\)"


BRACKETED = re.compile(_bracketed(3))
_NOTHING = r"\s*(?:;.*)?"
_GAP = re.compile(_NOTHING, re.DOTALL)
_WORD = re.compile(rf'((?:[^\s;"\[(]++|{_STRING}|{_bracketed(3)})++){_NOTHING}', re.DOTALL)


class Word(NamedTuple):
    """A word and its column, from 0."""

    text: str
    column: int


@dataclass(frozen=True)
class Line:
    """A line taken apart: ``label: head word word ...``."""

    label: str
    head: Word
    words: tuple[Word, ...]


def read_line(text: str) -> Line | None:
    """``text`` taken apart, or None if it says nothing. Raises Fault."""
    words = list(words_of(text))
    label = ""
    if words and words[0].text.endswith(":"):
        first = words.pop(0)
        label = Notation(str, Scanner.name).read_all(first.text[:-1], first.column)
        if not words:
            raise Fault(first.column, f"an instruction must follow the label {shown(first.text)}")
    return Line(label, words[0], tuple(words[1:])) if words else None


def words_of(text: str, column: int = 0) -> Iterator[Word]:
    """The words of ``text``, which stands at ``column`` of its line, up to a comment. Raises Fault."""
    at = _GAP.match(text).end()  # type: ignore[union-attr]  # the pattern matches nothing as well
    while at < len(text):
        match = _WORD.match(text, at)
        if not match:
            raise Fault(column + at, f"the {text[at]} opened here must be closed on this line")
        yield Word(match[1], column + at)
        at = match.end()


def split_key(word: Word, equals: str = "=") -> tuple[str, Word]:
    """``key=value`` as the key and the value's word. Raises Fault."""
    key, separator, text = word.text.partition(equals)
    if not separator:
        raise Fault(word.column, f"must be key{equals}value, not {shown(word.text)}")
    return key, Word(text, word.column + len(key) + 1)


def read_value(notation: Notation, key: str, word: Word) -> Any:
    """The value of ``word``; a fault names the ``key``. Raises Fault, Faults."""
    try:
        return notation.read_all(word.text, word.column)
    except Fault as fault:
        raise Fault(fault.column, f"{key} {fault.sentence}") from None
