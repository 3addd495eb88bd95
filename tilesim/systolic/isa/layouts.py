"""Records as bytes: numbers of fixed widths, lists, and flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from tilesim.errors import ProgramError


class Part(Protocol):
    """A part of an instruction: how its value becomes bytes."""

    def size(self, value: Any) -> int:
        """Bytes of ``value``."""

    def faults(self, name: str, value: Any) -> Iterator[str]:
        """Why ``value``, which the field ``name`` has, has no bytes."""

    def write(self, value: Any) -> bytes:
        """The bytes of ``value``, which has no faults."""

    def read(self, source: Source) -> Any:
        """The value that comes next. Raises ProgramError."""


@dataclass
class Source:
    """Bytes that are read one field after the other."""

    content: bytes
    at: int = 0

    def number(self, length: int) -> int:
        if self.at + length > len(self.content):
            raise ProgramError(f"the instruction must go on after its {len(self.content)} bytes")
        self.at += length
        return int.from_bytes(self.content[self.at - length : self.at], "little")


@dataclass(frozen=True)
class Number:
    """A whole number from ``least`` on, in ``width_bytes``."""

    width_bytes: int
    least: int = 0

    @property
    def most(self) -> int:
        return self.least + (1 << 8 * self.width_bytes) - 1

    def size(self, value: int) -> int:  # noqa: ARG002  (the same for all)
        return self.width_bytes

    def faults(self, name: str, value: int) -> Iterator[str]:
        if not self.least <= value <= self.most:
            yield f"{name} must be {self.least} to {self.most}, not {_shown(value)}"

    def write(self, value: int) -> bytes:
        return int(value - self.least).to_bytes(self.width_bytes, "little")

    def read(self, source: Source) -> int:
        return source.number(self.width_bytes) + self.least


def _shown(value: int) -> str:
    return str(value) if abs(value) < 1 << 64 else f"a number of {value.bit_length()} bits"


def signed(length: int) -> Number:
    return Number(length, -1 << 8 * length - 1)


@dataclass(frozen=True)
class Items:
    """Values of one kind: ``length`` of them, or as many as a number before them says."""

    item: Part
    length: int | None

    def size(self, value: tuple[Any, ...]) -> int:
        return sum(map(self.item.size, value)) + (2 if self.length is None else 0)

    def faults(self, name: str, value: tuple[Any, ...]) -> Iterator[str]:
        if self.length not in (None, len(value)):
            yield f"{name} must be {self.length} values, not {len(value)}"
        if len(value) > Number(2).most:
            yield f"{name} must be at most {Number(2).most} values, not {len(value)}"
        for item in value:
            yield from self.item.faults(name, item)

    def write(self, value: tuple[Any, ...]) -> bytes:
        count = Number(2).write(len(value)) if self.length is None else b""
        return count + b"".join(map(self.item.write, value))

    def read(self, source: Source) -> tuple[Any, ...]:
        length = source.number(2) if self.length is None else self.length
        return tuple(self.item.read(source) for _ in range(length))


@dataclass(frozen=True)
class Flag:
    """A field with few values; ``record``: it is there (then its bytes follow) or not."""

    choices: tuple[Any, ...]
    record: bool = False

    @property
    def bits(self) -> int:
        return (len(self.choices) - 1).bit_length()


@dataclass(frozen=True)
class Layout:
    """A record: its flags in one byte, if there are any or it is ``with_head``, and its other fields in order."""

    kind: type
    flags: dict[str, Flag]
    parts: dict[str, Part]
    with_head: bool = False

    @property
    def head_bytes(self) -> int:
        return int(self.with_head or bool(self.flags))

    def size(self, value: Any) -> int:
        return self.head_bytes + sum(part.size(here) for _, part, here in self._present(value))

    def faults(self, name: str, value: Any) -> Iterator[str]:
        prefix = f"{name}." if name else ""
        for field, flag in self.flags.items():
            here = getattr(value, field)
            if not flag.record and here not in flag.choices:
                words = ", ".join(str(choice) or "nothing" for choice in flag.choices)
                yield f"{prefix}{field} must be one of {words}, not {here!r}"
        for field, part, here in self._present(value):
            yield from part.faults(f"{prefix}{field}", here)

    def write(self, value: Any) -> bytes:
        head, at = 0, 0
        for name, flag in self.flags.items():
            here = getattr(value, name)
            head |= flag.choices.index((here is not None) if flag.record else here) << at
            at += flag.bits
        body = b"".join(part.write(here) for _, part, here in self._present(value))
        return head.to_bytes(self.head_bytes, "little") + body

    def read(self, source: Source) -> Any:
        values, bits = {}, source.number(self.head_bytes)
        for name, flag in self.flags.items():
            place = bits & (1 << flag.bits) - 1
            if place >= len(flag.choices):
                raise ProgramError(f"{name} must be one of {len(flag.choices)} values, not number {place}")
            values[name], bits = flag.choices[place], bits >> flag.bits
        if bits:
            raise ProgramError("flags that mean nothing must be 0")
        for name, part in self.parts.items():
            there = name not in self.flags or values[name]
            values[name] = part.read(source) if there else None
        return self.kind(**values)

    def _present(self, value: Any) -> Iterator[tuple[str, Part, Any]]:
        for name, part in self.parts.items():
            here = getattr(value, name)
            if here is not None:
                yield name, part, here
