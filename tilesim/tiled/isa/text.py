"""The text form of a program, ``.tasm``: a line an instruction, and a line a thing that the program is made of.

A line is a directive or an instruction, then ``key=value`` words; a key that has its default is left out. ``label:``
may stand before an instruction, ``;`` opens a comment. ``grammar`` says how each value looks::

    .tasm 1
    .program name=resnet8
    .chip machine=tiled name=edge_4x4
    .chip grid rows=4 columns=4
    .data name=params address=0x0 bytes=81920
    .input name=in0 index=0 dtype=int8 shape=1,32,32,3 axes=0,1,2,3 element=i8 extent=32,32,3 \
           blocks=[origin:0,0,0 extent:32,32,3 pixel_bytes:4 rows:16] pad=-128
    .output name=out0 index=0 dtype=int8 shape=1,10 axes=0,1 element=i8 extent=1,1,10 \
            blocks=[origin:0,0,0 extent:1,1,10 pixel_bytes:12 rows:1]
    .layer name=conv1 kind=convolution macs=442368  ; 0
    .load
      ring_consume tiles=0x1 write=[r:36 @0x0+r*256] produce=r
      infeed source=data rows=36 to=0x1
    .run
    L3: wide_to_narrow tiles=0x1 read=[r:8 @0x0+r*256] write=[y:52,w:10 alternate y:2 @0x40+y*544+w*4]

The bytes of the data segments are not part of the text; ``storage`` keeps them beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import MOST_FAULTS
from tilesim.errors import ProgramError
from tilesim.tiled.isa.chip import Entry, Place, Section, build_topology, read_chip_line, write_chip
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Instruction
from tilesim.tiled.isa.model.program import (
    Candidate,
    DataSegment,
    HostTensor,
    Layer,
    Program,
    Region,
    Request,
    TensorLayout,
    TensorPiece,
)
from tilesim.tiled.isa.records import Line, read_line, read_record, write_record
from tilesim.tiled.isa.scanner import Fault, shown, unknown, write_name

VERSION = "1"
SegmentBytes: TypeAlias = Mapping[str, NDArray[np.uint8]]


@dataclass(frozen=True)
class _Title:
    """What the text says of the program as a whole."""

    name: str
    token: int = 0
    partition: str = ""


@dataclass(frozen=True)
class _Segment:
    """What the text says of a data segment: all but the bytes."""

    name: str
    address: int
    bytes: int


_MNEMONICS: dict[str, type[Instruction]] = {kind.mnemonic: kind for kind in INSTRUCTIONS}
_SECTIONS = {".load": "load", ".run": "run"}
_LISTS: dict[str, tuple[str, type]] = {
    ".data": ("data", _Segment),
    ".input": ("inputs", HostTensor),
    ".output": ("outputs", HostTensor),
    ".layer": ("layers", Layer),
    ".tensor": ("tensors", TensorLayout),
    ".piece": ("pieces", TensorPiece),
    ".region": ("regions", Region),
    ".request": ("requests", Request),
    ".candidate": ("candidates", Candidate),
}
_RECORDS = {".program": ("title", _Title), **_LISTS}
_HEADS = (*_MNEMONICS, *_SECTIONS, *_RECORDS, ".chip")


def write_text(program: Program) -> str:
    """``program`` as text, without the bytes of its data segments; ``read_text`` gives the same program back."""
    return "".join(f"{line}\n" for line in _lines(program))


def _lines(program: Program) -> Iterator[str]:
    yield f".tasm {VERSION}"
    yield f".program{write_record(_Title(program.name, program.token, program.partition))}"
    yield from write_chip(program.topology)
    for head, (attribute, kind) in _LISTS.items():
        for place, value in enumerate(getattr(program, attribute)):
            record = _Segment(value.name, value.address, value.data.size) if kind is _Segment else value
            # Instructions name layers by their place, so the text shows it.
            yield f"{head}{write_record(record)}{f'  ; {place}' if kind is Layer else ''}"
    for head, attribute in _SECTIONS.items():
        yield head
        yield from map(write_instruction, getattr(program, attribute))


def write_instruction(instruction: Instruction) -> str:
    """One instruction as a line of text, its label first."""
    label = f"{write_name(instruction.label)}:" if instruction.label else " "
    return f"{label} {instruction.mnemonic}{write_record(instruction)}"


def read_text(text: str, path: Path, data: SegmentBytes | None = None) -> Program:
    """The program that ``text`` describes.

    Args:
        text: What ``write_text`` writes.
        path: Where the text is from; only the faults name it.
        data: The uint8 bytes of each data segment, by its name.

    Raises:
        ProgramError: With every fault of the text, as ``path:line:column: sentence``.
    """
    reader = _Reader()
    reader.read(text)
    program = reader.program(data or {})
    if program is None:
        faults = sorted(reader.faults)
        raise ProgramError(f"{path}:{place.line}:{place.column + 1}: {sentence}" for place, sentence in faults)
    return program


@dataclass
class _Reader:
    """What has been read so far, and the faults."""

    faults: list[tuple[Place, str]] = field(default_factory=list)
    found: dict[str, list[Any]] = field(default_factory=dict)
    places: dict[str, list[Place]] = field(default_factory=dict)
    chip: dict[Section, Entry] = field(default_factory=dict)
    section: str = ""

    def read(self, text: str) -> None:
        """Every line of ``text``; a file that does not begin as one is not taken apart any further."""
        begun = False
        for number, content in enumerate(text.split("\n"), 1):
            if len(self.faults) >= MOST_FAULTS:
                self._fault(number, Fault(0, f"reading ends here, after {len(self.faults)} faults"))
                return
            try:
                line = read_line(content)
                if line and begun:
                    self._read_line(number, line)
                elif line:
                    _must_begin(line)
                    begun = True
            except Fault as fault:
                self._fault(number, fault)
                if not begun:
                    return
        if not begun:
            self._fault(1, Fault(0, f"a program must begin with .tasm {VERSION}, not be empty"))

    def program(self, data: SegmentBytes) -> Program | None:
        """The program, or None if there are faults."""
        topology = None
        if not self.faults or self.chip:
            topology = build_topology(self.chip, self.faults)
        if not self.faults and len(self.found.get("title", ())) != 1:
            self.faults.append((Place(1, 0), "there must be one .program line"))
        segments = [
            DataSegment(each.name, each.address, self._bytes(each, place, data))
            for each, place in zip(self.found.get("data", ()), self.places.get("data", ()), strict=True)
        ]
        for name in data.keys() - {segment.name for segment in segments}:
            self.faults.append((Place(1, 0), f"a .data line must say where the bytes of {shown(name)} go"))
        if self.faults or topology is None:
            return None
        lists = {name: tuple(values) for name, values in self.found.items() if name not in {"title", "data"}}
        empty: dict[str, Any] = {"load": (), "run": ()}
        title = self.found["title"][0]
        known = {"data": tuple(segments), "token": title.token, "partition": title.partition}
        return Program(title.name, topology, **{**empty, **lists, **known})

    def _bytes(self, segment: _Segment, place: Place, data: SegmentBytes) -> NDArray[np.uint8]:
        given = data.get(segment.name)
        if given is not None and given.dtype == np.uint8 and given.shape == (segment.bytes,):
            return given
        have = "none" if given is None else f"{given.dtype} of the shape {given.shape}"
        wanted = f"{segment.bytes} bytes (uint8) beside the text"
        self.faults.append((place, f"the data segment {shown(segment.name)} must have {wanted}, not {have}"))
        return np.zeros(0, np.uint8)

    def _fault(self, number: int, fault: Fault) -> None:
        self.faults.append((Place(number, fault.column), fault.sentence))

    def _read_line(self, number: int, line: Line) -> None:
        head = line.head.text
        if head not in _HEADS:
            what = "a directive" if head.startswith(".") else "an instruction"
            raise Fault(line.head.column, unknown(head, _HEADS, what))
        if line.label and head not in _MNEMONICS:
            raise Fault(line.head.column, f"a label must stand before an instruction, not before {head}")
        if head == ".chip":
            for fault in read_chip_line(number, line, self.chip):
                self._fault(number, fault)
        elif head in _SECTIONS:
            self._open(line)
        elif head in _RECORDS:
            self._record(number, line, *_RECORDS[head], {})
        else:
            self._record(number, line, self.section, _MNEMONICS[head], {"label": line.label})
            if not self.section:
                raise Fault(line.head.column, "an instruction must stand below .load or .run")

    def _open(self, line: Line) -> None:
        self.section = _SECTIONS[line.head.text]
        for word in line.words[:1]:
            raise Fault(word.column, f"{line.head.text} must stand alone, not before {shown(word.text)}")

    def _record(self, number: int, line: Line, name: str, kind: type, extra: dict[str, str]) -> None:
        faults: list[Fault] = []
        values = read_record(kind, line, faults)
        for fault in faults:
            self._fault(number, fault)
        if not faults:
            self.found.setdefault(name, []).append(kind(**values, **extra))
            self.places.setdefault(name, []).append(Place(number, line.head.column))


def _must_begin(line: Line) -> None:
    words = [line.head.text, *(word.text for word in line.words)]
    if words != [".tasm", VERSION]:
        raise Fault(line.head.column, f"a program must begin with .tasm {VERSION}, not {shown(' '.join(words))}")
