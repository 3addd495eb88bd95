"""The instruction set of the tiled chip: one frozen dataclass an instruction.

Every instruction for tiles names them in ``tiles``, a bitmap (bit k is tile k, row-major). ``wait`` holds watchers;
``produce`` names the loop whose completion increments the flag of the engine's write port (None: it never does); an
instruction without loops of its own completes them all at once when it retires. ``layer`` only labels statistics.

Source: US 19/025,090 Fig. 3 and [0046]-[0059] for what there is; the record fields are an assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from tilesim.tiled.isa.model.fields import (
    ByteFilter,
    Engine,
    Flag,
    MemoryName,
    Nest,
    Reference,
    Side,
    Traversal,
    Watcher,
)

WORD_BYTES = 16
"""An instruction word. Source: the Edge TPU's encoding as reported by others: 128-bit words, 1 to 17 of them."""

MESH_IN = {side: Engine(f"mesh_in_{side}") for side in Side}
MESH_OUT = {side: Engine(f"mesh_out_{side}") for side in Side}
"""The mesh engines at each side."""


class Operation(StrEnum):
    """What a tensorop's MAC array does with its operands; the layer type of US 19/025,090 [0046]."""

    CONVOLUTION = "convolution"
    """A narrow word goes to all lanes; also fully connected layers."""
    DEPTHWISE = "depthwise"
    """Byte j of the narrow word goes to lane j, which has weights of its own."""
    SUM = "sum"
    """Byte j is added in lane j: average pooling and reductions."""
    AVERAGE = "average"
    """The real that byte j stands for is averaged in lane j, in float32."""
    MAXIMUM = "maximum"
    """Byte j competes in lane j: max pooling."""
    ADD = "add"
    """Byte j of two operands, each rescaled, is added in lane j."""
    MULTIPLY = "multiply"
    """Byte j of two operands, each less its zero point, is multiplied in lane j."""
    TABLE = "table"
    """Byte j is looked up for lane j, in 256 bytes of wide memory."""


class ElementType(StrEnum):
    """How a memory byte stands for an integer."""

    I8 = "i8"
    U8 = "u8"


@dataclass(frozen=True, kw_only=True)
class TensorOp:
    """A whole layer part in one instruction.

    ``nest``: up to 8 loops; those in ``reduce`` stand inside all others; the innermost loop is the lanes, one cycle.
    ``input`` and ``input_b`` are narrow, ``output`` narrow; ``weights``, ``parameters`` (three rows: bias, multiplier
    and shift of the lanes; or the 256 bytes of a table), ``sums_in`` and ``sums_out`` (one row of int32 a lane) wide.
    With ``sums_out`` the int32 sums leave and no output is written. ``widths``: bits of activations and weights; 8 and
    16 halve, 16 and 16 quarter the rate (so far that is all they do: operands are bytes).
    """

    mnemonic: ClassVar[str] = "tensorop"
    engine: ClassVar[Engine] = Engine.TENSOR
    words: ClassVar[int] = 17

    tiles: int
    operation: Operation
    nest: Nest
    reduce: tuple[str, ...] = ()
    input: Reference
    input_b: Reference | None = None
    weights: Reference | None = None
    parameters: Reference | None = None
    sums_in: Reference | None = None
    sums_out: Reference | None = None
    output: Reference | None = None
    input_type: ElementType = ElementType.I8
    weight_type: ElementType = ElementType.I8
    output_type: ElementType = ElementType.I8
    input_zero_point: int = 0
    weight_zero_point: int = 0
    output_zero_point: int = 0
    widths: tuple[int, ...] = (8, 8)
    rule: str = ""
    scaling: tuple[int, ...] = ()
    clamp: tuple[int, ...] = (-128, 127)
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class RingConsume:
    """Post a consumer: each arriving row with this tile's bit goes to the next address of ``write`` (wide rows).

    With a ``filter`` the bytes that it keeps do, packed into rows, of which the last may end in zeros; what is kept
    beyond them is dropped.
    """

    mnemonic: ClassVar[str] = "ring_consume"
    engine: ClassVar[Engine] = Engine.RING_CONSUMER
    words: ClassVar[int] = 4

    tiles: int
    write: Traversal
    filter: ByteFilter | None = None
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class RingProduce:
    """Send the wide rows of ``read`` over the ring to the stops in the bitmap ``to``.

    The ring counts in ``ring_producer_a`` the transfers that have passed the tile's stop: waiting for k makes this the
    master after k others.
    """

    mnemonic: ClassVar[str] = "ring_produce"
    engine: ClassVar[Engine] = Engine.RING_PRODUCER
    words: ClassVar[int] = 4

    tiles: int
    read: Traversal
    to: int
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class NarrowToWide:
    """Gather the narrow words of ``read`` into the wide rows of ``write``."""

    mnemonic: ClassVar[str] = "narrow_to_wide"
    engine: ClassVar[Engine] = Engine.NARROW_TO_WIDE
    words: ClassVar[int] = 7

    tiles: int
    read: Traversal
    write: Traversal
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class WideToNarrow:
    """Scatter the wide rows of ``read`` over the narrow words of ``write``."""

    mnemonic: ClassVar[str] = "wide_to_narrow"
    engine: ClassVar[Engine] = Engine.WIDE_TO_NARROW
    words: ClassVar[int] = 7

    tiles: int
    read: Traversal
    write: Traversal
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class MeshIn:
    """Put words into the narrow words of ``write``: those that the neighbour at ``side`` sends, or all ``fill``.

    A fill stands where nothing comes from: off the grid, or where the neighbour has no part in the layer. Where
    ``mesh.destination`` is wide memory, ``write`` names wide rows, into which the words are gathered.
    """

    mnemonic: ClassVar[str] = "mesh_in"
    words: ClassVar[int] = 6

    tiles: int
    side: Side
    write: Traversal
    fill: int | None = None
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""

    @property
    def engine(self) -> Engine:
        return MESH_IN[self.side]


@dataclass(frozen=True, kw_only=True)
class MeshOut:
    """Send the narrow words of ``read`` to the neighbour at ``side``.

    With ``memory`` wide, ``read`` names wide rows, which leave word by word, such as parameters; only where the mesh
    joins wide memories (``mesh.destination``). Source: US 2025/0265455 [0032], [0038].
    """

    mnemonic: ClassVar[str] = "mesh_out"
    words: ClassVar[int] = 6

    tiles: int
    side: Side
    read: Traversal
    memory: MemoryName = MemoryName.NARROW
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""

    @property
    def engine(self) -> Engine:
        return MESH_OUT[self.side]


@dataclass(frozen=True, kw_only=True)
class TileFence:
    """Hold this tile's later instructions, and the bus behind them, until the engines in ``idle`` have drained.

    Then the flags in ``reset`` return to 0 and the controller's fence counter grows by ``increment``.
    Source: US 19/025,090 [0059]; the reset is from the Edge TPU's fences as reported by others.
    """

    mnemonic: ClassVar[str] = "tile_fence"
    words: ClassVar[int] = 1

    tiles: int
    idle: tuple[Engine, ...] = tuple(Engine)
    reset: tuple[Flag, ...] = ()
    increment: int = 0
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Broadcast:
    """Have this one tile's stop on the instruction bus start the broadcast of the instruction that stands next.

    The controller sends that one to this stop alone, which passes it on to all that it is for, once it has it: stops
    behind this one, and this tile itself. So a fence of this tile holds it for the others, too. Source: US 2025/0265455
    [0037]; that it takes an instruction, and that a broadcast does not go past the controller, are assumptions.
    """

    mnemonic: ClassVar[str] = "broadcast"
    words: ClassVar[int] = 1

    tiles: int
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Classify:
    """The classifier tile: ``rows`` from the ring, ``function`` over ``elements`` of their bytes, results to the sink.

    The elements are the first bytes; or, if there are ``elements_per_sender``, the first so many bytes from each
    sender, the last of which may have fewer, all in as many rows of their own. The results are contiguous.
    ``scaling`` holds what the function needs as integers, see :mod:`tilesim.arithmetic.classify`.
    Source: US 19/025,090 [0057].
    """

    mnemonic: ClassVar[str] = "classify"
    words: ClassVar[int] = 4

    rows: int
    elements: int
    elements_per_sender: int = 0
    function: str
    scaling: tuple[int, ...] = ()
    input_type: ElementType = ElementType.I8
    output_type: ElementType = ElementType.I8
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Infeed:
    """Controller: put rows on the ring for the stops in the bitmap ``to``.

    ``source`` is ``host`` (the next rows that the host sends), ``data`` (rows from data memory at ``address`` on) or
    ``ring``: the next rows that reach the ring's sink, which are forwarded instead of being passed on to the host; they
    take their turn among those of the outfeeds. Source: US 2025/0265455 [0034] for that.
    ``transfers`` of ``rows`` each follow one another; from each to the next the bitmap moves up by one stop. They begin
    when, since the program (``load`` or ``run``) began, the tails of ``turn`` transfers have passed the infeed's own
    stop, those that it has sent included: so it takes its turn among the ring's masters.
    """

    mnemonic: ClassVar[str] = "infeed"
    words: ClassVar[int] = 0

    source: str
    rows: int
    address: int = 0
    to: int
    transfers: int = 1
    turn: int = 0
    layer: int = -1
    label: str = ""

    @property
    def total_rows(self) -> int:
        """Rows of all transfers."""
        return self.rows * self.transfers


@dataclass(frozen=True, kw_only=True)
class Outfeed:
    """Controller: pass the next ``rows`` that reach the ring's sink on to the host, as output ``output``."""

    mnemonic: ClassVar[str] = "outfeed"
    words: ClassVar[int] = 0

    output: int
    rows: int
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class ScalarFence:
    """Controller: issue nothing until the fence counter has reached ``count``; then take ``count`` off it.

    With ``outfeed`` in ``idle``, nor before the outfeed is through with all that has been issued to it; an assumption,
    for nothing else tells when the classifier's replies have left.
    """

    mnemonic: ClassVar[str] = "scalar_fence"
    words: ClassVar[int] = 0

    count: int
    idle: tuple[str, ...] = ()
    layer: int = -1
    label: str = ""


Work: TypeAlias = TensorOp | RingConsume | RingProduce | NarrowToWide | WideToNarrow | MeshIn | MeshOut
"""What the engines of a tile take from their buffers."""
TileInstruction: TypeAlias = Work | TileFence | Broadcast
ControllerInstruction: TypeAlias = Infeed | Outfeed | ScalarFence
Instruction: TypeAlias = TileInstruction | Classify | ControllerInstruction

INSTRUCTIONS: tuple[type[Instruction], ...] = (
    TensorOp,
    RingConsume,
    RingProduce,
    NarrowToWide,
    WideToNarrow,
    MeshIn,
    MeshOut,
    TileFence,
    Broadcast,
    Classify,
    Infeed,
    Outfeed,
    ScalarFence,
)


def header_of(op: Instruction, tiles: int) -> int:
    """The stops on the instruction bus that an instruction is for: its tiles, or the classifier behind the last one."""
    return 1 << tiles if isinstance(op, Classify) else getattr(op, "tiles", 0)


def counted_nest(op: Work) -> Nest:
    """The nest whose loops the instruction's ``produce`` and loop watchers name: that of the wide rows, if there are
    any.
    """
    if isinstance(op, TensorOp):
        return op.nest
    return op.write.nest if isinstance(op, RingConsume | NarrowToWide | MeshIn) else op.read.nest
