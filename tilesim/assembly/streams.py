"""Bytes written and read from left to right, and the tables by which they name things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tilesim.assembly.records import Field
from tilesim.budgets import MOST_PROGRAM_VALUES

WORD_BYTES = 16
"""What the instructions in a file are made of, and its tables."""
_MOST_NUMBER_BYTES = 1024
"""Enough for the bitmap of a chip of 7,000 tiles."""


class Damage(Exception):
    """Bytes that stand for no program, in sentences; never leaves the reader of the binary form."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(*sentences)
        self.sentences = sentences


@dataclass
class Writer:
    """Bytes so far, and the strings and kinds of records that they name by their place."""

    data: bytearray = field(default_factory=bytearray)
    strings: dict[str, int] = field(default_factory=dict)
    kinds: dict[type, int] = field(default_factory=dict)

    def natural(self, value: int) -> None:
        while value > 127:
            self.data.append(value & 127 | 128)
            value >>= 7
        self.data.append(value)

    def number(self, value: int) -> None:
        self.natural(value * 2 if value >= 0 else -value * 2 - 1)

    def string(self, text: str) -> None:
        self.natural(self.strings.setdefault(str(text), len(self.strings)))

    def blob(self, data: bytes) -> None:
        self.natural(len(data))
        self.data += data

    def fill_word(self) -> None:
        """Zeros up to a whole word."""
        self.data += bytes(-len(self.data) % WORD_BYTES)


@dataclass
class Reader:
    """Reads ``data`` from left to right; the tables say what the places in them stand for."""

    data: bytes
    at: int = 0
    strings: list[str] = field(default_factory=list)
    kinds: list[type] = field(default_factory=list)
    layouts: dict[type, tuple[tuple[Field[Codec], bool], ...]] = field(default_factory=dict)
    """The fields of each kind of record in the order of the file, and whether a bit announces them."""
    shared: dict[tuple[type, bytes], Any] = field(default_factory=dict)
    """What has been read of kinds whose values may be shared, by its bytes."""
    counted: int = 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise Damage(f"must go on for {count} bytes at byte {self.at}, not end after {len(self.data) - self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def natural(self) -> int:
        value = 0
        for place in range(_MOST_NUMBER_BYTES):
            byte = self.take(1)[0]
            value |= (byte & 127) << 7 * place
            if byte < 128:
                return value
        raise Damage(f"must have numbers of at most {_MOST_NUMBER_BYTES} bytes, not more at byte {self.at}")

    def number(self) -> int:
        value = self.natural()
        return -(value + 1 >> 1) if value & 1 else value >> 1

    def count(self) -> int:
        """How many things follow, each of a byte or more."""
        count = self.natural()
        if count > len(self.data) - self.at:
            raise Damage(f"must have at most {len(self.data) - self.at} values at byte {self.at}, not {count}")
        self.counted += count
        if self.counted > MOST_PROGRAM_VALUES:
            raise Damage(f"must have at most {MOST_PROGRAM_VALUES} values in all, not more at byte {self.at}")
        return count

    def listed(self, table: list[Any], what: str) -> Any:
        """The entry of ``table`` whose place follows."""
        place = self.natural()
        if place >= len(table):
            raise Damage(f"must name one of {len(table)} {what} at byte {self.at}, not number {place}")
        return table[place]

    def string(self) -> str:
        text: str = self.listed(self.strings, "strings")
        return text

    def skip_word(self) -> None:
        """What ``fill_word`` wrote."""
        self.take(-self.at % WORD_BYTES)


@dataclass(frozen=True)
class Codec:
    """How one type of value becomes bytes, and comes back; ``spelling`` is what a file calls the type."""

    spelling: str
    write: Callable[[Writer, Any], None]
    read: Callable[[Reader], Any]
