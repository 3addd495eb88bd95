"""What a tiled chip is: every size, width, depth, latency and rule that the text of the sources leaves open."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from tilesim.config import Bytes, Hertz, Section

Count = Annotated[int, Field(ge=1)]
Cycles = Annotated[int, Field(ge=0)]
LANE_BYTES = 4
"""Bytes of a lane's bias, multiplier, shift or sum in a wide row."""


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError(f"must be a power of two, not {value}")
    return value


class Grid(Section):
    """Tiles in rows and columns, numbered row by row."""

    rows: Annotated[int, Field(ge=1, le=64)] = 4
    columns: Annotated[int, Field(ge=1, le=64)] = 4


class Host(Section):
    """The host's link to the chip: bandwidth each way, and the flight time of a word."""

    bytes_per_cycle: Count = 8
    latency_cycles: Cycles = 0


class DataMemory(Section):
    """The controller's memory for parameters."""

    size_bytes: Bytes = 32 * 1024 * 1024
    bytes_per_cycle: Count = 2


class InstructionMemory(Section):
    """The controller's memory for programs."""

    size_bytes: Bytes = 1024 * 1024


class InstructionBus(Section):
    """The ring that carries instructions from the controller past all tiles."""

    width_bytes: Count = 16
    hop_cycles: Count = 1
    buffer_depth: Count = 8


class Ring(Section):
    """The data ring: one wide row and a header a packet."""

    hop_cycles: Count = 1
    queue: Literal["split", "shared"] = "split"
    no_consumer: Literal["stall", "circulate"] = "stall"
    byte_filter: bool = False
    consumer_queues: Annotated[int, Field(ge=1, le=2)] = 1


class Mesh(Section):
    """Links between neighbouring tiles: one narrow word a cycle."""

    hop_cycles: Count = 1
    credits: Count = 4
    destination: Literal["narrow", "wide"] = "narrow"


class NarrowMemory(Section):
    """A tile's memory for activations: one read port and one write port."""

    size_bytes: Bytes = 192 * 1024
    word_bytes: Count = 4

    _word = field_validator("word_bytes")(_power_of_two)


class WideMemory(Section):
    """A tile's memory for parameters and partial sums; ``ports`` accesses a cycle. Source: 003 [0034] for one port."""

    size_bytes: Bytes = 512 * 1024
    row_bytes: Count = 256
    ports: Annotated[int, Field(ge=1, le=2)] = 1
    reserve_bytes: Annotated[Bytes, Field(ge=0)] = 0

    _row = field_validator("row_bytes")(_power_of_two)


class Tile(Section):
    """A tile's MAC array and tensor control."""

    lanes: Count = 64
    inputs_per_cycle: Count = 4
    vector_bytes: Count = 4
    output_fifo_groups: Annotated[int, Field(ge=1)] = 2
    loop_depth: Annotated[int, Field(ge=2, le=8)] = 8
    traversal: Literal["adder", "multiplier"] = "adder"
    strict_compare: bool = False

    _powers = field_validator("lanes", "inputs_per_cycle", "vector_bytes")(_power_of_two)


class Classifier(Section):
    """The classifier tile: cycles that one output of its function takes."""

    cycles_per_element: Count = 1


MODELLED: dict[str, object] = {
    "ring.queue": "split",
    "ring.no_consumer": "stall",
    "ring.byte_filter": False,
    "ring.consumer_queues": 1,
    "mesh.destination": "narrow",
    "tile.traversal": "adder",
}
"""Keys of which only one choice is modelled so far: another one is refused instead of being ignored."""


class Topology(Section):
    """A tiled chip."""

    machine: Literal["tiled"]
    name: str
    description: str = ""
    clock_hz: Hertz = 500_000_000
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
    def tiles(self) -> int:
        return self.grid.rows * self.grid.columns

    @property
    def macs_per_cycle(self) -> int:
        """Multiply-accumulates that one tile can do in a cycle."""
        return self.tile.lanes * self.tile.inputs_per_cycle

    @model_validator(mode="after")
    def _widths_agree(self) -> Topology:
        tile, narrow, wide = self.tile, self.narrow_memory, self.wide_memory
        lane_row_bytes = tile.lanes * max(LANE_BYTES, tile.inputs_per_cycle)
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
            ("tile.vector_bytes", tile.vector_bytes <= narrow.word_bytes, f"at most a word, {narrow.word_bytes}"),
            ("tile.vector_bytes", tile.vector_bytes <= tile.lanes, f"at most {tile.lanes}, the lanes"),
            ("wide_memory.row_bytes", wide.row_bytes >= lane_row_bytes, f"at least {lane_row_bytes}, for all lanes"),
            ("wide_memory.row_bytes", wide.row_bytes % narrow.word_bytes == 0, word),
            ("wide_memory.size_bytes", wide.size_bytes % wide.row_bytes == 0, row),
            ("narrow_memory.size_bytes", narrow.size_bytes % narrow.word_bytes == 0, word),
            ("wide_memory.reserve_bytes", wide.reserve_bytes % wide.row_bytes == 0, row),
            ("wide_memory.reserve_bytes", wide.reserve_bytes < wide.size_bytes, f"below {wide.size_bytes}, the size"),
        )
        faults = [f"{key} must be {what}, not {self._value(key)}" for key, holds, what in rules if not holds]
        faults += [
            f"{key} must be {modelled} so far, not {self._value(key)}"
            for key, modelled in MODELLED.items()
            if self._value(key) != modelled
        ]
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _value(self, key: str) -> object:
        section, name = key.split(".")
        return getattr(getattr(self, section), name)
