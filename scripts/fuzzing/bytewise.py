"""Damage to bytes that knows nothing of what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from scripts.fuzzing import nasty

Damage = Callable[[Random, bytearray, bytes], None]


def damaged(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """``data`` after one to four mutations; ``others`` are files of its kind, of which a piece may get in."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(DAMAGES)(rng, content, rng.choice(others) if others else b"")
    return bytes(content)


def _place(rng: Random, data: bytearray) -> int:
    return rng.randrange(len(data) + 1)


def _piece(rng: Random, data: bytes | bytearray) -> slice:
    start = rng.randrange(len(data) + 1)
    return slice(start, start + rng.choice((1, 2, 4, 16, 64, 1024)))


def _flip(rng: Random, data: bytearray, _other: bytes) -> None:
    for _ in range(rng.choice((1, 1, 4, 32))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _truncate(rng: Random, data: bytearray, _other: bytes) -> None:
    del data[rng.choice((_place(rng, data), len(data) - min(len(data), rng.randrange(64)))) :]


def _insert(rng: Random, data: bytearray, _other: bytes) -> None:
    place = _place(rng, data)
    data[place:place] = rng.choice((rng.randbytes(rng.choice((1, 4, 64))), bytes(64), b"\xff" * 16))


def _insert_text(rng: Random, data: bytearray, _other: bytes) -> None:
    place = _place(rng, data)
    data[place:place] = nasty.text(rng).encode("utf-8", "surrogatepass")


def _drop(rng: Random, data: bytearray, _other: bytes) -> None:
    del data[_piece(rng, data)]


def _duplicate(rng: Random, data: bytearray, _other: bytes) -> None:
    piece = bytes(data[_piece(rng, data)])
    place = _place(rng, data)
    data[place:place] = piece * rng.choice((1, 2, 100))


def _splice(rng: Random, data: bytearray, other: bytes) -> None:
    """The beginning of one and the end of another, or a piece of the other over one's own."""
    if rng.random() < 0.3:
        place = _place(rng, data)
        data[place:] = other[min(place, rng.randrange(len(other) + 1)) :]
    else:
        data[_piece(rng, data)] = other[_piece(rng, other)]


def _number(rng: Random, data: bytearray, _other: bytes) -> None:
    size = rng.choice((1, 2, 4, 8))
    place = rng.randrange(max(1, len(data) - size + 1))
    if rng.random() < 0.7:
        place -= place % size
    data[place : place + size] = packed(nasty.number(rng), size, rng.choice(("little", "little", "big")) == "little")


def packed(number: int, size: int, little: bool = True) -> bytes:
    """The number's lowest bytes."""
    return (number % (1 << 8 * size)).to_bytes(size, "little" if little else "big")


DAMAGES: tuple[Damage, ...] = (
    *(_flip, _flip, _truncate, _insert, _insert_text, _drop, _duplicate, _splice, _number, _number),
)
