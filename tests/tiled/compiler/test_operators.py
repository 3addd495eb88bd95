"""Rows of operators: what tiles run, and what passes know of it."""

from __future__ import annotations

import pytest

import tilesim
from tilesim.network import operators as golden
from tilesim.tiled.compiler.operators import ELSEWHERE, OPERATORS, traits_of
from tilesim.tiled.compiler.traits import ReceptiveField

HOST_STEPS = """
    BatchMatmul Cast DepthToSpace DynamicQuantise Gather GatherNd IntegerConvolution IntegerMatmul Maximum Minimum
    Normalise Part Prelu RealArithmetic ResizeBilinear ResizeLinear SpaceToDepth Stack StridedSlice Tile Transpose
"""


def test_every_operator_has_its_place_but_those_that_the_host_computes() -> None:
    kinds = {kind for kind in vars(golden).values() if isinstance(kind, type)}
    assert {kind.__name__ for kind in kinds - {*OPERATORS, *ELSEWHERE}} == {*HOST_STEPS.split(), "Padding"}


@pytest.mark.parametrize(
    ("kind", "channel_wise", "row_by_row", "in_chunks"),
    [
        ("convolution", False, True, True),
        ("depthwiseconvolution", True, True, False),
        ("add", True, True, False),
        ("fullyconnected", False, False, True),
    ],
)
def test_the_traits_of_layers(kind: str, channel_wise: bool, row_by_row: bool, in_chunks: bool) -> None:
    node = next(node for node in tilesim.load_network("digits").nodes if node.kind == kind)
    traits = traits_of(node)
    assert (traits.channel_wise, traits.row_by_row, traits.in_chunks) == (channel_wise, row_by_row, in_chunks)


def test_what_moves_no_window_reads_each_pixel_where_it_makes_it() -> None:
    assert OPERATORS[golden.Table].fields(None, ()) == (ReceptiveField(1), ReceptiveField(1))
