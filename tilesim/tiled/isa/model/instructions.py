"""The instruction set of the tiled chip: one frozen dataclass an instruction.

Every instruction for tiles names them in ``tiles``, a bitmap (bit k is tile k, row-major). ``wait`` holds watchers;
``produce`` names the loop whose completion increments the flag of the engine's write port (None: it never does); an
instruction without loops of its own completes them all at once when it retires. ``layer`` only labels statistics. Who
carries them out, and through which ports, is in :mod:`~tilesim.tiled.isa.model.sheet`.

Source: US 19/025,090 Fig. 3 and [0046]-[0059] for what there is; the record fields are an assumption.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from math import ceil, prod
from typing import ClassVar, TypeAlias, get_args

from tilesim.tiled.isa.model.fields import (
    ByteFilter,
    Channel,
    Engine,
    Flag,
    MemoryName,
    Nest,
    Reference,
    Side,
    Traversal,
    Watcher,
)
from tilesim.tiled.isa.model.sheet import CONSUMERS, FLAGS, MESH_IN, MESH_OUT, SHEET, Goes, SheetRow

WORD_BYTES = 16
"""An instruction word. Source: the Edge TPU's encoding as reported by others: 128-bit words, 1 to 17 of them."""


class Operation(StrEnum):
    """What a tensorop's MAC array does with its operands; the layer type of US 19/025,090 [0046]."""

    CONVOLUTION = "convolution"
    """A narrow word goes to all lanes; also fully connected layers."""
    DEPTHWISE = "depthwise"
    """Byte j of the narrow word goes to lane j, which has weights of its own; of 16 bits, element j, here and below."""
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
    LEAKY_RELU = "leaky_relu"
    """Element j, less its zero point, is scaled in lane j by one factor from 0 on, by another one below."""


class ElementType(StrEnum):
    """How bytes of a memory stand for an integer."""

    I8 = "i8"
    U8 = "u8"
    I16 = "i16"
    """Two bytes, the lower one first."""

    @property
    def bytes(self) -> int:
        return 2 if self is ElementType.I16 else 1

    @property
    def bits(self) -> int:
        return 8 * self.bytes


class _Listed:
    """What all instructions have by their row of the sheet."""

    mnemonic: ClassVar[str]

    @property
    def row(self) -> SheetRow:
        return SHEET[self.mnemonic]

    @property
    def words(self) -> int:
        return self.row.words


class _ForEngine(_Listed):
    @property
    def engine(self) -> Engine:
        return self.row.engine


@dataclass(frozen=True, kw_only=True)
class TensorOp(_ForEngine):
    """A whole layer part in one instruction.

    ``nest``: up to 8 loops; those in ``reduce`` stand inside all others; the innermost loop is the lanes, one cycle.
    ``input`` and ``input_b`` are narrow, ``output`` narrow; ``weights``, ``parameters`` (bias, multiplier and shift of
    the lanes, each :attr:`~tilesim.tiled.topology.Tile.register_bytes` behind the one before, a row or less; or the 256
    bytes of a table), ``sums_in`` and ``sums_out`` (an int32 a lane, at multiples of as many bytes) wide.
    With ``sums_out`` the int32 sums leave and no output is written. A group adds one row of ``sums_in``, or one for
    each iteration of the reduction loops that move it, all of them before its first step. Its words of ``output`` lie
    side by side, or as far apart as it moves in the loop of the lanes.

    ``widths``: bits of the activations and of what they are multiplied by; the types say so, too. What is a byte
    elsewhere is two bytes of an operand of 16 bits, which takes as many lanes and inputs a step as one of bytes, but
    comes in two passes, a word or a row each: 8 and 16 halve the rate, 16 and 16 quarter it. Then sums and biases have
    64 bits: their low halves fill one register's bytes, their high halves the next. Such sums stand at multiples of
    both, or of a row if it has no room for both. The rules ``double``, ``single`` and
    ``divide`` take the low half of a sum, the others all of it. Source: US 19/025,090 [0050] for the widths;
    "In-Datacenter Performance Analysis of a Tensor Processing Unit", section 2, for the rates; passes and rows are
    assumptions.
    """

    mnemonic: ClassVar[str] = "tensorop"

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

    @property
    def operand_bits(self) -> tuple[int, int]:
        """Bits of the activations and of what they are multiplied by, weights or others like them; 8 if by nothing."""
        if self.operation is Operation.MULTIPLY:
            return self.input_type.bits, self.input_type.bits
        return self.input_type.bits, 8 if self.weights is None else self.weight_type.bits

    @property
    def sum_registers(self) -> int:
        """Registers' bytes that the lanes' sums take, and likewise their biases."""
        return 2 if 16 in self.operand_bits else 1


@dataclass(frozen=True, kw_only=True)
class RingConsume(_ForEngine):
    """Post a consumer: each row with this tile's bit that arrives on ``channel`` goes to the next address of ``write``
    (wide rows).

    With a ``filter`` the bytes that it keeps do, packed into rows, of which the last may end in zeros; what is kept
    beyond them is dropped.
    """

    mnemonic: ClassVar[str] = "ring_consume"

    tiles: int
    write: Traversal
    filter: ByteFilter | None = None
    channel: Channel = Channel.A
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""

    @property
    def engine(self) -> Engine:
        return CONSUMERS[self.channel]


@dataclass(frozen=True, kw_only=True)
class RingProduce(_ForEngine):
    """Send the wide rows of ``read`` over the ring, on ``channel``, to the stops in the bitmap ``to``.

    The ring counts in ``ring_producer_a`` the transfers of channel A that have passed the tile's stop: waiting for k
    makes this the master after k others; in ``ring_producer_b`` those of channel B. B goes to tiles alone.
    """

    mnemonic: ClassVar[str] = "ring_produce"

    tiles: int
    read: Traversal
    to: int
    channel: Channel = Channel.A
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class NarrowToWide(_ForEngine):
    """Gather the narrow words of ``read`` into the wide rows of ``write``."""

    mnemonic: ClassVar[str] = "narrow_to_wide"

    tiles: int
    read: Traversal
    write: Traversal
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class WideToNarrow(_ForEngine):
    """Scatter the wide rows of ``read`` over the narrow words of ``write``."""

    mnemonic: ClassVar[str] = "wide_to_narrow"

    tiles: int
    read: Traversal
    write: Traversal
    wait: tuple[Watcher, ...] = ()
    produce: str | None = None
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class MeshIn(_ForEngine):
    """Put words into the narrow words of ``write``: those that the neighbour at ``side`` sends, or all ``fill``.

    A fill stands where nothing comes from: off the grid, or where the neighbour has no part in the layer. Where
    ``mesh.destination`` is wide memory, ``write`` names wide rows, into which the words are gathered.
    """

    mnemonic: ClassVar[str] = "mesh_in"

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
class MeshOut(_ForEngine):
    """Send the narrow words of ``read`` to the neighbour at ``side``.

    With ``memory`` wide, ``read`` names wide rows, which leave word by word, such as parameters; only where the mesh
    joins wide memories (``mesh.destination``). Source: US 2025/0265455 [0032], [0038].
    """

    mnemonic: ClassVar[str] = "mesh_out"

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
class TileFence(_Listed):
    """Hold this tile's later instructions, and the bus behind them, until the engines in ``idle`` have drained.

    Then the flags in ``reset`` return to 0 and the controller's fence counter grows by ``increment``.
    Source: US 19/025,090 [0059]; the reset is from the Edge TPU's fences as reported by others.
    """

    mnemonic: ClassVar[str] = "tile_fence"

    tiles: int
    idle: tuple[Engine, ...] = tuple(Engine)
    reset: tuple[Flag, ...] = ()
    increment: int = 0
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Broadcast(_Listed):
    """Have this one tile's stop on the instruction bus start the broadcast of the instruction that stands next.

    The controller sends that one to this stop alone, which passes it on to all that it is for, once it has it: stops
    behind this one, and this tile itself. So a fence of this tile holds it for the others, too. Source: US 2025/0265455
    [0037]; that it takes an instruction, and that a broadcast does not go past the controller, are assumptions.
    """

    mnemonic: ClassVar[str] = "broadcast"

    tiles: int
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Record(_Listed):
    """The header of a record: the next ``parts`` instructions, all for engines of tiles, are its sub-instructions.

    Each leaves its first word to this header, in which its opcode and the bitmap of its own tiles stand: all those of
    the record, ``tiles``, or some. So n instructions are n words shorter as a record, but for the header. That has 4
    bytes (opcode, sequence number, count), the bitmap of the record, and a byte and a bitmap for each sub-instruction;
    a bitmap has as many bytes as the last tile of the record needs.

    Source: US 19/025,090 [0045]-[0047] for several opcodes in one instruction and for sub-instructions that are not for
    the same tiles; that the first word is the header, and the bytes of this one, are assumptions.
    """

    mnemonic: ClassVar[str] = "record"

    tiles: int
    parts: int
    layer: int = -1
    label: str = ""

    @property
    def words(self) -> int:
        bitmap_bytes = ceil(self.tiles.bit_length() / 8)
        return ceil((4 + bitmap_bytes + self.parts * (1 + bitmap_bytes)) / WORD_BYTES)


@dataclass(frozen=True, kw_only=True)
class Classify(_Listed):
    """The classifier tile: ``rows`` from the ring, ``function`` over ``elements`` of their bytes, results to the sink.

    The elements are the first bytes; or, if there are ``elements_per_sender``, the first so many bytes from each
    sender, the last of which may have fewer, all in as many rows of their own. The results are contiguous, from the
    first row on: a softmax of each element, the ``k`` largest of them (``top_k_values``), or in 32 bits each, the
    lowest byte first, the places of these (``top_k_indices``) or of the largest one (``argmax``). Places count from 0,
    and of equal elements the first one comes first. ``scaling`` holds what the function needs as integers, see
    :mod:`tilesim.arithmetic.classify`; that of ``top_k`` is ``k``. Values are of ``output_type``.
    Source: US 19/025,090 [0057].
    """

    mnemonic: ClassVar[str] = "classify"

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
class Infeed(_Listed):
    """Controller: put rows on ``channel`` of the ring for the stops in the bitmap ``to``.

    ``source`` is ``host`` (the next rows that the host sends), ``data`` (rows from data memory at ``address`` on) or
    ``ring``: the next rows that reach the ring's sink, which are forwarded instead of being passed on to the host; they
    take their turn among those of the outfeeds. Source: US 2025/0265455 [0034] for that.
    ``transfers`` of ``rows`` each follow one another; from each to the next the bitmap moves up by one stop. They begin
    when, since the program (``load`` or ``run``) began, the tails of ``turn`` transfers have passed the infeed's own
    stop on that channel, those that it has sent included: so it takes its turn among the ring's masters.
    """

    mnemonic: ClassVar[str] = "infeed"

    source: str
    rows: int
    address: int = 0
    to: int
    transfers: int = 1
    channel: Channel = Channel.A
    turn: int = 0
    layer: int = -1
    label: str = ""

    @property
    def total_rows(self) -> int:
        return self.rows * self.transfers


@dataclass(frozen=True, kw_only=True)
class Outfeed(_Listed):
    """Controller: pass the next ``rows`` that reach the ring's sink on to the host, as output ``output``."""

    mnemonic: ClassVar[str] = "outfeed"

    output: int
    rows: int
    layer: int = -1
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class ScalarFence(_Listed):
    """Controller: issue nothing until the fence counter has reached ``count``; then take ``count`` off it.

    With ``outfeed`` in ``idle``, nor before the outfeed is through with all that has been issued to it; an assumption,
    for nothing else tells when the classifier's replies have left.
    """

    mnemonic: ClassVar[str] = "scalar_fence"

    count: int
    idle: tuple[str, ...] = ()
    layer: int = -1
    label: str = ""


Copy: TypeAlias = NarrowToWide | WideToNarrow
"""What moves bytes between the memories of a tile."""
Work: TypeAlias = TensorOp | RingConsume | RingProduce | Copy | MeshIn | MeshOut
"""What the engines of a tile take from their buffers."""
TileInstruction: TypeAlias = Work | TileFence | Broadcast | Record
ControllerInstruction: TypeAlias = Infeed | Outfeed | ScalarFence
Instruction: TypeAlias = TileInstruction | Classify | ControllerInstruction

INSTRUCTIONS: tuple[type[Instruction], ...] = get_args(Instruction)
_FOR_CLASSIFIER = {kind for kind in INSTRUCTIONS if SHEET[kind.mnemonic].goes is Goes.CLASSIFIER}


def program_bytes(instructions: Iterable[Instruction]) -> int:
    """What instructions take of instruction memory, sub-instructions of a record without their first word."""
    return sum(op.words - (op.parts if isinstance(op, Record) else 0) for op in instructions) * WORD_BYTES


def header_of(op: Instruction, tiles: int) -> int:
    """The stops on the instruction bus that an instruction is for: its tiles, or the classifier behind the last one."""
    return 1 << tiles if type(op) in _FOR_CLASSIFIER else getattr(op, "tiles", 0)


def counted_nest(op: Work) -> Nest:
    """The nest whose loops the instruction's ``produce`` and loop watchers name."""
    counted: Nest | Traversal = getattr(op, op.row.counts)
    return counted.nest if isinstance(counted, Traversal) else counted


def raised_flag(op: Work) -> Flag:
    """The flag of the write port that the instruction's engine has."""
    return Flag.PARTIAL_SUMS if isinstance(op, TensorOp) and op.sums_out is not None else FLAGS[op.engine]


def increments(op: Work) -> int:
    """How often the instruction raises its flag."""
    if op.produce is None:
        return 0
    outer = takewhile(lambda loop: loop.name != op.produce, counted_nest(op).loops)
    return prod(loop.bound for loop in outer)
