"""The text form: any program there and back, and every fault of a text at once."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.assembly.machines import Case, data_of, each_machine
from tilesim.errors import ProgramError

PATH = Path("p.tasm")
PIECES = [
    *("\n", "; ", '"', "(", ")", "[", "]", "@", "=", ":", ",", ".", "*", "+", ">=", "\\", "-", "\\u{110000}"),
    *("alternate ", "true", ".run", "window=(", "9" * 5000),
]


@each_machine
def test_any_program_comes_back(case: Case) -> None:
    @settings(max_examples=50)
    @given(case.programs)
    def check(program: object) -> None:
        text = case.assembly.write(program)
        text.encode("utf-8")
        back = case.assembly.read(text, PATH, data_of(program))
        assert case.same(back, program)
        assert case.assembly.write(back) == text

    check()


@each_machine
def test_any_program_can_be_checked(case: Case) -> None:
    @settings(max_examples=50)
    @given(case.programs)
    def check(program: object) -> None:
        assert all(isinstance(fault, str) for fault in case.faults(program))

    check()


@each_machine
def test_a_damaged_text_is_read_or_refused(case: Case) -> None:
    whole, held = case.text, data_of(case.sample)

    @given(st.data())
    def check(data: st.DataObject) -> None:
        text = whole
        for _ in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(text)))
            end = data.draw(st.integers(start, min(len(text), start + 30)))
            text = text[:start] + data.draw(st.sampled_from(PIECES) | st.text(max_size=3)) + text[end:]
        with suppress(ProgramError):
            program = case.assembly.read(text, PATH, held)
            assert all(isinstance(fault, str) for fault in case.faults(program))
            case.assembly.write(program)

    check()


@each_machine
def test_any_text_is_refused(case: Case) -> None:
    @given(st.text())
    def check(text: str) -> None:
        with pytest.raises(ProgramError, match=r"^p\.tasm:"):
            case.assembly.read(text, PATH)

    check()


@each_machine
def test_comments_blank_lines_and_windows_line_ends_say_nothing(case: Case) -> None:
    text = "; first\r\n\r\n" + "\r\n".join(f"{line} ; a remark" for line in case.text.splitlines())
    assert case.same(case.assembly.read(text, PATH, data_of(case.sample)), case.sample)


@each_machine
@pytest.mark.parametrize("name", ['a "b" \\c', "é\n\x00;=[(", "\ud800\U0001f600", "true", "-1", "a-b", ""])
def test_any_name_survives(case: Case, name: str) -> None:
    program = replace(case.sample, name=name, topology=case.sample.topology.model_copy(update={"name": name}))
    back = case.assembly.read(case.assembly.write(program), PATH, data_of(program))
    assert (back.name, back.topology.name) == (name, name)


@each_machine
@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (r"\.layer", ".lyer", "must be a directive, not '.lyer'; did you mean '.layer'?"),
        ("shape=([0-9,]+)", r"shape=\1,", "shape must be a whole number, not nothing"),
        (r"\.data name=(\w+)", r".data name=\1 name=b", "name must stand only once"),
        ("index=0 ", "", ".input must also have index"),
        ("index=0", "0", "must be key=value, not '0'"),
        ("index=0", "index=2.5", "index must be a whole number, not '2.5'"),
        ("index=0", "index=2,", "index must end here, not go on with ','"),
        ("index=0", "index=2)", "index must end here, not go on with ')'"),
        ("index=0", 'index="', 'the " opened here must be closed on this line'),
        ("index=0", "index=[0", "the [ opened here must be closed on this line"),
        (r"\.input name=in0", '.input name="\\\\x"', "name must be one of the escapes"),
        (r"machine=\w+", "machine=toy", "machine must be '{machine}', not 'toy'"),
        (" machine=[a-z]+", "", "machine is missing"),
        ("(grid|array) rows=4", r"\1 rows=0", "rows must be greater than or equal to 1, not '0'"),
        ("(grid|array) rows", r"\1 rws", "rws must be a key that a chip has, not 'rws'; did you mean 'rows'?"),
        ("(grid|array) rows=4", r"\1 rows=4 rows=5", "rows must stand only once"),
        ("(grid|array) rows=4", r"\1 rows=", "rows must be a name, or a text in quotes, not nothing"),
        (r"\.program name=\w+\n", "", "there must be one .program line"),
        (r"\.program name=\w+\n", ".program name=a\n.program name=b\n", "there must be one .program line"),
        (r"\.load\n", "", "an instruction must stand below .load or .run"),
        (r"\.load", "L1: .load", "a label must stand before an instruction, not before .load"),
        (r"\.load", ".load x", ".load must stand alone, not before 'x'"),
        (r"\.load", "L4:", "an instruction must follow the label 'L4:'"),
        (r"\.tasm 1", ".tasm 2", "a program must begin with .tasm 1, not '.tasm 2'"),
        (r"(\.data .*) bytes=\d+", r"\1 bytes=7", "must have 7 bytes (uint8) beside the text, not uint8 of the shape"),
        (r"\.data name=\w+", ".data name=other", "a .data line must say how many bytes '{data}' has"),
    ],
)
def test_a_fault_says_what_is_wrong(case: Case, old: str, new: str, fault: str) -> None:
    text, count = re.subn(old, new, case.text, count=1)
    sentence = fault.format(machine=case.machine, data=case.sample.data[0].name)
    assert count == 1
    with pytest.raises(ProgramError) as caught:
        case.assembly.read(text, PATH, data_of(case.sample))
    assert any(sentence in fault for fault in caught.value.faults), caught.value.faults


@each_machine
def test_data_is_what_the_text_says(case: Case) -> None:
    name = case.sample.data[0].name
    with pytest.raises(ProgramError, match=f"{name!r} must have .* beside the text, not int8 of"):
        case.assembly.read(case.text, PATH, {**data_of(case.sample), name: np.zeros(5, np.int8)})
