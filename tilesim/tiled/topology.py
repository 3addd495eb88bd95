"""What a tiled chip is: every size, width, depth, latency and rule that the text of the sources leaves open."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from tilesim.config import Bytes, ConfigSection
from tilesim.machines.topology import Clock
from tilesim.machines.topology import Topology as AnyTopology

Count = Annotated[int, Field(ge=1, le=1 << 24)]
Cycles = Annotated[int, Field(ge=0, le=1 << 24)]
Size = Annotated[Bytes, Field(ge=1, le=1 << 32)]
Rate = Annotated[Bytes, Field(ge=0, le=10**12)]
LANE_BYTES = 4
"""Bytes of a lane's bias, multiplier, shift or sum in a wide row."""
LEAST_RATE = 10**6
"""Bytes a second of a link of which the rate is given: with less a run would hardly end."""
WHOLE = 0
"""A width that is not given: what the link carries passes in one cycle. A chip has the number of bytes instead."""


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError(f"must be a power of two, not {value}")
    return value


def _rate(value: int) -> int:
    if 0 < value < LEAST_RATE:
        raise ValueError(f"must be at least {LEAST_RATE} bytes a second, or 0 for none, not {value}")
    return value


class Grid(ConfigSection):
    """Tiles in rows and columns, numbered row by row."""

    rows: Annotated[int, Field(ge=1, le=64, description="rows of tiles")] = 4
    columns: Annotated[int, Field(ge=1, le=64, description="columns of tiles")] = 4


class Host(ConfigSection):
    """The host's link to the chip, each way, and what the host sends over it."""

    bytes_per_cycle: Annotated[Count, Field(description="bytes of activations or results a cycle")] = 8
    latency_cycles: Annotated[Cycles, Field(description="cycles from one end to the other")] = 0
    to_chip_bytes_per_second: Annotated[
        Rate, Field(description="bytes a second to the chip, whatever its clock; 0: host.bytes_per_cycle")
    ] = 0
    from_chip_bytes_per_second: Annotated[
        Rate, Field(description="bytes a second from the chip, whatever its clock; 0: host.bytes_per_cycle")
    ] = 0
    request_ns: Annotated[
        int, Field(ge=0, le=10**9, description="nanoseconds from a request to the first byte that is sent for it")
    ] = 0
    sends_instructions: Annotated[
        bool, Field(description="whether each request's instructions come from the host before they are issued")
    ] = False
    sends_parameters: Annotated[
        bool, Field(description="whether data memory is the host's, so that what leaves it comes over this link")
    ] = False
    sends_padding: Annotated[
        bool, Field(description="whether what pads tensors to words and rows crosses the link; else the chip adds it")
    ] = True

    step_bytes_per_second: Annotated[
        Rate,
        Field(
            description="bytes a second that the host reads and makes for layers that it computes itself; 0: in no time"
        ),
    ] = 0

    _rates = field_validator("to_chip_bytes_per_second", "from_chip_bytes_per_second", "step_bytes_per_second")(_rate)

    @property
    def announces_requests(self) -> bool:
        """Whether the controller waits for each request, or for its instructions, before it issues these."""
        return self.sends_instructions or self.request_ns > 0


class DataMemory(ConfigSection):
    """The controller's memory for parameters."""

    size_bytes: Annotated[Size, Field(description="its size")] = 32 * 1024 * 1024
    bytes_per_cycle: Annotated[Count, Field(description="bytes that it delivers a cycle")] = 2


class InstructionMemory(ConfigSection):
    """The controller's memory for programs."""

    size_bytes: Annotated[Size, Field(description="its size; an instruction is 1 to 17 words of 16 bytes")] = (
        1024 * 1024
    )


class InstructionBus(ConfigSection):
    """The ring that carries instructions from the controller past all tiles."""

    width_bytes: Annotated[Count, Field(description="bytes of an instruction that pass a cycle")] = 16
    hop_cycles: Annotated[Count, Field(description="cycles from a stop to the next")] = 1
    buffer_depth: Annotated[Count, Field(description="instructions that each engine's buffer holds")] = 8
    record_words: Annotated[
        int, Field(ge=0, le=16, description="words of a record's header that a stop can hold; 0: no records")
    ] = 0


class Ring(ConfigSection):
    """The data ring: one wide row and a header a packet."""

    width_bytes: Annotated[
        Count, Field(description="bytes that a link carries a cycle; if it is not given, a row, wide_memory.row_bytes")
    ] = WHOLE
    hop_cycles: Annotated[Count, Field(description="cycles from a stop to the next")] = 1
    queue: Annotated[
        Literal["split", "shared"], Field(description="one buffer for both ring roles of a tile, or one each")
    ] = "split"
    no_consumer: Annotated[
        Literal["stall", "circulate"], Field(description="what a row does that finds no consumer posted")
    ] = "stall"
    byte_filter: Annotated[bool, Field(description="whether consumers can pick bytes of a stream")] = False
    consumer_queues: Annotated[
        int, Field(ge=1, le=2, description="queues of ring consumers a tile, each with a channel of the ring")
    ] = 1

    _width = field_validator("width_bytes")(_power_of_two)


class Mesh(ConfigSection):
    """Links between neighbouring tiles, which carry narrow words."""

    width_bytes: Annotated[
        Count,
        Field(description="bytes that a link carries a cycle; if it is not given, a word, narrow_memory.word_bytes"),
    ] = WHOLE
    hop_cycles: Annotated[int, Field(ge=1, le=1 << 10, description="cycles from a tile to its neighbour")] = 1
    credits: Annotated[int, Field(ge=1, le=1 << 10, description="words that a link may hold")] = 4
    destination: Annotated[Literal["narrow", "wide"], Field(description="memory into which arriving words go")] = (
        "narrow"
    )

    _width = field_validator("width_bytes")(_power_of_two)


class NarrowMemory(ConfigSection):
    """A tile's memory for activations: one read port and one write port."""

    size_bytes: Annotated[Size, Field(description="its size")] = 192 * 1024
    word_bytes: Annotated[Count, Field(description="bytes of one access")] = 4

    _word = field_validator("word_bytes")(_power_of_two)


class WideMemory(ConfigSection):
    """A tile's memory for parameters and partial sums. Source: US 2025/0265455 [0034] for its one port."""

    size_bytes: Annotated[Size, Field(description="its size")] = 512 * 1024
    row_bytes: Annotated[
        Count,
        Field(description="bytes of one access, and of a packet on the ring, of which activations take whole ones"),
    ] = 256
    ports: Annotated[int, Field(ge=1, le=2, description="accesses a cycle")] = 1
    reserve_bytes: Annotated[
        Bytes, Field(ge=0, le=1 << 32, description="bytes at the bottom that programs leave alone")
    ] = 0

    _row = field_validator("row_bytes")(_power_of_two)


class Tile(ConfigSection):
    """A tile's MAC array and tensor control."""

    lanes: Annotated[Count, Field(description="outputs that are computed at once")] = 64
    inputs_per_cycle: Annotated[Count, Field(description="activations that each lane multiplies a cycle")] = 4
    vector_bytes: Annotated[
        Count,
        Field(
            description=(
                "activations a cycle of layers that work byte by byte, such as depthwise and pooling: a word or a part "
                "of one"
            )
        ),
    ] = 4
    output_fifo_groups: Annotated[int, Field(ge=1, description="groups of results, being made or waiting")] = 2
    loop_depth: Annotated[int, Field(ge=2, le=8, description="loops of a tensorop")] = 8
    traversal: Annotated[Literal["adder", "multiplier"], Field(description="how addresses come from loop counters")] = (
        "adder"
    )
    multiplier_cycles: Annotated[
        int, Field(ge=0, le=64, description="cycles to an instruction's first address where multipliers make it")
    ] = 1
    strict_compare: Annotated[
        bool, Field(description="whether a watched flag must exceed the expected count, not just reach it")
    ] = False

    _powers = field_validator("lanes", "inputs_per_cycle", "vector_bytes")(_power_of_two)

    @property
    def register_bytes(self) -> int:
        """A bias, a multiplier, a shift or a sum for each lane: a row of wide memory, or as much of a larger one."""
        return LANE_BYTES * self.lanes

    @property
    def operand_bytes(self) -> int:
        """The most that all lanes take from wide memory at once, which a row must have: what is laid out in multiples
        of it lies within rows of any size.
        """
        return self.lanes * max(LANE_BYTES, self.inputs_per_cycle)


class Classifier(ConfigSection):
    """The classifier tile."""

    cycles_per_element: Annotated[Count, Field(description="cycles that its function takes for an output")] = 1


class Topology(AnyTopology):
    """A tiled chip."""

    machine: Annotated[Literal["tiled"], Field(description="the kind of chip that this is")]
    clock_hz: Clock = 500_000_000
    grid: Grid = Grid()
    host: Host = Host()
    data_memory: DataMemory = DataMemory()
    instruction_memory: InstructionMemory = InstructionMemory()
    instruction_bus: InstructionBus = InstructionBus()
    ring: Ring = Ring()
    mesh: Mesh = Mesh()
    narrow_memory: NarrowMemory = NarrowMemory()
    wide_memory: WideMemory = WideMemory()
    tile: Tile = Tile()
    classifier: Classifier = Classifier()

    @property
    def arrays(self) -> int:
        return self.tiles

    @property
    def tiles(self) -> int:
        return self.grid.rows * self.grid.columns

    @property
    def ring_links(self) -> int:
        """Links of the ring: one to each tile, to the classifier, to both ends of the host's links."""
        return self.tiles + 3

    @property
    def mesh_links(self) -> int:
        """Links of the mesh: two between any two neighbours, one each way."""
        rows, columns = self.grid.rows, self.grid.columns
        return 2 * (rows * (columns - 1) + columns * (rows - 1))

    @property
    def host_link_bytes(self) -> int:
        """Bytes a cycle that the host's link carries, both ways together: of rates a second, as many as whole ones."""
        ways = self.host.to_chip_bytes_per_second, self.host.from_chip_bytes_per_second
        return sum(-(-way // self.clock_hz) or self.host.bytes_per_cycle for way in ways)

    @property
    def ring_row_cycles(self) -> int:
        """Cycles in which a row passes a link of the ring, or a stop."""
        return -(-self.wide_memory.row_bytes // (self.ring.width_bytes or self.wide_memory.row_bytes))

    @property
    def mesh_beats(self) -> int:
        """Cycles in which a word crosses a link of the mesh: in so many beats."""
        return -(-self.narrow_memory.word_bytes // (self.mesh.width_bytes or self.narrow_memory.word_bytes))

    def to_chip_cycles(self, size_bytes: int) -> Fraction:
        """Cycles in which the host's link carries so many bytes to the chip: whole ones where its rate is one a cycle,
        exact ones where it is one a second.
        """
        return self._link_cycles(size_bytes, self.host.to_chip_bytes_per_second)

    def from_chip_cycles(self, size_bytes: int) -> Fraction:
        """The same of bytes from the chip."""
        return self._link_cycles(size_bytes, self.host.from_chip_bytes_per_second)

    def _link_cycles(self, size_bytes: int, bytes_per_second: int) -> Fraction:
        if bytes_per_second:
            return Fraction(size_bytes * self.clock_hz, bytes_per_second)
        return Fraction(-(-size_bytes // self.host.bytes_per_cycle))

    @property
    def request_cycles(self) -> int:
        """Cycles from a request to the first byte that is sent for it."""
        return -(-self.host.request_ns * self.clock_hz // 10**9)

    def step_cycles(self, size_bytes: int) -> int:
        """Cycles in which the host computes a layer that reads and makes so many bytes."""
        rate = self.host.step_bytes_per_second
        return -(-size_bytes * self.clock_hz // rate) if rate else 0

    @property
    def parameter_bytes_per_cycle(self) -> Fraction:
        """How fast parameters leave data memory, or the host where that is the host's."""
        if not self.host.sends_parameters:
            return Fraction(self.data_memory.bytes_per_cycle)
        return Fraction(self.host.to_chip_bytes_per_second or self.host.bytes_per_cycle * self.clock_hz, self.clock_hz)

    @property
    def instruction_bus_stops(self) -> int:
        """Stops of the instruction bus: the tiles and the classifier."""
        return self.tiles + 1

    @property
    def wide_memories_bytes(self) -> int:
        """What the wide memories of all tiles hold together, beside what is reserved in each."""
        return self.tiles * (self.wide_memory.size_bytes - self.wide_memory.reserve_bytes)

    @property
    def tiles_hold_data_memory(self) -> bool:
        """Whether everything that fits in data memory would fit in the wide memories of all tiles, each byte once: then
        a network's parameters never have to stay behind for want of room in all tiles together. Source: US
        2025/0265455, claim 5, for comparing the two.
        """
        return self.data_memory.size_bytes <= self.wide_memories_bytes

    @property
    def macs_per_cycle(self) -> int:
        """Multiply-accumulates that one tile can do in a cycle."""
        return self.tile.lanes * self.tile.inputs_per_cycle

    @model_validator(mode="after")
    def _widths_given(self) -> Topology:
        """Links whose width is not given are as wide as what they carry."""
        for name, width_bytes in (("ring", self.wide_memory.row_bytes), ("mesh", self.narrow_memory.word_bytes)):
            bus: Ring | Mesh = getattr(self, name)
            if bus.width_bytes == WHOLE:  # a chip is frozen, and this is still its making
                self.__dict__[name] = bus.model_copy(update={"width_bytes": width_bytes})
        return self

    @model_validator(mode="after")
    def _widths_agree(self) -> Topology:
        tile, narrow, wide = self.tile, self.narrow_memory, self.wide_memory
        ring, mesh = self.ring.width_bytes, self.mesh.width_bytes
        word, row = (
            f"a multiple of narrow_memory.word_bytes {narrow.word_bytes}",
            f"a multiple of {wide.row_bytes}, a row",
        )
        rules = (
            (
                "tile.inputs_per_cycle",
                tile.inputs_per_cycle <= narrow.word_bytes,
                f"at most a word, {narrow.word_bytes}",
            ),
            (
                "tile.vector_bytes",
                tile.vector_bytes <= narrow.word_bytes,
                f"at most narrow_memory.word_bytes {narrow.word_bytes}",
            ),
            ("tile.vector_bytes", tile.vector_bytes <= tile.lanes, f"at most tile.lanes {tile.lanes}"),
            (
                "wide_memory.row_bytes",
                wide.row_bytes >= tile.operand_bytes,
                f"at least {tile.operand_bytes}, for all of tile.lanes {tile.lanes}",
            ),
            ("wide_memory.row_bytes", wide.row_bytes % narrow.word_bytes == 0, word),
            ("wide_memory.size_bytes", wide.size_bytes % wide.row_bytes == 0, row),
            ("narrow_memory.size_bytes", narrow.size_bytes % narrow.word_bytes == 0, word),
            ("wide_memory.reserve_bytes", wide.reserve_bytes % wide.row_bytes == 0, row),
            ("wide_memory.reserve_bytes", wide.reserve_bytes < wide.size_bytes, f"below {wide.size_bytes}, the size"),
            ("ring.width_bytes", ring <= wide.row_bytes, f"at most wide_memory.row_bytes {wide.row_bytes}"),
            ("mesh.width_bytes", mesh <= narrow.word_bytes, f"at most narrow_memory.word_bytes {narrow.word_bytes}"),
        )
        faults = [f"{key} must be {what}, not {self._value(key)}" for key, holds, what in rules if not holds]
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _value(self, key: str) -> object:
        section, name = key.split(".")
        return getattr(getattr(self, section), name)
