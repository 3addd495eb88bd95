"""The topology inside the text form: ``.chip`` lines, one a section, with every key that the chip has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tilesim.assembly.scanner import Fault, Line, Word, split_key
from tilesim.assembly.values import Notation
from tilesim.printable import shown, unknown

Section = tuple[str, ...]


class Position(NamedTuple):
    """A line, from 1, and a column, from 0."""

    line: int
    column: int


def write_chip(topology: BaseModel, scalars: Notation) -> Iterator[str]:
    """One line a section of ``topology``."""
    yield from _write_section((), topology.model_dump(), scalars)


def _write_section(section: Section, values: dict[str, Any], scalars: Notation) -> Iterator[str]:
    inner = {key: value for key, value in values.items() if isinstance(value, dict)}
    pairs = [
        f" {key}={scalars.write(value)}" for key, value in values.items() if key not in inner and value is not None
    ]
    if pairs:
        yield f".chip{''.join(' ' + '.'.join(section) for _ in section[:1])}{''.join(pairs)}"
    for key, value in inner.items():
        yield from _write_section((*section, key), value, scalars)


@dataclass
class ChipReader:
    """What ``.chip`` lines say of a topology of the ``schema``; what is wrong is appended to ``faults``."""

    schema: type[BaseModel]
    scalars: Notation
    faults: list[tuple[Position, str]]
    entries: dict[Section, tuple[Any, Position]] = field(default_factory=dict)
    """Values by their path, and where each was written."""

    def take(self, number: int, line: Line) -> None:
        """Add the values of the line of that ``number``."""
        words = line.words
        section: Section = ()
        if words and "=" not in words[0].text:
            section, words = tuple(words[0].text.split(".")), words[1:]
        for word in words:
            try:
                self._take(section, word, number)
            except Fault as fault:
                self.faults.append((Position(number, fault.column), fault.sentence))

    def _take(self, section: Section, word: Word, number: int) -> None:
        key, text = split_key(word)
        path = (*section, key)
        if path in self.entries:
            raise Fault(word.column, f"{'.'.join(path)} must stand only once")
        self.entries[path] = self.scalars.read_word(key, text), Position(number, word.column)

    def topology(self) -> Any:
        """The topology, or None if there are faults."""
        tree: dict[str, Any] = {}
        for path, (value, position) in self.entries.items():
            inner = tree
            for key in path[:-1]:
                deeper = inner.setdefault(key, {})
                if not isinstance(deeper, dict):
                    self.faults.append((position, f"{key} must be a value or a section, not both"))
                    deeper = {}
                inner = deeper
            inner[path[-1]] = value
        try:
            return self.schema.model_validate(tree, strict=True)
        except ValidationError as error:
            for details in error.errors(include_url=False):
                self.faults += self._sentences(details)
        return None

    def _sentences(self, details: ErrorDetails) -> Iterator[tuple[Position, str]]:
        section = tuple(map(str, details["loc"]))
        for reason in self._reason(details, section).splitlines():
            sentence = f"{'.'.join(section)} {reason}".strip()
            # What a section as a whole has to say begins with the key that it is about.
            key = (*section, *reason.split(" ", 1)[0].split("."))
            yield self._position(key if key in self.entries else section), sentence

    def _reason(self, details: ErrorDetails, path: Section) -> str:
        if details["type"] == "missing":
            return "is missing"
        if details["type"] == "extra_forbidden":
            return unknown(path[-1], self._keys(path[:-1]), "a key that a chip has")
        if details["type"] == "value_error":
            return str(details["ctx"]["error"])
        return f"{details['msg'].replace('Input should', 'must')}, not {shown(str(details['input']))}"

    def _keys(self, section: Section) -> list[str]:
        model: Any = self.schema
        for key in section:
            model = model.model_fields[key].annotation
        return list(model.model_fields)

    def _position(self, path: Section) -> Position:
        """The first that was written at ``path`` or below it, else anywhere."""
        below = [position for at, (_, position) in self.entries.items() if at[: len(path)] == path]
        return min(below or [position for _, position in self.entries.values()], default=Position(1, 0))
