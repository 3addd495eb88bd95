"""Tensors that are read out while a program runs, whenever that is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.soak import counts
from tests.tiled.dataflow.agreement import COMPILED, inputs_for, must_agree
from tilesim.errors import InputError
from tilesim.machines.frame import named
from tilesim.tiled.dataflow.read_out import Standing, read_out
from tilesim.tiled.isa.model.instructions import Work
from tilesim.tiled.isa.model.program import Program, TensorPiece
from tilesim.tiled.rules.tile.footprint import footprints

NETWORKS = ("pocket", "example-residual", "digits")
CHIPS = ("edge-1x1", "edge-2x2", "fig2-5x2", "edge-4x4")


def compiled(network: str, chip: str) -> Program:
    program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip), "mixed")
    assert isinstance(program, Program)
    return named(program)


def read_at_any_time(program: Program, random: Random) -> Program:
    """Some pieces are read when anything has retired on their tile."""
    labels = [(op.tiles, op.label) for op in program.run if isinstance(op, Work)]

    def sooner_or_later(piece: TensorPiece) -> TensorPiece:
        there = [label for tiles, label in labels if tiles >> piece.tile & 1]
        return replace(piece, after=random.choice(there)) if random.random() < 0.2 else piece

    return replace(program, pieces=tuple(map(sooner_or_later, program.pieces)))


def outcome(program: Program) -> str:
    try:
        must_agree(program, inputs_for(program, 2))
    except InputError as error:
        assert "is over while what is then read out is being written: that is not covered" in str(error)  # noqa: PT017
        return "refused"
    return "the same"


@COMPILED
@pytest.mark.parametrize("count", counts(1, 20))
@pytest.mark.parametrize("chip", CHIPS)
def test_whenever_pieces_are_read_it_is_the_same_on_both_engines_or_refused(chip: str, count: int) -> None:
    random = Random(f"{chip} {count}")  # noqa: S311
    found = Counter(
        outcome(read_at_any_time(compiled(network, chip), random)) for network in NETWORKS for _ in range(3 * count)
    )
    assert {*found} == {"refused", "the same"}, found


@COMPILED
def test_what_is_written_just_then_is_left_to_simpy() -> None:
    program = compiled("pocket", "edge-1x1")
    ops = [op for op in program.run if isinstance(op, Work)]
    tried = [replace(program, pieces=tuple(replace(piece, after=op.label) for piece in program.pieces)) for op in ops]
    runs = [tilesim.simulate(each, keep_tensors=True) for each in tried]
    assert Counter(run.engine for run in runs).keys() == {"simpy", "compiled"}


@given(
    first=st.integers(0, 40),
    strides=st.tuples(st.integers(0, 20), st.integers(0, 9)),
    extent=st.tuples(*[st.integers(1, 4)] * 3),
)
def test_bytes_that_stand_are_those_of_lines_of_pixels(
    first: int, strides: tuple[int, int], extent: tuple[int, int, int]
) -> None:
    standing = Standing(first, *strides, extent)
    y, x, k = np.indices(extent)
    places = {*(first + y * strides[0] + x * strides[1] + k).reshape(-1).tolist()}
    assert (min(places), max(places) + 1) == (standing.first, standing.end)
    assert standing.pattern << first == sum(1 << place for place in places)


def test_what_is_read_when_an_instruction_has_retired_is_what_it_has_made() -> None:
    program = compiled("pocket", "edge-2x2")
    ops = (*program.load, *program.run)
    found = read_out(program)
    assert found
    for place, standing in found.items():
        written = [each.touched for each in footprints(ops[place], program.topology) if each.writes]
        assert any(bytes_.pattern << bytes_.first & touched for bytes_ in standing for touched in written)
