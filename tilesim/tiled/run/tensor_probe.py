"""Reads model tensors out of the tiles' memories as soon as their layer has written them."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tilesim.sim.core.memory import Memory
from tilesim.tiled.dataflow.read_out import Standing
from tilesim.tiled.isa.model.program import ELEMENTS, Program, TensorLayout, TensorPiece

Array = NDArray[Any]


class TensorProbe:
    """Copies each piece of a tensor when the instruction that completes it retires."""

    def __init__(self, program: Program, samples: int) -> None:
        self._program = program
        self._samples = samples
        self._memories: list[Memory] = []
        self._read_out: dict[int, list[tuple[TensorPiece, Array]]] = defaultdict(list)

    def attach(self, memories: list[Memory]) -> None:
        """The narrow memories of the tiles of a chip that has yet to run."""
        self._memories = memories
        self._read_out.clear()

    @cached_property
    def _pieces(self) -> dict[tuple[int, str], list[TensorPiece]]:
        """What is there to read when an instruction of a tile retires."""
        pieces: dict[tuple[int, str], list[TensorPiece]] = defaultdict(list)
        for piece in self._program.pieces:
            pieces[piece.tile, piece.after].append(piece)
        return pieces

    def retired(self, tile: int, label: str) -> None:
        for piece in self._pieces.get((tile, label), ()):
            self._read_out[piece.index].append((piece, self._read(piece)))

    def tensors(self, outputs: list[Array]) -> dict[int, Array]:
        """Every tensor of which all pieces were read, in the model's layout; the outputs as the host received them."""
        whole = {
            layout.index: self._assemble(layout) for layout in self._program.tensors if layout.index in self._read_out
        }
        return whole | {tensor.index: array for tensor, array in zip(self._program.outputs, outputs, strict=True)}

    def _read(self, piece: TensorPiece) -> Array:
        memory, standing = self._memories[piece.tile], Standing.of(piece)
        memory.check(standing.first, standing.end)
        content = memory.bytes[:, standing.first :]
        strides = (content.strides[0], piece.row_bytes, piece.pixel_bytes, 1)
        places = as_strided(content, (len(content), *standing.extent), strides, writeable=False)
        return places.copy().view(ELEMENTS[piece.element])

    def _assemble(self, layout: TensorLayout) -> Array:
        pieces = self._read_out[layout.index]
        whole = np.zeros((self._samples, *layout.extent), pieces[0][1].dtype)
        for piece, data in pieces:
            place = tuple(slice(start, start + size) for start, size in zip(piece.origin, piece.extent, strict=True))
            whole[(slice(None), *place)] = data
        return whole.transpose(layout.axes).reshape(self._samples * layout.shape[0], *layout.shape[1:])
