"""A program in the making."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from tilesim.machines.changed import changed
from tilesim.network.graph import Tensor
from tilesim.tiled.compiler.feature_map import MapPart, bitmap_of
from tilesim.tiled.compiler.lines import LineArrivals, line_counts
from tilesim.tiled.compiler.partition import Partition
from tilesim.tiled.compiler.placement import MapPlacement
from tilesim.tiled.compiler.task import element_type
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.fields import ORDINALS, Channel, Engine, Flag, Traversal, Watcher, bits
from tilesim.tiled.isa.model.program import TensorPiece
from tilesim.tiled.isa.model.sheet import CONSUMERS
from tilesim.tiled.topology import Topology


class Completion(Struct, frozen=True):
    """How a tile's part of a map is known to be made: ``flag`` has counted to ``count``; if ``order`` is not empty,
    each of its rows has raised it by one, in that order, or to its own of ``counts``. ``words``: where it was written
    to, if it came over the ring.
    """

    flag: Flag
    count: int
    order: Sequence[int] = range(0)
    words: Traversal | None = None
    counts: tuple[int, ...] = ()

    def row(self, row: int) -> int:
        """The count when a row is made."""
        if not self.order:
            return self.count
        place = self.order.index(row)
        return self.counts[place] if self.counts else self.count - len(self.order) + place + 1

    def rows(self, rows: range) -> int:
        """The count when all of some rows are made."""
        return max(self.row(row) for row in rows)


class Arrival(Struct, frozen=True):
    """What comes from the neighbours has come when a flag has counted to ``full``; to ``early``: but for the rows that
    are needed last, of which the last rise alone tells if ``by_last_rise``. Nothing is early if ``early`` is 0.
    """

    early: int
    full: int
    by_last_rise: bool


TENSOR_FLAGS = (Flag.AVDATA, Flag.PARTIAL_SUMS)
"""What tensorops raise."""
HOME_CYCLES = 2
"""What a row from its home tile takes beside the ring: a cycle of each port that it goes through."""
SOURCE = -1
"""The controller's infeed among the masters of the ring."""


class LastTransfer(Struct, frozen=True):
    """Rows on the ring from a master (a tile's number, or ``SOURCE``) to the stops in the bitmap ``to``; ``seen`` are
    the masters whose stops the tail passes.
    """

    master: int
    to: int
    seen: frozenset[int]


class ProgramBuilder(Struct, dict=True):
    """The instructions of one inference, ``first`` those that are issued before the ``rest``, and what has to be
    remembered while they are written.

    ``raised`` is how far each flag of each tile will have counted once everything written so far is done;
    ``completions`` and ``arrived`` say, for each map and tile, when it can be read; ``awaited``, for what the tensorops
    of each tile have waited; ``tensorops[k]`` counts each tile's rises of ``TENSOR_FLAGS`` by the first k calls;
    ``users`` holds the engines that may still be at a map's bytes; ``steps`` whether a map's rows are made downwards
    (1) or upwards (-1); ``lines`` what comes of a map from where, line by line, ``reached`` how far the tensorops of
    each tile have waited for such; ``labels`` the last instruction of each tile that made some of a map; ``tails`` the
    tails that have passed each tile's stop on each channel of the ring, ``last`` the last transfer there; ``staged``
    what each tile waits for until a place for copies is free.
    """

    topology: Topology
    plan: TilePlan
    partition: Partition
    placement: MapPlacement
    first: list[isa.Instruction] = field(default_factory=list)
    rest: list[isa.Instruction] = field(default_factory=list)
    raised: Counter[tuple[int, Flag]] = field(default_factory=Counter)
    completions: dict[str, dict[int, Completion]] = field(default_factory=dict)
    arrived: dict[str, dict[int, dict[Flag, Arrival]]] = field(default_factory=dict)
    tensorops: list[Counter[tuple[int, Flag]]] = field(default_factory=lambda: [Counter()])
    awaited: set[tuple[int, Watcher]] = field(default_factory=set)
    users: dict[str, set[Engine]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    reached: Counter[tuple[int, Flag]] = field(default_factory=Counter)
    lines: dict[str, dict[int, list[LineArrivals]]] = field(default_factory=dict)
    pieces: list[TensorPiece] = field(default_factory=list)
    labels: dict[str, dict[int, str]] = field(default_factory=dict)
    tails: Counter[tuple[Channel, int]] = field(default_factory=Counter)
    staged: dict[str, dict[int, tuple[Watcher, ...]]] = field(default_factory=dict)
    last: dict[Channel, LastTransfer | None] = field(default_factory=dict)

    @cached_property
    def weight_row_cycles(self) -> int:
        """About what a wide row of weights costs each inference: what a link of the ring takes, and its master and a
        commit beside that, or data memory, if the weights take more than half of what the tiles hold together. What has
        room in every tile costs that room, reckoned as a row on a ring that carries one a cycle.
        """
        chip, tensors = self.topology, self.plan.network.tensors.values()
        size = 2 * sum(tensor.data.nbytes for tensor in tensors if tensor.data is not None)
        if size <= chip.wide_memory.size_bytes - chip.wide_memory.reserve_bytes:
            return HOME_CYCLES + 1
        stays = size <= chip.wide_memories_bytes
        beside = HOME_CYCLES if stays else int(chip.wide_memory.row_bytes // chip.parameter_bytes_per_cycle) - 1
        return beside + chip.ring_row_cycles

    @property
    def mixed(self) -> bool:
        """Whether layers wait for lines, and maps come and are made in the order that suits them."""
        return self.partition.wishes.mixed

    @property
    def run(self) -> tuple[isa.Instruction, ...]:
        """All instructions in the order of issue."""
        return (*self.first, *self.rest)

    def write(self, label: str, ops: Mapping[int, isa.Work], first: Container[int] = ()) -> dict[int, str]:
        """Append an instruction for each tile, one for all tiles that have the same; the label that each tile's got.

        For the tiles in ``first`` it is one of the first instructions.
        """
        groups: dict[tuple[bool, isa.Work], list[int]] = {}
        known: dict[tuple[bool, int], list[int]] = {}  # most tiles have the very same, and to compare them takes long
        for tile, op in ops.items():
            ahead = tile in first
            if (ahead, id(op)) not in known:
                known[ahead, id(op)] = groups.setdefault((ahead, op), [])
            known[ahead, id(op)].append(tile)
        labels = {}
        for (ahead, op), tiles in groups.items():
            name = label if len(groups) == 1 else f"{label}.t{tiles[0]}"
            (self.first if ahead else self.rest).append(changed(op, tiles=bitmap_of(tiles), label=name))
            flag, rises = isa.raised_flag(op), isa.increments(op)
            for tile in tiles:
                self.raised[tile, flag] += rises
                labels[tile] = name
        return labels

    def computes(self, tile: int) -> bool:
        """Whether a tile has a tensorop so far."""
        return any(self.raised[tile, flag] for flag in TENSOR_FLAGS)

    def count(self, tile: int, flag: Flag) -> Watcher:
        """Waits for everything that has been written for a tile and raises ``flag``."""
        return self.counted(flag, self.raised[tile, flag])

    def counted(self, flag: Flag, count: int, loop: str | None = None, stride: int = 0) -> Watcher:
        """Waits until ``flag`` has counted to ``count``, whichever way the chip compares."""
        return _watcher(flag, count - self.topology.tile.strict_compare, loop, stride)

    def free(self, name: str, tile: int) -> tuple[Watcher, ...]:
        """Waits for the last tensorops that use the bytes on which a map will lie."""
        done = self.tensorops[min(self.placement.last_before(name), len(self.tensorops) - 1)]
        return tuple(self.counted(flag, done[tile, flag]) for flag in TENSOR_FLAGS if done[tile, flag])

    def note_call(self) -> None:
        """Remember how far the tensorops of all calls up to here will have counted."""
        tiles = range(self.topology.tiles)
        self.tensorops.append(
            Counter({(tile, flag): self.raised[tile, flag] for tile in tiles for flag in TENSOR_FLAGS})
        )

    def release(self, name: str) -> None:
        """Hold everything that comes until no DMA engine can be at the bytes any more on which a map will lie."""
        busy = {engine for other in self.placement.predecessors(name) for engine in self.users.get(other, ())}
        if not busy:
            return
        everywhere = (1 << self.topology.tiles) - 1
        idle = tuple(engine for engine in Engine if engine in busy)
        self.rest.append(isa.TileFence(tiles=everywhere, idle=idle, label=f"{name}.reuse"))
        for engines in self.users.values():
            engines.difference_update(busy)

    def use(self, name: str, ops: Iterable[isa.Work]) -> None:
        """The DMA engines of some instructions are at a map's bytes; not at those of a band any more when its readers
        are done, which wait for all of them, unless a tile holds some of it that has nothing to read there.
        """
        if self.placement.banded(name) and self._readers(name) >= set(self.placement.maps[name].held):
            return
        self.users.setdefault(name, set()).update(op.engine for op in ops)

    def _readers(self, name: str) -> set[int]:
        """The tiles that make something of what they read in a map."""
        calls = [call for call in self.partition.calls if name in call.reads.values()]
        return {tile for call in calls for tile, _ in call.parts(self.placement.maps[call.makes])}

    def complete(self, name: str, tile: int) -> tuple[Watcher, ...]:
        """Waits for a tile's whole part of a map, and for what comes from its neighbours."""
        made, arrived = self.completions[name][tile], self.arrived.get(name, {}).get(tile, {})
        return (self.counted(made.flag, made.count), *(self.counted(flag, a.full) for flag, a in arrived.items()))

    def send(self, master: int, to: int, channel: Channel = Channel.A) -> None:
        """Remember a transfer over the ring, after all others so far on its channel."""
        nodes = self.topology.tiles + 3
        reach = max((stop - master) % nodes for stop in bits(to))
        seen = [stop for stop in range(SOURCE, self.topology.tiles) if (stop - master) % nodes <= reach]
        self.tails.update((channel, stop) for stop in seen)
        self.last[channel] = LastTransfer(master, to, frozenset(seen))

    def infeed(self, op: isa.Infeed) -> None:
        """Append an infeed, after all other transfers so far on its channel."""
        self.rest.append(op)
        for transfer in range(op.transfers):
            self.send(SOURCE, op.to << transfer, op.channel)

    def turn(self, master: int, channel: Channel = Channel.A) -> tuple[Watcher, ...]:
        """Waits of a tile for the tails of all transfers that pass its stop on a channel; a fence if the last one
        doesn't.
        """
        self._order(master, channel)
        return self.passed(master, channel)

    def passed(self, master: int, channel: Channel = Channel.A) -> tuple[Watcher, ...]:
        """Waits of a tile for the tails of all transfers that pass its stop on a channel."""
        tails = self.tails[channel, master]
        return (self.counted(ORDINALS[channel], tails),) if tails else ()

    def fence_consumer(self, tile: int) -> None:
        """Hold everything until a tile has got all rows that are on their way to it on channel A."""
        self._hold(1 << tile, Engine.RING_CONSUMER)

    def infeed_turn(self, channel: Channel = Channel.A) -> int:
        """The tails on a channel that the infeed has to wait for, if the last master was another one; 0 if none."""
        last = self.last.get(channel)
        if last is None or last.master == SOURCE:
            return 0
        self._order(SOURCE, channel)
        return self.tails[channel, SOURCE]

    def _order(self, master: int, channel: Channel) -> None:
        """Put a fence behind a channel's last transfer if its tail does not pass a master's stop."""
        last = self.last.get(channel)
        if last is not None and master not in last.seen:
            self._fence(last, CONSUMERS[channel])

    def _fence(self, last: LastTransfer, consumer: Engine) -> None:
        """Hold everything until a transfer is over: its master has drained, or those that get its rows."""
        from_tile = last.master != SOURCE
        tiles = 1 << last.master if from_tile else last.to & ((1 << self.topology.tiles) - 1)
        self._hold(tiles, Engine.RING_PRODUCER if from_tile else consumer)

    def _hold(self, tiles: int, engine: Engine) -> None:
        number = len(self.rest)
        self.rest.append(isa.TileFence(tiles=tiles, idle=(engine,), increment=1, label=f"turn{number}.fence"))
        self.rest.append(isa.ScalarFence(count=tiles.bit_count(), label=f"turn{number}"))

    def note_unpacked(self, name: str, ops: Mapping[int, isa.WideToNarrow], by_line: bool = False) -> None:
        """Remember that a map has come over the ring; if ``by_line``, when each of its lines has."""
        flag, row_bytes, parts = Flag.WIDE_TO_NARROW, self.topology.wide_memory.row_bytes, self.placement.maps[name]
        self.completions[name] = {
            tile: Completion(flag, self.raised[tile, flag], words=op.write) for tile, op in ops.items()
        }
        for tile, op in ops.items() if by_line else ():
            made, part = self.completions[name][tile], parts.part(tile)
            counts = line_counts(part, row_bytes, made.count - isa.increments(op))
            self.completions[name][tile] = replace(made, order=part.rows, counts=counts)

    def note(self, name: str, tensor: Tensor, after: Mapping[int, str]) -> None:
        """Remember that a tensor, and whatever shares its bytes, stands in its map after some instructions."""
        map_ = self.placement.maps[name]
        parts = list(map_.parts())
        parts = parts[:1] if parts[0][1].whole else parts  # copies are alike
        for index in self.plan.network.tensors:
            if self.plan.stored(index) is tensor:
                self.pieces += [_piece(index, tensor, tile, part, after[tile]) for tile, part in parts]


_watcher = lru_cache(maxsize=1 << 12)(Watcher)
"""Tiles wait for much the same."""


def _piece(index: int, tensor: Tensor, tile: int, part: MapPart, after: str) -> TensorPiece:
    return TensorPiece(
        index=index,
        after=after,
        tile=tile,
        address=part.address,
        row_bytes=part.row_bytes,
        pixel_bytes=part.pixel_bytes,
        origin=(part.rows.start, part.columns.start, part.channels.start),
        extent=(len(part.rows), len(part.columns), len(part.channels)),
        element=str(element_type(tensor.dtype)),
    )
