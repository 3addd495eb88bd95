"""The programs of the tiled chip as text and as bytes: its directives, and the values that only it has.

=============  ==========================================  ===============================================
type           form                                        example
=============  ==========================================  ===============================================
Nest           [loop:bound,... alternate loop:limit]       ``[y:32,x:32,lane:16 alternate y:8]``
Reference      @base+loop*stride...                        ``@0x40+y*544+x*-16``
Traversal      [nest reference]                            ``[y:52,w:10 @0x40+y*544+w*4]``
Watcher        flag@loop>=expected+stride                  ``wide_to_narrow@y>=3+1``
record         [field:value field:value ...]               ``[origin:8,0,0 extent:4,32,3 pixel_bytes:4 rows:2]``
=============  ==========================================  ===============================================
"""

from __future__ import annotations

import re

from tilesim.assembly.files import Assembly
from tilesim.assembly.records import Grammar
from tilesim.assembly.scanner import Scanner, write_name
from tilesim.assembly.values import Notation, enumeration
from tilesim.tiled.isa.model.fields import FORMER_FLAGS, Alternate, Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS
from tilesim.tiled.isa.model.program import Program

_ALTERNATE = re.compile(r"alternate +")
_SPACES = re.compile(r" *")
_FLAG = enumeration(Flag)


def _write_reference(value: Reference) -> str:
    return f"@{value.base:#x}" + "".join(f"+{write_name(loop)}*{stride}" for loop, stride in value.strides)


def _read_reference(scanner: Scanner) -> Reference:
    scanner.expect("@")
    base, strides = scanner.number(), []
    while scanner.skips("+"):
        loop = scanner.name()
        scanner.expect("*")
        strides.append((loop, scanner.number()))
    return Reference(base, tuple(strides))


def _write_loops(value: Nest) -> str:
    loops = ",".join(f"{write_name(loop.name)}:{loop.bound}" for loop in value.loops)
    alternate = f"alternate {write_name(value.alternate.loop)}:{value.alternate.limit}" if value.alternate else ""
    return " ".join(filter(None, [loops, alternate]))


def _read_counted(scanner: Scanner) -> tuple[str, int]:
    name = scanner.name()
    scanner.expect(":")
    return name, scanner.number()


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


def _write_traversal(value: Traversal) -> str:
    return f"[{' '.join(filter(None, [_write_loops(value.nest), _write_reference(value.reference)]))}]"


def _read_traversal(scanner: Scanner) -> Traversal:
    traversal = Traversal(_read_loops(scanner), _read_reference(scanner))
    scanner.expect("]")
    return traversal


def _write_watcher(value: Watcher) -> str:
    loop = "" if value.loop is None else f"@{write_name(value.loop)}"
    return f"{value.flag}{loop}>={value.expected}" + (f"+{value.stride}" if value.stride else "")


def _read_watcher(scanner: Scanner) -> Watcher:
    flag = _FLAG.read(scanner)
    loop = scanner.name() if scanner.skips("@") else None
    scanner.expect(">=")
    expected = scanner.number()
    return Watcher(flag, expected, loop, scanner.number() if scanner.skips("+") else 0)


ASSEMBLY = Assembly(
    Program,
    INSTRUCTIONS,
    {
        ".data": "data",
        ".input": "inputs",
        ".output": "outputs",
        ".layer": "layers",
        ".tensor": "tensors",
        ".piece": "pieces",
        ".region": "regions",
        ".request": "requests",
        ".taken": "taken",
        ".given": "given",
        ".constant": "constants",
        ".step": "steps",
        ".candidate": "candidates",
    },
    Grammar(
        special={
            Reference: Notation(_write_reference, _read_reference),
            Nest: Notation(lambda nest: f"[{_write_loops(nest)}]", _read_nest),
            Traversal: Notation(_write_traversal, _read_traversal),
            Watcher: Notation(_write_watcher, _read_watcher),
        },
        hexadecimal=frozenset({"tiles", "to", "address"}),
        brackets=("[", ":", "]"),
        empty="",
        former={Flag: FORMER_FLAGS},
    ),
    blobs=("data", "constants"),
    rules=(
        "arithmetic",
        "assembly",
        "machines",
        "network/graph.py",
        "network/operators",
        "ragged.py",
        "tiled/isa",
        "tiled/rules",
        "tiled/topology.py",
    ),
)
