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
from dataclasses import dataclass
from typing import Generic

from tilesim.assembly.encoding import Encoding
from tilesim.assembly.streams import Damage, Reader, Writer
from tilesim.assembly.tables import read_strings, read_tables, write_tables
from tilesim.assembly.text import P

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
        body = write_tables(out.strings, out.kinds, self.encoding) + bytes(out.data)
        return _HEAD.pack(MARK, VERSION, _HEAD.size + len(body), hashlib.sha256(body).digest()) + body

    def decode(self, content: bytes) -> P:
        """The program in the content of a file. Raises Damage, which says what is wrong."""
        source = Reader(_body(content))
        read_tables(source, self.encoding)
        program: P = self.encoding.codec(self.program).read(source)
        if source.at < len(source.data):
            raise Damage(f"must end after byte {source.at} of the program, not go on to {len(source.data)}")
        return program


def chip_lines(content: bytes) -> str:
    """The ``.chip`` lines in the content of a file. Raises Damage."""
    strings = read_strings(Reader(_body(content)))
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
