"""The instructions of the rotating machine.

The array, DMA in and DMA out each carry out those of their own queue, in order; they meet only through :class:`Sync`.
Addresses are rows. One in a loop is ``row + sum(stride * counter of the loop around it) + step * repetition``.

Source: US 2018/0157962, claim 1, for what a step does; US 10,417,560 B2, abstract, for loops over rows, channels and
columns; their encoding, and all other instructions, are assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal


class Queue(StrEnum):
    """Units that carry out instructions, one after the other."""

    ARRAY = "array"
    DMA_IN = "dma_in"
    DMA_OUT = "dma_out"

    @property
    def owner(self) -> str:
        """What sentences call the unit."""
        return {Queue.ARRAY: "the array", Queue.DMA_IN: "DMA in", Queue.DMA_OUT: "DMA out"}[self]


class Counter(StrEnum):
    """What syncs wait for, counted since the section began.

    ``array``: outs issued; ``output``: rows written into the data RAM; ``dma_in``: rows written into either RAM;
    ``dma_out``: rows that have left over the link.
    """

    ARRAY = "array"
    OUTPUT = "output"
    DMA_IN = "dma_in"
    DMA_OUT = "dma_out"


class Ram(StrEnum):
    DATA = "data_ram"
    WEIGHT = "weight_ram"


class Alu(StrEnum):
    """What a unit does with its accumulator, its mux-register x and its register w, less their zero points.

    ``none``: nothing; ``multiply_add``: adds ``x * w``; ``add``: adds x; ``max``: keeps the larger of accumulator and
    x; ``copy``: takes x; ``plane``: adds x, without its zero point, as a byte of a sum: as ``plane`` of the step says.
    """

    NONE = "none"
    MULTIPLY_ADD = "multiply_add"
    ADD = "add"
    MAX = "max"
    COPY = "copy"
    PLANE = "plane"


class Function(StrEnum):
    """What an out makes of accumulators.

    ``requantise``: adds the bias of the set, scales by its multiplier and shift as the rule says, adds the zero point,
    clamps; ``raw``: four rows, a byte of each accumulator in each, the lowest first; ``combine``: the sum or product of
    accumulator and mux-register, as :mod:`tilesim.arithmetic.add` or :mod:`tilesim.arithmetic.multiply` have it, then
    clamps; ``lookup``: the entry of the table that the accumulator's lowest byte counts.
    """

    REQUANTISE = "requantise"
    RAW = "raw"
    COMBINE = "combine"
    LOOKUP = "lookup"


@dataclass(frozen=True)
class Rows:
    """Rows of a RAM: ``strides`` are those of the loops around, outermost first; those that are missing at the end are
    0. ``step`` is from one repetition to the next.
    """

    row: int
    strides: tuple[int, ...] = ()
    step: int = 0

    def address(self, counters: tuple[int, ...], repetition: int = 0) -> int:
        """The row, where the loops around have these ``counters``."""
        moved = sum(stride * counter for stride, counter in zip(self.strides, counters, strict=False))
        return self.row + moved + self.step * repetition


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """``label`` names it in traces and reports, ``layer`` is its place in the program's list (-1: none)."""

    label: str = ""
    layer: int = -1
    queue: ClassVar[Queue | None] = Queue.ARRAY

    @property
    def mnemonic(self) -> str:
        """What the assembly calls it."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Step(Instruction):
    """In each of ``repeat`` cycles: mux-registers take row ``data`` of the data RAM, or the words of the units
    ``rotate`` further on, or neither; registers take row ``weights`` of the weight RAM, or keep what they have; then,
    a cycle later, the ALUs work with both. ``plane`` is the byte of ``alu=plane``: 0, the lowest, to 3.

    Timing: ``repeat`` cycles of issue; the last accumulators can be seen 2 cycles after the last of them.
    """

    mnemonic: ClassVar[str] = "step"
    data: Rows | None = None
    rotate: int = 0
    weights: Rows | None = None
    alu: Alu = Alu.NONE
    plane: int = 0
    repeat: int = 1


@dataclass(frozen=True)
class Place:
    """Moves words within their block as they are written: word k of those that the mask names of a block goes to word k
    of ``slot``, of ``slots`` of equal size that the block has.
    """

    slots: int
    slot: int


@dataclass(frozen=True, kw_only=True)
class Out(Instruction):
    """Capture accumulators and mux-registers, convert them, write them to ``row`` of the data RAM.

    First, mux-registers may take row ``data``. ``set`` is that of the parameters which ``function`` needs. Words that
    the mask does not name, nor ``place`` makes of those, keep what the row has, or become ``fill``. ``clear``: the
    accumulators become zero, or the least number, once they are captured.

    Timing: issued in t, captured in t + 1, converted from t + 2 on in ``ceil(units / words_per_cycle)`` cycles, written
    ``latency_cycles`` after their last; whoever reads it waits for the next. A ``raw`` one converts four rows.
    """

    mnemonic: ClassVar[str] = "out"
    row: Rows
    data: Rows | None = None
    function: Function = Function.REQUANTISE
    set: int = 0
    place: Place | None = None
    outside: Literal["keep", "fill"] = "keep"
    fill: int = 0
    clear: Literal["no", "zero", "least"] = "no"


@dataclass(frozen=True, kw_only=True)
class Set(Instruction):
    """Set all control registers, of which those that are not named get their defaults.

    ``data`` and ``weights`` say whether words are signed, ``data_zero`` and ``weight_zero`` are subtracted from them.
    The rest is of the output unit: the ``rule`` of requantising or combining, the ``zero_point`` and the ``clamp`` of
    what is written, how to ``combine`` and its ``scaling``.
    """

    mnemonic: ClassVar[str] = "set"
    data: Literal["signed", "unsigned"] = "signed"
    weights: Literal["signed", "unsigned"] = "signed"
    data_zero: int = 0
    weight_zero: int = 0
    rule: str = "double"
    zero_point: int = 0
    clamp: tuple[int, int] = (-128, 127)
    combine: Literal["add", "multiply"] = "add"
    scaling: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Mask(Instruction):
    """Name the words that outs write: of each of ``blocks`` blocks of ``block`` words, the first one at ``offset``, the
    words ``0, stride, ... (count - 1) * stride``. A row is a ring: behind its last word comes its first. Without a
    mask, an out names all words; so it does after one of no words.
    """

    mnemonic: ClassVar[str] = "mask"
    offset: int = 0
    block: int = 0
    stride: int = 1
    count: int = 0
    blocks: int = 1


@dataclass(frozen=True, kw_only=True)
class Parameters(Instruction):
    """Have the output unit fetch rows from ``row`` of the weight RAM on, in cycles in which nobody else uses it: a
    bias, multiplier and shift for each unit into ``set``, or with ``table`` 256 entries into that of look-ups.

    Byte k of a unit's 4 + 4 + 1 bytes is in row k, of words of 16 bits byte 2k and, above it, byte 2k + 1 in row k.
    Entry k of a table is word ``k % units`` of row ``k // units``.
    """

    mnemonic: ClassVar[str] = "parameters"
    row: Rows
    set: int = 0
    table: bool = False


@dataclass(frozen=True, kw_only=True)
class Loop(Instruction):
    """Carry out everything up to its ``end`` as often as ``count`` says."""

    mnemonic: ClassVar[str] = "loop"
    count: int


@dataclass(frozen=True, kw_only=True)
class End(Instruction):
    """The end of the innermost loop."""

    mnemonic: ClassVar[str] = "end"


@dataclass(frozen=True, kw_only=True)
class Sync(Instruction):
    """Hold ``unit`` until the counter ``until`` has come to ``count``, to which each loop around adds its ``strides``
    times its counter.
    """

    mnemonic: ClassVar[str] = "sync"
    unit: Queue
    until: Counter
    count: int
    strides: tuple[int, ...] = ()

    @property
    def queue(self) -> Queue:  # type: ignore[override]
        return self.unit


@dataclass(frozen=True, kw_only=True)
class ReadHostMemory(Instruction):
    """Bring ``rows`` rows from ``offset`` on of the host's ``input``, ``data`` or ``scratch`` number ``tensor`` into
    ``ram``, from ``row`` on.

    Timing: the link takes ``latency_cycles + ceil(row bytes / bytes_per_cycle)`` cycles a row, one after the other;
    each is written in the cycle after its last byte.
    """

    queue: ClassVar[Queue] = Queue.DMA_IN
    mnemonic: ClassVar[str] = "read_host_memory"
    source: Literal["input", "data", "scratch"] = "input"
    tensor: int = 0
    offset: int = 0
    rows: int = 1
    ram: Ram = Ram.DATA
    row: int = 0


@dataclass(frozen=True, kw_only=True)
class WriteHostMemory(Instruction):
    """Send ``rows`` rows of the data RAM from ``row`` on to ``offset`` of the host's ``output`` or ``scratch`` number
    ``tensor``. Rows that a scratch lacks are added to it.

    Timing: a row is read in one cycle, then crosses the link as in DMA in; the next one is read meanwhile.
    """

    queue: ClassVar[Queue] = Queue.DMA_OUT
    mnemonic: ClassVar[str] = "write_host_memory"
    destination: Literal["output", "scratch"] = "output"
    tensor: int = 0
    offset: int = 0
    rows: int = 1
    row: int = 0


@dataclass(frozen=True, kw_only=True)
class Halt(Instruction):
    """The array is done; the section ends when all units are."""

    mnemonic: ClassVar[str] = "halt"


CLASSES: tuple[type[Instruction], ...] = (
    Step, Out, Set, Mask, Parameters, Loop, End, Sync, ReadHostMemory, WriteHostMemory, Halt,
)  # fmt: skip
"""Every instruction that there is."""
