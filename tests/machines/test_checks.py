"""What the host can't make of a tensor, whatever the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tilesim.machines.checks import conversion_faults
from tilesim.systolic.isa.model.program import HostTensor

REAL = HostTensor("in0", 0, "float32", (1, 4), (0, 1), "int8", scale=0.5)
WHOLE = replace(REAL, dtype="int8", scale=0.0)
BYTE = (-128, 127)


def test_quantised_or_as_it_is_all_is_well() -> None:
    for tensor in (REAL, WHOLE, replace(WHOLE, lookup=(0,) * 256)):
        assert list(conversion_faults(tensor, ["int8"], BYTE)) == []


@pytest.mark.parametrize(
    ("tensor", "change", "fault"),
    [
        (
            WHOLE,
            {"dtype": "bool"},
            "dtype must be int8, or uint8, or float32 with a scale, not bool with the scale 0.0",
        ),
        (WHOLE, {"scale": 2.0}, "dtype must be int8, or uint8, or float32 with a scale, not int8 with the scale 2.0"),
        (REAL, {"scale": 1e-40}, "scale must be 0 or 1e-30 to 1e+30, not 1e-40"),
        (REAL, {"rounding": "up"}, "rounding must be a way to round, not 'up' (one of away, even)"),
        (REAL, {"zero_point": 128}, "zero_point must be -128 to 127, not 128"),
        (WHOLE, {"lookup": (1, 2)}, "lookup must be 256 numbers from -128 to 127, not 2"),
        (WHOLE, {"lookup": (0,) * 255 + (200,)}, "lookup must be 256 numbers from -128 to 127, not 256"),
    ],
)
def test_each_fault_is_a_sentence(tensor: HostTensor, change: dict[str, Any], fault: str) -> None:
    assert list(conversion_faults(replace(tensor, **change), ["int8", "uint8"], BYTE)) == [fault]
