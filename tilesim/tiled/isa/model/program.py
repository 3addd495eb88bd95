"""A program: instructions for one chip, the parameters they move, and how the host lays out inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tilesim.arithmetic.classify import elements_made
from tilesim.machines import program
from tilesim.machines.host_steps import HostConstant, HostStep
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.topology import Topology

PLACES = "i32"
"""What the places are that a classifier sends, the lowest byte first."""
AT_HOST = "host"
"""What an element is called of a tensor that does not cross the host's link: it is of the model's own type."""
ELEMENTS: dict[str, np.dtype[Any]] = {
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "i16": np.dtype("<i2"),
    PLACES: np.dtype("<i4"),
}
"""What an element of a host tensor's map is, by its name."""


@dataclass(frozen=True)
class Block:
    """A box of a host tensor's map that travels as ``rows`` whole rows.

    It begins at ``origin`` (y, x, c) and is ``extent`` (height, width, channels) big. Its pixels come in row-major
    order, each element as its bytes, each pixel padded to ``pixel_bytes``.
    """

    origin: tuple[int, int, int]
    extent: tuple[int, int, int]
    pixel_bytes: int
    rows: int

    @property
    def place(self) -> tuple[slice, ...]:
        """Where the box is in the map."""
        return tuple(slice(start, start + size) for start, size in zip(self.origin, self.extent, strict=True))

    def own_bytes(self, row_bytes: int, element_bytes: int) -> list[int]:
        """How many bytes of each row are elements, and no pads."""
        height, width, channels = self.extent
        pixels, own = height * width, channels * element_bytes
        places = (divmod(row * row_bytes, self.pixel_bytes) for row in range(self.rows + 1))
        ends = [own * min(whole, pixels) + (min(rest, own) if whole < pixels else 0) for whole, rest in places]
        return [end - start for start, end in pairwise(ends)]


@dataclass(frozen=True)
class HostTensor(program.HostTensor):
    """One of the host's tensors: on the ring one byte an element of type ``element`` (``i8`` or ``u8``; ``i16``, of two
    bytes, the lower one first; ``i32``, of four, for places from the classifier), folded into a map of ``extent``
    (height, width, channels) of which ``blocks`` travel one after the other, all padding being ``pad``. Blocks of an
    input may overlap or repeat, those of an output make up the map.

    Before it dequantises an output, the host applies to it the ``function`` with its ``scaling``, as the classifier
    would, to each pixel's channels, and then ``lookup``.
    """

    extent: tuple[int, int, int]
    blocks: tuple[Block, ...]
    pad: int = 0
    scale: float = 0.0
    zero_point: int = 0
    rounding: str = "even"
    function: str = ""
    scaling: tuple[int, ...] = ()
    lookup: tuple[int, ...] = ()

    @property
    def carried(self) -> np.dtype[Any]:
        return np.dtype(self.dtype) if self.element == AT_HOST else ELEMENTS[self.element]

    @property
    def made(self) -> tuple[int, int, int]:
        """The map that the host makes of it with its function."""
        height, width, channels = self.extent
        return height, width, elements_made(self.function, channels, self.scaling) if self.function else channels

    @property
    def rows(self) -> int:
        """Wide rows of all blocks."""
        return sum(block.rows for block in self.blocks)

    def own_bytes(self, row_bytes: int) -> list[int]:
        """How many bytes of each of those are elements, and no pads."""
        return [size for block in self.blocks for size in block.own_bytes(row_bytes, self.carried.itemsize)]


@dataclass(frozen=True)
class GivenTensor(HostTensor):
    """A tensor that the host makes and that tiles read. It is sent ``behind`` so many inputs of the program, and behind
    the given tensors before it.
    """

    behind: int = 0


@dataclass(frozen=True)
class DataSegment(program.DataSegment):
    """Bytes that stand in data memory at ``address``."""

    address: int


@dataclass(frozen=True)
class MapCut:
    """How a layer's map of ``extent`` (height, width, channels) is cut over the tiles.

    Row i of the grid makes the rows of the map from ``rows[i]`` to before ``rows[i + 1]``, the last one to the end; so
    do columns. ``order`` names the tile at each place, row by row, if the grid is not the chip's. Or, where ``block``
    is not 0, there are no such cuts, and tile k makes so many channels from ``k * block`` on, as far as there are some.
    """

    extent: tuple[int, int, int]
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    block: int = 0
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layer(program.Layer):
    """``place`` says where a layer runs: on the ``tiles``, in the ``classifier``, at the ``host``, or ``nowhere``, as
    it moves nothing or another layer does its work. ``network`` is the one that it belongs to, where a program has
    several. ``spread`` says how it is spread over the tiles (``spatial`` or ``channel``), for a ``reason``, and ``cut``
    who makes what; ``bands``, in how many bands of rows it is made, one after the other; ``parameters``, where its
    parameters live.
    """

    place: str = "tiles"
    network: str = ""
    spread: str = ""
    reason: str = ""
    bands: int = 1
    parameters: str = ""
    cut: MapCut | None = None


@dataclass(frozen=True)
class Candidate:
    """A way to spread the layers of a network that was tried before this one was chosen, and the cycles that a run took
    with it; -1 if there can't be one, for a ``reason``.
    """

    name: str
    cycles: int
    reason: str = ""
    network: str = ""


@dataclass(frozen=True)
class Request:
    """One of several inferences that a program runs one after the other, each of one of its networks.

    The next ``outputs`` of the program's outputs are its; ``loads`` load programs (0 or 1) run for it. It ``begins``
    behind the scalar fence of that label, the first one with the run.
    """

    network: str
    outputs: int
    loads: int = 0
    begins: str = ""


@dataclass(frozen=True)
class TensorPiece:
    """Where a part of a model tensor stands once the instruction ``after`` has retired.

    Element (y, x, c) of the piece is the byte at ``address + y * row_bytes + x * pixel_bytes + c`` of the tile's narrow
    memory; of 16 bits it is the two at ``... + 2 * c``. ``origin`` is its place in the tensor's map (height, width,
    channels), ``extent`` its size.
    """

    index: int
    after: str
    tile: int
    address: int
    row_bytes: int
    pixel_bytes: int
    origin: tuple[int, int, int]
    extent: tuple[int, int, int]
    element: str


@dataclass(frozen=True)
class TensorLayout:
    """A model tensor that can be read out of the tiles.

    Its pieces make up a map of ``extent`` (height, width, channels). ``axes`` is the order in which the model has the
    axes of (1, height, width, channels), and ``shape`` the model's shape, into which that is folded at last.
    """

    index: int
    name: str
    extent: tuple[int, int, int]
    axes: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Region:
    """A part of the ``narrow`` or ``wide`` memory of each tile in ``tiles`` that holds one thing.

    In a program that has regions of a memory, each operand of an instruction must stay within one of them.
    """

    name: str
    memory: str
    tiles: int
    address: int
    bytes: int


@dataclass(frozen=True, eq=False, repr=False)
class Program(program.Program):
    """A program for tiles; its instructions are issued in order."""

    topology: Topology
    load: tuple[Instruction, ...]
    run: tuple[Instruction, ...]
    data: tuple[DataSegment, ...] = ()
    inputs: tuple[HostTensor, ...] = ()
    outputs: tuple[HostTensor, ...] = ()
    layers: tuple[Layer, ...] = ()
    tensors: tuple[TensorLayout, ...] = ()
    """The model's tensors that can be read out of the tiles."""
    pieces: tuple[TensorPiece, ...] = ()
    """Where each of them lies."""
    regions: tuple[Region, ...] = ()
    """What the memories are used for."""
    token: int = 0
    """Shared by programs that were compiled together: what one has loaded outlives the runs of the others (0: nothing
    outlives a run)."""
    requests: tuple[Request, ...] = ()
    """The inferences, if ``run`` is of several."""
    partition: str = ""
    """How the user wanted layers to be spread over the tiles: ``spatial``, ``channel`` or ``auto``."""
    candidates: tuple[Candidate, ...] = ()
    """What was tried to find out."""
    steps: tuple[HostStep, ...] = ()
    """What the host does itself, in order."""
    constants: tuple[HostConstant, ...] = ()
    """Constants that it reads."""
    taken: tuple[HostTensor, ...] = ()
    """What leaves the tiles for it: to outfeeds the outputs behind those of the model."""
    given: tuple[GivenTensor, ...] = ()
    """What it makes for the tiles."""

    @property
    def at_host(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(step.layer for step in self.steps))

    @property
    def leaving(self) -> tuple[HostTensor, ...]:
        """What outfeeds take, by number."""
        return (*self.outputs, *self.taken)

    @property
    def sent(self) -> tuple[HostTensor, ...]:
        """What the host sends, in that order."""
        sent: list[HostTensor] = []
        left = [*self.given]
        for place, tensor in enumerate((*self.inputs, None)):
            while left and left[0].behind <= place:
                sent.append(left.pop(0))
            sent += [] if tensor is None else [tensor]
        return (*sent, *left)


def awaited_by_step(program: Program) -> list[tuple[HostStep, list[int]]]:
    """Each step of the host with the outputs, by number, of which it reads all rows: the last one of a tensor."""
    numbers = {tensor.index: number for number, tensor in enumerate(program.leaving) if tensor.rows}
    known = {tensor.index for tensor in program.inputs} | {step.makes for step in program.steps}
    return [
        (step, [numbers[index] for index in dict.fromkeys(step.reads) if index in numbers and index not in known])
        for step in program.steps
    ]
