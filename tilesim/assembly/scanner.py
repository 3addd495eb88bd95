"""Reading a word from left to right: names, numbers, and the fault that says where reading failed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from tilesim.printable import shown

# Python refuses to read decimal numbers of more than 4300 digits; no field needs a tenth of that.
NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,400}|[0-9]{1,400})(?![\w.])")
REAL = re.compile(r"-?(?:inf|nan|[0-9]{1,400}(?:\.[0-9]{0,400})?(?:e[+-]?[0-9]{1,9})?)(?![\w.])")
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r'\\(?:(["\\])|u\{([0-9a-f]{1,6})\})')


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

    def end(self) -> None:
        if self.at < len(self.text):
            self.fail(f"must end here, not go on with {shown(self.rest)}")

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


def write_name(text: str, bare: re.Pattern[str] = IDENTIFIER) -> str:
    """``text`` as it is if it is ``bare``, else in quotes with everything that does not print escaped."""
    return text if bare.fullmatch(text) else f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"
