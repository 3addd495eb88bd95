"""Reading tensors out of the tiles' memories."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilesim
from tilesim.errors import AccessError
from tilesim.sim.core.memory import Memory
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.tensor_probe import TensorProbe


def test_a_piece_that_reaches_beyond_its_memory_is_not_read() -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    assert isinstance(program, Program)
    size_bytes = program.topology.narrow_memory.size_bytes
    piece = next(piece for piece in program.pieces if piece.extent[0] > 1)
    probe = TensorProbe(replace(program, pieces=(replace(piece, row_bytes=size_bytes),)), 1)
    probe.attach([Memory("narrow", size_bytes) for _ in range(program.topology.tiles)])
    with pytest.raises(AccessError, match=f"narrow has bytes 0 to {size_bytes - 1}, not"):
        probe.retired(piece.tile, piece.after)
