"""Records of the text form: a line's label, head and ``key=value`` words, to and from a frozen dataclass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, get_type_hints

from tilesim.tiled.isa.grammar import NAME, Codec, codec_of
from tilesim.tiled.isa.scanner import Fault, shown, unknown

_STRING = r'"(?:[^"\\]|\\.)*"'
_WORD = re.compile(rf'(?:{_STRING}|\[(?:{_STRING}|[^\]"])*\]|[^\s;"\[])+')
_GAP = re.compile(r"\s*(?:;.*)?", re.DOTALL)


@dataclass(frozen=True)
class Word:
    """A word and its column, from 0."""

    text: str
    column: int


@dataclass(frozen=True)
class Line:
    """A line taken apart: ``label: head word word ...``."""

    label: str
    head: Word
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Field:
    """One field of a record: its codec and its default (MISSING if there is none)."""

    codec: Codec
    default: Any


@cache
def schema(kind: type) -> dict[str, Field]:
    """The fields of the dataclass ``kind`` that are written as ``key=value``."""
    hints = get_type_hints(kind)
    return {
        each.name: Field(codec_of(each.name, hints[each.name]), each.default)
        for each in fields(kind)
        if each.name != "label"
    }


def write_record(value: object) -> str:
    """The fields of ``value`` that differ from their defaults, each with a space before it."""
    kind: type = value.__class__
    pairs = ((name, field, getattr(value, name)) for name, field in schema(kind).items())
    return "".join(f" {name}={field.codec.write(here)}" for name, field, here in pairs if here != field.default)


def read_record(kind: type, line: Line, faults: list[Fault]) -> dict[str, Any]:
    """The fields that ``line`` gives for ``kind``; what is wrong is appended to ``faults``."""
    values: dict[str, Any] = {}
    seen: set[str] = set()
    for word in line.words:
        try:
            key, text = split_key(word)
            if key not in schema(kind):
                raise Fault(word.column, unknown(key, schema(kind), f"a key of {line.head.text}"))
            if key in seen:
                raise Fault(word.column, f"{key} must stand only once")
            seen.add(key)
            values[key] = read_value(schema(kind)[key].codec, key, text)
        except Fault as fault:
            faults.append(fault)
    missing = [name for name, field in schema(kind).items() if field.default is MISSING and name not in seen]
    if missing:
        faults.append(Fault(line.head.column, f"{line.head.text} must also have {', '.join(missing)}"))
    return values


def split_key(word: Word) -> tuple[str, Word]:
    """``key=value`` as the key and the value's word. Raises Fault."""
    key, equals, text = word.text.partition("=")
    if not equals:
        raise Fault(word.column, f"must be key=value, not {shown(word.text)}")
    return key, Word(text, word.column + len(key) + 1)


def read_value(codec: Codec, key: str, word: Word) -> Any:
    """The value of ``word``; a fault names the ``key``. Raises Fault."""
    try:
        return codec.read_all(word.text, word.column)
    except Fault as fault:
        raise Fault(fault.column, f"{key} {fault.sentence}") from None


def read_line(text: str) -> Line | None:
    """``text`` taken apart, or None if it says nothing. Raises Fault."""
    words = list(_words(text))
    label = ""
    if words and words[0].text.endswith(":"):
        first = words.pop(0)
        label = NAME.read_all(first.text[:-1], first.column)
        if not words:
            raise Fault(first.column, f"an instruction must follow the label {shown(first.text)}")
    return Line(label, words[0], tuple(words[1:])) if words else None


def _words(text: str) -> Iterator[Word]:
    at = _GAP.match(text).end()  # type: ignore[union-attr]  # the pattern matches nothing as well
    while at < len(text):
        match = _WORD.match(text, at)
        if not match:
            raise Fault(at, f"the {text[at]} opened here must be closed on this line")
        yield Word(match[0], at)
        at = _GAP.match(text, match.end()).end()  # type: ignore[union-attr]
