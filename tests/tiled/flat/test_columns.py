"""The description of the columns, as C reads it."""

import re

import numpy as np

from tilesim.tiled.flat.columns import (
    CHIP,
    COLUMNS,
    KINDS,
    OPERANDS,
    PRODUCT,
    PRODUCT_ROW,
    PRODUCT_STEP,
    SENDINGS,
    STAYS,
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


def test_stays_lie_in_memory_as_in_c() -> None:
    assert "typedef struct { int64_t start; int64_t end; int32_t op; int32_t cause; } Stay;" in header_text()
    packed, aligned = (np.dtype([*STAYS.items()], align=align) for align in (False, True))
    assert packed.itemsize == aligned.itemsize == 24
    assert [packed.fields[name][1] for name in STAYS] == [aligned.fields[name][1] for name in STAYS]
