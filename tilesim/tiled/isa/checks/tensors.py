"""Static checks of where model tensors are said to stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

import numpy as np

from tilesim.printable import unknown
from tilesim.tiled.isa.model.instructions import ElementType
from tilesim.tiled.isa.model.program import Program, TensorLayout, TensorPiece

MAP_AXES = (0, 1, 2, 3)


def tensor_faults(program: Program) -> Iterator[str]:
    """What is wrong with the tensors of a program and their pieces."""
    layouts = {layout.index: layout for layout in program.tensors}
    for layout in program.tensors:
        pieces = [piece for piece in program.pieces if piece.index == layout.index]
        yield from (f"tensor {layout.index}: {sentence}" for sentence in _layout_faults(layout, pieces))
    labels = {instruction.label for instruction in program.run if instruction.label}
    for place, piece in enumerate(program.pieces):
        where = f"piece[{place}] of tensor {piece.index}"
        if piece.after not in labels:
            yield f"{where}: after {unknown(piece.after, labels, 'the label of an instruction of the run')}"
        if piece.index not in layouts:
            yield f"{where}: index must be that of a tensor, not {piece.index}"
        yield from (f"{where}: {sentence}" for sentence in _piece_faults(piece, program))
        if piece.index in layouts:
            yield from (f"{where}: {sentence}" for sentence in _place_faults(piece, layouts[piece.index]))


def _layout_faults(layout: TensorLayout, pieces: list[TensorPiece]) -> Iterator[str]:
    elements = prod(layout.extent)
    if min(layout.extent) < 1 or sorted(layout.axes) != list(MAP_AXES):
        given = f"{layout.extent} and {layout.axes}"
        yield f"extent must be at least 1 each way and axes an order of {MAP_AXES}, not {given}"
    elif not layout.shape or min(layout.shape) < 1 or prod(layout.shape) != elements:
        yield f"shape must be that of {elements} elements, not {layout.shape}"
    elif (held := sum(prod(piece.extent) for piece in pieces)) < elements:
        yield f"its pieces must be {elements} elements in all, not {held}"
    elif not any(fault for piece in pieces for fault in _place_faults(piece, layout)) and not covers(layout, pieces):
        yield f"its pieces must make up its {elements} elements, not leave some out"


def covers(layout: TensorLayout, pieces: Iterable[TensorPiece]) -> bool:
    """Whether pieces, which may overlap, make up a whole tensor."""
    covered = np.zeros(layout.extent, bool)
    for piece in pieces:
        y, x, c = (slice(start, start + size) for start, size in zip(piece.origin, piece.extent, strict=True))
        covered[y, x, c] = True
    return bool(covered.all())


def _piece_faults(piece: TensorPiece, program: Program) -> Iterator[str]:
    if not 0 <= piece.tile < program.topology.tiles:
        yield f"tile must be below the number of tiles {program.topology.tiles}, not {piece.tile}"
    if piece.element not in frozenset(ElementType):
        yield f"element {unknown(piece.element, ElementType, 'a type')}"
    if min(piece.extent) < 1 or min(piece.row_bytes, piece.pixel_bytes) < 0:
        yield f"extent must be at least 1 each way and row_bytes and pixel_bytes at least 0, not {piece.extent}"
        return
    size_bytes = program.topology.narrow_memory.size_bytes
    height, width, channels = piece.extent
    end = piece.address + (height - 1) * piece.row_bytes + (width - 1) * piece.pixel_bytes + channels
    if piece.address < 0 or end > size_bytes:
        yield f"address must keep it inside the narrow memory of {size_bytes} bytes, not {piece.address:#x} to {end:#x}"


def _place_faults(piece: TensorPiece, layout: TensorLayout) -> Iterator[str]:
    places = zip(piece.origin, piece.extent, layout.extent, strict=True)
    if any(start < 0 or start + size > whole for start, size, whole in places):
        yield f"origin and extent must lie in the map {layout.extent}, not be {piece.origin} and {piece.extent}"
