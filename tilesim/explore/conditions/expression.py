"""Expressions over keys, options and measures, as ``--where`` takes them: ``grid.rows * grid.columns <= 16``.

They have numbers (``64 KiB`` and ``500 MHz`` too), text between quotes, true and false, names with dots, ``+ - * / // %
**``, comparisons, ``and``, ``or``, ``not``, brackets, and the functions abs, min and max, with the precedence that
Python gives them; and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

from tilesim.errors import InputError, kept
from tilesim.explore.conditions.names import EVERY, samples
from tilesim.explore.conditions.terms import (
    COMPARISONS,
    FUNCTIONS,
    Both,
    Calculation,
    Comparison,
    Constant,
    Name,
    NoResultError,
    Not,
    Term,
    Values,
    nameless,
    truth,
)
from tilesim.explore.point import Value
from tilesim.printable import shown, unknown
from tilesim.units import BYTE_UNITS, HERTZ_UNITS

LONGEST = 1000
"""Characters of an expression."""
MOST_WORDS = 200
"""Numbers, texts, names and signs in it, so that what it is worth needs no deep recursion."""
DEEPEST = 40
"""Brackets in brackets."""

UNITS = {**BYTE_UNITS, **HERTZ_UNITS}
TRUTH = {"true": True, "True": True, "on": True, "false": False, "False": False, "off": False}
NEGATION, SIGNED, POWER = 3, 7, 8
PRECEDENCE = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(COMPARISONS, 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "**": POWER,
}
"""What binds closer has the higher one; ``not`` binds as :data:`NEGATION`, a number's sign as :data:`SIGNED`."""
INSTEAD = {"=": "==", "&&": "and", "||": "or", "&": "and", "|": "or", "!": "not", "^": "**", "<>": "!=", "=<": "<="}
"""Signs of other languages, and what they are here."""

_WORD = re.compile(
    r"\s*(?:"
    rf"(?P<number>(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?:\s*(?P<unit>{'|'.join(UNITS)})\b)?"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)*)"
    r"""|(?P<text>'[^']*'|"[^"]*")"""
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|&&|\|\||<>|=<|[-+*/%<>(),=&|!^])"
    r"|(?P<other>\S))",
    re.ASCII,
)


@dataclass(frozen=True)
class Expression:
    """A condition or a formula."""

    text: str
    """As it was given."""
    names: frozenset[str]
    """The keys, options and measures in it."""
    term: Term = field(repr=False)

    def value(self, values: Values) -> Value | None:
        """What it is worth with these values by their names; None where it needs one that is None.

        Raises:
            InputError: a name that has no value, numbers that can't be worked out, or values of the wrong kind.
        """
        try:
            return self.term.value(values)
        except InputError as error:
            raise type(error)(f"{shown(self.text)}: {fault}" for fault in error.faults) from None

    def holds(self, values: Values) -> bool:
        """Whether it is true; not where it needs a value that is None.

        Raises:
            InputError: as :meth:`value`, or it is no condition.
        """
        return truth(f"{shown(self.text)}: it", self.value(values)) is True

    def faults(self, keys: Mapping[str, Value], measures: Collection[str] = EVERY) -> Iterator[str]:
        """A sentence for each name that is no option, none of the ``measures`` of runs, and no key of the chips, which
        have ``keys``; or why it can't be a condition, whatever the values are.
        """
        tried = samples(keys, self.names, measures)
        strange = sorted(self.names - tried.keys())
        yield from (f"{shown(self.text)}: {nameless(name, tried)}" for name in strange)
        if not strange:
            wrong: list[str] = []
            with kept(wrong), suppress(NoResultError):
                self.holds(tried)
            yield from wrong


def expression(text: str) -> Expression:
    """The expression in a text.

    Raises:
        InputError: the first fault of its form.
    """
    term = _Parser(text).parsed()
    return Expression(text, frozenset(term.names()), term)


class _Word(NamedTuple):
    """A number, text, name or sign, and where it begins; the end is empty."""

    kind: str
    spelling: str
    place: int
    constant: Value = ""


@dataclass
class _Parser:
    """Reads words from left to right, those that bind closer first."""

    text: str
    words: list[_Word] = field(default_factory=list)
    next: int = 0
    depth: int = 0

    def parsed(self) -> Term:
        if not self.text.strip():
            raise InputError("an expression must be a condition such as tile.lanes <= 64, not nothing")
        if len(self.text) > LONGEST:
            raise self._fault(f"must have at most {LONGEST:,} characters, not {len(self.text):,}")
        self.words = [self._word(match) for match in _WORD.finditer(self.text.rstrip())]
        if len(self.words) > MOST_WORDS:
            raise self._fault(f"must have at most {MOST_WORDS} words and signs, not {len(self.words)}")
        self.words.append(_Word("end", "", len(self.text)))
        term = self._term(0)
        if self._here.kind != "end":
            raise self._unexpected("a sign such as <= or and between two values")
        return term

    def _word(self, match: re.Match[str]) -> _Word:
        kind = next(kind for kind in ("number", "name", "text", "sign", "other") if match[kind])
        word = _Word(kind, match[0].strip(), match.start(kind))
        if kind == "number":
            return word._replace(constant=self._number(match["number"].replace("_", ""), match["unit"], word.place))
        if kind == "text":
            return word._replace(constant=match["text"][1:-1])
        if kind == "name" and match["name"] in TRUTH:
            return word._replace(kind="truth", constant=TRUTH[match["name"]])
        if kind == "name" and match["name"] in {"and", "or", "not"}:
            return word._replace(kind="sign")
        if kind == "other" or match["sign"] in INSTEAD:
            instead = INSTEAD.get(word.spelling)
            advice = f"; did you mean {instead}?" if instead else ""
            raise self._fault(f"the sign {word.spelling!r} means nothing here{advice}", word.place)
        return word

    def _number(self, digits: str, unit: str | None, place: int) -> Value:
        value = int(digits) if digits.isdigit() else float(digits)
        if not isfinite(value if isinstance(value, float) else 0):
            raise self._fault(f"a number must be at most some 1e308, not {digits}", place)
        return value * UNITS[unit] if unit else value

    def _term(self, lowest: int) -> Term:
        """A value and the signs after it that bind at least as close as ``lowest``."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._fault(f"must nest at most {DEEPEST} levels deep", self._here.place)
        term = self._operand()
        while (binds := PRECEDENCE.get(self._sign, 0)) >= max(lowest, 1):
            term = self._comparison(term) if self._sign in COMPARISONS else self._joined(term, self._taken, binds)
        self.depth -= 1
        return term

    def _joined(self, first: Term, sign: str, binds: int) -> Term:
        second = self._term(SIGNED if sign == "**" else binds + 1)
        return Both(sign == "or", first, second) if sign in {"and", "or"} else Calculation(sign, (first, second))

    def _comparison(self, first: Term) -> Comparison:
        signs, operands = [], [first]
        while self._sign in COMPARISONS:
            signs.append(self._taken)
            operands.append(self._term(PRECEDENCE["=="] + 1))
        return Comparison(tuple(signs), tuple(operands))

    def _operand(self) -> Term:
        word = self._here
        self.next += word.kind != "end"
        if word.kind in {"number", "text", "truth"}:
            return Constant(word.constant)
        if word.kind == "name":
            return self._call(word) if self._sign == "(" else Name(word.spelling)
        if word.spelling == "not":
            return Not(self._term(NEGATION))
        if word.spelling in {"+", "-"}:
            return Calculation(word.spelling, (self._term(SIGNED),))
        if word.spelling == "(" and word.kind == "sign":
            return self._closed(self._term(0), word)
        self.next -= word.kind != "end"
        raise self._unexpected("a number, a name, text or a bracket")

    def _call(self, word: _Word) -> Term:
        if word.spelling not in FUNCTIONS:
            raise self._fault(f"a function {unknown(word.spelling, FUNCTIONS)}", word.place)
        bracket = self._here
        self.next += 1
        operands = [self._term(0)]
        while self._sign == ",":
            self.next += 1
            operands.append(self._term(0))
        takes = FUNCTIONS[word.spelling]
        if len(operands) not in takes:
            wanted = "1 number" if takes[-1] == 1 else f"{takes[0]} numbers or more"
            raise self._fault(f"{word.spelling} takes {wanted}, not {len(operands)}", word.place)
        return self._closed(Calculation(word.spelling, tuple(operands)), bracket)

    def _closed(self, term: Term, bracket: _Word) -> Term:
        if self._sign != ")":
            raise self._unexpected(f"a ) for the ( at character {bracket.place + 1}")
        self.next += 1
        return term

    @property
    def _here(self) -> _Word:
        return self.words[self.next]

    @property
    def _sign(self) -> str:
        return self._here.spelling if self._here.kind == "sign" else ""

    @property
    def _taken(self) -> str:
        """The sign here, which is then behind."""
        self.next += 1
        return self.words[self.next - 1].spelling

    def _unexpected(self, wanted: str) -> InputError:
        word = self._here
        return self._fault(
            f"must go on with {wanted}, not {shown(word.spelling) if word.spelling else 'end'}", word.place
        )

    def _fault(self, sentence: str, place: int | None = None) -> InputError:
        where = "" if place is None else f", character {place + 1}"
        return InputError(f"{shown(self.text)}{where}: {sentence}")
