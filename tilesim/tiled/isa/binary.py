"""The binary form of a program, ``.tbin``: one file, with the bytes of its data segments.

=========  ===========================================================================================
head       48 bytes: the mark of the format, its version, the length of the file, the rest's SHA-256
strings    every label, name and word, once
kinds      every kind of record in the file: its name, and its fields by name and type
program    one record; ``encoding`` says how
=========  ===========================================================================================

The file says itself what its records consist of, so that a tilesim whose instructions have got more fields reads an
older file all the same: a field that it lacks has its default. The same program gives the same bytes.

An instruction begins at a word of 16 bytes and fills whole words. These are not the words that the instruction bus
carries, of which each class in ``instructions`` says the number: hardware has no labels and no names of loops, but has
bitmaps for sets of flags.
Source: assumption; the Edge TPU's encoding is not public.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from tilesim.tiled.isa.encoding import codec_of, kind_name
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.streams import Damage, Reader, Writer
from tilesim.tiled.isa.tables import read_tables, write_tables

VERSION = 1
MARK = b"\x8eTBN"
_HEAD = struct.Struct("<4sIQ32s")


def encode(program: Program) -> bytes:
    """``program`` as the content of a file; ``decode`` gives the same program back."""
    out = Writer()
    codec_of(Program).write(out, program)
    body = write_tables(out.strings, out.kinds) + bytes(out.data)
    return _HEAD.pack(MARK, VERSION, _HEAD.size + len(body), hashlib.sha256(body).digest()) + body


def decode(content: bytes) -> Program:
    """The program in the content of a file. Raises Damage, which says what is wrong."""
    source = Reader(_body(content))
    read_tables(source, {kind_name(kind): kind for kind in _kinds(Program)})
    program: Program = codec_of(Program).read(source)
    if source.at < len(source.data):
        raise Damage(f"must end after byte {source.at} of the program, not go on to {len(source.data)}")
    return program


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


def _kinds(hint: Any) -> Iterator[type]:
    """Every dataclass that values of the type ``hint`` can hold."""
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
        hints = get_type_hints(hint)
        for each in fields(hint):
            yield from _kinds(hints[each.name])
    for part in get_args(hint):
        yield from _kinds(part)
