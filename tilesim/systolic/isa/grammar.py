"""The values of the text form: how a field of each type is written and read back.

============  =========================================  ============================================
type          form                                       example
============  =========================================  ============================================
int           decimal, or 0x and hexadecimal             ``-12`` ``0x40``
float         as Python writes it: exact                 ``0.0235``
bool          true or false                              ``true``
str           bare if it is an identifier, else quoted   ``conv1`` ``"a \\"b\\" \\u{1f600}"``
one of words  the word                                   ``unified_buffer``
tuple         items with commas between; () is empty     ``3,3``
... of those  items in brackets                          ``[9,1,0],[6,1,0]``
record        (field=value field=value ...)              ``(address=0x40 bytes=16 counts=8 strides=32)``
============  =========================================  ============================================

A field that has its default is left out, and so is one of a window whose value follows from the others (``FOLLOWS``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

from tilesim.systolic.isa.model.instructions import Window
from tilesim.systolic.isa.scanner import BARE, SPACE, Fault, Scanner, shown, unknown, written_name

HEXADECIMAL = frozenset({"address", "parameters", "table"})
FOLLOWS: dict[type, dict[str, Callable[[Mapping[str, Any]], Any]]] = {
    Window: {
        "images": lambda _: 1,
        "pixel_bytes": lambda window: window["channels"],
        "row_bytes": lambda window: window["width"] * window["pixel_bytes"],
        "image_bytes": lambda window: window["height"] * window["row_bytes"],
        "output_height": lambda window: window["height"],
        "output_width": lambda window: window["width"],
    }
}
"""What a field is that the text leaves out, in an order in which each follows from those before."""
_LEADING = {"height", "width", "channels"}


@dataclass(frozen=True)
class Codec:
    """How one type of value is written and read; ``read`` raises Fault."""

    write: Callable[[Any], str]
    read: Callable[[Scanner], Any]


@dataclass(frozen=True)
class Field:
    """A field of a record and its default (MISSING if there is none)."""

    codec: Codec
    default: Any


def schema(kind: type, without: tuple[str, ...] = ()) -> dict[str, Field]:
    """The fields of the dataclass ``kind``."""
    hints = get_type_hints(kind)
    kept = [each for each in fields(kind) if each.name not in without]
    return {each.name: Field(_codec(each.name, hints[each.name]), each.default) for each in kept}


def write_fields(value: object, known: Mapping[str, Field]) -> str:
    """The fields of ``value`` that nobody could guess, with a space between."""
    values = {name: getattr(value, name) for name in known}
    return " ".join(f"{name}={known[name].codec.write(values[name])}" for name in _told(type(value), values, known))


def _told(kind: type, values: Mapping[str, Any], known: Mapping[str, Field]) -> list[str]:
    follows = FOLLOWS.get(kind, {})
    guessed = {name for name, field in known.items() if values[name] == field.default}
    guessed |= {name for name, follow in follows.items() if values[name] == follow(values)}
    return [name for name in known if name not in guessed]


def read_fields(scanner: Scanner, kind: type, known: Mapping[str, Field], what: str) -> dict[str, Any]:
    """The fields that stand here, up to the end or a bracket; what is wrong goes to the scanner's ``faults``."""
    start, before = scanner.at, len(scanner.faults)
    values: dict[str, Any] = {}
    scanner.skip(SPACE)
    while scanner.rest and not scanner.rest.startswith(")"):
        begin = scanner.at
        try:
            _read_field(scanner, known, what, values)
        except Fault as fault:
            scanner.faults.append(fault)
            scanner.skip_value(begin)
        scanner.skip(SPACE)
    _fill_in(kind, known, values, sound=len(scanner.faults) == before)
    if missing := [name for name in known if name not in values]:
        scanner.faults.append(Fault(start, f"{what} must also have {', '.join(missing)}"))
    return values


def _read_field(scanner: Scanner, known: Mapping[str, Field], what: str, values: dict[str, Any]) -> None:
    start = scanner.at
    word = scanner.skip(BARE)
    key = word[0] if word else ""
    if not key or not scanner.skips("="):
        scanner.fail(f"must be key=value, not {shown(scanner.text[start:].split()[0])}", start)
    if key not in known:
        scanner.fail(unknown(key, known, f"a key of {what}"), start)
    if key in values:
        scanner.fail(f"{key} must stand only once", start)
    try:
        values[key] = known[key].codec.read(scanner)
        if scanner.rest and scanner.rest[0] not in ") \t\r":
            scanner.fail(f"must end here, not go on with {shown(scanner.rest)}")
    except Fault as fault:
        values[key] = None
        raise Fault(fault.column, f"{key} {fault.sentence}") from None


def _fill_in(kind: type, known: Mapping[str, Field], values: dict[str, Any], sound: bool) -> None:
    """Add what was left out; unless all is ``sound``, only so much that it is there."""
    for name, field in known.items():
        if field.default is not MISSING:
            values.setdefault(name, field.default)
    for name, follow in FOLLOWS.get(kind, {}).items():
        if name not in values:
            values[name] = follow(values) if sound and values.keys() >= _LEADING else None


def _record(kind: type) -> Codec:
    known = schema(kind)

    def read(scanner: Scanner) -> Any:
        before = len(scanner.faults)
        scanner.expect("(")
        values = read_fields(scanner, kind, known, kind.__name__.lower())
        scanner.expect(")")
        return kind(**values) if len(scanner.faults) == before else None

    return Codec(lambda value: f"({write_fields(value, known)})", read)


def _items(item: Codec, length: int | None, bracketed: bool) -> Codec:
    opening, closing = ("[", "]") if bracketed else ("", "")

    def one(scanner: Scanner) -> Any:
        scanner.expect(opening)
        value = item.read(scanner)
        scanner.expect(closing)
        return value

    def read(scanner: Scanner) -> tuple[Any, ...]:
        start = scanner.at
        values = [] if scanner.skips("()") else [one(scanner)]
        while values and scanner.skips(","):
            values.append(one(scanner))
        if length not in (None, len(values)):
            scanner.fail(f"must be {length} values, not {len(values)}", start)
        return tuple(values)

    return Codec(lambda values: ",".join(f"{opening}{item.write(each)}{closing}" for each in values) or "()", read)


def _words(words: Mapping[str, Any]) -> Codec:
    def read(scanner: Scanner) -> Any:
        start, word = scanner.at, scanner.name()
        return words[word] if word in words else scanner.fail(unknown(word, words, "one of its words"), start)

    return Codec(lambda value: str(value).lower(), read)


def read_scalar(scanner: Scanner) -> int | float | bool | str:
    """A value of a topology: what it is, its form alone must tell."""
    for read in (scanner.whole, scanner.real):
        try:
            return read()
        except Fault:
            continue
    quoted, name = scanner.rest.startswith('"'), scanner.name()
    return name == "true" if name in {"true", "false"} and not quoted else name


def write_scalar(value: float | str) -> str:
    """What ``read_scalar`` reads."""
    return written_name(value) if isinstance(value, str) else repr(value).lower()


_SIMPLE = {
    int: Codec(lambda value: str(int(value)), Scanner.whole),
    float: Codec(lambda value: repr(float(value)), Scanner.real),
    str: Codec(written_name, Scanner.name),
    bool: _words({"true": True, "false": False}),
}
_ADDRESS = Codec(lambda value: f"{int(value):#x}", Scanner.whole)


def _codec(name: str, hint: Any) -> Codec:
    if name in HEXADECIMAL:
        return _ADDRESS
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        item = _codec("", arguments[0])
        return _items(item, None if arguments[-1] is Ellipsis else len(arguments), get_origin(arguments[0]) is tuple)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _words({str(each): each for each in hint})
    records = [each for each in arguments or (hint,) if is_dataclass(each) and isinstance(each, type)]
    return _record(records[0]) if records else _words({word: word for word in arguments})
