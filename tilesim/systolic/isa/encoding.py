"""Instructions as bytes, as the host sends them: a row a field, and nothing here knows an instruction.

An instruction is its opcode (a byte: its place in ``CLASSES``), a byte of flags, then its numbers in the order of
``WIDTHS``. Numbers are stored less their least value, the lowest byte first. Flags are what has few values: words,
truths, and whether an optional record is there; the first is the lowest bits. A record has flags of its own, in a byte
if there are any, then its numbers; a list has its length first, in two bytes. Labels and layers are for people, and
stay with the host. A simulation needs no more of all this than lengths, and what has no room.

12 bytes of MatrixMultiply are its opcode and flags, the address in the unified buffer, the accumulator and the number
of vectors; the others say what its window looks like.

Source: Jouppi et al., ISCA 2017, section 2, for these 12 bytes (3 of them the address, which counts 256 bytes there and
a byte here, hence 4); the rest is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from tilesim.systolic.isa.model import instructions as isa

RULES = ("", "double", "single", "float", "divide", "real", "plain", "aligned", "wide", "fixed")
"""How the vector unit rounds; ``tilesim.arithmetic`` says what each means."""
_NOT_SENT = ("label", "layer")


@dataclass(frozen=True)
class Number:
    """A whole number from ``least`` on, in ``width_bytes``."""

    width_bytes: int
    least: int = 0

    @property
    def most(self) -> int:
        return self.least + (1 << 8 * self.width_bytes) - 1

    def size(self, value: int) -> int:  # noqa: ARG002  (the same for all)
        return self.width_bytes

    def faults(self, name: str, value: int) -> Iterator[str]:
        if not self.least <= value <= self.most:
            shown = value if abs(value) < 1 << 64 else f"a number of {value.bit_length()} bits"
            yield f"{name} must be {self.least} to {self.most}, not {shown}"


def signed(length: int) -> Number:
    return Number(length, -1 << 8 * length - 1)


@dataclass(frozen=True)
class Items:
    """Values of one kind: ``length`` of them, or as many as a number before them says."""

    item: Part
    length: int | None

    def size(self, value: tuple[Any, ...]) -> int:
        return sum(map(self.item.size, value)) + (COUNT.width_bytes if self.length is None else 0)

    def faults(self, name: str, value: tuple[Any, ...]) -> Iterator[str]:
        if self.length not in (None, len(value)):
            yield f"{name} must be {self.length} values, not {len(value)}"
        if len(value) > COUNT.most:
            yield f"{name} must be at most {COUNT.most} values, not {len(value)}"
        for item in value:
            yield from self.item.faults(name, item)


@dataclass(frozen=True)
class Layout:
    """A record: its flags, each with its ``choices``, in ``head_bytes``, then its other fields in order, without those
    that are None.
    """

    choices: dict[str, tuple[Any, ...]]
    parts: dict[str, Part]
    head_bytes: int

    def size(self, value: Any) -> int:
        return self.head_bytes + sum(part.size(here) for _, part, here in self._present(value))

    def faults(self, name: str, value: Any) -> Iterator[str]:
        prefix = f"{name}." if name else ""
        for field, choices in self.choices.items():
            here = getattr(value, field)
            if here not in choices:
                words = ", ".join(str(choice) or "nothing" for choice in choices)
                yield f"{prefix}{field} must be one of {words}, not {here!r}"
        for field, part, here in self._present(value):
            yield from part.faults(f"{prefix}{field}", here)

    def _present(self, value: Any) -> Iterator[tuple[str, Part, Any]]:
        for name, part in self.parts.items():
            here = getattr(value, name)
            if here is not None:
                yield name, part, here


Part: TypeAlias = Number | Items | Layout
COUNT = Number(2)
"""How many values a list has."""
BUFFER = Number(4)
"""An address of the unified buffer."""
SIZE = Number(4, 1)
POINT = signed(2)
"""A zero point, or the end of a range."""
SCALING = signed(4)
"""A multiplier, a shift, a zero point, or the bits of a float32."""

WIDTHS: dict[type, dict[str, Number]] = {
    isa.ReadHostMemory: {"tensor": Number(3), "offset": Number(5), "address": Number(5), "bytes": Number(5, 1)},
    isa.WriteHostMemory: {"tensor": Number(3), "offset": Number(5), "address": BUFFER, "bytes": SIZE},
    isa.ReadWeights: {"address": Number(5), "tiles": Number(3, 1), "weight_bytes": Number(1, 1)},
    isa.MatrixMultiply: {
        "accumulator": Number(2),
        "vectors": SIZE,
        "first": Number(4),
        "first_row": Number(3),
        "rows": Number(2, 1),
        "columns": Number(2, 1),
        "activation_zero_point": POINT,
        "weight_zero_point": POINT,
    },
    isa.Activate: {
        "accumulator": Number(2),
        "vectors": SIZE,
        "columns": Number(2, 1),
        "table": Number(4, -1),
        "address": BUFFER,
        "stride_bytes": Number(4),
    },
    isa.Pool: {"address": BUFFER, "stride_bytes": Number(4)},
    isa.Normalisation: {},
    isa.Combine: {"scaling": SCALING, "clamp": POINT},
    isa.Requantise: {
        "multiplier": signed(4),
        "shift": signed(1),
        "input_zero_point": POINT,
        "zero_point": POINT,
        "clamp": POINT,
    },
    isa.Lookup: {"table": BUFFER},
    isa.Copy: {},
    isa.Fill: {"value": Number(1)},
    isa.RowSoftmax: {"scaling": signed(8), "clamp": POINT},
    isa.Sync: {"count": Number(4)},
    isa.Nest: {"address": BUFFER, "bytes": SIZE, "counts": SIZE, "strides": signed(4)},
    isa.Window: {
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
    isa.Scale: {"parameters": BUFFER, "zero_point": POINT, "clamp": POINT},
    isa.Normalise: {"size": Number(2, 1), "scaling": SCALING, "clamp": POINT},
    isa.Pooling: {"clamp": POINT, "scalings": SCALING, "input_zero_point": POINT, "zero_point": POINT},
}
"""The bytes of every number, and the least that it may be."""


def _choices(name: str, hint: Any) -> tuple[Any, ...]:
    """What a field with few values can be; nothing for any other field."""
    if name == "rule":
        return RULES
    if hint is bool:
        return False, True
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return tuple(hint)
    return get_args(hint) if get_origin(hint) is Literal else ()


def _part(kind: type, name: str, hint: Any) -> Part:
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return Items(_part(kind, name, arguments[0]), None if arguments[-1] is Ellipsis else len(arguments))
    records = [part for part in arguments or (hint,) if is_dataclass(part) and isinstance(part, type)]
    return layout_of(records[0]) if records else WIDTHS[kind][name]


def layout_of(kind: type) -> Layout:
    """How the dataclass ``kind`` is laid out: records first, then numbers as ``WIDTHS`` has them."""
    hints, order = get_type_hints(kind), [*WIDTHS.get(kind, ())]
    sent = [field.name for field in fields(kind) if field.name not in _NOT_SENT]
    choices = {name: words for name in sent if (words := _choices(name, hints[name]))}
    records = [name for name in sent if name not in choices and name not in order]
    parts = {name: _part(kind, name, hints[name]) for name in (*records, *order)}
    return Layout(choices, parts, head_bytes=int(bool(choices) or issubclass(kind, isa.Instruction)))


LAYOUTS = {kind: layout_of(kind) for kind in isa.CLASSES}


def length_bytes(op: isa.Instruction) -> int:
    """Bytes of ``op`` on its way from the host."""
    return 1 + LAYOUTS[type(op)].size(op)


def range_faults(op: isa.Instruction) -> Iterator[str]:
    """The fields of ``op`` that have no room for what they hold."""
    return LAYOUTS[type(op)].faults("", op)
