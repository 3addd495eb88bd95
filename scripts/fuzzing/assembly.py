"""Damage to programs: to the words of a .tasm, and to the bytes of a .tbin below its checksum."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable
from random import Random

from scripts.fuzzing import nasty
from scripts.fuzzing.bytewise import damaged as bytewise
from tilesim.assembly.binary import SEALED_VERSION
from tilesim.assembly.seal import SEAL_BYTES

NUMBER = re.compile(r"(?<![\w.])-?(0x[0-9a-f]+|\d+)\b")
WORD = re.compile(r"[A-Za-z_][\w.]*")
QUOTED = re.compile(r'"[^"\n]*"')
TOKEN = re.compile(r'"[^"\n]*"|[\w.]+|[^\w\s]')
MARKS = (
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "@",
    "*",
    "+",
    "=",
    ">=",
    ">",
    ";",
    '"',
    "\\",
    "'",
    "{",
    "}",
    ".chip",
    "#",
    "\t",
    "\r",
)
HEAD = struct.Struct("<4sIQ32s")


def text_damaged(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    """The text of a program with one to four changes."""
    if rng.random() < 0.15:
        return bytewise(rng, data, others)
    text = data.decode()
    for _ in range(rng.choice((1, 1, 2, 4))):
        text = rng.choice(DAMAGES)(rng, text)
    return text.encode("utf-8", "surrogatepass")


def _replaced(rng: Random, pattern: re.Pattern[str], text: str, new: str) -> str:
    spans = [match.span() for match in pattern.finditer(text)]
    start, end = rng.choice(spans or [(0, 0)])
    return f"{text[:start]}{new}{text[end:]}"


def _number(rng: Random, text: str) -> str:
    number = nasty.number(rng)
    spelt = rng.choice(
        (str(number), hex(number), str(nasty.text(rng)), "0x" + "f" * 5000, "9" * 6000, "007", "1_0", "٣")
    )
    return _replaced(rng, NUMBER, text, spelt if rng.random() < 0.3 else str(number))


def _near(rng: Random, text: str) -> str:
    """A number grown or shrunk a little: what is still taken, and then runs."""
    matches = list(NUMBER.finditer(text))
    if not matches:
        return text
    match = rng.choice(matches)
    number = int(match[0], 0) if match[0].lstrip("-").startswith("0x") else int(match[0])
    return f"{text[: match.start()]}{nasty.near(rng, number)}{text[match.end() :]}"


def _word(rng: Random, text: str) -> str:
    other = rng.choice(WORD.findall(text) or ["x"])
    return _replaced(rng, WORD, text, other if rng.random() < 0.7 else nasty.text(rng))


def _name(rng: Random, text: str) -> str:
    """What stands in quotation marks, or would."""
    new = rng.choice((json.dumps(nasty.text(rng)), json.dumps(nasty.text(rng), ensure_ascii=False), '"unfinished'))
    return _replaced(rng, QUOTED if rng.random() < 0.6 else WORD, text, new)


def _token(rng: Random, text: str) -> str:
    tokens = TOKEN.findall(text) or ["x"]
    return _replaced(
        rng, TOKEN, text, rng.choice(("", rng.choice(tokens), rng.choice(MARKS), rng.choice(MARKS) * 3000))
    )


def _line(rng: Random, text: str) -> str:
    """A line that is missing, there again, elsewhere, or in pieces."""
    lines = text.split("\n")
    line = lines.pop(rng.randrange(len(lines)))
    place = rng.randrange(len(lines) + 1)
    new = rng.choice(([], [line], [line] * 2, [line] * 3000, [line[: len(line) // 2]], [line * 50], [nasty.text(rng)]))
    lines[place:place] = new
    return "\n".join(lines)


DAMAGES: tuple[Callable[[Random, str], str], ...] = (_number, _number, _near, _near, _near, _word, _name, _token, _line)


def binary_damaged(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    """A binary program changed anywhere; mostly its head says what is true of the rest all the same."""
    if rng.random() < 0.1:
        return bytewise(rng, data, others)
    seal, body = _parts(data)
    bodies = [_parts(other)[1] for other in others]
    body = _string(rng, body) if rng.random() < 0.25 else bytewise(rng, body, bodies)
    mark, version, _, _ = HEAD.unpack_from(data)
    length = HEAD.size + len(seal) + len(body)
    return HEAD.pack(mark, version, length, hashlib.sha256(body).digest()) + seal + body


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """The seal of a binary program, if it has one, and what follows."""
    start = HEAD.size + SEAL_BYTES * (HEAD.unpack_from(data)[1] == SEALED_VERSION)
    return data[HEAD.size : start], data[start:]


def _string(rng: Random, body: bytes) -> bytes:
    """Another text of the same length in the table of strings, which comes first."""
    spans = [match.span() for match in re.finditer(rb"[\x20-\x7e]{3,}", body[:4000])]
    start, end = rng.choice(spans or [(0, 0)])
    new = (nasty.text(rng).encode("utf-8", "surrogatepass") * (end - start))[: end - start]
    return body[:start] + new.ljust(end - start, b"x") + body[end:]
