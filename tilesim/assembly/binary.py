"""The binary form of a program, ``.tbin``: one file, with the bytes of its data segments.

=========  ===========================================================================================
head       48 bytes: the mark of the format, its version, the length of the file, the rest's SHA-256
strings    every label, name and word, once: first the program's name, then its chip
kinds      every kind of record in the file: its name, and its fields by name and type
program    one record; ``encoding`` says how
=========  ===========================================================================================

The file says itself what its records consist of, so that a tilesim whose instructions have got more fields reads an
older file all the same: a field that it lacks has its default. The same program gives the same bytes.

An instruction begins at a word of 16 bytes and fills whole words. These are not the words or bytes that a machine's
bus or host carries: hardware has no labels and no names of loops, but has bitmaps for sets of flags.
Source: assumption; the Edge TPU's encoding is not public.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic

from tilesim.assembly.encoding import Encoding, kind_name
from tilesim.assembly.fields import Field
from tilesim.assembly.streams import Codec, Damage, Reader, RecordLayout, Writer
from tilesim.assembly.text import P
from tilesim.printable import shown, unknown

VERSION = 1
MARK = b"\x8eTBN"
_HEAD = struct.Struct("<4sIQ32s")


@dataclass(frozen=True, eq=False)
class Binary(Generic[P]):
    """The binary form of one machine's programs."""

    program: type[P]
    encoding: Encoding

    def encode(self, program: P) -> bytes:
        """``program`` as the content of a file; ``decode`` gives the same program back."""
        out = Writer()
        self.encoding.codec(self.program).write(out, program)
        body = _write_tables(out.strings, out.kinds, self.encoding) + bytes(out.data)
        return _HEAD.pack(MARK, VERSION, _HEAD.size + len(body), hashlib.sha256(body).digest()) + body

    def decode(self, content: bytes) -> P:
        """The program in the content of a file. Raises Damage, which says what is wrong."""
        source = Reader(_body(content))
        _read_tables(source, self.encoding)
        program: P = self.encoding.codec(self.program).read(source)
        if source.at < len(source.data):
            raise Damage(f"must end after byte {source.at} of the program, not go on to {len(source.data)}")
        return program


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
    if version != VERSION:
        why = "; a newer tilesim wrote it" if version > VERSION else ""
        raise Damage(f"must be of version {VERSION} of the binary form, not {version}{why}")
    if length != len(content):
        raise Damage(f"must have {length} bytes, as its head says, not {len(content)}")
    body = content[_HEAD.size :]
    if hashlib.sha256(body).digest() != digest:
        raise Damage("must have the content that its checksum is of; the file is damaged")
    return body


def _write_tables(strings: Iterable[str], kinds: Iterable[type], encoding: Encoding) -> bytes:
    """The tables of a file: its strings, then its kinds of records with their fields, whose names are strings too."""
    head, names = Writer(), Writer(strings={text: place for place, text in enumerate(strings)})
    listed = list(kinds)
    names.natural(len(listed))
    for kind in listed:
        names.string(kind_name(kind))
        names.natural(len(encoding.fields(kind)))
        for field in encoding.fields(kind).values():
            names.string(field.name)
            names.string(field.codec.spelling)
            names.natural(field.optional)
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


def _read_tables(source: Reader, encoding: Encoding) -> None:
    """Fill the tables of ``source`` with what ``_write_tables`` wrote. Raises Damage."""
    _read_strings(source)
    known = encoding.kinds
    for _ in range(source.count()):
        name = source.string()
        if name not in known:
            raise Damage(unknown(name, known, "a kind of record that this tilesim knows"))
        kind = known[name]
        source.kinds.append(kind)
        source.layouts[kind] = _read_layout(source, kind, encoding.fields(kind))
    source.skip_word()


def _read_layout(source: Reader, kind: type, ours: Mapping[str, Field[Codec]]) -> RecordLayout:
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
    return RecordLayout(tuple(layout.values()))
