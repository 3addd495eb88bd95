"""Damage to a flatbuffer that keeps most of it whole: tables, vectors and fields are found without their schema."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

from scripts.fuzzing import nasty
from scripts.fuzzing.bytewise import packed

MOST_SLOTS = 64
MOST_ELEMENTS = 24


@dataclass
class Layout:
    """Where what stands: slots of vtables, fields and elements, offsets with what they lead to, lengths of vectors."""

    slots: list[int] = field(default_factory=list)
    fields: list[int] = field(default_factory=list)
    elements: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    tables: set[int] = field(default_factory=set)
    vectors: set[int] = field(default_factory=set)


@lru_cache(maxsize=64)
def layout(data: bytes) -> Layout:
    """What a walk from the root finds."""
    walked = Layout()
    if len(data) >= 8:
        _table(data, struct.unpack_from("<I", data)[0], walked)
    return walked


def _slots(data: bytes, table: int) -> list[tuple[int, int]]:
    """Places of the slots of a table and of the fields that they lead to; none if there is no table."""
    if table % 4 or not 0 < table <= len(data) - 4:
        return []
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if not 0 <= vtable <= len(data) - 4:
        return []
    size, table_size = struct.unpack_from("<HH", data, vtable)
    if size % 2 or not 4 <= size <= 4 + 2 * MOST_SLOTS or vtable + size > len(data) or table + table_size > len(data):
        return []
    offsets = struct.unpack_from(f"<{size // 2 - 2}H", data, vtable + 4)
    if any(offset >= table_size for offset in offsets):
        return []
    return [(vtable + 4 + 2 * k, table + offset) for k, offset in enumerate(offsets) if offset]


def _table(data: bytes, table: int, walked: Layout) -> None:
    slots = _slots(data, table)
    if table in walked.tables or not slots:
        return
    walked.tables.add(table)
    for slot, place in slots:
        walked.slots.append(slot)
        walked.fields.append(place)
        _offset(data, place, walked)


def _offset(data: bytes, place: int, walked: Layout) -> None:
    """Follow what may be an offset at ``place``: to a table, or to a vector."""
    if place % 4 or place + 4 > len(data):
        return
    target = place + struct.unpack_from("<I", data, place)[0]
    if target == place or target > len(data) - 4:
        return
    if _slots(data, target):
        walked.offsets.append(place)
        _table(data, target, walked)
        return
    length = struct.unpack_from("<I", data, target)[0]
    if 0 < length <= len(data) - target and target not in walked.vectors:
        walked.offsets.append(place)
        walked.lengths.append(target)
        walked.vectors.add(target)
        for element in range(target + 4, min(target + 4 + 4 * min(length, MOST_ELEMENTS), len(data) - 4), 4):
            walked.elements.append(element)
            _offset(data, element, walked)


def damaged(rng: Random, data: bytes) -> bytes:
    """``data`` with one to three numbers in its tables, vectors and offsets changed."""
    whole, content = layout(data), bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(("fields", "fields", "fields", "elements", "elements", "offsets", "lengths", "slots"))
        if places := getattr(whole, kind):
            place = rng.choice(places)
            new = _new(rng, kind, place, whole, data)
            content[place : place + len(new)] = new
    return bytes(content[: len(data)])


def _new(rng: Random, kind: str, place: int, whole: Layout, data: bytes) -> bytes:
    if kind == "slots":
        return rng.choice((bytes(2), packed(nasty.number(rng), 2), packed(4 + 4 * rng.randrange(8), 2)))
    if kind == "offsets" and (later := [x for x in (*whole.tables, *whole.vectors) if x > place]):
        return packed(rng.choice(later) - place, 4)
    if kind == "elements" and rng.random() < 0.3 and whole.elements:
        other = rng.choice(whole.elements)
        return data[other : other + 4]
    size = rng.choice((1, 1, 2, 4, 4, 8))
    known = int.from_bytes(data[place : place + size], "little", signed=True)
    return packed(nasty.near(rng, known) if rng.random() < 0.6 else nasty.number(rng), size)
