"""Instructions as the bytes that ``tilesim.systolic.isa.encoding`` describes: nothing is left out, nothing meets."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from types import NoneType
from typing import Any, get_args, get_type_hints

from tilesim.systolic.isa.encoding import COUNT, LAYOUTS, Items, Layout, Number, Part
from tilesim.systolic.isa.model.instructions import CLASSES, Instruction


def encode(op: Instruction) -> bytes:
    """The bytes of an instruction whose fields have room for what they hold."""
    return bytes([CLASSES.index(type(op))]) + _written(LAYOUTS[type(op)], type(op), op)


def decode(content: bytes) -> Instruction:
    """The instruction that ``content`` is, without label and layer."""
    source = BytesIO(content[1:])
    kind = CLASSES[content[0]]
    op: Instruction = _read(LAYOUTS[kind], kind, source)
    assert not source.read()
    return op


def _flags(layout: Layout, kind: type) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every field of few values, and whether each optional record is there."""
    for name, hint in get_type_hints(kind).items():
        if name in layout.choices:
            yield name, layout.choices[name]
        elif NoneType in get_args(hint) and name in layout.parts:
            yield name, (False, True)


def _kind(hint: Any) -> Any:
    """What an item, or an optional record, is."""
    return next((kind for kind in get_args(hint) if kind is not NoneType), hint)


def _written(part: Part, kind: Any, value: Any) -> bytes:
    match part:
        case Number():
            return int(value - part.least).to_bytes(part.width_bytes, "little")
        case Items():
            length = _written(COUNT, int, len(value)) if part.length is None else b""
            return length + b"".join(_written(part.item, _kind(kind), item) for item in value)
    head, at = 0, 0
    for name, choices in _flags(part, kind):
        here = getattr(value, name)
        head |= choices.index(here if name in part.choices else here is not None) << at
        at += (len(choices) - 1).bit_length()
    hints = get_type_hints(kind)
    there = [(name, field) for name, field in part.parts.items() if getattr(value, name) is not None]
    body = b"".join(_written(field, _kind(hints[name]), getattr(value, name)) for name, field in there)
    return head.to_bytes(part.head_bytes, "little") + body


def _read(part: Part, kind: Any, source: BytesIO) -> Any:
    match part:
        case Number():
            return int.from_bytes(source.read(part.width_bytes), "little") + part.least
        case Items():
            length = _read(COUNT, int, source) if part.length is None else part.length
            return tuple(_read(part.item, _kind(kind), source) for _ in range(length))
    values: dict[str, Any] = {}
    head = int.from_bytes(source.read(part.head_bytes), "little")
    for name, choices in _flags(part, kind):
        bits = (len(choices) - 1).bit_length()
        values[name], head = choices[head & (1 << bits) - 1], head >> bits
    hints = get_type_hints(kind)
    for name, field in part.parts.items():
        values[name] = _read(field, _kind(hints[name]), source) if values.get(name, True) else None
    return kind(**values)
