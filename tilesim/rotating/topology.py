"""What a rotating machine is: every size, rate and rule that the text of the sources leaves open."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from tilesim.config import ConfigSection
from tilesim.machines.topology import Clock
from tilesim.machines.topology import Topology as AnyTopology
from tilesim.printable import shown

Count = Annotated[int, Field(ge=1, le=1 << 24)]
_DISTANCES = re.compile(r"\d{1,5}(-\d{1,5})?( \d{1,5}(-\d{1,5})?)*")
Cycles = Annotated[int, Field(ge=0, le=1 << 24)]
PARAMETER_BYTES = 9
"""Of a processing unit: int32 bias, int32 multiplier and int8 shift."""
TABLE_ENTRIES = 256
RAW_ROWS = 4
"""Rows that hold accumulators: one for each byte."""


class Units(ConfigSection):
    """The processing units, in lock step, and the words that they work on.

    Source: US 2018/0157962, claim 1, for units, blocks and the greater-than rule; US 10,565,494 B2, abstract, for
    segments, US 10,565,492 B2, abstract, for those that are shifted; that accumulators saturate is as Ncore has it
    (WikiChip); that there may be fewer than 512 units is an assumption.
    """

    count: Annotated[int, Field(ge=2, le=1 << 16, description="processing units: words of a row")]
    word_bits: Annotated[Literal[8, 16], Field(description="bits of a word")] = 8
    segments: Annotated[Literal[1, 2], Field(description="rings in which words rotate")] = 1
    segment_shift: Annotated[
        Literal["none", "quarter"], Field(description="whether two segments begin a quarter of a row later")
    ] = "none"
    accumulator_bits: Annotated[int, Field(ge=8, le=32, description="bits of an accumulator")] = 32
    overflow: Annotated[
        Literal["saturate", "wrap", "refuse"], Field(description="what becomes of a sum that has no room")
    ] = "saturate"
    block_rule: Annotated[
        Literal["greater", "at_least"],
        Field(description="what a block's words are to the words of a line: more, or no fewer"),
    ] = "greater"


class Rotation(ConfigSection):
    """How words move from unit to unit. Source: US 10,395,165 B2, abstract, for distances beyond one."""

    direction: Annotated[
        Literal["up", "down"], Field(description="whether a unit takes the word of a lower one, or of a higher one")
    ] = "up"
    distances: Annotated[
        str,
        Field(description="how many words a rotation can go in a cycle: numbers from 1 on, such as 1 4 16 or 1-64"),
    ] = "1"

    @field_validator("distances", mode="before")
    @classmethod
    def _word(cls, distances: object) -> object:
        return str(distances) if isinstance(distances, int) and not isinstance(distances, bool) else distances

    @field_validator("distances")
    @classmethod
    def _rise(cls, distances: str) -> str:
        if not (_DISTANCES.fullmatch(distances) and _rises(_numbers(distances))):
            raise ValueError(f"must be rising numbers from 1 on, such as 1 4 16 or 1-64, not {shown(distances)}")
        return distances

    @cached_property
    def reach(self) -> tuple[int, ...]:
        """Its distances, the least first."""
        return _numbers(self.distances)

    def moves(self, words: int) -> int:
        """The fewest rotations that go ``words`` words in all."""
        return len(self.route(words))

    def route(self, words: int) -> tuple[int, ...]:
        """The distances of the fewest rotations that go ``words`` words in all, the longest first."""
        return _route(self.reach, words)


@lru_cache(maxsize=4096)
def _route(reach: tuple[int, ...], words: int) -> tuple[int, ...]:
    """Coins: whatever is beyond a few times the longest distance goes by that, for no other is longer."""
    longest = reach[-1]
    head = max(0, (words - longest * longest) // longest)
    fewest: list[tuple[int, ...]] = [()]
    for total in range(1, words - head * longest + 1):
        fewest.append(min(((d, *fewest[total - d]) for d in reversed(reach) if d <= total), key=len))
    return tuple(sorted((*(longest,) * head, *fewest[-1]), reverse=True))


def _numbers(distances: str) -> tuple[int, ...]:
    ends = [[int(end) for end in word.split("-")] for word in distances.split()]
    return tuple(number for first, *last in ends for number in range(first, (last or [first])[0] + 1))


def _rises(numbers: tuple[int, ...]) -> bool:
    return numbers[:1] == (1,) and all(low < high for low, high in pairwise(numbers))


class DataRam(ConfigSection):
    """The memory of activations: a row has a word for each unit."""

    rows: Annotated[Count, Field(description="rows of the data RAM")]
    ports: Annotated[Literal["single", "dual"], Field(description="whether a read and a write share a cycle")] = (
        "single"
    )


class WeightRam(ConfigSection):
    """The memory of weights and parameters. Source: US 10,586,148 B2, abstract, for rows of half the words."""

    rows: Annotated[Count, Field(description="rows of the weight RAM")]
    ports: Annotated[Literal["single", "dual"], Field(description="whether a read and a write share a cycle")] = (
        "single"
    )
    shape: Annotated[
        Literal["rows", "half_rows"],
        Field(description="what a step addresses: a row, or half of one, which both halves of the units take"),
    ] = "rows"


class Output(ConfigSection):
    """What turns accumulators into rows."""

    words_per_cycle: Annotated[int, Field(ge=0, le=1 << 16, description="words converted a cycle; 0: a whole row")] = 0
    latency_cycles: Annotated[
        Annotated[int, Field(ge=1, le=1 << 16)], Field(description="cycles from the end of a conversion to the write")
    ] = 1
    buffers: Annotated[int, Field(ge=1, le=64, description="captured rows that it holds")] = 2
    place: Annotated[
        Literal["block", "none"], Field(description="whether words can move within their block as they are written")
    ] = "block"


class Sequencer(ConfigSection):
    """What issues an instruction a cycle, and counts loops."""

    instructions: Annotated[Count, Field(description="instructions that its program memory holds")] = 65536
    loop_depth: Annotated[int, Field(ge=1, le=16, description="how deep loops may nest")] = 6
    loop_cycles: Annotated[Literal[0], Field(description="cycles that a loop's turn takes")] = 0


class Host(ConfigSection):
    """The host's link to the chip, each way; it carries whole rows."""

    bytes_per_cycle: Annotated[Count, Field(description="bytes a cycle, each way")] = 64
    latency_cycles: Annotated[Cycles, Field(description="cycles before the first byte of a row")] = 0


class Topology(AnyTopology):
    """A rotating machine. Defaults and everything that no section names a source for are assumptions."""

    machine: Annotated[Literal["rotating"], Field(description="the kind of chip that this is")]
    clock_hz: Clock = 2_000_000_000
    units: Units
    rotation: Rotation = Rotation()
    data_ram: DataRam
    weight_ram: WeightRam
    output: Output = Output()
    sequencer: Sequencer = Sequencer()
    host: Host = Host()

    @model_validator(mode="after")
    def _agree(self) -> Topology:
        units, parts = self.units, 4 if self.units.segment_shift == "quarter" else self.units.segments
        if units.segment_shift == "quarter" and units.segments == 1:
            raise ValueError("units.segment_shift must be none where there is one segment, not quarter")
        if units.count % parts:
            raise ValueError(f"units.count must be a multiple of {parts}, not {units.count}")
        if self.weight_ram.shape == "half_rows" and units.count % 2:
            raise ValueError(f"units.count must be even where weight_ram.shape is half_rows, not {units.count}")
        longest = self.rotation.reach[-1]
        if longest >= max(2, units.count // units.segments):
            ring = units.count // units.segments
            raise ValueError(
                f"rotation.distances must be below the {ring} words of a ring, not {self.rotation.distances}"
            )
        if self.output.words_per_cycle > units.count:
            raise ValueError(
                f"output.words_per_cycle must be at most the {units.count} units, not {self.output.words_per_cycle}"
            )
        return self

    @property
    def macs_per_cycle(self) -> int:
        """Multiply-accumulates that the units can do in a cycle."""
        return self.units.count

    @property
    def word_bytes(self) -> int:
        return self.units.word_bits // 8

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of either memory."""
        return self.units.count * self.word_bytes

    @property
    def conversion_cycles(self) -> int:
        """Cycles in which a row of accumulators is converted."""
        words = self.units.count
        return -(-words // (self.output.words_per_cycle or words))

    @property
    def link_cycles(self) -> int:
        """Cycles of the host's link for a row."""
        return self.host.latency_cycles - (-self.row_bytes // self.host.bytes_per_cycle)

    @property
    def parameter_rows(self) -> int:
        """Rows of the weight RAM that hold a bias, a multiplier and a shift for each unit: 9 of words of 8 bits, 5 of
        16.
        """
        return -(-PARAMETER_BYTES // self.word_bytes)

    @property
    def table_rows(self) -> int:
        """Rows of the weight RAM that hold a table of 256 entries."""
        return -(-TABLE_ENTRIES // self.units.count)

    @property
    def weight_addresses(self) -> int:
        """Rows of the weight RAM that a step can name: of half rows twice as many."""
        return self.weight_ram.rows * (2 if self.weight_ram.shape == "half_rows" else 1)
