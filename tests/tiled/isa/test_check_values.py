"""Numbers and names that the arithmetic could not take."""

from dataclasses import replace
from typing import Any

import pytest

from tests.tiled.programs import program
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.check_values import host_faults
from tilesim.tiled.isa.program import HostTensor

SUM = "sum: tensorop tiles=0x1 operation=sum nest=[x:4,lane:4] input=@0x0+x*4 output=@0x40+x*4"
HOST = HostTensor("in0", 0, "int8", (1, 3, 2, 2), (0, 3, 1, 2), "i8", 4, 1)


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (f"{SUM} rule=divde scaling=4,0", "rule must be a rule of sum, not 'divde'; did you mean 'divide'?"),
        (f"{SUM} rule=divide scaling=4", "scaling must hold 2 numbers for the rule divide, not 1"),
        (f"{SUM} rule=divide scaling=0,0", "scaling must divide by at least 1, not by 0"),
        (f"{SUM} rule=divide scaling=4,0 clamp=0,255", "clamp must lie in -128 to 127, the range of i8, not be 0, 255"),
        (f"{SUM} rule=divide scaling=4,4294967296", "scaling must be a number of 32 bits, not 4294967296"),
        (f"{SUM} rule=divide scaling=4,0 input_zero_point=-9999999999", "input_zero_point must be a number of 32 bits"),
        (SUM.replace("x:4", "x:99999999") + " rule=divide scaling=1,0", "nest must run at most 268435456 times"),
        (
            "classify rows=1 elements=4 function=softmx scaling=1,1,0,0,1",
            "function must be a function of the",
        ),
        ("classify rows=1 elements=4 function=softmax", "scaling must hold 5 numbers for softmax, not 0"),
    ],
)
def test_a_number_or_name_without_a_meaning_is_a_fault(run: str, fault: str) -> None:
    assert any(fault in each for each in faults(program(run))), faults(program(run))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"element": "i9"}, "element must be a type, not 'i9' (one of i8, u8)"),
        ({"dtype": "uint8"}, "dtype must be int8, or float32 with a scale, not uint8 with the scale 0.0"),
        ({"dtype": "float32"}, "dtype must be int8, or float32 with a scale, not float32 with the scale 0.0"),
        ({"rounding": "up"}, "rounding must be a way to round, not 'up' (one of away, even)"),
        ({"dtype": "float32", "scale": float("nan")}, "scale must be 0 or 1e-30 to 1e+30, not nan"),
        ({"dtype": "float32", "scale": -8.0}, "scale must be 0 or 1e-30 to 1e+30, not -8.0"),
        ({"rows": 1 << 30}, "rows must be at most 16777216, not 1073741824"),
        ({"pad": 128}, "pad must be -128 to 127, not 128"),
        ({"axes": (0, 1, 1, 2)}, "shape must be sizes of at least 1 and axes their order"),
        ({"pixel_bytes": 2}, "pixel_bytes must hold the 3 channels, not 2"),
        ({"pixel_bytes": 8}, "rows must hold all 4 pixels, not 1 of 16 bytes"),
    ],
)
def test_a_host_tensor_must_fit_together(change: dict[str, Any], fault: str | None) -> None:
    found = list(host_faults(replace(HOST, **change), 16))
    assert found == [] if fault is None else any(fault in each for each in found), found


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        (".layer name=a kind=add macs=-5", "layer 0 ('a'): macs must be 0 to"),
        (".region name=a memory=foo tiles=0x1 address=0 bytes=4", "memory must be a memory of a tile, not 'foo'"),
        (".region name=a memory=narrow tiles=0x1 address=-4 bytes=4", "must lie in the 2048 bytes of its memory"),
        (".region name=a memory=wide tiles=0x8 address=0 bytes=4", "tiles must name some of the 2 tiles, not 0x8"),
    ],
)
def test_what_a_program_says_of_itself_must_make_sense(head: str, fault: str) -> None:
    found = faults(program("", head=head))
    assert any(fault in each for each in found), found
