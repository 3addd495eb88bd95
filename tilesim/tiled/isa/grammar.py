"""The values of the text form: how a field of each type is written and read back.

=============  ==========================================  ===============================================
type           form                                        example
=============  ==========================================  ===============================================
int            decimal, or 0x and hexadecimal              ``-12`` ``0x40``
float          as Python writes it: exact                  ``0.0235``
str            bare if it is an identifier, else quoted    ``conv1`` ``"a \\"b\\" \\u{1f600}"``
enumeration    one of its names                            ``mesh_north_in``
tuple          values with commas between; () is nothing   ``1,32,32,3``
Nest           [loop:bound,... alternate loop:limit]       ``[y:32,x:32,lane:16 alternate y:8]``
Reference      @base+loop*stride...                        ``@0x40+y*544+x*-16``
Traversal      [nest reference]                            ``[y:52,w:10 @0x40+y*544+w*4]``
Watcher        flag@loop>=expected+stride                  ``wide_to_narrow@y>=3+1``
another record [field:value field:value ...]: all fields   ``[origin:8,0,0 extent:4,32,3 pixel_bytes:4 rows:2]``
=============  ==========================================  ===============================================
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from tilesim.tiled.isa.model.fields import Alternate, Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.scanner import (
    BARE,
    NUMBER,
    REAL,
    Scanner,
    read_name,
    read_number,
    read_real,
    shown,
    unknown,
    write_name,
)

_ALTERNATE = re.compile(r"alternate +")
_SPACES = re.compile(r" *")
_HEXADECIMAL = frozenset({"tiles", "to", "address"})


@dataclass(frozen=True)
class Codec:
    """How one type of value is written and read."""

    write: Callable[[Any], str]
    read: Callable[[Scanner], Any]

    def read_all(self, text: str, column: int = 0) -> Any:
        """The value that the whole of ``text`` stands for. Raises Fault."""
        scanner = Scanner(text, column)
        value = self.read(scanner)
        if scanner.rest:
            scanner.fail(f"must end here, not go on with {shown(scanner.rest)}")
        return value


def read_scalar(scanner: Scanner) -> int | float | bool | str:
    """A value of a topology: what it is, its form alone must tell."""
    if scanner.text in {"true", "false"}:
        return scanner.skips("true") or not scanner.skips("false")
    if NUMBER.match(scanner.text):
        return read_number(scanner)
    return read_real(scanner) if REAL.match(scanner.text) else read_name(scanner)


def write_scalar(value: float | bool | str) -> str:
    """What ``read_scalar`` reads."""
    if isinstance(value, str):
        return write_name(value) if value not in {"true", "false", "inf", "nan"} else f'"{value}"'
    return repr(value).lower()


def _write_reference(value: Reference) -> str:
    return f"@{value.base:#x}" + "".join(f"+{write_name(loop)}*{stride}" for loop, stride in value.strides)


def _read_reference(scanner: Scanner) -> Reference:
    scanner.expect("@")
    base, strides = read_number(scanner), []
    while scanner.skips("+"):
        loop = read_name(scanner)
        scanner.expect("*")
        strides.append((loop, read_number(scanner)))
    return Reference(base, tuple(strides))


def _nest_parts(value: Nest) -> list[str]:
    loops = ",".join(f"{write_name(loop.name)}:{loop.bound}" for loop in value.loops)
    alternate = value.alternate
    return [loops, f"alternate {write_name(alternate.loop)}:{alternate.limit}" if alternate else ""]


def _bracketed(parts: list[str]) -> str:
    return f"[{' '.join(filter(None, parts))}]"


def _read_counted(scanner: Scanner) -> tuple[str, int]:
    name = read_name(scanner)
    scanner.expect(":")
    return name, read_number(scanner)


def _read_loops(scanner: Scanner) -> Nest:
    loops, alternate = [], None
    scanner.expect("[")
    if scanner.rest[:1] not in ("]", "@", "") and not _ALTERNATE.match(scanner.text, scanner.at):
        loops.append(Loop(*_read_counted(scanner)))
        while scanner.skips(","):
            loops.append(Loop(*_read_counted(scanner)))
    scanner.skip(_SPACES)
    if scanner.skip(_ALTERNATE):
        alternate = Alternate(*_read_counted(scanner))
    scanner.skip(_SPACES)
    return Nest(tuple(loops), alternate)


def _read_nest(scanner: Scanner) -> Nest:
    nest = _read_loops(scanner)
    scanner.expect("]")
    return nest


def _read_traversal(scanner: Scanner) -> Traversal:
    traversal = Traversal(_read_loops(scanner), _read_reference(scanner))
    scanner.expect("]")
    return traversal


def _record(kind: type) -> Codec:
    codecs = {name: codec_of("", hint) for name, hint in get_type_hints(kind).items()}

    def write(value: object) -> str:
        return f"[{' '.join(f'{name}:{codec.write(getattr(value, name))}' for name, codec in codecs.items())}]"

    def read(scanner: Scanner) -> Any:
        scanner.expect("[")
        values: dict[str, Any] = {}
        for name, codec in codecs.items():
            scanner.expect(f" {name}:" if values else f"{name}:")
            values[name] = codec.read(scanner)
        scanner.expect("]")
        return kind(**values)

    return Codec(write, read)


def _choice(kind: type[StrEnum]) -> Codec:
    words = re.sub("(?!^)([A-Z])", r" \1", kind.__name__).lower()
    names, what = frozenset(kind), f"{'an' if words[0] in 'aeio' else 'a'} {words}"

    def read(scanner: Scanner) -> StrEnum:
        start, word = scanner.at, scanner.take(BARE, what)[0]
        if word not in names:
            scanner.fail(unknown(word, names, what), start)
        return kind(word)

    return Codec(str, read)


_FLAG = _choice(Flag)


def _write_watcher(value: Watcher) -> str:
    loop = "" if value.loop is None else f"@{write_name(value.loop)}"
    return f"{value.flag}{loop}>={value.expected}" + (f"+{value.stride}" if value.stride else "")


def _read_watcher(scanner: Scanner) -> Watcher:
    flag = _FLAG.read(scanner)
    loop = read_name(scanner) if scanner.skips("@") else None
    scanner.expect(">=")
    expected = read_number(scanner)
    return Watcher(flag, expected, loop, read_number(scanner) if scanner.skips("+") else 0)


def _listed(item: Codec, length: int | None) -> Codec:
    def read(scanner: Scanner) -> tuple[Any, ...]:
        values = [item.read(scanner)] if scanner.rest else []
        while scanner.skips(","):
            values.append(item.read(scanner))
        if length not in (None, len(values)):
            scanner.fail(f"must be {length} values, not {len(values)}", 0)
        return tuple(values)

    return Codec(lambda values: ",".join(map(item.write, values)), read)


HEXADECIMAL = Codec(lambda value: f"{int(value):#x}", read_number)
NAME = Codec(write_name, read_name)
SCALAR = Codec(write_scalar, read_scalar)
_CODECS: dict[Any, Codec] = {
    int: Codec(lambda value: str(int(value)), read_number),
    float: Codec(lambda value: repr(float(value)), read_real),
    str: NAME,
    Reference: Codec(_write_reference, _read_reference),
    Nest: Codec(lambda nest: _bracketed(_nest_parts(nest)), _read_nest),
    Traversal: Codec(
        lambda value: _bracketed([*_nest_parts(value.nest), _write_reference(value.reference)]), _read_traversal
    ),
    Watcher: Codec(_write_watcher, _read_watcher),
}


def codec_of(name: str, hint: Any) -> Codec:
    """The codec of a field called ``name`` with the type ``hint``; bitmaps and addresses are hexadecimal."""
    if name in _HEXADECIMAL:
        return HEXADECIMAL
    if hint in _CODECS:
        return _CODECS[hint]
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return _listed(codec_of("", arguments[0]), None if arguments[-1] is Ellipsis else len(arguments))
    if is_dataclass(hint) and isinstance(hint, type):
        return _record(hint)
    if arguments:  # X | None: None is always the default, and defaults are never written
        return codec_of("", next(each for each in arguments if each is not NoneType))
    return _choice(hint)
