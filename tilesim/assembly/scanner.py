"""Reading a line from left to right: its words, names, numbers, and the fault that says where reading failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, TypeVar

from tilesim.printable import shown

T = TypeVar("T")

# Python refuses to read decimal numbers of more than 4300 digits; no field needs a tenth of that.
NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,400}|[0-9]{1,400})(?![\w.])")
REAL = re.compile(r"-?(?:inf|nan|[0-9]{1,400}(?:\.[0-9]{0,400})?(?:e[+-]?[0-9]{1,9})?)(?![\w.])")
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
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
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r'\\(?:(["\\])|u\{([0-9a-f]{1,6})\})')


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


class Fault(Exception):
    """What is wrong at ``column`` (from 0) of a line; never leaves the reader of the text form."""

    def __init__(self, column: int, sentence: str) -> None:
        super().__init__(sentence)
        self.column, self.sentence = column, sentence


class Faults(Exception):
    """All that is wrong with a record."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(*self.faults)


@dataclass
class Scanner:
    """Reads ``text``, which stands at ``column`` of its line, from left to right."""

    text: str
    column: int = 0
    at: int = 0

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def skip(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go past ``pattern`` if it stands here."""
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def skips(self, literal: str) -> bool:
        """Go past ``literal`` if it stands here, and say whether it did."""
        here = self.text.startswith(literal, self.at)
        self.at += len(literal) * here
        return here

    def take(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        return self.skip(pattern) or self.fail(f"must be {what}, not {shown(self.rest)}")

    def expect(self, literal: str) -> None:
        if not self.skips(literal):
            self.fail(f"must go on with {literal!r}, not with {shown(self.rest)}")

    def whole(self, read: Callable[[Scanner], T]) -> T:
        """What ``read`` makes of the text, which must end with it."""
        value = read(self)
        if self.at < len(self.text):
            self.fail(f"must end here, not go on with {shown(self.rest)}")
        return value

    def fail(self, sentence: str, at: int | None = None) -> NoReturn:
        raise Fault(self.column + (self.at if at is None else at), sentence)

    def number(self) -> int:
        """A whole number, decimal or hexadecimal."""
        text = self.take(NUMBER, "a whole number")[0]
        return int(text, 16 if "x" in text else 10)

    def real(self) -> float:
        """Any number."""
        return float(self.take(REAL, "a number")[0])

    def name(self) -> str:
        """A bare name, or any text in quotes."""
        if bare := self.skip(BARE):
            return bare[0]
        start = self.at + 1
        inside = self.take(_QUOTED, "a name, or a text in quotes")[1]
        pieces, at = [], 0
        while at < len(inside):
            match = _ESCAPE.match(inside, at)
            if inside[at] == "\\" and not (match and int(match[2] or "0", 16) <= 0x10FFFF):
                self.fail(r"must be one of the escapes \" \\ \u{hexadecimal}", start + at)
            pieces.append((match[1] or chr(int(match[2], 16))) if match else inside[at])
            at = match.end() if match else at + 1
        return "".join(pieces)


def read_line(text: str) -> Line | None:
    """``text`` taken apart, or None if it says nothing. Raises Fault."""
    words = list(words_of(text))
    label = ""
    if words and words[0].text.endswith(":"):
        first = words.pop(0)
        label = Scanner(first.text[:-1], first.column).whole(Scanner.name)
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


def write_name(text: str, bare: re.Pattern[str] = IDENTIFIER) -> str:
    """``text`` as it is if it is ``bare``, else in quotes with everything that does not print escaped."""
    return text if bare.fullmatch(text) else f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"
