"""Reading a line of text from left to right: names, numbers, and the fault that says where reading failed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NoReturn

# Python refuses to read decimal numbers of more than 4300 digits; no field needs a tenth of that.
WHOLE = re.compile(r"-?(?:0x[0-9a-fA-F]{1,400}|[0-9]{1,400})(?![\w.])")
REAL = re.compile(r"-?(?:inf|[0-9]{1,400}(?:\.[0-9]{0,400})?(?:e[+-]?[0-9]{1,9})?)(?![\w.])")
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
SPACE = re.compile(r"[ \t\r]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PIECE = re.compile(r'\\(["\\])|\\u\{(0*(?:10|[0-9a-f])?[0-9a-f]{1,4})\}|([^\\])', re.DOTALL)
_CODE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^;"])*', re.DOTALL)


class Fault(Exception):
    """What is wrong at ``column`` (from 0) of a line; never leaves the reader of the text form."""

    def __init__(self, column: int, sentence: str) -> None:
        super().__init__(sentence)
        self.column, self.sentence = column, sentence


@dataclass
class Scanner:
    """Reads ``text``, a line, from left to right; ``faults`` are those after which reading went on."""

    text: str
    at: int = 0
    faults: list[Fault] = field(default_factory=list)

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

    def expect(self, literal: str) -> None:
        if not self.skips(literal):
            self.fail(f"must go on with {literal!r}, not with {shown(self.rest)}")

    def fail(self, sentence: str, at: int | None = None) -> NoReturn:
        raise Fault(self.at if at is None else at, sentence)

    def whole(self) -> int:
        """A whole number, decimal or hexadecimal."""
        match = self.skip(WHOLE) or self.fail(f"must be a whole number, not {shown(self.rest)}")
        return int(match[0], 16 if "x" in match[0] else 10)

    def real(self) -> float:
        """Any number."""
        return float((self.skip(REAL) or self.fail(f"must be a number, not {shown(self.rest)}"))[0])

    def name(self) -> str:
        """A bare name, or any text in quotes."""
        if bare := self.skip(BARE):
            return bare[0]
        start = self.at + 1
        inside = (self.skip(_QUOTED) or self.fail(f"must be a name, or a text in quotes, not {shown(self.rest)}"))[1]
        pieces, at = [], 0
        while at < len(inside):
            piece = _PIECE.match(inside, at) or self.fail(
                r"must be one of the escapes \" \\ \u{hexadecimal}", start + at
            )
            pieces.append(piece[1] or piece[3] or chr(int(piece[2], 16)))
            at = piece.end()
        return "".join(pieces)

    def skip_value(self, start: int) -> None:
        """Go past what stands here up to a space or a bracket that was not opened here, but on from ``start``."""
        depth, self.at = 0, max(self.at, start + 1)
        while self.at < len(self.text):
            here = self.text[self.at]
            depth += (here in "([") - (here in ")]")
            if depth < 0 or (here.isspace() and not depth):
                return
            if not self.skip(_QUOTED):
                self.at += 1


def without_comment(line: str) -> str:
    """``line`` up to a ``;`` that is not in quotes."""
    code = _CODE.match(line)
    end = code.end() if code else 0
    return line[:end] if line[end : end + 1] == ";" else line


def shown(text: str) -> str:
    """``text`` as a fault quotes it: short, printable, or "nothing"."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...") if text else "nothing"


def unknown(word: str, known: Iterable[str], what: str) -> str:
    """The sentence for a ``word`` that is none of ``known``."""
    names = list(map(str, known))
    close = get_close_matches(word, names, 1)
    advice = f"; did you mean {close[0]!r}?" if close else f" (one of {', '.join(names)})" if len(names) <= 16 else ""
    return f"must be {what}, not {shown(word)}{advice}"


def written_name(text: str) -> str:
    """``text`` bare if it can be, else in quotes with everything that does not print escaped."""
    if BARE.fullmatch(text) and text not in {"true", "false", "inf", "nan"}:
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"
