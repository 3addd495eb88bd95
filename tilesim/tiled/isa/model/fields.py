"""What instructions are made of: loops, references, traversals, watchers; the names of flags and engines; and who is
whose neighbour on the mesh. What there are thousands of are named tuples, which are made and compared soonest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the core's C is made from names in here, where nothing but Python is installed
    from tilesim.tiled.topology import Grid, Topology


class Flag(StrEnum):
    """A tile's sync flags: one counter per virtual write port. Source: libedgetpu's register names, those that a unit
    here raises; US 19/025,090 [0049].
    """

    AVDATA = "avdata"
    PARTIAL_SUMS = "partial_sums"
    MESH_NORTH_IN = "mesh_north_in"
    MESH_EAST_IN = "mesh_east_in"
    MESH_SOUTH_IN = "mesh_south_in"
    MESH_WEST_IN = "mesh_west_in"
    MESH_NORTH_OUT = "mesh_north_out"
    MESH_EAST_OUT = "mesh_east_out"
    MESH_SOUTH_OUT = "mesh_south_out"
    MESH_WEST_OUT = "mesh_west_out"
    WIDE_TO_NARROW = "wide_to_narrow"
    NARROW_TO_WIDE = "narrow_to_wide"
    RING_READ_A = "ring_read_a"
    RING_WRITE = "ring_write"
    RING_PRODUCER_A = "ring_producer_a"
    RING_READ_B = "ring_read_b"
    RING_PRODUCER_B = "ring_producer_b"


FORMER_FLAGS = frozenset({"parameters", "wide_to_scaling"})
"""Flags that nothing raised: fences of programs that tilesim 0.1 saved reset them."""


class Channel(StrEnum):
    """A virtual channel of the ring: one for each consumer queue of a tile. Source: libedgetpu's register names, which
    have ring consumers A and B and count what each of them reads; US 2025/0265455 [0034] for one queue.
    """

    A = "a"
    B = "b"

    @property
    def number(self) -> int:
        """0 for A, which goes first wherever both want the same."""
        return int(self is Channel.B)


ORDINALS = {Channel.A: Flag.RING_PRODUCER_A, Channel.B: Flag.RING_PRODUCER_B}
"""What counts, in each tile, the transfers of a channel that have passed its stop."""
FLAGS_OF_B = frozenset({Flag.RING_READ_B, Flag.RING_PRODUCER_B})
"""Flags that only a chip with two consumer queues raises."""


class Engine(StrEnum):
    """A tile's engines; each has an instruction buffer of its own. Source: US 19/025,090 [0054], US 2025/0265455
    [0031].
    """

    TENSOR = "tensor"
    RING_CONSUMER = "ring_consumer"
    RING_PRODUCER = "ring_producer"
    NARROW_TO_WIDE = "narrow_to_wide"
    WIDE_TO_NARROW = "wide_to_narrow"
    MESH_IN_NORTH = "mesh_in_north"
    MESH_IN_EAST = "mesh_in_east"
    MESH_IN_SOUTH = "mesh_in_south"
    MESH_IN_WEST = "mesh_in_west"
    MESH_OUT_NORTH = "mesh_out_north"
    MESH_OUT_EAST = "mesh_out_east"
    MESH_OUT_SOUTH = "mesh_out_south"
    MESH_OUT_WEST = "mesh_out_west"
    RING_CONSUMER_B = "ring_consumer_b"


class Side(StrEnum):
    """Where a mesh neighbour is."""

    NORTH = "north"
    EAST = "east"
    SOUTH = "south"
    WEST = "west"


class MemoryName(StrEnum):
    """A memory of a tile. Source: US 19/025,090 [0053]."""

    NARROW = "narrow"
    WIDE = "wide"


class Loop(NamedTuple):
    """One loop of a nest: its name within the instruction and how often it runs."""

    name: str
    bound: int


class Alternate(NamedTuple):
    """In the last iteration of ``loop`` the innermost loop runs ``limit`` times. Source: US 10,248,908, abstract."""

    loop: str
    limit: int


class Nest(NamedTuple):
    """Loops, outermost first, each wrapped around the next."""

    loops: tuple[Loop, ...]
    alternate: Alternate | None = None


class Reference(NamedTuple):
    """An operand in a memory: ``base`` plus, for each named loop, its counter times a stride, all in bytes.

    A loop that is not named does not move the address (its bit in the loop mask is clear). Source: US 19/025,090
    [0041], [0047].
    """

    base: int
    strides: tuple[tuple[str, int], ...] = ()


class Traversal(NamedTuple):
    """A nest with the one reference that it moves: the address stream of one side of a DMA."""

    nest: Nest
    reference: Reference


class FilterStep(NamedTuple):
    """A cycle's work: whether a row is taken off the ring, and the row that is complete by then, if there is one."""

    takes: bool
    completes: int | None


@dataclass(frozen=True)
class ByteFilter:
    """What a ring consumer keeps of ``rows`` rows, which it takes as one stream of bytes.

    It drops the first ``first`` bytes, then keeps ``keep`` and drops ``gap``, again and again. Source: byte counts of
    ring consumers in the encoder of an Edge TPU's successor as reported by others.
    """

    rows: int
    first: int
    keep: int
    gap: int

    @property
    def whole(self) -> bool:
        """Whether all bytes are kept."""
        return self.first == self.gap == 0

    def kept(self, stream_bytes: int) -> int:
        """How many of the first ``stream_bytes`` bytes are kept."""
        periods, rest = divmod(max(0, stream_bytes - self.first), self.keep + self.gap)
        return periods * self.keep + min(rest, self.keep)

    def steps(self, rows: int, row_bytes: int) -> Iterator[FilterStep]:
        """The work of a consumer that packs into ``rows`` rows.

        The last bytes of two full rows are a row apart in the stream or more, so that no row of the stream completes
        two. It may complete a full one and the last one, which need not be full: the latter has a step of its own.
        """
        last = min(self.kept(self.rows * row_bytes), rows * row_bytes)
        done = 0
        for taken in range(1, self.rows + 1):
            packed = min(self.kept(taken * row_bytes), last)
            complete = rows if packed == last else packed // row_bytes
            yield FilterStep(True, done if complete > done else None)
            if complete > done + 1:
                yield FilterStep(False, done + 1)
            done = complete


class Watcher(NamedTuple):
    """Stall until ``flag`` has counted enough; ``loop`` None means once, before the nest starts.

    Iteration k of ``loop`` (counted over the whole nest) waits for ``expected + k * stride``. Source: US 19/025,090
    [0051].
    """

    flag: Flag
    expected: int
    loop: str | None = None
    stride: int = 0


STEPS = {Side.NORTH: (-1, 0), Side.EAST: (0, 1), Side.SOUTH: (1, 0), Side.WEST: (0, -1)}
OPPOSITE = {Side.NORTH: Side.SOUTH, Side.EAST: Side.WEST, Side.SOUTH: Side.NORTH, Side.WEST: Side.EAST}


def neighbour(grid: Grid, tile: int, side: Side) -> int | None:
    """The tile beside ``tile`` at ``side``; None off the grid."""
    row, column = divmod(tile, grid.columns)
    down, right = STEPS[side]
    if 0 <= row + down < grid.rows and 0 <= column + right < grid.columns:
        return tile + down * grid.columns + right
    return None


ON_B = " on channel B"
"""What the stops of that channel are called by behind the name of their node."""


def node_name(node: int, tiles: int) -> str:
    """A node of the ring in words; those from ``tiles`` + 3 on are the same ones again, on channel B."""
    if node >= tiles + 3:
        return node_name(node - tiles - 3, tiles) + ON_B
    return f"tile {node - 1}" if 0 < node <= tiles else {0: "source", tiles + 1: "classifier"}.get(node, "sink")


def flags_of(topology: Topology) -> tuple[Flag, ...]:
    """The flags that a tile of a chip has."""
    return tuple(flag for flag in Flag if topology.ring.consumer_queues > 1 or flag not in FLAGS_OF_B)


def channels_of(topology: Topology) -> tuple[Channel, ...]:
    """The channels of a chip's ring."""
    return tuple(Channel)[: topology.ring.consumer_queues]


def bits(bitmap: int) -> list[int]:
    """The places of the bits that are set."""
    return [k for k in range(bitmap.bit_length()) if bitmap >> k & 1]
