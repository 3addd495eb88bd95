"""Static checks of inputs and outputs as the host sees them, and of where model tensors are said to stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

import numpy as np

from tilesim.arithmetic.classify import FUNCTIONS
from tilesim.machines.checks import MOST_HOST_BYTES, PLACE_DTYPES, conversion_faults, host_function_faults
from tilesim.printable import unknown
from tilesim.tiled.isa.checks.values import RANGES
from tilesim.tiled.isa.model.instructions import ElementType
from tilesim.tiled.isa.model.program import AT_HOST, PLACES, Block, HostTensor, Program, TensorLayout, TensorPiece

HOST_DTYPES: Mapping[str, str] = {ElementType.I8: "int8", ElementType.U8: "uint8", ElementType.I16: "int16"}
ELEMENT_TYPES = frozenset(ElementType)
BYTES = (ElementType.I8, ElementType.U8)
EITHER = min(RANGES[kind][0] for kind in BYTES), max(RANGES[kind][1] for kind in BYTES)
"""What a byte of whichever type can be."""
MAP_AXES = (0, 1, 2, 3)


def input_faults(tensor: HostTensor, row_bytes: int) -> Iterator[str]:
    """What is wrong with a network input as the host sees it."""
    if tensor.element == AT_HOST:
        yield from _host_faults(tensor)
    elif tensor.element not in HOST_DTYPES:
        yield f"element {unknown(tensor.element, ElementType, 'a type')}"
    else:
        yield from _tensor_faults(tensor, row_bytes)


def _host_faults(tensor: HostTensor) -> Iterator[str]:
    """Of a tensor that does not cross the link."""
    if tensor.blocks or tensor.function or tensor.lookup or tensor.scale:
        yield "blocks, function, lookup and scale must not be given for what stays at the host"
    try:
        kind = np.dtype(tensor.dtype).kind
    except TypeError:
        kind = "O"
    if kind not in "biuf":
        yield f"dtype must be one of numbers, not {tensor.dtype}"
    yield from _shape_faults(tensor, tensor.extent)


def _tensor_faults(tensor: HostTensor, row_bytes: int) -> Iterator[str]:
    """Of a tensor whose element is known."""
    if tensor.element == PLACES and (tensor.function or tensor.lookup or tensor.scale):
        yield "function, lookup and scale must not be given for places, which the host takes as they are"
    if tensor.element == ElementType.I16 and (tensor.function or tensor.lookup):
        yield "function and lookup must not be given for i16: the host computes with bytes"
    low, high = RANGES[ElementType(tensor.element)] if tensor.element != PLACES else (0, 0)
    # the entries of a look-up may be of the other type
    yield from conversion_faults(tensor, _dtypes(tensor), EITHER if tensor.lookup else (low, high))
    wrong = list(host_function_faults(tensor, tensor.extent[2]))
    yield from wrong
    if not low <= tensor.pad <= high:
        yield f"pad must be {low} to {high}, not {tensor.pad}"
    yield from _shape_faults(tensor, tensor.extent if wrong else tensor.made)
    yield from _block_faults(tensor, row_bytes)


def _dtypes(tensor: HostTensor) -> Sequence[str]:
    """What integers the host may give: bytes as they are, what all entries of the look-up are, or places."""
    function = FUNCTIONS.get(tensor.function)
    if tensor.element == PLACES or (function is not None and function.places):
        return PLACE_DTYPES
    if not tensor.lookup:
        return [HOST_DTYPES[ElementType(tensor.element)]]
    least, most = min(tensor.lookup), max(tensor.lookup)
    return [HOST_DTYPES[kind] for kind in BYTES if RANGES[kind][0] <= least and most <= RANGES[kind][1]]


def output_faults(tensor: HostTensor, row_bytes: int) -> Iterator[str]:
    """What is wrong with a network output as the host sees it: its blocks must make up the whole."""
    faults = list((_tensor_faults if tensor.element == PLACES else input_faults)(tensor, row_bytes))
    yield from faults
    if faults or tensor.element == AT_HOST:  # the sizes below are bounded only in a sound tensor
        return
    elements, given = prod(tensor.extent), sum(prod(block.extent) for block in tensor.blocks)
    if given != elements:
        yield f"blocks must make up its {elements} elements, not {given}"
        return
    covered = np.zeros(tensor.extent, bool)
    for block in tensor.blocks:
        covered[block.place] = True
    if not covered.all():
        y, x, c = np.argwhere(~covered)[0]
        yield f"blocks must not overlap, as they do, so that none holds the element {y}, {x}, {c}"


def _shape_faults(tensor: HostTensor, made: tuple[int, int, int]) -> Iterator[str]:
    if not tensor.shape or min(tensor.shape) < 1 or sorted(tensor.axes) != list(range(len(tensor.shape))):
        yield f"shape must be sizes of at least 1 and axes their order, not {tensor.shape} and {tensor.axes}"
    elif min(tensor.extent) < 1 or prod(made) != prod(tensor.shape):
        yield f"extent must be that of a map of {prod(tensor.shape)} elements, not {made}"
    elif prod(tensor.shape) > MOST_HOST_BYTES:
        yield f"shape must be that of at most {MOST_HOST_BYTES} elements, not {tensor.shape}"


def _block_faults(tensor: HostTensor, row_bytes: int) -> Iterator[str]:
    if not tensor.blocks:
        yield "blocks must be at least one"
    for place, block in enumerate(tensor.blocks):
        faults = _faults_of(block, tensor.extent, tensor.carried.itemsize, row_bytes)
        yield from (f"block {place}: {sentence}" for sentence in faults)
    if tensor.rows * row_bytes > MOST_HOST_BYTES:
        yield f"rows must be at most {MOST_HOST_BYTES // row_bytes}, not {tensor.rows}"


def _faults_of(block: Block, whole: tuple[int, int, int], element_bytes: int, row_bytes: int) -> Iterator[str]:
    height, width, channels = block.extent
    reach = zip(block.origin, block.extent, whole, strict=True)
    if any(start < 0 or size < 1 or start + size > most for start, size, most in reach):
        yield f"origin and extent must lie in the map {whole}, not be {block.origin} and {block.extent}"
    elif block.pixel_bytes < channels * element_bytes:
        yield f"pixel_bytes must hold the {channels} channels, not {block.pixel_bytes}"
    elif height * width * block.pixel_bytes > block.rows * row_bytes:
        yield f"rows must hold all {height * width} pixels, not {block.rows} of {row_bytes} bytes"


def tensor_faults(program: Program) -> Iterator[str]:
    """What is wrong with the tensors of a program and their pieces."""
    layouts = {layout.index: layout for layout in program.tensors}
    pieces: dict[int, list[TensorPiece]] = defaultdict(list)
    for piece in program.pieces:
        pieces[piece.index].append(piece)
    for layout in program.tensors:
        yield from (f"tensor {layout.index}: {sentence}" for sentence in _layout_faults(layout, pieces[layout.index]))
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
    if piece.element not in ELEMENT_TYPES:
        yield f"element {unknown(piece.element, ElementType, 'a type')}"
    if min(piece.extent) < 1 or min(piece.row_bytes, piece.pixel_bytes) < 0:
        yield f"extent must be at least 1 each way and row_bytes and pixel_bytes at least 0, not {piece.extent}"
        return
    size_bytes = program.topology.narrow_memory.size_bytes
    height, width, channels = piece.extent
    pixel_bytes = channels * (ElementType.I16.bytes if piece.element == ElementType.I16 else 1)
    end = piece.address + (height - 1) * piece.row_bytes + (width - 1) * piece.pixel_bytes + pixel_bytes
    if piece.address < 0 or end > size_bytes:
        yield f"address must keep it inside the narrow memory of {size_bytes} bytes, not {piece.address:#x} to {end:#x}"


def _place_faults(piece: TensorPiece, layout: TensorLayout) -> Iterator[str]:
    (y, x, c), (height, width, channels), (rows, columns, depth) = piece.origin, piece.extent, layout.extent
    if min(y, x, c) < 0 or y + height > rows or x + width > columns or c + channels > depth:
        yield f"origin and extent must lie in the map {layout.extent}, not be {piece.origin} and {piece.extent}"
