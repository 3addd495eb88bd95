"""Instructions as bytes: any there and back, their lengths, and what has no room."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_type_hints

import pytest
from hypothesis import given

from tests.systolic.codec import decode, encode
from tests.systolic.programs import instructions
from tilesim.systolic.isa.encoding import WIDTHS, length_bytes, range_faults
from tilesim.systolic.isa.model.instructions import (
    CLASSES,
    Activate,
    Fill,
    Halt,
    Instruction,
    MatrixMultiply,
    Nest,
    Nop,
    Queue,
    ReadHostMemory,
    ReadWeights,
    Scale,
    Sync,
    Window,
    WriteHostMemory,
)

WINDOW = Window(0x400, 1, 1024, 8, 8, 128, 16, 16, 8, 8, (3, 3), padding=(1, 1))
MULTIPLY = MatrixMultiply(window=WINDOW, vectors=64, rows=144, columns=32)
ACTIVATE = Activate(scale=Scale("double", 0, 3, (-128, 127)))


@given(instructions())
def test_any_instruction_comes_back(op: Instruction) -> None:
    content = encode(op)
    assert decode(content) == replace(op, label="", layer=-1)
    assert len(content) == length_bytes(op)


@pytest.mark.parametrize(
    ("op", "length"),
    [
        (Nop(), 2),
        (Halt(), 2),
        (Sync(unit=Queue.MATRIX, until=Queue.DMA_IN, count=1), 6),
        (ReadWeights(), 11),
        (ReadHostMemory(bytes=1), 20),
        (WriteHostMemory(bytes=1), 18),
        (MULTIPLY, 12 + 15 + 41),
        (ACTIVATE, 22 + 11),
        (Fill(destination=Nest(0, 4), value=0), 15),
        (Fill(destination=Nest(0, 4, (2, 3), (16, 4)), value=0), 15 + 2 * 8),
    ],
)
def test_lengths(op: Instruction, length: int) -> None:
    assert length_bytes(op) == length


def test_twelve_bytes_of_a_multiply_are_those_of_the_paper() -> None:
    """Jouppi et al., ISCA 2017, section 2; its address has 3 bytes, for it counts no single ones."""
    numbers = {**WIDTHS[MatrixMultiply], "address": WIDTHS[Window]["address"]}
    assert 2 + sum(numbers[name].width_bytes for name in ("address", "accumulator", "vectors")) == 12


def test_every_number_has_its_width() -> None:
    for kind in (*CLASSES, *WIDTHS):
        whole = {name for name, hint in get_type_hints(kind).items() if hint is int and name != "layer"}
        assert whole <= WIDTHS.get(kind, {}).keys() <= {field.name for field in fields(kind)}, kind


def test_what_has_no_room_is_said_all_at_once() -> None:
    op = replace(
        MULTIPLY,
        accumulator=65536,
        vectors=0,
        weights="int4",
        window=replace(WINDOW, kernel=(0, 1), padding=(-40000, 1)),
    )
    assert list(range_faults(op)) == [
        "weights must be one of int8, uint8, int16, not 'int4'",
        "window.kernel must be 1 to 65536, not 0",
        "window.padding must be -32768 to 32767, not -40000",
        "accumulator must be 0 to 65535, not 65536",
        "vectors must be 1 to 4294967296, not 0",
    ]
    assert list(range_faults(MULTIPLY)) == []


def test_lists_have_lengths() -> None:
    assert list(range_faults(replace(ACTIVATE, scale=Scale("double", 0, 3, (1, 2, 3))))) == [  # type: ignore[arg-type]
        "scale.clamp must be 2 values, not 3"
    ]
    assert list(range_faults(Fill(destination=Nest(0, 1, (1,) * 65536), value=0))) == [
        "destination.counts must be at most 65535 values, not 65536"
    ]
