"""What instructions are for, as the tables have it."""

from __future__ import annotations

import pytest

import tilesim
from tilesim.tiled.flat.columns import CHIP
from tilesim.tiled.flat.listing import Headers, layers_of, requests_of
from tilesim.tiled.flat.tables import tables_of
from tilesim.tiled.isa.model.instructions import Classify, header_of
from tilesim.tiled.isa.model.program import Program


@pytest.fixture(scope="module")
def linked() -> Program:
    """Three requests."""
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("edge-2x2"))
    linked = tilesim.api.link([program], [0, 0, 0])
    assert isinstance(linked, Program)
    return linked


def test_each_instruction_goes_to_the_stops_of_its_header(linked: Program) -> None:
    headers, ops = Headers(linked), (*linked.load, *linked.run)
    found = [headers.unlike[number] for number in headers.number.tolist()]
    assert found == [header_of(op, 4) for op in ops]
    assert headers.stops.tolist() == [header.bit_length() for header in found]
    assert len({*headers.unlike}) == len(headers.unlike) < len(ops)
    assert {found[place] for place, op in enumerate(ops) if isinstance(op, Classify)} == {1 << 4}


def test_each_is_for_its_layer(linked: Program) -> None:
    assert layers_of(linked).tolist() == [op.layer for op in (*linked.load, *linked.run)]


def test_each_is_for_a_request(linked: Program) -> None:
    numbers = requests_of(linked).tolist()
    assert numbers == sorted(numbers)
    assert {*numbers} == {0, 1, 2}
    assert len(numbers) == len(linked.load) + len(linked.run)
    assert tables_of(linked).chip[CHIP.index("requests")] == 3
    of_run = numbers[len(linked.load) :]
    last = [op.label for op, own, next_ in zip(linked.run, of_run, of_run[1:], strict=False) if next_ > own]
    assert last == [request.begins for request in linked.requests if request.begins]


def test_without_requests_all_are_for_one() -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    assert isinstance(program, Program)
    assert requests_of(program).tolist() == [0] * (len(program.load) + len(program.run))
