"""How much an .onnx file holds, counted before it is parsed: a message of two bytes takes hundreds in memory; and
whether its names are text, as the parser takes any bytes.

Source: the wire format of Protocol Buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from tilesim.budgets import MOST_MODEL_FIELDS, MOST_MODEL_NUMBERS
from tilesim.errors import ModelError
from tilesim.network.graph import titled

_FIXED_BYTES = {1: 8, 5: 4}
"""By the kind of a field on the wire."""
_LENGTH = 2
_NAMES = frozenset({"name", "input", "output", "op_type", "domain"})
"""Fields of texts that are names."""
_MESSAGE, _TEXTS, _NUMBER_BYTES = 11, (9, 12), {1: 8, 2: 4}
"""Types of fields as descriptors have them; numbers that are not of a fixed size are varints."""


def check_counts(content: bytes) -> None:
    """Refuse a file that has more fields, or more numbers in lists, than a model, or names that are no text; what else
    is damaged is left to the parser. Raises ModelError.
    """
    fields = numbers = 0
    inside: list[tuple[int, int, Any]] = [(0, len(content), onnx.ModelProto.DESCRIPTOR)]
    while inside:
        start, end, message = inside.pop()
        for number, wire, first, last in _fields(content, start, end):
            fields += 1
            known = message.fields_by_number.get(number)
            if wire == _LENGTH and known is not None and known.type == _MESSAGE:
                inside.append((first, last, known.message_type))
            elif wire == _LENGTH and known is not None and known.type not in _TEXTS:
                numbers += _packed(content[first:last], known.type)
            elif wire == _LENGTH and known is not None and known.name in _NAMES:
                _must_be_text(content[first:last])
            if fields > MOST_MODEL_FIELDS or numbers > MOST_MODEL_NUMBERS:
                raise ModelError(
                    f"must have at most {MOST_MODEL_FIELDS} fields, and {MOST_MODEL_NUMBERS} numbers that are not raw "
                    "bytes"
                )


def _fields(content: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number and wire kind of each field of the message that lies from ``at`` to ``end``, as far as it is whole, and
    where its content begins and ends.
    """
    while at < end:
        key, at = _varint(content, at, end)
        wire = key & 7
        if wire == _LENGTH:
            length, at = _varint(content, at, end)
        else:
            length = _FIXED_BYTES.get(wire, 0)
        if wire == 0:
            _, at = _varint(content, at, end)
        if at + length > end:
            return
        yield key >> 3, wire, at, at + length
        at += length


def _must_be_text(name: bytes) -> None:
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(f"must have names in UTF-8, not {titled(str(name))}") from None


def _packed(numbers: bytes, kind: int) -> int:
    """How many numbers a list has that lies in one field; a varint ends with a byte below 128."""
    if kind in _NUMBER_BYTES:
        return len(numbers) // _NUMBER_BYTES[kind]
    return int(np.count_nonzero(np.frombuffer(numbers, np.uint8) < 128))


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while at < end and shift < 70:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    return value, at
