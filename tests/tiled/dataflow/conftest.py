"""Programs that are small enough to compare all pairs of their instructions."""

from __future__ import annotations

import pytest

import tilesim
from tilesim.machines.frame import named
from tilesim.tiled.isa.model.program import Program


@pytest.fixture(scope="module", params=["pocket-2x1", "edge-2x2"])
def program(request: pytest.FixtureRequest) -> Program:
    network = {"pocket-2x1": "pocket", "edge-2x2": "example-residual"}[request.param]
    program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(request.param))
    assert isinstance(program, Program)
    return named(program)
