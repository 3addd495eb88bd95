"""The topology inside the text form: ``.chip`` lines, one a section, with every key that the chip has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tilesim.tiled.isa.grammar import SCALAR
from tilesim.tiled.isa.records import Line, read_value, split_key
from tilesim.tiled.isa.scanner import Fault, shown, unknown
from tilesim.tiled.topology import Topology

Section = tuple[str, ...]


class Place(NamedTuple):
    """A line, from 1, and a column, from 0."""

    line: int
    column: int


class Entry(NamedTuple):
    """A value of the topology and where it was written."""

    value: Any
    place: Place


def write_chip(topology: Topology) -> Iterator[str]:
    """One line a section of ``topology``."""
    yield from _write_section((), topology.model_dump())


def _write_section(section: Section, values: dict[str, Any]) -> Iterator[str]:
    inner = {key: value for key, value in values.items() if isinstance(value, dict)}
    pairs = [f" {key}={SCALAR.write(value)}" for key, value in values.items() if key not in inner and value is not None]
    if pairs:
        yield f".chip{''.join(' ' + '.'.join(section) for _ in section[:1])}{''.join(pairs)}"
    for key, value in inner.items():
        yield from _write_section((*section, key), value)


def read_chip_line(number: int, line: Line, entries: dict[Section, Entry]) -> Iterator[Fault]:
    """Add the values of one ``.chip`` line to ``entries``; yields what is wrong."""
    words = line.words
    section: Section = ()
    if words and "=" not in words[0].text:
        section, words = tuple(words[0].text.split(".")), words[1:]
    for word in words:
        try:
            key, text = split_key(word)
            if (*section, key) in entries:
                raise Fault(word.column, f"{'.'.join((*section, key))} must stand only once")
            entries[*section, key] = Entry(read_value(SCALAR, key, text), Place(number, word.column))
        except Fault as fault:
            yield fault


def build_topology(entries: dict[Section, Entry], faults: list[tuple[Place, str]]) -> Topology | None:
    """The topology that the ``.chip`` lines describe, or None and what is wrong with it, appended to ``faults``."""
    tree: dict[str, Any] = {}
    for path, entry in entries.items():
        inner = tree
        for key in path[:-1]:
            deeper = inner.setdefault(key, {})
            if not isinstance(deeper, dict):
                faults.append((entry.place, f"{key} must be a value or a section, not both"))
                deeper = {}
            inner = deeper
        inner[path[-1]] = entry.value
    try:
        return Topology.model_validate(tree, strict=True)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            faults += _sentences(details, entries)
    return None


def _sentences(details: ErrorDetails, entries: dict[Section, Entry]) -> Iterator[tuple[Place, str]]:
    section = tuple(map(str, details["loc"]))
    for reason in _reason(details, section).splitlines():
        sentence = f"{'.'.join(section)} {reason}".strip()
        # What a section as a whole has to say begins with the key that it is about.
        key = (*section, *reason.split(" ", 1)[0].split("."))
        yield _place(key if key in entries else section, entries), sentence


def _reason(details: ErrorDetails, path: Section) -> str:
    if details["type"] == "missing":
        return "is missing"
    if details["type"] == "extra_forbidden":
        return unknown(path[-1], _keys(path[:-1]), "a key that a chip has")
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    return f"{details['msg'].replace('Input should', 'must')}, not {shown(str(details['input']))}"


def _keys(section: Section) -> list[str]:
    model: Any = Topology
    for key in section:
        model = model.model_fields[key].annotation
    return list(model.model_fields)


def _place(path: Section, entries: dict[Section, Entry]) -> Place:
    """The first place that was written at ``path`` or below it, else anywhere."""
    places = [entry.place for at, entry in entries.items() if at[: len(path)] == path]
    return min(places or [entry.place for entry in entries.values()], default=Place(1, 0))
