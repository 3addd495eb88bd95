"""The text form of a program, ``.tasm``: a line an instruction, and a line a thing that the program is made of.

``label:`` may stand before an instruction, ``;`` opens a comment; ``grammar`` says how each value looks. A program::

    .tasm 1
    .program name=mlp
    .chip machine=systolic name=systolic-4
    .chip array rows=4 columns=4 weights=columns
    .data name=weights bytes=16
    .input name=in0 index=0 dtype=int8 shape=1,4 axes=0,1 element=int8
    .output name=out0 index=0 dtype=int8 shape=1,4 axes=0,1 element=int8
    .layer name=dense kind=fully_connected macs=16 vectors=1 inputs=4 outputs=4  ; 0
    .load
      read_host_memory source=data destination=weight_memory bytes=16
      halt
    .run
    L1: read_host_memory bytes=4
    L2: read_weights
      sync unit=matrix until=dma_in count=1
    L3: matrix_multiply window=(address=0x0 height=1 width=1 channels=4) rows=4 columns=4 layer=0
      halt

A program that several inferences share has a ``.batching`` line, and a ``.step`` line a step. The bytes of the data
segments are not part of the text; ``storage`` keeps them beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import MOST_FAULTS
from tilesim.errors import ProgramError
from tilesim.systolic.isa.chip import Entry, Key, build_topology, read_chip_line, write_chip
from tilesim.systolic.isa.grammar import Field, read_fields, schema, write_fields
from tilesim.systolic.isa.model.instructions import CLASSES, Combine, Instruction, MatrixMultiply
from tilesim.systolic.isa.model.program import Batching, DataSegment, HostTensor, Layer, Program, Step, TensorPlace
from tilesim.systolic.isa.scanner import BARE, SPACE, Fault, Scanner, shown, unknown, without_comment, written_name

VERSION = "1"
SegmentBytes = Mapping[str, NDArray[np.uint8]]


@dataclass(frozen=True)
class _Title:
    """What the text says of the program as a whole."""

    name: str
    inferences: int = 1


@dataclass(frozen=True)
class _Segment:
    """What the text says of a data segment: all but the bytes."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Form:
    """A kind of line: what it stands for, in what list of the program, and fields that its head says already."""

    kind: type
    list: str
    said: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, Field] = field(default_factory=dict)


def _form(kind: type, where: str, said: Mapping[str, Any], without: tuple[str, ...] = ()) -> Form:
    known = schema(kind, (*said, *without))
    if "layer" in known and issubclass(kind, Instruction):
        known["layer"] = known.pop("layer")  # at the end of a line
    return Form(kind, where, said, known)


SECTIONS = {".load": "load", ".run": "run"}
_SPELLINGS: dict[type, dict[str, dict[str, Any]]] = {
    MatrixMultiply: {"matrix_multiply": {}, "convolve": {}},
    Combine: {"add": {"function": "add"}, "multiply": {"function": "multiply"}},
}
"""Instructions that have several mnemonics, and what each says."""
INSTRUCTIONS = {
    mnemonic: _form(kind, "", said, ("label",))
    for kind in CLASSES
    for mnemonic, said in _SPELLINGS.get(kind, {str(kind.mnemonic): {}}).items()
}
DIRECTIVES = {
    ".program": _form(_Title, "title", {}),
    ".data": _form(_Segment, "data", {}),
    ".input": _form(HostTensor, "inputs", {}),
    ".output": _form(HostTensor, "outputs", {}),
    ".layer": _form(Layer, "layers", {}),
    ".tensor": _form(TensorPlace, "tensors", {}),
    ".batching": _form(Batching, "batching", {"steps": ()}),
    ".step": _form(Step, "steps", {}),
}
_HEADS = (*INSTRUCTIONS, *SECTIONS, *DIRECTIVES, ".chip")


def write_text(program: Program) -> str:
    """``program`` as text, without the bytes of its data segments; ``read_text`` gives the same program back."""
    return "".join(f"{line}\n" for line in _lines(program))


def _lines(program: Program) -> Iterator[str]:
    yield f".tasm {VERSION}"
    yield _line(".program", _Title(program.name, program.inferences))
    yield from write_chip(program.topology)
    yield from (_line(".data", _Segment(each.name, each.data.size)) for each in program.data)
    for head in (".input", ".output", ".layer", ".tensor"):
        for place, value in enumerate(getattr(program, DIRECTIVES[head].list)):
            # Instructions name layers by their place, so the text shows it.
            yield _line(head, value) + (f"  ; {place}" if head == ".layer" else "")
    if program.batching:
        yield _line(".batching", program.batching)
        yield from (_line(".step", step) for step in program.batching.steps)
    for head, name in SECTIONS.items():
        yield head
        yield from map(write_instruction, getattr(program, name))


def _line(head: str, value: object) -> str:
    return f"{head} {write_fields(value, DIRECTIVES[head].known)}".rstrip()


def write_instruction(op: Instruction) -> str:
    """One instruction as a line of text, its label first."""
    label = f"{written_name(op.label)}:" if op.label else " "
    return f"{label} {op.mnemonic} {write_fields(op, INSTRUCTIONS[op.mnemonic].known)}".rstrip()


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
        found = sorted(dict.fromkeys(reader.faults))
        raise ProgramError(f"{path}:{line}:{column + 1}: {sentence}" for (line, column), sentence in found)
    return program


@dataclass
class _Reader:
    """What has been read so far, and the faults, each with its line, from 1, and its column, from 0."""

    faults: list[tuple[tuple[int, int], str]] = field(default_factory=list)
    found: dict[str, list[Any]] = field(default_factory=dict)
    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    chip: dict[Key, Entry] = field(default_factory=dict)
    section: str = ""

    def read(self, text: str) -> None:
        """Every line of ``text``; a file that does not begin as one is not taken apart any further."""
        lines = enumerate(map(without_comment, text.split("\n")), 1)
        full = [(number, line) for number, line in lines if line.strip()]
        if not full or full[0][1].split() != [".tasm", VERSION]:
            number, line = full[0] if full else (1, "")
            self.faults.append(((number, 0), f"a program must begin with .tasm {VERSION}, not {shown(line.strip())}"))
            return
        for number, line in full[1:]:
            if len(self.faults) >= MOST_FAULTS:
                self.faults.append(((number, 0), f"reading ends here, after {len(self.faults)} faults"))
                return
            try:
                self._read_line(number, Scanner(line.rstrip()))
            except Fault as fault:
                self.faults.append(((number, fault.column), fault.sentence))

    def _read_line(self, number: int, scanner: Scanner) -> None:
        scanner.skip(SPACE)
        start, label = scanner.at, ""
        if not scanner.rest.startswith("."):
            word = scanner.name()
            if scanner.skips(":"):
                label = word
                scanner.skip(SPACE)
            else:
                scanner.at = start
        start = scanner.at
        head = ("." if scanner.skips(".") else "") + (match[0] if (match := scanner.skip(BARE)) else "")
        if head not in _HEADS or (scanner.rest and not scanner.rest[0].isspace()):
            what = "a directive" if head.startswith(".") else "an instruction"
            word = (scanner.text[start:].split() or [""])[0]
            scanner.fail(unknown(word, _HEADS, what), start)
        if label and head not in INSTRUCTIONS:
            scanner.fail(f"a label must stand before an instruction, not before {head}", start)
        self._take(number, scanner, head, start, label)

    def _take(self, number: int, scanner: Scanner, head: str, start: int, label: str) -> None:
        if head == ".chip":
            self.faults += [
                ((number, fault.column), fault.sentence) for fault in read_chip_line(number, scanner, self.chip)
            ]
        elif head in SECTIONS:
            self.section = SECTIONS[head]
            if rest := scanner.rest.strip():
                scanner.fail(f"{head} must stand alone, not before {shown(rest)}")
        elif head in DIRECTIVES:
            form = DIRECTIVES[head]
            self._record(number, scanner, head, form, form.list, start, {})
        else:
            self._record(number, scanner, head, INSTRUCTIONS[head], self.section, start, {"label": label})
            if not self.section:
                scanner.fail("an instruction must stand below .load or .run", start)

    def _record(
        self, number: int, scanner: Scanner, head: str, form: Form, where: str, start: int, extra: Mapping[str, str]
    ) -> None:
        values = read_fields(scanner, form.kind, form.known, head)
        if scanner.rest:
            scanner.faults.append(Fault(scanner.at, f"{head} must end here, not go on with {shown(scanner.rest)}"))
        self.faults += [((number, fault.column), fault.sentence) for fault in scanner.faults]
        if not scanner.faults:
            self.found.setdefault(where, []).append(form.kind(**values, **form.said, **extra))
            self.places.setdefault(where, []).append((number, start))

    def program(self, data: SegmentBytes) -> Program | None:
        """The program, or None if there are faults."""
        topology = None
        if not self.faults or self.chip:
            topology = build_topology(self.chip, self.faults)
        if not self.faults:
            self._count_lines()
        segments = tuple(
            DataSegment(each.name, self._bytes(each, place, data))
            for each, place in zip(self.found.get("data", ()), self.places.get("data", ()), strict=True)
        )
        for name in sorted(data.keys() - {segment.name for segment in segments}):
            self.faults.append(((1, 0), f"a .data line must say how many bytes {shown(name)} has"))
        if self.faults or topology is None:
            return None
        names = ("load", "run", "inputs", "outputs", "layers", "tensors")
        lists = {name: tuple(self.found.get(name, ())) for name in names}
        title = self.found["title"][0]
        return Program(
            title.name, topology, data=segments, inferences=title.inferences, batching=self._batching(), **lists
        )

    def _count_lines(self) -> None:
        if len(self.found.get("title", ())) != 1:
            self.faults.append(((1, 0), "there must be one .program line"))
        if len(self.found.get("batching", ())) > 1:
            self.faults.append((self.places["batching"][1], ".batching must stand only once"))
        if self.found.get("steps") and not self.found.get("batching"):
            self.faults.append((self.places["steps"][0], "a .step must belong to a .batching line"))

    def _batching(self) -> Batching | None:
        found: list[Batching] = self.found.get("batching", [])
        return replace(found[0], steps=tuple(self.found.get("steps", ()))) if found else None

    def _bytes(self, segment: _Segment, place: tuple[int, int], data: SegmentBytes) -> NDArray[np.uint8]:
        given = data.get(segment.name)
        if given is not None and given.dtype == np.uint8 and given.shape == (segment.bytes,):
            return given
        have = "none" if given is None else f"{given.dtype} of the shape {given.shape}"
        wanted = f"{segment.bytes} bytes (uint8) beside the text"
        self.faults.append((place, f"the data segment {shown(segment.name)} must have {wanted}, not {have}"))
        return np.zeros(0, np.uint8)
