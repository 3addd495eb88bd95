"""How the values of a program become bytes, by the type of the field that holds them.

=============  ===================================================================================================
type           bytes
=============  ===================================================================================================
natural        7 bits a byte, the lowest first; a set top bit says that more follow
int            natural: twice the number, or for a negative one twice its distance from -1, plus 1
float          8 bytes, IEEE 754, the lowest first
bool           natural: 0 or 1
str            natural: its place in the file's table of strings
enumeration    as the str that it is; so is one of a literal's words
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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import StrEnum
from functools import cached_property
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel

from tilesim.assembly.chip import ChipReader, write_chip
from tilesim.assembly.fields import BYTES, Field, fields_of, inner_type
from tilesim.assembly.lines import read_line
from tilesim.assembly.scanner import Fault
from tilesim.assembly.streams import Codec, Damage, Reader, Writer
from tilesim.assembly.values import Notation
from tilesim.printable import unknown

_FLOAT = struct.Struct("<d")


def kind_name(kind: type[Any]) -> str:
    """What a file calls a kind of record: an instruction that has one mnemonic by that."""
    mnemonic = getattr(kind, "mnemonic", None)
    return mnemonic if isinstance(mnemonic, str) else kind.__name__


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the values of programs of one machine become bytes.

    Attributes:
        program: the class of the programs.
        instructions: their classes.
        scalars: how the values of a chip are spelt.
    """

    program: type
    instructions: Sequence[type]
    scalars: Notation
    _fields: dict[type, Mapping[str, Field[Codec]]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def kinds(self) -> dict[str, type]:
        """Every kind of record that a program can hold, by its name."""
        kinds = (kind for root in (self.program, *self.instructions) for kind in self._kinds(root))
        return {kind_name(kind): kind for kind in kinds}

    def _kinds(self, hint: Any) -> Iterator[type]:
        if is_dataclass(hint) and isinstance(hint, type):
            yield hint
            for inner in get_type_hints(hint).values():
                yield from self._kinds(inner)
        for part in get_args(hint):
            yield from self._kinds(part)

    @cached_property
    def _codecs(self) -> Mapping[Any, Codec]:
        """Those of simple types, and of what the program's fields have for any instruction."""
        instruction = Codec("instruction", self._write_instruction, self._read_instruction)
        return {**_SIMPLE, inner_type(get_type_hints(self.program)["run"]): instruction}

    def fields(self, kind: type) -> Mapping[str, Field[Codec]]:
        """The fields of the dataclass ``kind`` by name."""
        if kind not in self._fields:
            self._fields[kind] = fields_of(kind, lambda _, hint: self.codec(hint))
        return self._fields[kind]

    def codec(self, hint: Any) -> Codec:
        """The codec of a field with the type ``hint``."""
        arguments, origin = get_args(hint), get_origin(hint)
        if hint in self._codecs:
            return self._codecs[hint]
        if origin is tuple:
            is_list = arguments[-1] is Ellipsis
            return _listed(self.codec(arguments[0])) if is_list else _fixed([*map(self.codec, arguments)])
        if origin is Literal:
            return _one_word("word", {word: word for word in arguments})
        if NoneType in arguments:
            return _maybe(self.codec(inner_type(hint)))
        return self._named(hint)

    def _named(self, kind: type) -> Codec:
        """The codec of a class."""
        if issubclass(kind, StrEnum):
            return _one_word(kind.__name__, {str(member): member for member in kind})
        if issubclass(kind, BaseModel):
            return Codec("topology", self._write_chip, lambda source: self._read_chip(source, kind))
        return Codec(kind_name(kind), self._write_record, lambda source: _read_record(source, kind))

    def _write_record(self, out: Writer, value: Any) -> None:
        kind: type = type(value)
        out.kinds.setdefault(kind, len(out.kinds))
        pairs = [(member, getattr(value, member.name)) for member in self.fields(kind).values()]
        differs = [given != member.default for member, given in pairs if member.optional]
        if differs:
            out.natural(sum(bit << place for place, bit in enumerate(differs)))
        for member, given in pairs:
            if not member.optional or given != member.default:
                member.codec.write(out, given)

    def _write_instruction(self, out: Writer, value: Any) -> None:
        out.fill_word()
        out.natural(out.kinds.setdefault(type(value), len(out.kinds)))
        self._write_record(out, value)
        out.fill_word()

    def _read_instruction(self, source: Reader) -> Any:
        source.skip_word()
        kind = source.listed(source.kinds, "kinds")
        if kind not in self.instructions:
            raise Damage(f"must have an instruction at byte {source.at}, not a {kind_name(kind)}")
        instruction = _read_record(source, kind)
        source.skip_word()
        return instruction

    def _write_chip(self, out: Writer, value: BaseModel) -> None:
        out.string("\n".join(write_chip(value, self.scalars)))

    def _read_chip(self, source: Reader, schema: type[BaseModel]) -> Any:
        chip = ChipReader(schema, self.scalars, [])
        try:
            for number, text in enumerate(source.string().split("\n"), 1):
                if line := read_line(text):
                    chip.take(number, line)
        except Fault as fault:
            raise Damage(fault.sentence) from None
        topology = None if chip.faults else chip.topology()
        if chip.faults:
            raise Damage(*(sentence for _, sentence in chip.faults))
        return topology


def _read_record(source: Reader, kind: type) -> Any:
    layout = source.layouts.get(kind)
    if layout is None:
        raise Damage(f"must say what a {kind_name(kind)} consists of")
    bits = source.natural() if layout.optional else 0
    values = {}
    for member, optional in layout.fields:
        if not optional or bits & 1:
            values[member.name] = member.codec.read(source)
        bits >>= optional
    return kind(**values)


def _listed(item: Codec) -> Codec:
    def write(out: Writer, values: Sequence[Any]) -> None:
        out.natural(len(values))
        for value in values:
            item.write(out, value)

    return Codec(f"{item.spelling}...", write, lambda source: tuple(item.read(source) for _ in range(source.count())))


def _fixed(items: Collection[Codec]) -> Codec:
    def write(out: Writer, values: Sequence[Any]) -> None:
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


def _one_word(spelling: str, words: Mapping[str, Any]) -> Codec:
    def read(source: Reader) -> Any:
        word = source.string()
        if word not in words:
            raise Damage(unknown(word, words, "one of its words" if spelling == "word" else f"a name of {spelling}"))
        return words[word]

    return Codec(spelling, Writer.string, read)


_SIMPLE: Mapping[Any, Codec] = {
    int: Codec("int", lambda out, value: out.number(int(value)), Reader.number),
    bool: Codec("bool", Writer.natural, lambda source: bool(source.natural())),
    float: Codec(
        "float",
        lambda out, value: out.data.extend(_FLOAT.pack(value)),
        lambda source: _FLOAT.unpack(source.take(_FLOAT.size))[0],
    ),
    str: Codec("str", Writer.string, Reader.string),
    BYTES: Codec(
        "bytes",
        lambda out, value: out.blob(value.tobytes()),
        lambda source: np.frombuffer(source.take(source.natural()), np.uint8),
    ),
}
