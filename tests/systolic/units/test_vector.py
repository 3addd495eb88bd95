"""Cycles and actions of the vector unit, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.systolic.handmade import topology
from tilesim.systolic.isa.model.instructions import (
    Activate,
    Combine,
    Copy,
    Fill,
    Lookup,
    Nest,
    Normalisation,
    Normalise,
    Pool,
    Pooling,
    Requantise,
    RowSoftmax,
    Scale,
    VectorInstruction,
    Window,
)
from tilesim.systolic.units.vector import actions, cycles

RUNS = Nest(0, 10, (3, 2), (16, 64))
"""Six runs of ten bytes: on four lanes three chunks each, two if they are of 16 bits."""
BYTES = 60
CLAMP = (-128, 127)
MAP = Window(0, 1, 80, 4, 4, 20, 5, 5, 2, 2, kernel=(2, 2), strides=(2, 2))
MAX, AVERAGE = Pooling("max", CLAMP), Pooling("average", CLAMP, "divide", ((4, 4, 0),))
NORMALISE = Normalise(5, (), CLAMP)
MOVED: Any = {"source": RUNS, "destination": RUNS}
SUMS = Activate(vectors=16, columns=5, scale=Scale("single", 0, 0, CLAMP), stride_bytes=5)
RESCALE = Requantise(
    **MOVED, rule="single", multiplier=1, shift=0, input_zero_point=0, zero_point=0, clamp=CLAMP, element="int16"
)
SUM = Combine(a=RUNS, b=RUNS, destination=RUNS, rule="double", scaling=(), clamp=CLAMP)


@pytest.mark.parametrize(("op", "expected"), [
    (Copy(**MOVED), 18),
    (Fill(destination=RUNS, value=0), 18),
    (Lookup(**MOVED, table=0), 18),
    (replace(RESCALE, element="int8"), 18),
    (replace(RESCALE, result="int16"), 12),
    (SUM, 36),
    (replace(SUM, function="multiply", element="int16"), 24),
    (Normalisation(**MOVED, normalise=NORMALISE), 18),
    (RowSoftmax(**MOVED, rule="plain", scaling=(), clamp=CLAMP), 54),
    (Pool(window=MAP, pool=MAX, stride_bytes=5), 4 * 4 * 2),
    (SUMS, 3 * 2 + 16 * 2),
    (replace(SUMS, window=MAP, pool=MAX), 3 * 2 + 16 * 2),
], ids=lambda value: getattr(value, "mnemonic", None))  # fmt: skip
def test_cycles(op: VectorInstruction, expected: int) -> None:
    assert cycles(op, topology()) == expected  # four lanes, 16 bytes of parameters a cycle


@pytest.mark.parametrize(("op", "expected"), [
    (Copy(**MOVED), {}),
    (Fill(destination=RUNS, value=0), {"buffer_read": 0}),
    (Lookup(**MOVED, table=0), {"buffer_read": BYTES + 256, "lookup": BYTES}),
    (replace(RESCALE, element="int8"), {"add_32": 2 * BYTES, "multiply_32": BYTES}),
    (SUM, {"buffer_read": 2 * BYTES, "multiply_32": 3 * BYTES, "add_32": 2 * BYTES}),
    (RowSoftmax(**MOVED, rule="plain", scaling=(), clamp=CLAMP), {"lookup": 60, "add_32": 60, "multiply_32": 60}),
    (Normalisation(**MOVED, normalise=NORMALISE), {"multiply_32": 120, "add_32": 300, "lookup": 60}),
    (Pool(window=MAP, pool=MAX, stride_bytes=5), {"buffer_read": 80, "buffer_write": 20, "add_8": 80}),
    (
        Pool(window=MAP, pool=AVERAGE, stride_bytes=5),
        {"buffer_read": 80, "buffer_write": 20, "add_32": 100, "multiply_32": 20},
    ),
], ids=lambda value: getattr(value, "mnemonic", None))  # fmt: skip
def test_actions(op: VectorInstruction, expected: dict[str, int]) -> None:
    assert dict(actions(op)) == {"buffer_read": BYTES, "buffer_write": BYTES, **expected}


def test_an_activation_reads_sums_and_parameters() -> None:
    plain = {"accumulator_read": 320, "buffer_read": 60, "add_32": 160, "multiply_32": 80}
    assert actions(SUMS) == {**plain, "buffer_write": 80}
    assert actions(replace(SUMS, table=0)) == {**plain, "buffer_read": 60 + 256, "lookup": 80, "buffer_write": 80}
    pooled = replace(SUMS, window=MAP, pool=MAX, normalise=NORMALISE)
    assert actions(pooled)["buffer_write"] == 20
    assert actions(pooled)["lookup"] == 80
    assert actions(replace(pooled, pool_first=True))["lookup"] == 20
