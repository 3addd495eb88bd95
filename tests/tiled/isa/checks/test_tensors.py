"""What of an input or output, as the host sees it, can't be."""

from dataclasses import replace
from typing import Any

import pytest

from tilesim.tiled.isa.checks.tensors import input_faults, output_faults
from tilesim.tiled.isa.model.program import Block, HostTensor

ROW = 16
BLOCK = Block((0, 0, 0), (2, 2, 3), 4, 1)
HOST = HostTensor("in0", 0, "int8", (1, 3, 2, 2), (0, 3, 1, 2), "i8", (2, 2, 3), (BLOCK,))
LEFT, RIGHT = replace(BLOCK, extent=(2, 1, 3)), replace(BLOCK, origin=(0, 1, 0), extent=(2, 1, 3))


def blocks(*boxes: Block) -> dict[str, Any]:
    return {"blocks": boxes}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"element": "i9"}, "element must be a type, not 'i9' (one of i16, i8, u8)"),
        ({"dtype": "uint8"}, "dtype must be int8, or float32 with a scale, not uint8 with the scale 0.0"),
        ({"element": "i16"}, "dtype must be int16, or float32 with a scale, not int8 with the scale 0.0"),
        ({"element": "i16", "dtype": "int16", "pad": 40000}, "pad must be -32768 to 32767, not 40000"),
        ({"element": "i16", "dtype": "int16"}, "block 0: pixel_bytes must hold the 3 channels, not 4"),
        ({"element": "i16", "lookup": (0,) * 256}, "function and lookup must not be given for i16: the host computes"),
        ({"element": "i16", "function": "argmax"}, "function and lookup must not be given for i16: the host computes"),
        ({"dtype": "float32"}, "dtype must be int8, or float32 with a scale, not float32 with the scale 0.0"),
        ({"rounding": "up"}, "rounding must be a way to round, not 'up' (one of away, even)"),
        ({"dtype": "float32", "scale": float("nan")}, "scale must be 0 or 1e-30 to 1e+30, not nan"),
        ({"dtype": "float32", "scale": -8.0}, "scale must be 0 or 1e-30 to 1e+30, not -8.0"),
        ({"pad": 128}, "pad must be -128 to 127, not 128"),
        ({"axes": (0, 1, 1, 2)}, "shape must be sizes of at least 1 and axes their order"),
        ({"extent": (2, 3, 2), "blocks": (LEFT,)}, "block 0: origin and extent must lie in the map (2, 3, 2), not be"),
        ({"extent": (2, 2, 4)}, "extent must be that of a map of 12 elements, not (2, 2, 4)"),
        ({"extent": (-2, -2, 3)}, "extent must be that of a map of 12 elements, not (-2, -2, 3)"),
        ({"shape": (1, 1 << 15, 1 << 15, 3), "extent": (1 << 15, 1 << 15, 3)}, "shape must be that of at most"),
        (blocks(), "blocks must be at least one"),
        (blocks(replace(BLOCK, rows=1 << 30)), "rows must be at most 16777216, not 1073741824"),
        (blocks(replace(BLOCK, origin=(0, 0, 1))), "block 0: origin and extent must lie in the map (2, 2, 3), not be"),
        (blocks(replace(BLOCK, extent=(0, 2, 3))), "block 0: origin and extent must lie in the map (2, 2, 3), not be"),
        (blocks(BLOCK, replace(LEFT, origin=(0, -1, 0))), "block 1: origin and extent must lie in the map"),
        (blocks(replace(BLOCK, pixel_bytes=2)), "block 0: pixel_bytes must hold the 3 channels, not 2"),
        (blocks(replace(BLOCK, pixel_bytes=8)), "block 0: rows must hold all 4 pixels, not 1 of 16 bytes"),
    ],
)
def test_a_host_tensor_must_fit_together(change: dict[str, Any], fault: str) -> None:
    for faults in (input_faults, output_faults):
        sentences = list(faults(replace(HOST, **change), ROW))
        assert any(fault in sentence for sentence in sentences), sentences


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ((BLOCK,), None),
        ((RIGHT, LEFT), None),
        ((LEFT,), "blocks must make up its 12 elements, not 6"),
        ((BLOCK, LEFT), "blocks must make up its 12 elements, not 18"),
        ((LEFT, LEFT), "blocks must not overlap, as they do, so that none holds the element 0, 1, 0"),
    ],
)
def test_only_the_blocks_of_an_output_must_make_it_up(given: tuple[Block, ...], fault: str | None) -> None:
    tensor = replace(HOST, blocks=given)
    assert list(input_faults(tensor, ROW)) == []
    assert list(output_faults(tensor, ROW)) == ([fault] if fault else [])
