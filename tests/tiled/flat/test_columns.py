"""The description of the columns, as C reads it."""

import re

from tilesim.tiled.flat.columns import (
    CAUSES,
    CHIP,
    COLUMNS,
    KINDS,
    NOTED_CYCLE,
    NOTED_WORK,
    OPERANDS,
    PRODUCT,
    PRODUCT_ROW,
    PRODUCT_STEP,
    SENDINGS,
    STEPS,
    header_text,
)
from tilesim.tiled.isa.model.fields import Engine, Flag


def defined() -> dict[str, str]:
    return dict(re.findall(r"^#define (\w+) (.+)$", header_text(), re.MULTILINE))


def test_the_header_has_every_column_in_order() -> None:
    structs = dict(re.findall(r"typedef struct { int64_t ([^;]+); } (\w+);", header_text()))
    of_products = {PRODUCT, PRODUCT_ROW, PRODUCT_STEP, OPERANDS}
    assert {tuple(fields.split(", ")) for fields in structs} == {COLUMNS, CHIP, SENDINGS, STEPS} | of_products


def test_the_header_numbers_kinds_engines_and_flags() -> None:
    constants = defined()
    assert [constants[kind.upper()] for kind in KINDS] == [str(k) for k in range(len(KINDS))]
    assert [constants[engine.upper()] for engine in Engine] == [str(k) for k in range(len(Engine))]
    assert constants["FLAG_ORDINAL"] == str([*Flag].index(Flag.RING_PRODUCER_A))
    assert constants["FLAGS"] == str(len(Flag))


def test_every_cause_has_room_in_a_note() -> None:
    assert len(CAUSES) <= 1 << NOTED_WORK
    assert (defined()["NOTED_WORK"], defined()["NOTED_CYCLE"]) == (str(NOTED_WORK), str(NOTED_CYCLE))
