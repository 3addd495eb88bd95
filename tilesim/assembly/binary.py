"""The binary form of a program, ``.tbin``: one file, with the bytes of its data segments.

=========  ===========================================================================================
head       48 bytes: the mark of the format, its version, the length of the file, the rest's SHA-256
seal       32 bytes, in version 2 only: that the program was proven, and by which rules (:mod:`~tilesim.assembly.seal`);
           it is not among what the SHA-256 is of
strings    every label, name and word, once: first the program's name, then its chip
kinds      every kind of record in the file: its name, and its fields by name and type
program    one record
=========  ===========================================================================================

The values of a program become bytes by the type of the field that holds them:

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

A record's fields are those of its class; nothing here knows an instruction. The file says itself what its records
consist of, so that a tilesim whose instructions have got more fields reads an older file all the same: a field that it
lacks has its default. The same program gives the same bytes.

An instruction begins at a word of 16 bytes and fills whole words. These are not the words or bytes that a machine's
bus or host carries: hardware has no labels and no names of loops, but has bitmaps for sets of flags.
Source: assumption; the Edge TPU's encoding is not public.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import NoneType
from typing import Any, Generic, Literal, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel

from tilesim.assembly.chip import ChipReader, write_chip
from tilesim.assembly.records import BYTES, Field, fields_of, inner_type, is_record
from tilesim.assembly.scanner import Fault, read_line
from tilesim.assembly.seal import SEAL_BYTES, seal_of
from tilesim.assembly.streams import Codec, Damage, Reader, Writer
from tilesim.assembly.text import P
from tilesim.assembly.values import Notation
from tilesim.printable import shown, unknown

VERSION, SEALED_VERSION = 1, 2
MARK = b"\x8eTBN"
_HEAD = struct.Struct("<4sIQ32s")
_FLOAT = struct.Struct("<d")


def kind_name(kind: type[Any]) -> str:
    """What a file calls a kind of record: an instruction that has one mnemonic by that."""
    mnemonic = getattr(kind, "mnemonic", None)
    return mnemonic if isinstance(mnemonic, str) else kind.__name__


@dataclass(frozen=True, eq=False)
class Binary(Generic[P]):
    """The binary form of one machine's programs.

    Attributes:
        program: the class of the programs.
        instructions: their classes.
        scalars: how the values of a chip are spelt.
        former: names that an enumeration had once, which a list of them may still hold: they are left out.
    """

    program: type[P]
    instructions: Sequence[type]
    scalars: Notation
    former: Mapping[type, Collection[str]] = field(default_factory=dict)
    _fields: dict[type, Mapping[str, Field[Codec]]] = field(default_factory=dict, init=False, repr=False)

    def encode(self, program: P, rules: bytes = b"") -> bytes:
        """``program`` as the content of a file; ``decode`` gives the same program back. It is sealed if it is proven by
        some ``rules``.
        """
        out = Writer()
        self.codec(self.program).write(out, program)
        body = _write_tables(out.strings, out.kinds, self) + bytes(out.data)
        digest = hashlib.sha256(body).digest()
        version, seal = (SEALED_VERSION, seal_of(digest, rules)) if rules else (VERSION, b"")
        return _HEAD.pack(MARK, version, _HEAD.size + len(seal) + len(body), digest) + seal + body

    def decode(self, content: bytes) -> P:
        """The program in the content of a file. Raises Damage, which says what is wrong."""
        source = Reader(_body(content))
        _read_tables(source, self)
        program: P = self.codec(self.program).read(source)
        if source.at < len(source.data):
            raise Damage(f"must end after byte {source.at} of the program, not go on to {len(source.data)}")
        return program

    @cached_property
    def kinds(self) -> dict[str, type]:
        """Every kind of record that a program can hold, by its name."""
        kinds = (kind for root in (self.program, *self.instructions) for kind in self._kinds(root))
        return {kind_name(kind): kind for kind in kinds}

    def _kinds(self, hint: Any) -> Iterator[type]:
        if is_record(hint):
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
            return _listed(self._item(arguments[0])) if is_list else _fixed([*map(self.codec, arguments)])
        if origin is Literal:
            return _one_word("word", {word: word for word in arguments})
        if NoneType in arguments:
            return _maybe(self.codec(inner_type(hint)))
        return self._named(hint)

    def _item(self, hint: Any) -> Codec:
        """The codec of an item of a list."""
        if hint not in self.former:
            return self.codec(hint)
        names = {str(member): member for member in hint} | dict.fromkeys(self.former[hint])
        return _one_word(hint.__name__, names)

    def _named(self, kind: type) -> Codec:
        """The codec of a class."""
        if issubclass(kind, StrEnum):
            return _one_word(kind.__name__, {str(member): member for member in kind})
        if issubclass(kind, BaseModel):
            return Codec("topology", self._write_chip, lambda source: self._read_chip(source, kind))
        read = _read_shared if issubclass(kind, tuple) else _read_record
        return Codec(kind_name(kind), self._write_record, lambda source: read(source, kind))

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
    bits = source.natural() if any(optional for _, optional in layout) else 0
    values = {}
    for member, optional in layout:
        if not optional or bits & 1:
            values[member.name] = member.codec.read(source)
        bits >>= optional
    return kind(**values)


def _read_shared(source: Reader, kind: type) -> Any:
    """A record that cannot change: one for all of the same bytes, so that what is known of it is known of all."""
    start = source.at
    record = _read_record(source, kind)
    return source.shared.setdefault((kind, source.data[start : source.at]), record)


def _listed(item: Codec) -> Codec:
    def write(out: Writer, values: Sequence[Any]) -> None:
        out.natural(len(values))
        for value in values:
            item.write(out, value)

    def read(source: Reader) -> tuple[Any, ...]:
        values = (item.read(source) for _ in range(source.count()))
        return tuple(value for value in values if value is not None)

    return Codec(f"{item.spelling}...", write, read)


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


def is_sealed(content: bytes, rules: bytes) -> bool:
    """Whether the content of a file, which has been decoded, was proven by these ``rules``."""
    _, version, _, digest = _HEAD.unpack_from(content)
    seal = content[_HEAD.size : _HEAD.size + SEAL_BYTES]
    return bool(rules) and version == SEALED_VERSION and seal == seal_of(digest, rules)


def chip_lines(content: bytes) -> str:
    """The ``.chip`` lines in the content of a file. Raises Damage."""
    strings = _read_strings(Reader(_body(content)))
    return strings[1] if len(strings) > 1 else ""


def _body(content: bytes) -> bytes:
    """What follows the head, if that tells the truth."""
    if content[: len(MARK)] != MARK:
        raise Damage(f"must begin as a binary program does, with {MARK!r}, not with {content[: len(MARK)]!r}")
    if len(content) < _HEAD.size:
        raise Damage(f"must have at least the {_HEAD.size} bytes of its head, not {len(content)}")
    _, version, length, digest = _HEAD.unpack_from(content)
    if version not in (VERSION, SEALED_VERSION):
        why = "; a newer tilesim wrote it" if version > SEALED_VERSION else ""
        raise Damage(f"must be of version {VERSION} or {SEALED_VERSION} of the binary form, not {version}{why}")
    if length != len(content):
        raise Damage(f"must have {length} bytes, as its head says, not {len(content)}")
    body = content[_HEAD.size + SEAL_BYTES * (version == SEALED_VERSION) :]
    if hashlib.sha256(body).digest() != digest:
        raise Damage("must have the content that its checksum is of; the file is damaged")
    return body


def _write_tables(strings: Iterable[str], kinds: Iterable[type], form: Binary[Any]) -> bytes:
    """The tables of a file: its strings, then its kinds of records with their fields, whose names are strings too."""
    head, names = Writer(), Writer(strings={text: place for place, text in enumerate(strings)})
    listed = list(kinds)
    names.natural(len(listed))
    for kind in listed:
        names.string(kind_name(kind))
        names.natural(len(form.fields(kind)))
        for member in form.fields(kind).values():
            names.string(member.name)
            names.string(member.codec.spelling)
            names.natural(member.optional)
    head.natural(len(names.strings))
    for text in names.strings:
        head.blob(text.encode("utf-8", "surrogatepass"))
    head.data += names.data
    head.fill_word()
    return bytes(head.data)


def _read_strings(source: Reader) -> list[str]:
    """The strings, which come first. Raises Damage."""
    for _ in range(source.count()):
        try:
            source.strings.append(source.take(source.natural()).decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise Damage(f"must have strings in UTF-8, not what ends at byte {source.at}") from None
    return source.strings


def _read_tables(source: Reader, form: Binary[Any]) -> None:
    """Fill the tables of ``source`` with what ``_write_tables`` wrote. Raises Damage."""
    _read_strings(source)
    known = form.kinds
    for _ in range(source.count()):
        name = source.string()
        if name not in known:
            raise Damage(unknown(name, known, "a kind of record that this tilesim knows"))
        kind = known[name]
        source.kinds.append(kind)
        source.layouts[kind] = _read_layout(source, kind, form.fields(kind))
    source.skip_word()


def _read_layout(source: Reader, kind: type, ours: Mapping[str, Field[Codec]]) -> tuple[tuple[Field[Codec], bool], ...]:
    """The fields of ``kind`` as the file has them, which must mean something here. Raises Damage."""
    layout: dict[str, tuple[Field[Codec], bool]] = {}
    for _ in range(source.count()):
        name, spelling, optional = source.string(), source.string(), bool(source.natural())
        if name not in ours:
            raise Damage(f"{kind_name(kind)} {unknown(name, ours, 'made of fields that this tilesim knows')}")
        here = ours[name]
        if spelling != here.codec.spelling or optional > here.optional or name in layout:
            how = f"{here.codec.spelling!r} as in this tilesim"
            raise Damage(f"the field {name} of {kind_name(kind)} must be {how}, not {shown(spelling)}")
        layout[name] = here, optional
    if missing := [name for name, here in ours.items() if name not in layout and not here.optional]:
        raise Damage(f"{kind_name(kind)} must also have {', '.join(missing)}; another tilesim wrote the file")
    return tuple(layout.values())
