"""Inputs that come as one stream, of which each tile keeps its part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.shipped import shipped
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.axis import Axis
from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart, MapShape
from tilesim.tiled.compiler.input_stream import part_filter, stream_rows
from tilesim.tiled.isa.model.instructions import Infeed, RingConsume
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Grid
from tilesim.tiled.units.ring.ring_consumer import ByteFilterUnit

ROW, PIXEL = 16, 4
FILTERS = {"ring.byte_filter": True}


def compiled(network: str = "digits", chip: str = "edge-4x4", **keys: Any) -> Program:
    program = tilesim.compile(
        tilesim.load_network(network), tilesim.load_topology(chip, {**FILTERS, **keys}), "spatial"
    )
    assert isinstance(program, Program)
    return program


def from_host(program: Program) -> list[Infeed]:
    return [op for op in program.run if isinstance(op, Infeed) and op.source == "host"]


@given(st.data(), st.integers(1, 9), st.integers(1, 9))
def test_a_tile_keeps_its_part(data: st.DataObject, height: int, width: int) -> None:
    """Line by line, whatever rows of the ring they lie in."""
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    rows, columns = (
        range(start, data.draw(st.integers(start + 1, end))) for start, end in ((top, height), (left, width))
    )
    shape = MapShape(height, width, PIXEL)
    part = MapPart(shape, rows, columns, rows, columns, range(PIXEL), 0, 0, PIXEL)
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, PIXEL), np.uint8)
    stream = np.resize(pixels.reshape(-1), -(-pixels.size // ROW) * ROW)
    kept = part_filter(part, shape, len(stream) // ROW, ROW)
    wanted = -(-part.bytes // ROW)
    unit, found = ByteFilterUnit(kept, wanted, 1, ROW), []
    for step in kept.steps(wanted, ROW):
        if step.takes:
            unit.take(stream.reshape(-1, 1, ROW)[unit._taken])
        if step.completes is not None:
            found.append(unit.packed())
    packed = np.concatenate(found, axis=1)[0]
    own = pixels[rows.start : rows.stop, columns.start : columns.stop].reshape(-1)
    assert len(found) == wanted
    assert packed[: part.bytes].tolist() == own.tolist()


def test_the_rows_of_a_stream_are_those_of_the_map() -> None:
    rows, columns = (Axis(size, Axis.cut(size, 2), (range(0),) * 2, (range(0),) * 2) for size in (49, 10))
    places = Arrangement.plain(Grid(rows=2, columns=2))
    map_ = FeatureMap(MapShape(49, 10, 1), rows, columns, 0xF, PIXEL, places)
    assert stream_rows(map_, 256) == 8


def test_one_row_serves_all_tiles() -> None:
    """8 x 8 pixels of 4 bytes are a row; else each of 16 tiles would get one that is a sixteenth full."""
    program = compiled()
    [infeed] = from_host(program)
    assert (infeed.rows, infeed.transfers, infeed.to) == (1, 1, 0xFFFF)
    assert {op.filter is not None for op in program.run if isinstance(op, RingConsume) and op.label.startswith("input")}
    [tensor] = program.inputs
    assert tensor.rows == 1
    apart = compiled(**{"ring.byte_filter": False})
    assert sum(op.total_rows for op in from_host(apart)) == 16


@pytest.mark.parametrize(("network", "chip"), [("example-residual", "edge-2x2"), ("digits", "edge-1x1")])
def test_parts_that_fill_their_rows_come_one_after_the_other(network: str, chip: str) -> None:
    program = compiled(network, chip)
    assert [op.filter for op in program.run if isinstance(op, RingConsume) and op.filter is not None] == []


@pytest.mark.parametrize("chip", ["edge-2x2", "edge-4x4", "fig2-5x2"])
@pytest.mark.parametrize("queue", ["split", "shared"])
def test_the_answers_are_the_same_and_come_sooner(chip: str, queue: str) -> None:
    inputs = np.load(shipped("workloads") / "digits.npz")["in0"][:4]
    apart, streamed = (compiled(chip=chip, **{"ring.byte_filter": on, "ring.queue": queue}) for on in (False, True))
    assert tilesim.check(streamed).proven
    before, now = (tilesim.simulate(program, [inputs]) for program in (apart, streamed))
    np.testing.assert_array_equal(now.outputs[0], before.outputs[0])
    assert now.cycles < before.cycles


def test_both_models_agree() -> None:
    assert tilesim.verify(compiled(), [np.load(shipped("workloads") / "digits.npz")["in0"][:1]]).agree
