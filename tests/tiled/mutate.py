"""Every way to change one number of a program by one, for the test that nothing in it is decoration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tilesim.tiled.isa.model.fields import Alternate, Loop, Reference, Watcher
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Record, RingProduce
from tilesim.tiled.isa.model.issue import record_of
from tilesim.tiled.isa.model.program import Program

Path = tuple[str | int, ...]

CHANGED: dict[type, tuple[str, ...]] = {
    Reference: ("base",),
    Loop: ("bound",),
    Alternate: ("limit",),
    Watcher: ("expected", "stride"),
    RingProduce: ("to",),
    Infeed: ("to", "address", "rows", "transfers"),
}
"""Bases, bounds, counts and bitmaps, by the record that holds them; a reference has strides besides."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where the numbers of an instruction stand."""
    if isinstance(value, Reference):
        yield from ((*path, "strides", k, 1) for k in range(len(value.strides)))
    names = getattr(value, "_fields", None) or ([each.name for each in fields(value)] if is_dataclass(value) else [])
    if isinstance(value, tuple) and not names:
        for k, item in enumerate(value):
            yield from places(item, (*path, k))
    if names:
        for name in names:
            if name in CHANGED.get(type(value), ()) and applies(value, name):
                yield (*path, name)
            elif not isinstance(value, Reference):
                yield from places(getattr(value, name), (*path, name))
        if hasattr(value, "tiles"):
            yield (*path, "tiles")


def applies(value: Any, name: str) -> bool:
    """Whether the instruction has the field at all: a watcher without a loop has no stride, the host no address."""
    if isinstance(value, Watcher) and name == "stride":
        return value.loop is not None
    return not (isinstance(value, Infeed) and name == "address" and value.source == "host")


def changed(value: Any, path: Path, by: int) -> Any:
    """``value`` with the number at ``path`` grown ``by``."""
    if not path:
        return value + by
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        return (*value[:head], changed(value[head], rest, by), *value[head + 1 :])
    new = {head: changed(getattr(value, head), rest, by)}
    return value._replace(**new) if isinstance(value, tuple) else replace(value, **new)


def without(program: Program, section: str, place: int) -> Program:
    """The program with one instruction less; so has its record, if it is in one."""
    ops = list(getattr(program, section))
    head = record_of(ops, place)
    if head is not None:
        ops[head] = replace(ops[head], parts=ops[head].parts - 1)
    del ops[place]
    return replace(program, **{section: tuple(op for op in ops if not isinstance(op, Record) or op.parts)})


def instructions(program: Program) -> list[tuple[str, int, Instruction]]:
    return [(section, k, op) for section in ("load", "run") for k, op in enumerate(getattr(program, section))]
