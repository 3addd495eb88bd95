"""Reading a word from left to right: names, numbers, and the fault that says where reading failed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

# Python refuses to read decimal numbers of more than 4300 digits; no field needs a tenth of that.
NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,400}|[0-9]{1,400})(?![0-9A-Za-z_.])")
REAL = re.compile(r"-?(?:inf|nan|[0-9]{1,400}(?:\.[0-9]{0,400})?(?:e[+-]?[0-9]{1,9})?)(?![0-9A-Za-z_.])")
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r'\\(?:(["\\])|u\{([0-9a-f]{1,6})\})')


class Fault(Exception):
    """What is wrong at ``column`` (from 0) of a line; never leaves the reader of the text form."""

    def __init__(self, column: int, sentence: str) -> None:
        super().__init__(sentence)
        self.column, self.sentence = column, sentence


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
        found = self.text.startswith(literal, self.at)
        self.at += len(literal) * found
        return found

    def take(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        return self.skip(pattern) or self.fail(f"must be {what}, not {shown(self.rest)}")

    def expect(self, literal: str) -> None:
        if not self.skips(literal):
            self.fail(f"must go on with {literal!r}, not with {shown(self.rest)}")

    def fail(self, sentence: str, at: int | None = None) -> NoReturn:
        raise Fault(self.column + (self.at if at is None else at), sentence)


def shown(text: str) -> str:
    """``text`` as a fault quotes it: short, printable, or "nothing"."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...") if text else "nothing"


def unknown(word: str, known: Iterable[str], what: str) -> str:
    """The sentence for a ``word`` that is none of ``known``."""
    names = sorted(map(str, known))
    close = get_close_matches(word, names, 1)
    advice = f"; did you mean {close[0]!r}?" if close else f" (one of {', '.join(names)})" if len(names) <= 15 else ""
    return f"must be {what}, not {shown(word)}{advice}"


def write_name(text: str) -> str:
    """``text`` bare if it is an identifier, else in quotes with everything that does not print escaped."""
    if BARE.fullmatch(text):
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"


def read_name(scanner: Scanner) -> str:
    bare = scanner.skip(BARE)
    if bare:
        return bare[0]
    start = scanner.at + 1
    inside = scanner.take(_QUOTED, "a name, or a text in quotes")[1]
    pieces, at = [], 0
    while at < len(inside):
        match = _ESCAPE.match(inside, at)
        if inside[at] == "\\" and not (match and int(match[2] or "0", 16) <= 0x10FFFF):
            scanner.fail(r"must be one of the escapes \" \\ \u{hexadecimal}", start + at)
        pieces.append((match[1] or chr(int(match[2], 16))) if match else inside[at])
        at = match.end() if match else at + 1
    return "".join(pieces)


def read_number(scanner: Scanner) -> int:
    text = scanner.take(NUMBER, "a whole number")[0]
    return int(text, 16 if "x" in text else 10)


def read_real(scanner: Scanner) -> float:
    return float(scanner.take(REAL, "a number")[0])
