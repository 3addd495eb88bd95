"""Records: the fields of the dataclasses and named tuples that programs consist of, written and read back as their
types say.

In the text form:

============  ==========================================  =============================================================
type          form                                        example
============  ==========================================  =============================================================
int           decimal, or 0x and hexadecimal              ``-12`` ``0x40``
float         as Python writes it: exact                  ``0.0235``
bool          true or false                               ``true``
str           bare, or in quotes                          ``conv1`` ``"a \\"b\\" \\u{1f600}"``
enumeration   one of its names, or of the literal's       ``mesh_north_in``
tuple         items with commas between                   ``1,32,32,3``
... of those  items in brackets                           ``[9,1,0],[6,1,0]``
record        its fields, in a machine's own brackets     ``(address=0x40 bytes=16)`` ``[rows:2 first:0 keep:4 gap:0]``
============  ==========================================  =============================================================

A field that has its default is left out, and so is one that follows from others. What else there is, machines say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tilesim.assembly import values
from tilesim.assembly.scanner import BRACKETED, IDENTIFIER, Fault, Faults, Scanner, Word, split_key, words_of
from tilesim.assembly.values import HEXADECIMAL, NUMBERS, REALS, SIZE, TRUTH, Notation, enumeration, items, one_word
from tilesim.printable import unknown

C = TypeVar("C")
BYTES = NDArray[np.uint8]
"""The type of the bytes of a data segment."""

Implied: TypeAlias = Mapping[str, Callable[[Mapping[str, Any]], Any]]
"""What fields are that the text leaves out, in an order in which each follows from those before."""


@dataclass(frozen=True)
class Field(Generic[C]):
    """One field of a record: how its type is written, and its default (MISSING if there is none)."""

    name: str
    codec: C
    default: Any

    @property
    def optional(self) -> bool:
        return self.default is not MISSING


def fields_of(
    kind: type, codec_of: Callable[[str, Any], C], among: Container[Any] | None = None
) -> dict[str, Field[C]]:
    """The fields of a class of records, all or those of some types, bytes behind the others; ``codec_of`` gets each
    one's name and type.
    """
    hints, defaults = get_type_hints(kind), _defaults(kind)
    return {
        name: Field(name, codec_of(name, hints[name]), defaults[name])
        for name in sorted(defaults, key=lambda name: hints[name] == BYTES)
        if among is None or hints[name] in among
    }


def is_record(hint: Any) -> bool:
    """Whether it is a class of records: a dataclass or a named tuple."""
    return isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "_field_defaults"))


def _defaults(kind: Any) -> Mapping[str, Any]:
    """What each field of a class of records has by default."""
    if is_dataclass(kind):
        return {member.name: member.default for member in fields(kind)}
    return {name: kind._field_defaults.get(name, MISSING) for name in kind._fields}


def inner_type(hint: Any) -> Any:
    """The type of a value of ``X | None`` or of an item of ``tuple[X, ...]``: X."""
    return get_args(hint)[0]


@dataclass(frozen=True)
class RecordForm:
    """How a kind of record is written: its fields by their keys, and what its head ``said`` already."""

    kind: Callable[..., Any]
    fields: Mapping[str, Field[Notation]]
    implied: Implied
    said: Mapping[str, Any] = field(default_factory=dict)

    def saying(self, said: Mapping[str, Any]) -> RecordForm:
        """This form of a line whose head says what some fields are."""
        return replace(self, said=said, fields={key: self.fields[key] for key in self.fields if key not in said})

    def write(self, value: object, equals: str = "=") -> list[str]:
        """``key=value`` for each field of ``value`` that nobody could guess."""
        told: dict[str, str] = {}
        for key, member in self.fields.items():
            given = getattr(value, member.name)
            if not member.optional or given != member.default:
                told[key] = f"{key}{equals}{member.codec.write(given)}"
        for key, follow in self.implied.items():
            if key in told and follow(vars(value)) == getattr(value, key):
                del told[key]
        return list(told.values())

    def read(self, words: Iterable[Word], what: Word, equals: str = "=", **extra: object) -> Any:
        """The record ``what`` whose fields ``words`` give, and ``extra``. Raises Fault, Faults: all that is wrong."""
        given: dict[str, Any] = {}
        faults: list[Fault] = []
        for word in words:
            try:
                key, text = split_key(word, equals)
                self._must_take(key, given, word.column, what.text)
                given[key] = None
                given[key] = self.fields[key].codec.read_word(key, text)
            except Fault as fault:
                faults.append(fault)
            except Faults as several:
                faults += several.faults
        if missing := [key for key in self._needed if key not in given]:
            faults.append(Fault(what.column, f"{what.text} must also have {', '.join(missing)}"))
        if faults:
            raise Faults(faults)
        for key, follow in self.implied.items():
            if key not in given:
                given[key] = follow(given)
        return self.kind(**{self.fields[key].name: value for key, value in given.items()}, **self.said, **extra)

    @cached_property
    def _needed(self) -> list[str]:
        return [key for key, member in self.fields.items() if not member.optional and key not in self.implied]

    def _must_take(self, key: str, given: Mapping[str, Any], column: int, what: str) -> None:
        if key not in self.fields:
            raise Fault(column, unknown(key, self.fields, f"a key of {what}"))
        if key in given:
            raise Fault(column, f"{key} must stand only once")


@dataclass(frozen=True, eq=False)
class Grammar:
    """How a machine's programs spell values.

    Attributes:
        special: how types are written that only this machine has.
        hexadecimal: the names of whole numbers that are written so: bitmaps and addresses.
        brackets: what opens a record within a line, stands between a field and its value, and closes it.
        empty: a tuple of nothing.
        bare: names that need no quotes.
        implied: fields of records that follow from others.
        former: names that an enumeration had once, which a list of them may still hold: they are left out.
    """

    special: Mapping[Any, Notation] = field(default_factory=dict)
    hexadecimal: frozenset[str] = frozenset()
    brackets: tuple[str, str, str] = ("(", "=", ")")
    empty: str = "()"
    bare: re.Pattern[str] = IDENTIFIER
    implied: Mapping[type, Implied] = field(default_factory=dict)
    former: Mapping[type, Collection[str]] = field(default_factory=dict)

    @cached_property
    def names(self) -> Notation:
        """Of text."""
        return values.names(self.bare)

    @cached_property
    def scalars(self) -> Notation:
        """Of the values of a chip."""
        return values.scalars(self.bare)

    def form(self, kind: type, among: Container[Any] | None = None) -> RecordForm:
        """Of the dataclass ``kind``, all fields or those of some types; the key of an array is ``bytes``."""
        members = fields_of(kind, self.notation, among).values()
        keys = {"bytes" if member.codec is SIZE else member.name: member for member in members}
        return RecordForm(kind, keys, self.implied.get(kind, {}))

    def notation(self, name: str, hint: Any) -> Notation:
        """Of a field called ``name`` with the type ``hint``."""
        if hint in self._simple:
            return HEXADECIMAL if hint is int and name in self.hexadecimal else self._simple[hint]
        arguments, origin = get_args(hint), get_origin(hint)
        if origin is tuple:
            length = None if arguments[-1] is Ellipsis else len(arguments)
            brackets = "[]" if get_origin(arguments[0]) is tuple else ""
            return items(self._item(arguments[0]), length, self.empty, brackets)
        if origin is Literal:
            return one_word({word: word for word in arguments}, "one of its words")
        if arguments:  # X | None: None is always the default, and defaults are never written
            return self.notation(name, inner_type(hint))
        return enumeration(hint) if issubclass(hint, StrEnum) else self._record(hint)

    def _item(self, hint: Any) -> Notation:
        """Of an item of a tuple."""
        return enumeration(hint, self.former[hint]) if hint in self.former else self.notation("", hint)

    @cached_property
    def _simple(self) -> Mapping[Any, Notation]:
        return {int: NUMBERS, float: REALS, bool: TRUTH, str: self.names, BYTES: SIZE, **self.special}

    def _record(self, kind: type) -> Notation:
        form, (opening, equals, closing) = self.form(kind), self.brackets

        def read(scanner: Scanner) -> Any:
            start = scanner.at
            scanner.expect(opening)
            brackets = BRACKETED.match(scanner.text, start)
            scanner.at = brackets.end() - 1 if brackets else len(scanner.text)
            words = words_of(scanner.text[start + 1 : scanner.at], scanner.column + start + 1)
            record = form.read(words, Word(kind.__name__.lower(), scanner.column + start), equals)
            scanner.expect(closing)
            return record

        return Notation(lambda value: f"{opening}{' '.join(form.write(value, equals))}{closing}", read)
