"""What expressions are made of, and what each part is worth; nothing of Python is evaluated.

A value that is not there, such as a measure of a run that did not end, makes everything that needs it be not there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, cast

from tilesim.errors import InputError
from tilesim.explore.conditions.names import strange
from tilesim.explore.point import Value, spelt
from tilesim.printable import short, shown

Values = Mapping[str, Value | None]
Number = int | float

MOST_BITS = 1024
"""Of a whole number that a calculation may come to."""
HIGHEST_EXPONENT = 64
TOO_LARGE = f"it would have more than {MOST_BITS:,} bits"


class NoResultError(InputError):
    """Numbers of which a calculation has no result, such as a division by zero."""


class Term(Protocol):
    """A part of an expression."""

    def value(self, values: Values) -> Value | None: ...

    def names(self) -> Iterator[str]: ...


@dataclass(frozen=True)
class Constant:
    """A number, a text, or true or false."""

    constant: Value

    def value(self, values: Values) -> Value:  # noqa: ARG002  (the same for all)
        return self.constant

    def names(self) -> Iterator[str]:
        yield from ()


@dataclass(frozen=True)
class Name:
    """A key, an option or a measure."""

    name: str

    def value(self, values: Values) -> Value | None:
        if self.name not in values:
            raise InputError(nameless(self.name, values))
        return values[self.name]

    def names(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True)
class Calculation:
    """A number from numbers."""

    sign: str
    operands: tuple[Term, ...]

    def value(self, values: Values) -> Number | None:
        numbers = [_number(self.sign, operand.value(values)) for operand in self.operands]
        there = [number for number in numbers if number is not None]
        if len(there) < len(numbers):
            return None
        try:
            return _bounded(CALCULATIONS[self.sign](*there))
        except ArithmeticError as error:
            raise NoResultError(f"{f' {self.sign} '.join(map(spelt, there))} can't be worked out: {error}") from None

    def names(self) -> Iterator[str]:
        yield from names_of(self.operands)


@dataclass(frozen=True)
class Comparison:
    """``a < b``, and ``a < b <= c``, which is both; what stands in the middle is worked out once."""

    signs: tuple[str, ...]
    operands: tuple[Term, ...]

    def value(self, values: Values) -> bool | None:
        compared = [operand.value(values) for operand in self.operands]
        results = [_compared(sign, *pair) for sign, pair in zip(self.signs, pairwise(compared), strict=True)]
        return None if None in results and False not in results else all(results)

    def names(self) -> Iterator[str]:
        yield from names_of(self.operands)


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    condition: Term

    def value(self, values: Values) -> bool | None:
        held = truth("not", self.condition.value(values))
        return None if held is None else not held

    def names(self) -> Iterator[str]:
        yield from self.condition.names()


@dataclass(frozen=True)
class Both:
    """``and``, or where ``either`` is enough ``or``; the second is looked at only where the first leaves it open."""

    either: bool
    first: Term
    second: Term

    def value(self, values: Values) -> bool | None:
        sign = "or" if self.either else "and"
        first = truth(sign, self.first.value(values))
        if first is self.either:
            return first
        second = truth(sign, self.second.value(values))
        return second if first is not None or second is self.either else None

    def names(self) -> Iterator[str]:
        yield from names_of((self.first, self.second))


def names_of(terms: tuple[Term, ...]) -> Iterator[str]:
    """The names in all of them."""
    for term in terms:
        yield from term.names()


def nameless(name: str, known: Mapping[str, object]) -> str:
    """The sentence for a name that is none of those ``known``."""
    sentence = f"{short(name)} {strange(name, known.keys(), 'a key, an option or a measure')}"
    return sentence if sentence.endswith(("?", ")")) else f"{sentence}; text stands between quotes"


def truth(whose: str, value: Value | None) -> bool | None:
    """A value that must be true or false, if it is there."""
    if value is None or isinstance(value, bool):
        return value
    raise InputError(f"{whose} needs a condition, such as tile.lanes <= 64, not {_described(value)}")


def _number(sign: str, value: Value | None) -> Number | None:
    if isinstance(value, bool | str):
        raise InputError(f"{sign} needs numbers, not {_described(value)}")
    return value


def _compared(sign: str, one: Value | None, other: Value | None) -> bool | None:
    if one is None or other is None:
        return None
    if _kind(one) != _kind(other):
        raise InputError(f"{sign} needs two values of a kind, not {_described(one)} and {_described(other)}")
    if sign not in {"==", "!="}:
        _number(sign, one)
    return COMPARISONS[sign](one, other)


def _kind(value: Value) -> type:
    return float if type(value) is int else type(value)


def _described(value: Value) -> str:
    """A value for a sentence."""
    if isinstance(value, bool):
        return spelt(value)
    return f"the text {shown(value) if value else repr(value)}" if isinstance(value, str) else f"the number {value}"


def _bounded(number: Number) -> Number:
    if isinstance(number, int) and number.bit_length() > MOST_BITS:
        raise ArithmeticError(TOO_LARGE)
    return number


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > HIGHEST_EXPONENT:
        raise ArithmeticError(f"an exponent must be at most {HIGHEST_EXPONENT}")
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > MOST_BITS:
        raise ArithmeticError(TOO_LARGE)
    if base < 0 and exponent != int(exponent):
        raise ArithmeticError("it is no real number")
    return cast("Number", base**exponent)


CALCULATIONS: Mapping[str, Callable[..., Number]] = {
    "+": lambda one, *other: operator.add(one, *other) if other else one,
    "-": lambda one, *other: operator.sub(one, *other) if other else -one,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
    "abs": abs,
    "min": min,
    "max": max,
}
"""What each sign makes of its numbers, and each function."""
FUNCTIONS: Mapping[str, range] = {"abs": range(1, 2), "min": range(2, 100), "max": range(2, 100)}
"""How many numbers each takes."""
COMPARISONS: Mapping[str, Callable[[Value, Value], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
