"""The binary form: any program there and back, the same bytes each time, and damage in words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, make_dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.assembly.drawing import any_of
from tests.assembly.machines import CASES, Case, data_of, each_machine
from tilesim.assembly.binary import is_sealed
from tilesim.assembly.files import Assembly
from tilesim.assembly.records import Grammar
from tilesim.assembly.seal import SEAL_BYTES
from tilesim.assembly.streams import Damage, Reader, Writer
from tilesim.tiled.isa.model.fields import Loop, Nest, Reference, Traversal
from tilesim.tiled.isa.model.instructions import NarrowToWide

HEAD_BYTES = 48
CONTENT = CASES["tiled"].assembly.binary.encode(CASES["tiled"].sample)


def from_text(case: Case, program: Any) -> Any:
    """``program`` by way of its text."""
    return case.assembly.read(case.assembly.write(program), Path("p.tasm"), data_of(program))


def sealed(body: bytes) -> bytes:
    """A file of ``body`` whose head tells the truth."""
    length = (HEAD_BYTES + len(body)).to_bytes(8, "little")
    return CONTENT[:8] + length + hashlib.sha256(body).digest() + body


@each_machine
def test_any_program_comes_back_by_way_of_either_form(case: Case) -> None:
    encode, decode, write = case.assembly.binary.encode, case.assembly.binary.decode, case.assembly.write

    @settings(max_examples=50)
    @given(case.programs)
    def check(program: Any) -> None:
        content = encode(program)
        assert case.same(decode(content), program)
        assert encode(decode(content)) == content
        assert encode(from_text(case, decode(content))) == content
        assert write(decode(encode(from_text(case, program)))) == write(program)

    check()


def test_what_is_the_same_is_read_once() -> None:
    case = CASES["tiled"]
    copy = NarrowToWide(tiles=1, read=_line(4, 8), write=_line(1, 32))
    other = NarrowToWide(tiles=2, read=_line(4, 8), write=_line(2, 32))
    found = case.assembly.binary.decode(case.assembly.binary.encode(replace(case.sample, run=(copy, other)))).run
    assert found == (copy, other)
    assert found[0].read is found[1].read
    assert found[0].write.reference is found[1].write.reference
    assert found[0].write != found[1].write


def _line(count: int, stride: int) -> Traversal:
    return Traversal(Nest((Loop("r", count),)), Reference(0, (("r", stride),)))


@pytest.mark.parametrize(("case", "kind"), [(case, kind) for case in CASES.values() for kind in case.instructions])
def test_every_instruction_comes_back_field_by_field(case: Case, kind: type) -> None:
    @settings(max_examples=30)
    @given(any_of(kind))
    def check(instruction: Any) -> None:
        program = replace(case.sample, run=(instruction,))
        assert case.assembly.binary.decode(case.assembly.binary.encode(program)).run == (instruction,)
        assert from_text(case, program).run == (instruction,)

    check()


def test_numbers_of_any_size_come_back() -> None:
    case = CASES["tiled"]
    infeed = replace(case.sample.load[1], rows=-1, to=(1 << 4097) - 1, address=-(1 << 64))
    nan = replace(case.sample.inputs[0], scale=-np.nan)
    program = replace(case.sample, run=(infeed,), inputs=(nan,))
    back = case.assembly.binary.decode(case.assembly.binary.encode(program))
    assert back.run == program.run
    assert np.float64(back.inputs[0].scale).tobytes() == np.float64(-np.nan).tobytes()


class Chip(BaseModel):
    """Of a machine that can only move."""

    machine: Literal["toy"] = "toy"
    name: str = "toy"


class Member(NamedTuple):
    """A field of the toy's one instruction."""

    name: str
    type: Any
    default: Any = None


@cache
def toy(*members: Member) -> Assembly[Any]:
    """A machine whose one instruction has these fields."""
    move = make_dataclass(
        "Move",
        [
            *((member.name, member.type) for member in members if member.default is None),
            *((member.name, member.type, member.default) for member in members if member.default is not None),
            ("layer", int, -1),
            ("label", str, ""),
        ],
        frozen=True,
        namespace={"mnemonic": "move"},
    )
    moves = tuple[move, ...]  # type: ignore[valid-type]
    program = make_dataclass(
        "Program",
        [
            ("name", str),
            ("topology", Chip),
            ("load", moves),
            ("run", moves),
            ("data", tuple[int, ...], field(default=())),
        ],
        frozen=True,
    )
    return Assembly(program, (move,), {}, Grammar())


def moving(machine: Assembly[Any], **values: Any) -> Any:
    """A program of one instruction."""
    return machine.program("p", Chip(), (), (machine.instructions[0](**values),))


COUNT, WORD = Member("count", int), Member("way", Literal["up", "down"], "up")


def test_a_machine_is_its_dataclasses() -> None:
    machine = toy(COUNT, WORD)
    program = moving(machine, count=3, way="down", label="L1")
    assert machine.write(program).splitlines()[3:] == [".load", ".run", "L1: move count=3 way=down"]
    assert machine.read(machine.write(program), Path("p.tasm")) == program
    assert machine.binary.decode(machine.binary.encode(program)) == program


def test_a_field_that_an_older_file_lacks_has_its_default() -> None:
    older = moving(toy(COUNT), count=3)
    assert toy(COUNT, WORD).binary.decode(toy(COUNT).binary.encode(older)) == moving(toy(COUNT, WORD), count=3)


@pytest.mark.parametrize(
    ("wrote", "reads", "sentence"),
    [
        ((COUNT, WORD), (COUNT,), "move must be made of fields that this tilesim knows, not 'way'"),
        ((), (COUNT,), "move must also have count; another tilesim wrote the file"),
        ((Member("count", str),), (COUNT,), "the field count of move must be 'int' as in this tilesim, not 'str'"),
        ((Member("count", int, 1),), (COUNT,), "the field count of move must be 'int' as in this tilesim, not 'int'"),
        (
            (COUNT, Member("way", Literal["up", "dawn"], "up")),
            (COUNT, WORD),
            "must be one of its words, not 'dawn'; did you mean 'down'?",
        ),
    ],
)
def test_a_file_of_another_tilesim_is_refused(wrote: Sequence[Member], reads: Sequence[Member], sentence: str) -> None:
    values = {"count": {int: 3, str: "3"}, "way": {member.type: "dawn" for member in wrote}}
    given = {member.name: values[member.name][member.type] for member in wrote if member != WORD}
    assert sentence in refusal(toy(*wrote).binary.encode(moving(toy(*wrote), **given)), toy(*reads))


def refusal(content: bytes, machine: Assembly[Any] = CASES["tiled"].assembly) -> str:
    """What is wrong with ``content``."""
    with pytest.raises(Damage) as caught:
        machine.binary.decode(content)
    return "\n".join(caught.value.sentences)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", r"must begin as a binary program does, with b'\x8eTBN', not with b''"),
        (b"PK\3\4junk", r"must begin as a binary program does, with b'\x8eTBN', not with b'PK\x03\x04'"),
        (CONTENT[:30], "must have at least the 48 bytes of its head, not 30"),
        (CONTENT[:-1], f"must have {len(CONTENT)} bytes, as its head says, not {len(CONTENT) - 1}"),
        (CONTENT + b"\0", f"must have {len(CONTENT)} bytes, as its head says, not {len(CONTENT) + 1}"),
        (CONTENT[:-1] + b"\x55", "must have the content that its checksum is of; the file is damaged"),
        (CONTENT[:4] + b"\3" + CONTENT[5:], "must be of version 1 or 2 of the binary form, not 3; a newer tilesim"),
        (CONTENT[:4] + b"\0" + CONTENT[5:], "must be of version 1 or 2 of the binary form, not 0"),
        (CONTENT[:4] + b"\2" + CONTENT[5:], "must have the content that its checksum is of; the file is damaged"),
        (sealed(b""), "must go on for 1 bytes at byte 0, not end after 0"),
        (sealed(CONTENT[HEAD_BYTES:] + b"\0"), "not go on to"),
        (sealed(b"\x80" * 2000), "must have numbers of at most 1024 bytes, not more at byte 1024"),
        (sealed(b"\7"), "must have at most 0 values at byte 1, not 7"),
        (sealed(b"\x80\x80\x40" + bytes(1 << 20)), "must have at most 524288 values in all, not more at byte 3"),
        (sealed(b"\1\1\xff"), "must have strings in UTF-8, not what ends at byte 3"),
        (sealed(b"\1\4warp\1\0\0"), "must be a kind of record that this tilesim knows, not 'warp'"),
        (sealed(b"\0\1\5"), "must name one of 0 strings at byte 3, not number 5"),
        (sealed(bytes(16)), "must say what a Program consists of"),
        (
            sealed(CONTENT[HEAD_BYTES:].replace(b"avdata", b"avdatt")),
            "must be a name of Flag, not 'avdatt'; did you mean",
        ),
        (sealed(CONTENT[HEAD_BYTES:].replace(b"grid rows=4", b"grid rows=0")), "grid.rows must be greater than"),
        (sealed(CONTENT[HEAD_BYTES:].replace(b"grid rows=4", b"grid rows:4")), "must be key=value, not 'rows:4'"),
    ],
    ids=map(str, count()),
)
def test_what_is_no_program_says_so(content: bytes, sentence: str) -> None:
    assert sentence in refusal(content)


def test_every_cut_and_every_flipped_bit_is_found() -> None:
    for end in range(len(CONTENT)):
        assert refusal(CONTENT[:end])
    for place in range(0, 8 * len(CONTENT), 5):
        flipped = bytearray(CONTENT)
        flipped[place // 8] ^= 1 << place % 8
        assert refusal(bytes(flipped))


@each_machine
def test_a_seal_is_of_these_bytes_and_these_rules(case: Case) -> None:
    binary = case.assembly.binary
    plain, content = binary.encode(case.sample), binary.encode(case.sample, b"rules")
    assert content[HEAD_BYTES + SEAL_BYTES :] == plain[HEAD_BYTES:]
    assert case.same(binary.decode(content), case.sample)
    assert is_sealed(content, b"rules")
    assert not is_sealed(content, b"other rules")
    assert not is_sealed(content, b"")
    assert not is_sealed(plain, b"rules")
    other = binary.encode(replace(case.sample, name="other"))
    moved = content[:HEAD_BYTES] + content[HEAD_BYTES : HEAD_BYTES + SEAL_BYTES] + other[HEAD_BYTES:]
    moved = moved[:8] + len(moved).to_bytes(8, "little") + other[16:HEAD_BYTES] + moved[HEAD_BYTES:]
    assert case.same(binary.decode(moved), replace(case.sample, name="other"))
    assert not is_sealed(moved, b"rules")


def test_no_spoiled_byte_of_a_sealed_file_leaves_it_sealed() -> None:
    binary = CASES["tiled"].assembly.binary
    content = binary.encode(CASES["tiled"].sample, b"rules")
    for place in range(0, 8 * len(content), 5):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        with suppress(Damage):
            binary.decode(bytes(flipped))
            assert HEAD_BYTES <= place // 8 < HEAD_BYTES + SEAL_BYTES
            assert not is_sealed(bytes(flipped), b"rules")


@each_machine
def test_damage_with_a_right_checksum_is_a_program_or_refused(case: Case) -> None:
    encode, decode = case.assembly.binary.encode, case.assembly.binary.decode
    whole = encode(case.sample)[HEAD_BYTES:]

    @given(st.data())
    def check(data: st.DataObject) -> None:
        body = bytearray(whole)
        for _ in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(body)))
            body[start : start + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        with suppress(Damage):
            program = decode(sealed(bytes(body)))
            assert all(isinstance(fault, str) for fault in case.faults(program))
            assert case.assembly.write(decode(encode(program))) == case.assembly.write(program)

    check()


@given(st.integers())
def test_a_number_takes_seven_bits_a_byte(value: int) -> None:
    out = Writer()
    out.number(value)
    assert Reader(bytes(out.data)).number() == value
    distance = 2 * value if value >= 0 else -2 * value - 1
    assert len(out.data) == max(1, -(-distance.bit_length() // 7))
