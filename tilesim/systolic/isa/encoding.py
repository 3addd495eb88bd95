"""Instructions as bytes, as the host sends them: a row a field, and nothing here knows an instruction.

An instruction is its opcode (a byte: its place in ``CLASSES``), a byte of flags, then its numbers in the order of
``WIDTHS``. Numbers are stored less their least value, the lowest byte first. Flags are what has few values: words,
truths, and whether an optional record is there; the first is the lowest bits. A record has flags of its own, in a byte
if there are any, then its numbers; a list has its length first, in two bytes. Labels and layers are for people, and
stay with the host.

12 bytes of MatrixMultiply are its opcode and flags, the address in the unified buffer, the accumulator and the number
of vectors; the others say what its window looks like.

Source: Jouppi et al., ISCA 2017, section 2, for these 12 bytes (3 of them the address, which counts 256 bytes there and
a byte here, hence 4); the rest is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from tilesim.errors import ProgramError
from tilesim.systolic.isa.layouts import Flag, Items, Layout, Number, Part, Source, signed
from tilesim.systolic.isa.model.instructions import (
    CLASSES,
    Activate,
    Combine,
    Copy,
    Fill,
    Instruction,
    Lookup,
    MatrixMultiply,
    Nest,
    Normalisation,
    Normalise,
    Pool,
    Pooling,
    ReadHostMemory,
    ReadWeights,
    Rescale,
    Scale,
    Softmax,
    Sync,
    Window,
    WriteHostMemory,
)

RULES = ("", "double", "single", "float", "divide", "real", "plain", "aligned", "wide", "fixed")
"""How the vector unit rounds; ``tilesim.arithmetic`` says what each means."""
_NOT_SENT = ("label", "layer")


BUFFER = Number(4)
"""An address of the unified buffer."""
SIZE = Number(4, 1)
POINT = signed(2)
"""A zero point, or the end of a range."""
SCALING = signed(4)
"""A multiplier, a shift, a zero point, or the bits of a float32."""

WIDTHS: dict[type, dict[str, Number]] = {
    ReadHostMemory: {"tensor": Number(3), "offset": Number(5), "address": Number(5), "bytes": Number(5, 1)},
    WriteHostMemory: {"tensor": Number(3), "offset": Number(5), "address": BUFFER, "bytes": SIZE},
    ReadWeights: {"address": Number(5), "tiles": Number(3, 1), "weight_bytes": Number(1, 1)},
    MatrixMultiply: {
        "accumulator": Number(2),
        "vectors": SIZE,
        "first": Number(4),
        "first_row": Number(3),
        "rows": Number(2, 1),
        "columns": Number(2, 1),
        "activation_zero_point": POINT,
        "weight_zero_point": POINT,
    },
    Activate: {
        "accumulator": Number(2),
        "vectors": SIZE,
        "columns": Number(2, 1),
        "table": Number(4, -1),
        "address": BUFFER,
        "stride_bytes": Number(4),
    },
    Pool: {"address": BUFFER, "stride_bytes": Number(4)},
    Normalisation: {},
    Combine: {"scaling": SCALING, "clamp": POINT},
    Rescale: {
        "multiplier": signed(4),
        "shift": signed(1),
        "input_zero_point": POINT,
        "zero_point": POINT,
        "clamp": POINT,
    },
    Lookup: {"table": BUFFER},
    Copy: {},
    Fill: {"value": Number(1)},
    Softmax: {"scaling": signed(8), "clamp": POINT},
    Sync: {"count": Number(4)},
    Nest: {"address": BUFFER, "bytes": SIZE, "counts": SIZE, "strides": signed(4)},
    Window: {
        "address": BUFFER,
        "images": Number(3, 1),
        "image_bytes": Number(4),
        "height": Number(2, 1),
        "width": Number(2, 1),
        "row_bytes": Number(4),
        "pixel_bytes": Number(3),
        "channels": Number(3, 1),
        "output_height": Number(2, 1),
        "output_width": Number(2, 1),
        "kernel": Number(2, 1),
        "strides": Number(2, 1),
        "dilations": Number(2, 1),
        "padding": signed(2),
    },
    Scale: {"parameters": BUFFER, "zero_point": POINT, "clamp": POINT},
    Normalise: {"size": Number(2, 1), "scaling": SCALING, "clamp": POINT},
    Pooling: {"clamp": POINT, "scalings": SCALING, "input_zero_point": POINT, "zero_point": POINT},
}
"""The bytes of every number, and the least that it may be."""


def _flag(name: str, hint: Any) -> Flag | None:
    if name == "rule":
        return Flag(RULES)
    if hint is bool:
        return Flag((False, True))
    arguments = get_args(hint)
    if NoneType in arguments:
        return Flag((False, True), record=True)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Flag(tuple(hint))
    return Flag(arguments) if arguments and get_origin(hint) is not tuple else None


def _part(kind: type, name: str, hint: Any) -> Part:
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return Items(_part(kind, name, arguments[0]), None if arguments[-1] is Ellipsis else len(arguments))
    records = [part for part in arguments or (hint,) if is_dataclass(part) and isinstance(part, type)]
    return layout_of(records[0]) if records else WIDTHS[kind][name]


def layout_of(kind: type) -> Layout:
    """How the dataclass ``kind`` is laid out."""
    hints = get_type_hints(kind)
    sent = [field.name for field in fields(kind) if field.name not in _NOT_SENT]
    flags = {name: flag for name in sent if (flag := _flag(name, hints[name]))}
    numbers = [name for name in sent if name not in flags or flags[name].record]
    parts = {name: _part(kind, name, hints[name]) for name in sorted(numbers, key=lambda name: _order(kind, name))}
    return Layout(kind, flags, parts, with_head=issubclass(kind, Instruction))


def _order(kind: type, name: str) -> int:
    """Records first, then numbers as ``WIDTHS`` has them."""
    names = list(WIDTHS.get(kind, ()))
    return names.index(name) if name in names else -1


LAYOUTS = {kind: layout_of(kind) for kind in CLASSES}


def length_bytes(op: Instruction) -> int:
    """Bytes of ``op`` on its way from the host."""
    return 1 + LAYOUTS[type(op)].size(op)


def range_faults(op: Instruction) -> Iterator[str]:
    """The fields of ``op`` that have no room for what they hold."""
    return LAYOUTS[type(op)].faults("", op)


def encode(op: Instruction) -> bytes:
    """The bytes of ``op``.

    Raises:
        ProgramError: fields that have no room for what they hold, all at once.
    """
    if faults := list(range_faults(op)):
        raise ProgramError(faults)
    return bytes([CLASSES.index(type(op))]) + LAYOUTS[type(op)].write(op)


def decode(content: bytes) -> Instruction:
    """The instruction that ``content`` is, without label and layer.

    Raises:
        ProgramError: it is none.
    """
    source = Source(content)
    opcode = source.number(1)
    if opcode >= len(CLASSES):
        raise ProgramError(f"the opcode must be below {len(CLASSES)}, not {opcode}")
    op: Instruction = LAYOUTS[CLASSES[opcode]].read(source)
    if source.at < len(content):
        raise ProgramError(f"the instruction must end after {source.at} bytes, not after {len(content)}")
    return op
