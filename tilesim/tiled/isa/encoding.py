"""How the values of a program become bytes, by the type of the field that holds them.

=============  ===================================================================================================
type           bytes
=============  ===================================================================================================
natural        7 bits a byte, the lowest first; a set top bit says that more follow
int            natural: twice the number, or for a negative one twice its distance from -1, plus 1
float          8 bytes, IEEE 754, the lowest first
bool           natural: 0 or 1
str            natural: its place in the file's table of strings
enumeration    as the str that it is
tuple          the items; a natural count before them if the type leaves the number open
X | None       bool, then X if there is one
bytes          natural count, then the bytes
record         natural: a bit for each field with a default, set if it differs; then the fields that have no default
               or differ from it, in order
instruction    natural: its place in the file's table of kinds; then the record, in whole 16-byte words of the file
topology       str: the ``.chip`` lines of the text form
=============  ===================================================================================================

A record's fields are those of its dataclass; nothing here knows an instruction. Source: assumption.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from tilesim.tiled.isa.chip import Entry, Place, Section, build_topology, read_chip_line, write_chip
from tilesim.tiled.isa.records import read_line
from tilesim.tiled.isa.scanner import Fault, unknown
from tilesim.tiled.isa.streams import Codec, Damage, Field, Reader, Writer
from tilesim.tiled.topology import Topology

_FLOAT = struct.Struct("<d")


def kind_name(kind: type) -> str:
    """What a file calls a kind of record."""
    return str(getattr(kind, "mnemonic", kind.__name__))


@cache
def fields_of(kind: type) -> dict[str, Field]:
    """The fields of the dataclass ``kind`` by name."""
    hints = get_type_hints(kind)
    return {each.name: Field(each.name, codec_of(hints[each.name]), each.default) for each in fields(kind)}


@cache
def codec_of(hint: Any) -> Codec:
    """The codec of a field with the type ``hint``."""
    arguments, origin = get_args(hint), get_origin(hint)
    if hint in _CODECS:
        return _CODECS[hint]
    if origin is np.ndarray:
        return _BYTES
    if origin is tuple:
        return _listed(codec_of(arguments[0])) if arguments[-1] is Ellipsis else _fixed(tuple(map(codec_of, arguments)))
    if NoneType in arguments:
        return _maybe(codec_of(next(each for each in arguments if each is not NoneType)))
    if arguments:
        return _INSTRUCTION
    return _choice(hint) if issubclass(hint, StrEnum) else _record(hint)


def _listed(item: Codec) -> Codec:
    def write(out: Writer, values: tuple[Any, ...]) -> None:
        out.natural(len(values))
        for value in values:
            item.write(out, value)

    return Codec(f"{item.spelling}...", write, lambda source: tuple(item.read(source) for _ in range(source.count())))


def _fixed(items: tuple[Codec, ...]) -> Codec:
    def write(out: Writer, values: tuple[Any, ...]) -> None:
        for item, value in zip(items, values, strict=True):
            item.write(out, value)

    spelling = f"({','.join(item.spelling for item in items)})"
    return Codec(spelling, write, lambda source: tuple(item.read(source) for item in items))


def _maybe(item: Codec) -> Codec:
    def write(out: Writer, value: Any) -> None:
        out.natural(value is not None)
        if value is not None:
            item.write(out, value)

    return Codec(f"{item.spelling}?", write, lambda source: item.read(source) if source.natural() else None)


def _choice(kind: type[StrEnum]) -> Codec:
    names = frozenset(map(str, kind))

    def read(source: Reader) -> StrEnum:
        word = source.string()
        if word not in names:
            raise Damage(unknown(word, names, f"a name of {kind.__name__}"))
        return kind(word)

    return Codec(kind.__name__, Writer.string, read)


def _record(kind: type) -> Codec:
    return Codec(kind_name(kind), _write_record, lambda source: _read_record(source, kind))


def _write_record(out: Writer, value: Any) -> None:
    kind: type = type(value)
    out.kinds.setdefault(kind, len(out.kinds))
    here = [(each, getattr(value, each.name)) for each in fields_of(kind).values()]
    differs = [found != each.default for each, found in here if each.optional]
    if differs:
        out.natural(sum(bit << place for place, bit in enumerate(differs)))
    for each, found in here:
        if not each.optional or found != each.default:
            each.codec.write(out, found)


def _read_record(source: Reader, kind: type) -> Any:
    layout = source.layouts.get(kind)
    if layout is None:
        raise Damage(f"must say what a {kind_name(kind)} consists of")
    bits = source.natural() if layout.optional else 0
    values = {}
    for each, optional in layout.fields:
        if not optional or bits & 1:
            values[each.name] = each.codec.read(source)
        bits >>= optional
    return kind(**values)


def _write_instruction(out: Writer, value: Any) -> None:
    out.fill_word()
    out.natural(out.kinds.setdefault(type(value), len(out.kinds)))
    _write_record(out, value)
    out.fill_word()


def _read_instruction(source: Reader) -> Any:
    source.skip_word()
    kind = source.listed(source.kinds, "kinds")
    if not hasattr(kind, "mnemonic"):
        raise Damage(f"must have an instruction at byte {source.at}, not a {kind_name(kind)}")
    instruction = _read_record(source, kind)
    source.skip_word()
    return instruction


def _read_chip(source: Reader) -> Topology:
    entries: dict[Section, Entry] = {}
    faults: list[tuple[Place, str]] = []
    topology = None
    try:
        for number, text in enumerate(source.string().split("\n"), 1):
            line = read_line(text)
            for fault in read_chip_line(number, line, entries) if line else ():
                raise fault
        topology = build_topology(entries, faults)
    except Fault as fault:
        faults.append((Place(1, 0), fault.sentence))
    if faults or topology is None:
        raise Damage(*(sentence for _, sentence in faults))
    return topology


_CODECS: Mapping[Any, Codec] = {
    int: Codec("int", lambda out, value: out.number(int(value)), Reader.number),
    bool: Codec("bool", Writer.natural, lambda source: bool(source.natural())),
    float: Codec(
        "float",
        lambda out, value: out.data.extend(_FLOAT.pack(value)),
        lambda source: _FLOAT.unpack(source.take(_FLOAT.size))[0],
    ),
    str: Codec("str", Writer.string, Reader.string),
    Topology: Codec("topology", lambda out, value: out.string("\n".join(write_chip(value))), _read_chip),
}
_BYTES = Codec(
    "bytes",
    lambda out, value: out.blob(value.tobytes()),
    lambda source: np.frombuffer(source.take(source.natural()), np.uint8),
)
_INSTRUCTION = Codec("instruction", _write_instruction, _read_instruction)
