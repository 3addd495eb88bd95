"""The text form: any program there and back, and every fault of a text at once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.programs import same
from tilesim.errors import ProgramError
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Alternate, Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    INSTRUCTIONS,
    Infeed,
    Operation,
    RingConsume,
    ScalarFence,
    TensorOp,
    TileFence,
)
from tilesim.tiled.isa.model.program import Block, DataSegment, HostTensor, Layer, Program, TensorLayout, TensorPiece
from tilesim.tiled.isa.text import read_text, write_instruction, write_text
from tilesim.tiled.topology import Tile, Topology

PATH = Path("p.tasm")
CHIP = Topology(machine="tiled", name="edge", tile=Tile(loop_depth=7))
OP = TensorOp(
    tiles=1,
    operation=Operation.CONVOLUTION,
    nest=Nest((Loop("y", 8), Loop("z", 4), Loop("lane", 16)), Alternate("y", 3)),
    reduce=("z",),
    input=Reference(0x40, (("y", 64), ("z", -4))),
    wait=(Watcher(Flag.AVDATA, 1), Watcher(Flag.WIDE_TO_NARROW, 3, "y", 2)),
    label="L3",
)
CONSUME = RingConsume(tiles=3, write=Traversal(Nest((Loop("r", 36),)), Reference(0, (("r", 256),))), produce="r")
BLOCK = Block((0, 0, 0), (4, 4, 3), 4, 1)
SAMPLE = Program(
    name="resnet8",
    topology=CHIP,
    load=(CONSUME, Infeed(source="data", rows=36, to=3)),
    run=(OP, TileFence(tiles=3), ScalarFence(count=2)),
    data=(DataSegment("params", 0, np.arange(5, dtype=np.uint8)),),
    inputs=(HostTensor("in0", 0, "int8", (1, 4, 4, 3), (0, 1, 2, 3), "i8", (4, 4, 3), (BLOCK,), -128, 0.1),),
    layers=(Layer("conv1", "convolution", 99),),
)
TEXT = write_text(SAMPLE)
DATA = {segment.name: segment.data for segment in SAMPLE.data}


def any_of(kind: type) -> st.SearchStrategy[Any]:
    """Instances of a dataclass with every field drawn by its type."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: st.from_type(hints[field.name]) for field in fields(kind)})


st.register_type_strategy(str, st.sampled_from(["y", "lane", "alternate", ""]) | st.text(st.characters(), max_size=5))
for each in (Loop, Alternate, Nest, Reference, Traversal, Watcher, Block):
    st.register_type_strategy(each, any_of(each))

segments = st.lists(st.tuples(st.from_type(str), st.integers(0), st.binary(max_size=4)), unique_by=lambda each: each[0])
programs = st.builds(
    Program,
    name=st.from_type(str),
    topology=st.builds(lambda name: CHIP.model_copy(update={"name": name}), st.from_type(str)),
    load=st.lists(st.one_of(map(any_of, INSTRUCTIONS)), max_size=2).map(tuple),
    run=st.lists(st.one_of(map(any_of, INSTRUCTIONS)), max_size=4).map(tuple),
    data=segments.map(lambda found: tuple(DataSegment(n, a, np.frombuffer(b, np.uint8)) for n, a, b in found)),
    inputs=st.lists(any_of(HostTensor), max_size=1).map(tuple),
    layers=st.lists(any_of(Layer), max_size=2).map(tuple),
    tensors=st.lists(any_of(TensorLayout), max_size=1).map(tuple),
    pieces=st.lists(any_of(TensorPiece), max_size=1).map(tuple),
)


@given(programs)
def test_any_program_comes_back(program: Program) -> None:
    text = write_text(program)
    text.encode("utf-8")
    back = read_text(text, PATH, {segment.name: segment.data for segment in program.data})
    assert write_text(back) == write_text(program)
    assert write_text(back) == text


@given(programs)
def test_any_program_can_be_checked(program: Program) -> None:
    assert all(isinstance(fault, str) for fault in faults(program))


@given(any_of(TensorOp) | any_of(TileFence))
def test_an_instruction_comes_back_field_by_field(instruction: TensorOp | TileFence) -> None:
    program = Program("p", CHIP, (), (instruction,))
    assert read_text(write_text(program), PATH).run == (instruction,)


PIECES = [
    "\n",
    "; ",
    '"',
    "[",
    "]",
    "@",
    "=",
    ":",
    ",",
    "*",
    "+",
    ">=",
    "\\",
    "\\u{110000}",
    "alternate ",
    ".run",
    "9" * 5000,
]


@given(st.data())
def test_a_damaged_text_is_read_or_refused(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        text = text[:start] + data.draw(st.sampled_from(PIECES) | st.text(max_size=3)) + text[end:]
    with suppress(ProgramError):
        write_text(read_text(text, PATH, DATA))


@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(ProgramError, match=r"^p\.tasm:"):
        read_text(text, PATH)


def test_the_text_leaves_defaults_out_and_names_the_label_first() -> None:
    assert write_instruction(OP) == (
        "L3: tensorop tiles=0x1 operation=convolution nest=[y:8,z:4,lane:16 alternate y:3] reduce=z "
        "input=@0x40+y*64+z*-4 wait=avdata>=1,wide_to_narrow@y>=3+2"
    )
    assert write_instruction(CONSUME) == "  ring_consume tiles=0x3 write=[r:36 @0x0+r*256] produce=r"
    assert write_instruction(TileFence(tiles=1, idle=())) == "  tile_fence tiles=0x1 idle="


def test_comments_blank_lines_and_windows_line_ends_say_nothing() -> None:
    lines = [f"{line} ; a remark" for line in TEXT.splitlines()]
    assert same(read_text("; first\r\n\r\n" + "\r\n".join(lines), PATH, DATA), SAMPLE)


@pytest.mark.parametrize("name", ['a "b" \\c', "é\n\x00;=[", "\ud800\U0001f600", "true", ""])
def test_any_name_survives(name: str) -> None:
    program = replace(SAMPLE, name=name, topology=CHIP.model_copy(update={"name": name}))
    assert read_text(write_text(program), PATH, DATA).topology.name == name


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("tensorop", "tensrop", "must be an instruction, not 'tensrop'; did you mean 'tensorop'?"),
        (".layer", ".lyer", "must be a directive, not '.lyer'; did you mean '.layer'?"),
        ("reduce=", "redce=", "must be a key of tensorop, not 'redce'; did you mean 'reduce'?"),
        ("avdata", "avdta", "wait must be a flag, not 'avdta'; did you mean 'avdata'?"),
        ("=convolution nest", "=convolutin nest", "operation must be an operation, not 'convolutin'; did you mean"),
        ("tile_fence", "tile_fence idle=tensr", "idle must be an engine, not 'tensr'; did you mean 'tensor'?"),
        ("input=@", "input=", "input must go on with '@', not with '0x40+y*64+z*-4'"),
        ("lane:16", "lane:x", "nest must be a whole number, not 'x alternate y:3]'"),
        ("shape=1,4,4,3", "shape=1,4,4,", "shape must be a whole number, not nothing"),
        (
            "[origin:0,0,0",
            "[orign:0,0,0",
            "blocks must go on with 'origin:', not with 'orign:0,0,0 ",
        ),
        ("extent:4,4,3 pix", "extent:4,4 pix", "blocks must be 3 values, not 2"),
        ("count=2", "count=2 count=2", "count must stand only once"),
        ("count=2", "", "scalar_fence must also have count"),
        ("count=2", "2", "must be key=value, not '2'"),
        ("count=2", "count=2.5", "count must be a whole number, not '2.5'"),
        ("count=2", 'count="', 'the " opened here must be closed on this line'),
        ("name=conv1", 'name="\\x"', "name must be one of the escapes"),
        ("machine=tiled", "machine=tield", "machine must be 'tiled', not 'tield'"),
        ("grid rows=4", "grid rows=0", "grid.rows must be greater than or equal to 1, not '0'"),
        ("grid rows", "grid rws", "grid.rws must be a key that a chip has, not 'rws'; did you mean 'rows'?"),
        ("row_bytes=256", "row_bytes=384", "wide_memory.row_bytes must be a power of two, not 384"),
        ("lanes=64", "lanes=4096", "wide_memory.row_bytes must be at least 16384, for all of tile.lanes 4096"),
        ("machine=tiled", "grid=4", "grid must be a value or a section, not both"),
        (".program name=resnet8\n", "", "there must be one .program line"),
        (".load\n", "", "an instruction must stand below .load or .run"),
        (".load", "L1: .load", "a label must stand before an instruction, not before .load"),
        (".load", ".load x", ".load must stand alone, not before 'x'"),
        ("scalar_fence count=2", "L4:", "an instruction must follow the label 'L4:'"),
        (".tasm 1", ".tasm 2", "a program must begin with .tasm 1, not '.tasm 2'"),
        (" bytes=5", " bytes=6", "'params' must have 6 bytes (uint8) beside the text, not uint8 of the shape (5,)"),
        (".data name=params", ".data name=other", "a .data line must say where the bytes of 'params' go"),
    ],
)
def test_a_fault_says_what_is_wrong(old: str, new: str, fault: str) -> None:
    assert old in TEXT
    with pytest.raises(ProgramError) as caught:
        read_text(TEXT.replace(old, new, 1), PATH, DATA)
    assert any(fault in each for each in caught.value.faults), caught.value.faults


def test_all_faults_come_at_once_with_their_places() -> None:
    text = TEXT.replace("rows=36", "rows=x tp=1").replace("count=2", "cout=2").replace("rows=4", "rows=-1")
    with pytest.raises(ProgramError) as caught:
        read_text(text, PATH, DATA)
    places = [fault.split(": ")[0] for fault in caught.value.faults]
    line = 1 + text.splitlines().index("  scalar_fence cout=2")
    assert places[0].startswith("p.tasm:4:")
    assert places[-2:] == [f"p.tasm:{line}:3", f"p.tasm:{line}:16"]
    assert len(places) == 5
