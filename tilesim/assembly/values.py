"""How values of simple types are written in the text form, and read back."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tilesim.assembly.scanner import BARE, NUMBER, REAL, Fault, Scanner, Word, write_name
from tilesim.printable import unknown

_RESERVED = {"true", "false", "inf", "nan"}


@dataclass(frozen=True)
class Notation:
    """How one type of value is written and read; ``read`` raises Fault or Faults."""

    write: Callable[[Any], str]
    read: Callable[[Scanner], Any]

    def read_all(self, text: str, column: int = 0) -> Any:
        """The value that the whole of ``text`` stands for. Raises Fault, Faults."""
        return Scanner(text, column).whole(self.read)

    def read_word(self, key: str, word: Word) -> Any:
        """The value of ``word``; a fault names the ``key``. Raises Fault, Faults."""
        try:
            return self.read_all(word.text, word.column)
        except Fault as fault:
            raise Fault(fault.column, f"{key} {fault.sentence}") from None


def one_word(words: Mapping[str, Any], what: str) -> Notation:
    """One of ``words``, for what it stands for; ``what`` the words are."""

    def read(scanner: Scanner) -> Any:
        start, word = scanner.at, scanner.take(BARE, what)[0]
        return words[word] if word in words else scanner.fail(unknown(word, words, what), start)

    return Notation(lambda value: str(value).lower(), read)


def enumeration(kind: type[StrEnum], former: Collection[str] = ()) -> Notation:
    """One of the names of ``kind``; a ``former`` one is read as None."""
    words = re.sub("(?!^)([A-Z])", r" \1", kind.__name__).lower()
    names = {str(member): member for member in kind} | dict.fromkeys(former)
    return one_word(names, f"{'an' if words[0] in 'aeio' else 'a'} {words}")


def items(item: Notation, length: int | None, empty: str = "", brackets: str = "") -> Notation:
    """A tuple: its items with commas between, each in ``brackets``; of none it is ``empty``. None is left out."""
    opening, closing = brackets[:1], brackets[1:]

    def one(scanner: Scanner) -> Any:
        scanner.expect(opening)
        value = item.read(scanner)
        scanner.expect(closing)
        return value

    def read(scanner: Scanner) -> tuple[Any, ...]:
        start = scanner.at
        none = scanner.skips(empty) if empty else start == len(scanner.text)
        values = [] if none else [one(scanner)]
        while values and scanner.skips(","):
            values.append(one(scanner))
        if length not in (None, len(values)):
            scanner.fail(f"must be {length} values, not {len(values)}", start)
        return tuple(value for value in values if value is not None)

    return Notation(
        lambda values: ",".join(f"{opening}{item.write(value)}{closing}" for value in values) or empty, read
    )


def names(bare: re.Pattern[str]) -> Notation:
    """Text, in quotes unless it is ``bare``."""
    return Notation(lambda text: write_name(text, bare), Scanner.name)


def scalars(bare: re.Pattern[str]) -> Notation:
    """A value of a topology: what it is, its form alone must tell."""

    def write(value: float | bool | str) -> str:
        if isinstance(value, str):
            return f'"{value}"' if value in _RESERVED else write_name(value, bare)
        return repr(value).lower()

    return Notation(write, _read_scalar)


def _read_scalar(scanner: Scanner) -> int | float | bool | str:
    if scanner.text in {"true", "false"}:
        return scanner.skips("true") or not scanner.skips("false")
    if NUMBER.match(scanner.text):
        return scanner.number()
    return scanner.real() if REAL.match(scanner.text) else scanner.name()


TRUTH = one_word({"true": True, "false": False}, "true or false")
NUMBERS = Notation(lambda value: str(int(value)), Scanner.number)
HEXADECIMAL = Notation(lambda value: f"{int(value):#x}", Scanner.number)
REALS = Notation(lambda value: repr(float(value)), Scanner.real)
SIZE = Notation(lambda array: str(array.size), Scanner.number)
"""An array, of which the text says how many bytes it has."""
