"""The text form of a program, ``.tasm``: a line an instruction, and a line a thing that the program is made of.

A line is a directive or an instruction, then ``key=value`` words; a key that has its default is left out. ``label:``
may stand before an instruction, ``;`` opens a comment. ``records`` says how each value looks::

    .tasm 1
    .program name=mlp
    .chip machine=systolic name=systolic-4
    .chip array rows=4 columns=4 weights=columns
    .data name=weights bytes=16
    .input name=in0 index=0 dtype=int8 shape=1,4 axes=0,1 element=int8
    .layer name=dense kind=fully_connected macs=16 vectors=1 inputs=4 outputs=4  ; 0
    .load
      read_host_memory source=data destination=weight_memory bytes=16
      halt
    .run
    L1: read_host_memory bytes=4
    L3: matrix_multiply window=(address=0x0 height=1 width=1 channels=4) rows=4 columns=4 layer=0

The bytes of the data segments are not part of the text; ``files`` keeps them beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from tilesim.assembly.chip import ChipReader, Position, write_chip
from tilesim.assembly.records import Grammar, RecordForm, inner_type
from tilesim.assembly.scanner import Fault, Faults, Line, read_line
from tilesim.budgets import MOST_FAULTS
from tilesim.errors import ProgramError
from tilesim.printable import shown, unknown

VERSION = "1"
SegmentBytes: TypeAlias = Mapping[str, NDArray[np.uint8]]
_SECTIONS = {".load": "load", ".run": "run"}


class AnyProgram(Protocol):
    """What programs of all machines have."""

    @property
    def name(self) -> str: ...
    @property
    def topology(self) -> BaseModel: ...
    @property
    def data(self) -> Sequence[Any]: ...
    @property
    def is_known_sound(self) -> bool: ...
    def know_sound(self) -> None: ...


P = TypeVar("P", bound=AnyProgram)


@dataclass(frozen=True, eq=False)
class Text(Generic[P]):
    """The text form of one machine's programs.

    Attributes:
        program: the class of the programs, a frozen dataclass. Its plain fields stand in the ``.program`` line.
        instructions: their classes, each a frozen dataclass with a ``mnemonic``.
        directives: which field of the program the lines of a directive hold, one each; ``field.inner`` if it is the
            field ``inner`` of what another directive gives.
        grammar: how values are spelt.
        spellings: of instructions that have several mnemonics, and what each says of its fields.
        blobs: the fields of the program whose records have bytes, which stand beside the text by their names.
    """

    program: type[P]
    instructions: Sequence[type[Any]]
    directives: Mapping[str, str]
    grammar: Grammar
    spellings: Mapping[type, Mapping[str, Mapping[str, object]]] = field(default_factory=dict)
    blobs: Sequence[str] = ("data",)

    def write(self, program: P) -> str:
        """``program`` as text, without the bytes of its data segments; ``read`` gives the same program back."""
        return "".join(f"{line}\n" for line in self._lines(program))

    def _lines(self, program: P) -> Iterator[str]:
        yield f".tasm {VERSION}"
        yield " ".join([".program", *self.title.write(program)])
        yield from write_chip(program.topology, self.grammar.scalars)
        for head, path in self.directives.items():
            form = self.records[head]
            for place, value in enumerate(_values_at(program, path)):
                # Instructions name layers by their place, so the text shows it.
                yield " ".join([head, *form.write(value)]) + (f"  ; {place}" if head == ".layer" else "")
        for head, section in _SECTIONS.items():
            yield head
            yield from map(self.write_instruction, getattr(program, section))

    def write_instruction(self, instruction: Any) -> str:
        """One instruction as a line of text, its label first."""
        label = f"{self.grammar.names.write(instruction.label)}:" if instruction.label else " "
        return " ".join([label, instruction.mnemonic, *self.mnemonics[instruction.mnemonic].write(instruction)])

    def read(self, text: str, path: Path, data: SegmentBytes | None = None) -> P:
        """The program that ``text`` describes.

        Args:
            text: What ``write`` writes.
            path: Where the text is from; only the faults name it.
            data: The uint8 bytes of each data segment, by its name.

        Raises:
            ProgramError: With every fault of the text, as ``path:line:column: sentence``.
        """
        reader = _TextReader(self)
        reader.read(text)
        values = reader.program(data or {})
        if reader.faults:
            faults = sorted(dict.fromkeys(reader.faults))
            raise ProgramError(f"{path}:{place.line}:{place.column + 1}: {sentence}" for place, sentence in faults)
        return self.program(**values)

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The types of the program's fields."""
        return get_type_hints(self.program)

    @cached_property
    def title(self) -> RecordForm:
        """What the text says of the program as a whole."""
        return replace(self.grammar.form(self.program, among={str, int, float, bool}), kind=dict)

    @cached_property
    def records(self) -> dict[str, RecordForm]:
        """The forms of directives."""
        return {head: self._record(path) for head, path in self.directives.items()}

    def _record(self, path: str) -> RecordForm:
        name, _, inner = path.partition(".")
        kind = inner_type(self.hints[name])
        if inner:
            return self.grammar.form(inner_type(get_type_hints(kind)[inner]))
        apart = [other.partition(".")[2] for other in self.directives.values() if other.startswith(f"{path}.")]
        return self.grammar.form(kind).saying(dict.fromkeys(apart, ()))

    @cached_property
    def mnemonics(self) -> dict[str, RecordForm]:
        """The forms of instructions."""
        return {
            mnemonic: self._instruction(kind, said)
            for kind in self.instructions
            for mnemonic, said in self.spellings.get(kind, {kind.mnemonic: {}}).items()
        }

    def _instruction(self, kind: type, said: Mapping[str, object]) -> RecordForm:
        form = self.grammar.form(kind).saying(said)
        others = {key: form.fields[key] for key in form.fields if key not in {"label", "layer"}}
        return replace(form, fields={**others, "layer": form.fields["layer"]})

    @cached_property
    def heads(self) -> frozenset[str]:
        """What lines may begin with."""
        return frozenset([*self.mnemonics, *_SECTIONS, *self.directives, ".program", ".chip"])


def _values_at(program: object, path: str) -> Sequence[Any]:
    """What the lines of a directive hold."""
    name, _, inner = path.partition(".")
    value = getattr(program, name)
    if inner:
        return getattr(value, inner, ())
    return value if isinstance(value, tuple) else () if value is None else (value,)


@dataclass
class _TextReader:
    """What has been read so far, each with its place, and the faults."""

    form: Text[Any]
    faults: list[tuple[Position, str]] = field(default_factory=list)
    records: dict[str, list[tuple[Position, Any]]] = field(default_factory=dict)
    section: str = ""

    def __post_init__(self) -> None:
        self.chip = ChipReader(self.form.hints["topology"], self.form.grammar.scalars, self.faults)

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

    def _fault(self, number: int, fault: Fault) -> None:
        self.faults.append((Position(number, fault.column), fault.sentence))

    def _read_line(self, number: int, line: Line) -> None:
        head, form = line.head.text, self.form
        if head not in form.heads:
            what = "a directive" if head.startswith(".") else "an instruction"
            raise Fault(line.head.column, unknown(head, form.heads, what))
        if line.label and head not in form.mnemonics:
            raise Fault(line.head.column, f"a label must stand before an instruction, not before {head}")
        if head == ".chip":
            self.chip.take(number, line)
        elif head in _SECTIONS:
            self._open(line)
        elif head in form.mnemonics:
            self._record(number, line, self.section, form.mnemonics[head], label=line.label)
            if not self.section:
                raise Fault(line.head.column, "an instruction must stand below .load or .run")
        elif head == ".program":
            self._record(number, line, "", form.title)
        else:
            self._record(number, line, form.directives[head], form.records[head])

    def _open(self, line: Line) -> None:
        self.section = _SECTIONS[line.head.text]
        for word in line.words[:1]:
            raise Fault(word.column, f"{line.head.text} must stand alone, not before {shown(word.text)}")

    def _record(self, number: int, line: Line, where: str, form: RecordForm, **extra: str) -> None:
        try:
            record = form.read(line.words, line.head, **extra)
        except Faults as several:
            for fault in several.faults:
                self._fault(number, fault)
        else:
            self.records.setdefault(where, []).append((Position(number, line.head.column), record))

    def program(self, data: SegmentBytes) -> dict[str, Any]:
        """The fields of the program, if there are no faults."""
        topology = self.chip.topology() if not self.faults or self.chip.entries else None
        if not self.faults:
            self._count_lines()
        segments = {
            blob: tuple(
                replace(segment, data=self._bytes(segment, place, data))
                for place, segment in self.records.get(blob, ())
            )
            for blob in self.form.blobs
        }
        for name in sorted(data.keys() - {segment.name for each in segments.values() for segment in each}):
            self.faults.append((Position(1, 0), f"a .data line must say how many bytes {shown(name)} has"))
        if self.faults:
            return {}
        lists = {section: self._values(section) for section in _SECTIONS.values()}
        return {**self._values("")[0], **lists, **self._fields(), "topology": topology, **segments}

    def _values(self, where: str) -> tuple[Any, ...]:
        return tuple(record for _, record in self.records.get(where, ()))

    def _fields(self) -> dict[str, Any]:
        """The fields of the program that directives give."""
        fields: dict[str, Any] = {}
        for path in self.form.directives.values():
            name, _, inner = path.partition(".")
            values = self._values(path)
            if inner:
                fields[name] = fields[name] and replace(fields[name], **{inner: values})
            else:
                fields[name] = next(iter(values), None) if self._is_single(name) else values
        return fields

    def _is_single(self, name: str) -> bool:
        return NoneType in get_args(self.form.hints[name])

    def _count_lines(self) -> None:
        if len(self._values("")) != 1:
            self.faults.append((Position(1, 0), "there must be one .program line"))
        heads = {path: head for head, path in self.form.directives.items()}
        for path, head in heads.items():
            name, _, inner = path.partition(".")
            places = [place for place, _ in self.records.get(path, ())]
            if inner and places and not self.records.get(name):
                self.faults.append((places[0], f"a {head} must belong to a {heads[name]} line"))
            elif not inner and self._is_single(name) and len(places) > 1:
                self.faults.append((places[1], f"{head} must stand only once"))

    def _bytes(self, segment: Any, place: Position, data: SegmentBytes) -> NDArray[np.uint8]:
        """What the file beside the text has for a ``segment``, whose data are only counted so far."""
        given = data.get(segment.name)
        if given is not None and given.dtype == np.uint8 and given.shape == (segment.data,):
            return given
        have = "none" if given is None else f"{given.dtype} of the shape {given.shape}"
        wanted = f"{segment.data} bytes (uint8) beside the text"
        self.faults.append((place, f"the data segment {shown(segment.name)} must have {wanted}, not {have}"))
        return np.zeros(0, np.uint8)


def _must_begin(line: Line) -> None:
    words = [line.head.text, *(word.text for word in line.words)]
    if words != [".tasm", VERSION]:
        raise Fault(line.head.column, f"a program must begin with .tasm {VERSION}, not {shown(' '.join(words))}")
