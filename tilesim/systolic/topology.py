"""What a systolic machine is: every size, rate and rule that the text of the sources leaves open."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from tilesim.config import Bytes, ConfigSection, Hertz
from tilesim.machines.topology import Clock
from tilesim.machines.topology import Topology as AnyTopology

Count = Annotated[int, Field(ge=1, le=1 << 24)]
Cycles = Annotated[int, Field(ge=0, le=1 << 24)]
Rate = Annotated[Hertz, Field(ge=1, le=10**12)]
SUM_BYTES = 4
"""Bytes of a sum in the accumulators."""


class Host(ConfigSection):
    """The host's link to the chip, each way, and the stream of its instructions."""

    bytes_per_cycle: Annotated[Count, Field(description="bytes a cycle, each way")] = 20
    latency_cycles: Annotated[Cycles, Field(description="cycles from one end to the other")] = 0
    instruction_bytes_per_cycle: Annotated[
        Count, Field(description="bytes of instructions that reach the sequencer a cycle")
    ] = 16


class Sequencer(ConfigSection):
    """What turns the host's instructions into control signals."""

    pipeline_cycles: Annotated[Count, Field(description="cycles from an instruction's last byte to its unit")] = 4
    queue_depth: Annotated[Count, Field(description="instructions that wait for a unit")] = 16


class UnifiedBuffer(ConfigSection):
    """The memory of all activations; each client has a port of its own (assumption)."""

    size_bytes: Annotated[Bytes, Field(ge=1, le=1 << 32, description="its size")] = 24 * 1024 * 1024
    width_bytes: Annotated[Count, Field(description="bytes of an access of the vector unit")] = 256


class WeightMemory(ConfigSection):
    """The memory of the weights, beside the chip, with a clock of its own."""

    size_bytes: Annotated[Bytes, Field(ge=1, le=1 << 40, description="its size")] = 8 * 1024**3
    clock_hz: Annotated[Rate, Field(description="its transfers a second")] = 2_125_000_000
    channels: Annotated[Count, Field(description="channels that transfer at once")] = 2
    channel_bytes: Annotated[Count, Field(description="bytes of a channel's transfer")] = 8

    @property
    def transfer_bytes(self) -> int:
        """Bytes of a transfer of all channels."""
        return self.channels * self.channel_bytes


class WeightFifo(ConfigSection):
    """Where tiles of weights wait for the array."""

    tiles: Annotated[Count, Field(description="tiles that it holds, with those on their way")] = 4


class Array(ConfigSection):
    """The cells, each of which multiplies and adds once a cycle.

    Timing: each cycle a value moves one cell on. Element i of a vector enters i cycles after element 0, so that it
    meets the sum of those before it, and reaches the cells of output c another c cycles later. All cycles are numbers
    of cycles in which, from their start, something can be seen. Source: WO 2016/186801, Figs. 3 and 4: weights travel
    along columns and activations along rows, or the other way round; that wider operands go through several times, and
    wider weights in several shifts, is an assumption.
    """

    rows: Annotated[int, Field(ge=1, le=4096, description="rows of cells")] = 256
    columns: Annotated[int, Field(ge=1, le=4096, description="columns of cells")] = 256
    weights: Annotated[
        Literal["columns", "rows"], Field(description="along what weights, and with them sums, travel")
    ] = "columns"

    @property
    def inputs(self) -> int:
        """Activations of a vector that it takes at once: cells that a sum passes."""
        return self.rows if self.weights == "columns" else self.columns

    @property
    def outputs(self) -> int:
        """Sums of a vector that it makes at once."""
        return self.columns if self.weights == "columns" else self.rows

    def result_cycle(self, begin: int, vector: int, output: int, passes: int = 1) -> int:
        """From when on the sum of ``vector`` for ``output`` stands in the accumulators, of a multiply that begins, that
        is, whose first element is beside the first cell, in cycle ``begin``; each vector goes through ``passes`` times.
        """
        return begin + vector * passes + (passes - 1) + self.inputs + output

    def retirement_cycle(self, begin: int, vectors: int, passes: int = 1) -> int:
        """From when on all sums stand in the accumulators, whether an output is used or not: 710 for 200 vectors on 256
        by 256 cells from cycle 0 on.
        """
        return self.result_cycle(begin, vectors - 1, self.outputs - 1, passes)

    def shift_cycles(self, weight_bytes: int = 1) -> int:
        """From the beginning of a shift to the first cycle in which a multiply may switch to its tile."""
        return self.inputs * weight_bytes


class ValueLoaders(ConfigSection):
    """What feeds activations into the array."""

    feed: Annotated[
        Literal["window", "channels"],
        Field(
            description="what the compiler puts side by side into a vector: elements of a whole window, which the "
            "unified buffer is then assumed to gather for nothing, or channels of one of its positions"
        ),
    ] = "window"


class Accumulators(ConfigSection):
    """Where the sums of the array add up: 32 bits for each of its outputs an entry."""

    entries: Annotated[Count, Field(description="vectors of sums that they hold")] = 4096


class VectorUnit(ConfigSection):
    """Activation, normalisation, pooling."""

    lanes: Annotated[Count, Field(description="values a cycle")] = 256
    pipeline_cycles: Annotated[Count, Field(description="cycles from an operand to its result")] = 8


class Topology(AnyTopology):
    """A systolic machine. Source of the defaults: Jouppi et al., ISCA 2017, section 2 and Table 2; those that it does
    not give are assumptions.
    """

    machine: Annotated[Literal["systolic"], Field(description="the kind of chip that this is")]
    clock_hz: Clock = 700_000_000
    host: Host = Host()
    sequencer: Sequencer = Sequencer()
    unified_buffer: UnifiedBuffer = UnifiedBuffer()
    weight_memory: WeightMemory = WeightMemory()
    weight_fifo: WeightFifo = WeightFifo()
    array: Array = Array()
    value_loaders: ValueLoaders = ValueLoaders()
    accumulators: Accumulators = Accumulators()
    vector_unit: VectorUnit = VectorUnit()

    @property
    def macs_per_cycle(self) -> int:
        """Multiply-accumulates that the array can do in a cycle."""
        return self.array.rows * self.array.columns

    @property
    def weight_tile_bytes(self) -> int:
        """A weight of a byte for each cell."""
        return self.array.rows * self.array.columns

    @property
    def weight_tile_cycles(self) -> Fraction:
        """Cycles in which weight memory delivers a tile: as often a weight must be used so that computing takes as long
        as the fetch of the weights that come next, for the array uses each of them once a cycle.

        Source: JP 7561916 B2 names the memory's clock, its channels and the array's units; the formula is an assumption
        that gives 1349.3 of TPU v1, near which its roofline has its knee (Jouppi et al., ISCA 2017).
        """
        memory = self.weight_memory
        transfers = -(-self.weight_tile_bytes // memory.transfer_bytes)
        return Fraction(transfers * self.clock_hz, memory.clock_hz)
