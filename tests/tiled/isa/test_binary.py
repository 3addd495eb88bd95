"""The binary form: any program there and back, the same bytes each time, and damage in words."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.tiled.isa.test_text import CHIP, SAMPLE, any_of
from tests.tiled.programs import same
from tilesim.tiled.isa import encoding, tables
from tilesim.tiled.isa.binary import VERSION, decode, encode
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, WORD_BYTES, Infeed, Instruction, RingConsume
from tilesim.tiled.isa.model.program import DataSegment, HostTensor, Layer, Program, Region, TensorLayout, TensorPiece
from tilesim.tiled.isa.streams import Damage, Reader, Writer
from tilesim.tiled.isa.text import read_text, write_text

HEAD_BYTES = 48
CONTENT = encode(SAMPLE)

tensors = st.builds(replace, any_of(HostTensor), scale=st.floats(allow_nan=False))
segments = st.lists(st.tuples(st.from_type(str), st.integers(0), st.binary(max_size=4)), unique_by=lambda each: each[0])
some = st.lists(st.one_of(map(any_of, INSTRUCTIONS)), max_size=3).map(tuple)
programs = st.builds(
    Program,
    name=st.from_type(str),
    topology=st.builds(lambda name: CHIP.model_copy(update={"name": name}), st.from_type(str)),
    load=some,
    run=some,
    data=segments.map(lambda found: tuple(DataSegment(n, a, np.frombuffer(b, np.uint8)) for n, a, b in found)),
    inputs=st.lists(tensors, max_size=1).map(tuple),
    outputs=st.lists(tensors, max_size=1).map(tuple),
    **{
        name: st.lists(any_of(kind), max_size=1).map(tuple)
        for name, kind in (("layers", Layer), ("tensors", TensorLayout), ("pieces", TensorPiece), ("regions", Region))
    },
)


def from_text(program: Program) -> Program:
    """``program`` by way of its text."""
    return read_text(write_text(program), Path("p.tasm"), {each.name: each.data for each in program.data})


def sealed(body: bytes) -> bytes:
    """A file of ``body`` whose head tells the truth."""
    length = (HEAD_BYTES + len(body)).to_bytes(8, "little")
    return CONTENT[:8] + length + hashlib.sha256(body).digest() + body


@given(programs)
def test_any_program_comes_back_by_way_of_either_form(program: Program) -> None:
    content = encode(program)
    assert same(decode(content), program)
    assert encode(decode(content)) == content
    assert encode(from_text(decode(content))) == content
    assert write_text(decode(encode(from_text(program)))) == write_text(program)


@pytest.mark.parametrize("kind", INSTRUCTIONS)
def test_every_instruction_comes_back_field_by_field(kind: type[Instruction]) -> None:
    @given(any_of(kind))
    def check(instruction: Instruction) -> None:
        assert decode(encode(replace(SAMPLE, run=(instruction,)))).run == (instruction,)

    check()


def test_compiled_programs_come_back_and_run_alike(models: Path) -> None:
    network = tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"))
    again = decode(encode(program))
    assert same(again, program)
    assert encode(from_text(again)) == encode(program)
    first = program.inputs[0]
    image = np.arange(np.prod(first.shape)).reshape(first.shape).astype(first.dtype)
    runs = [tilesim.simulate(each, image, trace=True) for each in (program, again)]
    assert runs[0].json() == runs[1].json()
    np.testing.assert_array_equal(runs[0].outputs[0], runs[1].outputs[0])


def test_an_instruction_fills_whole_words_and_the_bus_has_room_for_it(models: Path) -> None:
    """The bitmaps of a fence are lists here; the controller's own instructions are on no bus."""
    network = tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"))
    out = Writer()
    encoding.codec_of(Program).write(out, program)
    out.fill_word()
    for instruction in program.run:
        before = len(out.data)
        encoding.codec_of(Instruction).write(out, instruction)
        words, rest = divmod(len(out.data) - before, WORD_BYTES)
        assert rest == 0
        assert 1 <= words <= max(instruction.words, 2)


def test_numbers_of_any_size_come_back() -> None:
    program = replace(SAMPLE, run=(Infeed(source="host", rows=-1, to=(1 << 4097) - 1, address=-(1 << 64)),))
    assert decode(encode(program)).run == program.run
    nan = replace(SAMPLE.inputs[0], scale=-np.nan)
    back = decode(encode(replace(SAMPLE, inputs=(nan,)))).inputs[0].scale
    assert np.float64(back).tobytes() == np.float64(-np.nan).tobytes()


def test_a_field_that_an_older_file_lacks_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        without(older, Infeed, "transfers")
        content = encode(SAMPLE)
    assert content != CONTENT
    assert same(decode(content), SAMPLE)


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        (Infeed, "transfers", "infeed must be made of fields that this tilesim knows, not 'transfers'"),
        (RingConsume, "filter", "ring_consume must be made of fields that this tilesim knows, not 'filter'"),
    ],
)
def test_a_field_that_only_a_newer_file_has_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: type, name: str, sentence: str
) -> None:
    without(monkeypatch, kind, name)
    assert sentence in refusal(CONTENT)


def test_a_field_without_a_default_must_be_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        without(older, Infeed, "rows")
        content = encode(SAMPLE)
    assert refusal(content) == "infeed must also have rows; another tilesim wrote the file"


def test_a_field_of_another_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real, text = encoding.fields_of, encoding.codec_of(str)
    with monkeypatch.context() as other:
        fields = real(Layer)
        changed = {**fields, "macs": replace(fields["macs"], codec=replace(text, write=lambda out, _: out.string("")))}
        patch(other, lambda kind: changed if kind is Layer else real(kind))
        content = encode(SAMPLE)
    assert refusal(content) == "the field macs of Layer must be 'int' as in this tilesim, not 'str'"


def without(patcher: pytest.MonkeyPatch, kind: type, name: str) -> None:
    """Let ``kind`` have no field ``name``."""
    real = encoding.fields_of
    patch(patcher, lambda each: {n: f for n, f in real(each).items() if (each, n) != (kind, name)})


def patch(patcher: pytest.MonkeyPatch, fields_of: Any) -> None:
    for module in (encoding, tables):
        patcher.setattr(module, "fields_of", fields_of)


def refusal(content: bytes) -> str:
    """What is wrong with ``content``."""
    with pytest.raises(Damage) as caught:
        decode(content)
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
        (CONTENT[:4] + b"\2" + CONTENT[5:], f"must be of version {VERSION} of the binary form, not 2; a newer tilesim"),
        (CONTENT[:4] + b"\0" + CONTENT[5:], f"must be of version {VERSION} of the binary form, not 0"),
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


@given(st.data())
def test_damage_with_a_right_checksum_is_a_program_or_refused(data: st.DataObject) -> None:
    body = bytearray(CONTENT[HEAD_BYTES:])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(body)))
        body[start : start + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with suppress(Damage):
        program = decode(sealed(bytes(body)))
        write_text(program)
        assert all(isinstance(fault, str) for fault in faults(program))
        assert same(decode(encode(program)), program)


@given(st.integers())
def test_a_number_takes_seven_bits_a_byte(value: int) -> None:
    out = Writer()
    out.number(value)
    assert Reader(bytes(out.data)).number() == value
    distance = 2 * value if value >= 0 else -2 * value - 1
    assert len(out.data) == max(1, -(-distance.bit_length() // 7))
