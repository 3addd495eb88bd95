"""The instructions of the systolic machine, as the host sends them.

Each goes into the queue of the unit that carries it out, in order; units meet only through :class:`Sync`. Addresses
are bytes of the unified buffer unless said otherwise; it holds maps channels last.

Source: Jouppi et al., ISCA 2017, section 2, for the opcodes and the lengths of MatrixMultiply's fields; WO 2016/186801,
Figs. 3 to 6, for what the units do; their other fields are assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

Element = Literal["int8", "uint8", "int16"]
"""What a number is stored as."""
PARAMETER_BYTES = 12
"""Of an output: bias, multiplier and shift."""


class Queue(StrEnum):
    """Units that carry out instructions, one after the other, each from a queue of its own."""

    DMA_IN = "dma_in"
    DMA_OUT = "dma_out"
    WEIGHTS = "weight_fetcher"
    MATRIX = "matrix"
    VECTOR = "vector"

    @property
    def owner(self) -> str:
        """What sentences call the unit."""
        return {
            Queue.DMA_IN: "DMA in",
            Queue.DMA_OUT: "DMA out",
            Queue.WEIGHTS: "the weight fetcher",
            Queue.MATRIX: "the matrix unit",
            Queue.VECTOR: "the vector unit",
        }[self]


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """``label`` names it in traces and reports, ``layer`` is its place in the program's list (-1: none)."""

    label: str = ""
    layer: int = -1
    queue: ClassVar[Queue | None] = None

    @property
    def mnemonic(self) -> str:
        """What the assembly calls it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Nest:
    """Bytes of the unified buffer: ``bytes`` contiguous ones at ``address`` plus, for each loop, outermost first, a
    ``stride`` times its counter, which runs up to its ``count``.
    """

    address: int
    bytes: int
    counts: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


@dataclass(frozen=True)
class Window:
    """Windows over ``images`` maps of the unified buffer.

    Element (n, y, x, c) is at ``address + n * image_bytes + y * row_bytes + x * pixel_bytes + c * its size``; elements
    outside of ``height`` and ``width`` count as the zero point. Position (n, oy, ox) of ``output_height`` by
    ``output_width`` an image has the element (y, x) = (oy * stride - padding + ky * dilation, ...) at kernel place
    (ky, kx). Unfolded, a window is a vector: its element (ky, kx, c) is number (ky * kernel width + kx) * channels + c.
    """

    address: int
    images: int
    image_bytes: int
    height: int
    width: int
    row_bytes: int
    pixel_bytes: int
    channels: int
    output_height: int
    output_width: int
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    """Rows above, columns to the left; what is below and to the right follows from the output's size."""

    @property
    def elements(self) -> int:
        """Of an unfolded window."""
        return self.kernel[0] * self.kernel[1] * self.channels

    @property
    def positions(self) -> int:
        return self.images * self.output_height * self.output_width


@dataclass(frozen=True, kw_only=True)
class ReadHostMemory(Instruction):
    """Bring ``bytes`` from ``offset`` on of the host's ``input`` or ``data`` number ``tensor`` to ``address`` of the
    unified buffer or of weight memory.
    """

    queue: ClassVar[Queue] = Queue.DMA_IN
    mnemonic: ClassVar[str] = "read_host_memory"
    source: Literal["input", "data"] = "input"
    tensor: int = 0
    offset: int = 0
    destination: Literal["unified_buffer", "weight_memory"] = "unified_buffer"
    address: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class WriteHostMemory(Instruction):
    """Send ``bytes`` from ``address`` on to ``offset`` of the host's output number ``tensor``."""

    queue: ClassVar[Queue] = Queue.DMA_OUT
    mnemonic: ClassVar[str] = "write_host_memory"
    tensor: int = 0
    offset: int = 0
    address: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class ReadWeights(Instruction):
    """Fetch ``tiles`` contiguous tiles from ``address`` of weight memory into the weight FIFO.

    A tile is a weight for each cell, of ``weight_bytes`` bytes: the weight of input i for output j of the array is at
    ``(i * outputs + j) * weight_bytes``.
    """

    queue: ClassVar[Queue] = Queue.WEIGHTS
    mnemonic: ClassVar[str] = "read_weights"
    address: int = 0
    tiles: int = 1
    weight_bytes: int = 1


@dataclass(frozen=True, kw_only=True)
class MatrixMultiply(Instruction):
    """Send vectors of activations through the array, and add what comes out to the accumulators.

    The vectors are the ``vectors`` windows from number ``first`` on (image by image, row by row), of each the ``rows``
    elements from ``first_row`` on, less ``activation_zero_point``. ``switch``: with the first one the tile that has
    been shifted in takes the place of the one before; without, the cells keep their weights. Weights count less
    ``weight_zero_point``. The sums of the ``columns`` first outputs go to entries ``accumulator`` and following, added
    to what is there if ``accumulate``.
    """

    queue: ClassVar[Queue] = Queue.MATRIX
    window: Window
    first: int = 0
    vectors: int = 1
    first_row: int = 0
    rows: int = 1
    columns: int = 1
    switch: bool = True
    accumulator: int = 0
    accumulate: bool = False
    activations: Element = "int8"
    weights: Element = "int8"
    activation_zero_point: int = 0
    weight_zero_point: int = 0

    @property
    def mnemonic(self) -> str:
        return "matrix_multiply" if self.window.kernel == (1, 1) else "convolve"

    @property
    def passes(self) -> int:
        """Cycles that a vector takes: 16 bits of weights or activations take two, of both four. Source: Jouppi et al.,
        ISCA 2017, section 2.
        """
        return (2 if self.activations == "int16" else 1) * (2 if self.weights == "int16" else 1)


@dataclass(frozen=True)
class Scale:
    """From sums to the integers of the next tensor, as :mod:`tilesim.arithmetic.requantise` has it: ``rule``,
    ``zero_point`` and ``clamp`` of the output.

    ``parameters`` is the address of int32 biases, multipliers and shifts, each as many as there are columns.
    """

    rule: str
    parameters: int
    zero_point: int
    clamp: tuple[int, int]


@dataclass(frozen=True)
class Normalise:
    """Local response normalisation over ``size`` neighbouring channels, as :mod:`tilesim.arithmetic.normalise` has it:
    ``scaling`` holds float32 bits and zero points.
    """

    size: int
    scaling: tuple[int, ...]
    clamp: tuple[int, int]


@dataclass(frozen=True)
class Pooling:
    """The largest, smallest or average element of windows.

    An average of ``count`` elements is scaled as ``scalings`` says, an entry (count, *scaling) for each count that
    there is, by ``rule``, as :class:`~tilesim.network.operators.average_pool.AveragePool` has them; maximum and
    minimum have none. Elements outside of the map take no part; ``inside_only`` says whether they count.
    """

    function: Literal["max", "min", "average"]
    clamp: tuple[int, int]
    rule: str = ""
    scalings: tuple[tuple[int, ...], ...] = ()
    inside_only: bool = True
    input_zero_point: int = 0
    zero_point: int = 0


@dataclass(frozen=True, kw_only=True)
class Activate(Instruction):
    """Send sums from the accumulators through the vector unit into the unified buffer.

    ``vectors`` entries from ``accumulator`` on, their first ``columns`` sums each, are scaled, looked up in a table of
    256 bytes at ``table`` (-1: none), then, if asked for, normalised and pooled (or with ``pool_first`` the other way
    round). Vector k goes to ``address + k * stride_bytes``. With ``pool`` the vectors are those of ``images`` maps of
    ``height`` by ``width``, which ``window`` (its address and bytes mean nothing) runs over.
    """

    queue: ClassVar[Queue] = Queue.VECTOR
    mnemonic: ClassVar[str] = "activate"
    accumulator: int = 0
    vectors: int = 1
    columns: int = 1
    scale: Scale
    table: int = -1
    normalise: Normalise | None = None
    pool: Pooling | None = None
    window: Window | None = None
    pool_first: bool = False
    element: Element = "int8"
    address: int = 0
    stride_bytes: int = 1


@dataclass(frozen=True, kw_only=True)
class Pool(Instruction):
    """Pool maps of the unified buffer: position k of ``window`` goes to ``address + k * stride_bytes``."""

    queue: ClassVar[Queue] = Queue.VECTOR
    mnemonic: ClassVar[str] = "pool"
    window: Window
    pool: Pooling
    element: Element = "int8"
    address: int = 0
    stride_bytes: int = 1


@dataclass(frozen=True, kw_only=True)
class Unary(Instruction):
    """From ``source`` to as many elements of ``destination``."""

    queue: ClassVar[Queue] = Queue.VECTOR
    source: Nest
    destination: Nest


@dataclass(frozen=True, kw_only=True)
class Normalisation(Unary):
    """Normalise pixels of ``source`` (innermost: the channels of one) into ``destination``."""

    mnemonic: ClassVar[str] = "normalise"
    normalise: Normalise
    element: Element = "int8"


@dataclass(frozen=True, kw_only=True)
class Combine(Instruction):
    """Add or multiply ``a`` and ``b`` element by element, as :mod:`tilesim.arithmetic.add` or
    :mod:`tilesim.arithmetic.multiply` have it.
    """

    queue: ClassVar[Queue] = Queue.VECTOR
    function: Literal["add", "multiply"] = "add"
    a: Nest
    b: Nest
    destination: Nest
    rule: str
    scaling: tuple[int, ...]
    clamp: tuple[int, int]
    element: Element = "int8"

    @property
    def mnemonic(self) -> str:
        return self.function


@dataclass(frozen=True, kw_only=True)
class Requantise(Unary):
    """From one quantisation to another: one multiplier and shift, as
    :class:`~tilesim.network.operators.rescale.Rescale` has it.
    """

    mnemonic: ClassVar[str] = "rescale"
    rule: str
    multiplier: int
    shift: int
    input_zero_point: int
    zero_point: int
    clamp: tuple[int, int]
    element: Element = "int8"
    result: Element = "int8"


@dataclass(frozen=True, kw_only=True)
class Lookup(Unary):
    """Replace each byte by the entry that it counts of the 256 bytes at ``table``."""

    mnemonic: ClassVar[str] = "lookup"
    table: int


@dataclass(frozen=True, kw_only=True)
class Copy(Unary):
    """Copy bytes as they are."""

    mnemonic: ClassVar[str] = "copy"


@dataclass(frozen=True, kw_only=True)
class Fill(Instruction):
    """Write ``value``, a byte from 0 to 255, everywhere."""

    queue: ClassVar[Queue] = Queue.VECTOR
    mnemonic: ClassVar[str] = "fill"
    destination: Nest
    value: int


@dataclass(frozen=True, kw_only=True)
class RowSoftmax(Unary):
    """Softmax of each innermost run of bytes of ``source``; ``rule`` and ``scaling`` (bits of float64 input scale,
    output scale, output zero point) as :class:`~tilesim.network.operators.softmax.Softmax` has them.
    """

    mnemonic: ClassVar[str] = "softmax"
    rule: str
    scaling: tuple[int, ...]
    clamp: tuple[int, int]
    element: Element = "int8"


@dataclass(frozen=True, kw_only=True)
class Sync(Instruction):
    """Hold the queue ``unit`` until the unit ``until`` has retired ``count`` instructions of its own queue, syncs
    included, since the section began.
    """

    mnemonic: ClassVar[str] = "sync"
    unit: Queue
    until: Queue
    count: int

    @property
    def queue(self) -> Queue:  # type: ignore[override]
        return self.unit


@dataclass(frozen=True, kw_only=True)
class Nop(Instruction):
    """Let the sequencer pass a cycle."""

    mnemonic: ClassVar[str] = "nop"


@dataclass(frozen=True, kw_only=True)
class Halt(Instruction):
    """The program ends when all units have retired everything."""

    mnemonic: ClassVar[str] = "halt"


VectorInstruction: TypeAlias = Activate | Pool | Combine | Fill | Unary
"""What the vector unit carries out."""

CLASSES: tuple[type[Instruction], ...] = (
    ReadHostMemory, WriteHostMemory, ReadWeights, MatrixMultiply, Activate, Pool, Normalisation, Combine, Requantise,
    Lookup, Copy, Fill, RowSoftmax, Sync, Nop, Halt,
)  # fmt: skip
"""Every instruction that there is."""
