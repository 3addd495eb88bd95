"""The topology inside the text form: ``.chip`` lines, one a section, with every key that the chip has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tilesim.systolic.isa.grammar import read_scalar, write_scalar
from tilesim.systolic.isa.scanner import BARE, SPACE, Fault, Scanner, shown, unknown
from tilesim.systolic.topology import Topology

Key = tuple[str, ...]


class Entry(NamedTuple):
    """A value of the topology and where it was written: line, from 1, and column, from 0."""

    value: Any
    place: tuple[int, int]


def write_chip(topology: Topology) -> Iterator[str]:
    """One line a section of ``topology``."""
    top, sections = "", []
    for key, value in topology.model_dump().items():
        if isinstance(value, dict):
            sections.append(f".chip {key}{''.join(f' {name}={write_scalar(each)}' for name, each in value.items())}")
        else:
            top += f" {key}={write_scalar(value)}"
    yield f".chip{top}"
    yield from sections


def read_chip_line(number: int, scanner: Scanner, entries: dict[Key, Entry]) -> Iterator[Fault]:
    """Add the values of what stands after ``.chip`` to ``entries``; yields what is wrong."""
    scanner.skip(SPACE)
    section: Key = ()
    word = BARE.match(scanner.text, scanner.at)
    if word and scanner.text[word.end() : word.end() + 1] != "=":
        section = (word[0],)
        scanner.at = word.end()
    scanner.skip(SPACE)
    while scanner.rest:
        start = scanner.at
        try:
            key = (*section, scanner.name())
            scanner.expect("=")
            if key in entries:
                scanner.fail(f"{'.'.join(key)} must stand only once", start)
            entries[key] = Entry(read_scalar(scanner), (number, start))
            if scanner.rest and not scanner.rest[0].isspace():
                scanner.fail(f"must end here, not go on with {shown(scanner.rest)}")
        except Fault as fault:
            yield fault
            scanner.skip_value(start)
        scanner.skip(SPACE)


def build_topology(entries: dict[Key, Entry], faults: list[tuple[tuple[int, int], str]]) -> Topology | None:
    """The topology that the ``.chip`` lines describe, or None and what is wrong with it, appended to ``faults``."""
    tree: dict[str, Any] = {}
    for key, entry in entries.items():
        inner = tree.setdefault(key[0], {}) if len(key) > 1 else tree
        if not isinstance(inner, dict):
            faults.append((entry.place, f"{key[0]} must be a value or a section, not both"))
            return None
        inner[key[-1]] = entry.value
    try:
        return Topology.model_validate(tree, strict=True)
    except ValidationError as error:
        faults += [_fault(details, entries) for details in error.errors(include_url=False)]
    return None


def _fault(details: ErrorDetails, entries: dict[Key, Entry]) -> tuple[tuple[int, int], str]:
    key = tuple(map(str, details["loc"]))
    places = [entry.place for at, entry in entries.items() if at[: len(key)] == key]
    place = min(places or [entry.place for entry in entries.values()], default=(1, 0))
    return place, f"{'.'.join(key)} {_reason(details, key)}"


def _reason(details: ErrorDetails, key: Key) -> str:
    if details["type"] == "missing":
        return "is missing"
    if details["type"] == "extra_forbidden":
        model: Any = Topology
        for word in key[:-1]:
            model = model.model_fields[word].annotation
        return unknown(key[-1], model.model_fields, "a key that a chip has")
    return f"{details['msg'].replace('Input should', 'must')}, not {shown(str(details['input']))}"
