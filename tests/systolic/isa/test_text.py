"""The text form: any program there and back, and every fault of a text at once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.systolic.programs import CHIP, instructions, programs, same, small
from tilesim.errors import ProgramError
from tilesim.systolic.isa.checks.program import faults
from tilesim.systolic.isa.model.instructions import (
    Combine,
    Fill,
    Halt,
    Instruction,
    MatrixMultiply,
    Nest,
    Pool,
    Pooling,
    Queue,
    ReadHostMemory,
    Sync,
    Window,
)
from tilesim.systolic.isa.model.program import Batching, Program, Step
from tilesim.systolic.isa.text import read_text, write_instruction, write_text

PATH = Path("p.tasm")
SAMPLE = replace(small(), batching=Batching("demand", 1349.25, (2,), (Step(0, 0, 1, "L4", 16),)))
TEXT = write_text(SAMPLE)
DATA = {segment.name: segment.data for segment in SAMPLE.data}
WINDOW = Window(0x40, 1, 64, 4, 4, 16, 4, 4, 4, 4, (3, 3), padding=(1, 1))


@settings(max_examples=40)
@given(programs())
def test_any_program_comes_back(program: Program) -> None:
    text = write_text(program)
    text.encode("utf-8")
    back = read_text(text, PATH, {segment.name: segment.data for segment in program.data})
    assert same(back, program)
    assert write_text(back) == text


@settings(max_examples=40)
@given(programs())
def test_any_program_can_be_checked(program: Program) -> None:
    assert all(isinstance(fault, str) for fault in faults(program))


@given(instructions(sound=False))
def test_any_instruction_comes_back(op: Instruction) -> None:
    program = Program("p", CHIP, (), (op,))
    assert read_text(write_text(program), PATH).run == (op,)


PIECES = [
    *("\n", "; ", '"', "(", ")", "[", "]", "=", ":", ",", ".", "\\", "-", "true", ".run", "window=(", "9" * 5000),
    "\\u{110000}",
]


@given(st.data())
def test_a_damaged_text_is_read_or_refused(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        text = text[:start] + data.draw(st.sampled_from(PIECES) | st.text(max_size=3)) + text[end:]
    with suppress(ProgramError):
        assert all(isinstance(fault, str) for fault in faults(read_text(text, PATH, DATA)))


@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(ProgramError, match=r"^p\.tasm:"):
        read_text(text, PATH)


@pytest.mark.parametrize(
    ("op", "line"),
    [
        (Halt(), "  halt"),
        (ReadHostMemory(label="in", bytes=64), "in: read_host_memory bytes=64"),
        (Sync(unit=Queue.VECTOR, until=Queue.MATRIX, count=2), "  sync unit=vector until=matrix count=2"),
        (
            MatrixMultiply(label="L3", layer=2, window=replace(WINDOW, kernel=(1, 1), padding=(0, 0)), vectors=16),
            "L3: matrix_multiply window=(address=0x40 height=4 width=4 channels=4) vectors=16 layer=2",
        ),
        (
            MatrixMultiply(window=WINDOW, vectors=16, rows=36, columns=8, switch=False, accumulate=True),
            (
                "  convolve window=(address=0x40 height=4 width=4 channels=4 kernel=3,3 padding=1,1) vectors=16 "
                "rows=36 columns=8 switch=false accumulate=true"
            ),
        ),
        (
            Pool(window=replace(WINDOW, images=2, output_height=2), pool=Pooling("average", (0, 9), "real", ((9, 1),))),
            (
                "  pool window=(address=0x40 images=2 height=4 width=4 channels=4 output_height=2 kernel=3,3 "
                "padding=1,1) pool=(function=average clamp=0,9 rule=real scalings=[9,1])"
            ),
        ),
        (
            Combine(
                a=Nest(0, 4),
                b=Nest(16, 2, (2,), (8,)),
                destination=Nest(32, 4),
                rule="double",
                scaling=(),
                clamp=(0, 1),
            ),
            (
                "  add a=(address=0x0 bytes=4) b=(address=0x10 bytes=2 counts=2 strides=8) "
                "destination=(address=0x20 bytes=4) rule=double scaling=() clamp=0,1"
            ),
        ),
        (Fill(destination=Nest(0, 4), value=7, label="a b"), '"a b": fill destination=(address=0x0 bytes=4) value=7'),
    ],
)
def test_a_line_is_short(op: Instruction, line: str) -> None:
    assert write_instruction(op) == line


def test_comments_blank_lines_and_windows_line_ends_say_nothing() -> None:
    lines = [f"{line} ; a remark" for line in TEXT.splitlines()]
    assert same(read_text("; first\r\n\r\n" + "\r\n".join(lines), PATH, DATA), SAMPLE)


@pytest.mark.parametrize("name", ['a "b" \\c', "é\n\x00;=[(", "\ud800\U0001f600", "true", "-1", "a-b", ""])
def test_any_name_survives(name: str) -> None:
    program = replace(SAMPLE, name=name, topology=CHIP.model_copy(update={"name": name, "description": name}))
    back = read_text(write_text(program), PATH, DATA)
    assert (back.name, back.topology.name, back.topology.description) == (name, name, name)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("activate", "actvate", "must be an instruction, not 'actvate'; did you mean 'activate'?"),
        (".layer", ".lyer", "must be a directive, not '.lyer'; did you mean '.layer'?"),
        ("columns=4 scale", "colums=4 scale", "must be a key of activate, not 'colums'; did you mean 'columns'?"),
        ("channels=4", "chanels=4", "must be a key of window, not 'chanels'; did you mean 'channels'?"),
        ("channels=4", "", "window must also have channels"),
        ("unit=matrix", "unit=matrx", "unit must be one of its words, not 'matrx'; did you mean 'matrix'?"),
        ("source=data", "source=dta", "source must be one of its words, not 'dta'; did you mean 'data'?"),
        ("window=(", "window=", "window must go on with '(', not with 'address"),
        ("channels=4)", "channels=4", "must go on with ')'"),
        ("clamp=-128,127", "clamp=-128", "clamp must be 2 values, not 1"),
        ("shape=1,4", "shape=1,", "shape must be a whole number, not ' axes"),
        ("memory bytes=4", "memory bytes=4 bytes=4", "bytes must stand only once"),
        ("memory bytes=4", "memory 4", "must be key=value, not '4'"),
        ("memory bytes=4", "memory bytes", "must be key=value, not 'bytes'"),
        ("in count=1", "in ", "sync must also have count"),
        ("in count=1", "in count=1.5", "count must be a whole number, not '1.5'"),
        ("in count=1", "in count=1,", "count must end here, not go on with ','"),
        ("in count=1", "in count=1)", "sync must end here, not go on with ')'"),
        ("name=dense", 'name="', "name must be a name, or a text in quotes, not '\""),
        ("name=dense", 'name="\\x"', "name must be one of the escapes"),
        ("weight_reuse=1349.25", "weight_reuse=x", "weight_reuse must be a number, not 'x"),
        ("machine=systolic", "machine=tiled", "machine must be 'systolic', not 'tiled'"),
        ("array rows=4", "array rows=0", "array.rows must be greater than or equal to 1, not '0'"),
        ("array rows", "array rws", "array.rws must be a key that a chip has, not 'rws'; did you mean 'rows'?"),
        ("array rows=4", "array rows=4 rows=5", "array.rows must stand only once"),
        ("machine=systolic", "array=4", "array must be a value or a section, not both"),
        ("machine=systolic ", "", "machine is missing"),
        ("array rows=4", "array rows=", "must be a name, or a text in quotes, not ' columns=4"),
        (".program name=test\n", "", "there must be one .program line"),
        (".program name=test\n", ".program name=a\n.program name=b\n", "there must be one .program line"),
        (".load\n", "", "an instruction must stand below .load or .run"),
        (".load", "L1: .load", "a label must stand before an instruction, not before .load"),
        (".load", ".load x", ".load must stand alone, not before 'x'"),
        ("L1: read_host_memory bytes=4", "L1:", "must be an instruction, not nothing"),
        (".tasm 1", ".tasm 2", "a program must begin with .tasm 1, not '.tasm 2'"),
        (".step", ".batching schedule=a weight_reuse=1 batches=()\n.step", ".batching must stand only once"),
        (" bytes=48", " bytes=47", "'parameters' must have 47 bytes (uint8) beside the text, not uint8 of the shape"),
        (".data name=weights bytes=16\n", "", "a .data line must say how many bytes 'weights' has"),
    ],
)
def test_a_fault_says_what_is_wrong(old: str, new: str, fault: str) -> None:
    assert old in TEXT
    with pytest.raises(ProgramError) as caught:
        read_text(TEXT.replace(old, new, 1), PATH, DATA)
    assert any(fault in each for each in caught.value.faults), caught.value.faults


def test_a_step_belongs_to_a_batching_line() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith(".batching")]
    with pytest.raises(ProgramError, match=r"a \.step must belong to a \.batching line"):
        read_text("\n".join(lines), PATH, DATA)


def test_all_faults_come_at_once_with_their_places() -> None:
    text = (
        TEXT.replace("in count=1", "in cont=1 until=x")
        .replace("channels=4)", "channels=x) y=1")
        .replace("rows=4", "rows=-1", 1)
    )
    with pytest.raises(ProgramError) as caught:
        read_text(text, PATH, DATA)
    lines = text.splitlines()
    sync, multiply = (1 + next(k for k, line in enumerate(lines) if word in line) for word in ("cont=", "y=1"))
    places = [fault.split(": ")[0] for fault in caught.value.faults]
    assert places == [
        "p.tasm:9:13",
        *(f"p.tasm:{sync}:{column}" for column in (9, 35, 42)),
        *(f"p.tasm:{multiply}:{column}" for column in (67, 70)),
    ]


def test_data_is_what_the_text_says() -> None:
    with pytest.raises(ProgramError, match="'weights' must have 16 bytes"):
        read_text(TEXT, PATH, {**DATA, "weights": np.zeros(16, np.int8)})
