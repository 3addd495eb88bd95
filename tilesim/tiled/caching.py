"""Where parameters live between inferences: a copy in every tile, a part in each, in one tile that multicasts them, in
runs of rows over several that do, or in data memory. Pure decisions about bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from tilesim.units import format_bytes


class Home(StrEnum):
    """Where parameters are when a tensorop needs them.

    Source: US 2025/0265455 [0010] (copy), [0058] (partition), [0047] (a tile that sends its own to the others), [0065]
    and [0067] (split over several such tiles), [0038] (streamed through the controller's infeed).
    """

    COPY = "copy"
    PARTITION = "partition"
    HOME_TILE = "home tile"
    HOME_TILES = "home tiles"
    STREAMED = "streamed"


class ParameterSet(Struct, frozen=True, dict=True):
    """What one tensorop needs at once: a layer's weights and its rows of bias, multiplier and shift, or those of a run
    of its output channels (``chunk`` tells the runs apart).

    ``bytes_per_tile`` are whole wide rows, where these are the smallest that the lanes allow. ``tiles`` (a bitmap) are
    those that need the set: all of them the same bytes, or, ``per_tile``, each a part of its own, as in fully connected
    layers. ``issue_cycles`` is how long a tile computes with it in one inference, if that is known. ``alone`` (a
    bitmap) are tiles that at some time are the only one that needs it, as for a map that is made band by band.
    """

    network: int
    layer: int
    chunk: int
    title: str
    bytes_per_tile: int
    per_tile: bool
    tiles: int
    issue_cycles: int = 0
    alone: int = 0

    @cached_property
    def users(self) -> tuple[int, ...]:
        """The numbers of the tiles that need it."""
        return tuple(tile for tile in range(self.tiles.bit_length()) if self.tiles >> tile & 1)

    @property
    def data_bytes(self) -> int:
        """Its bytes in data memory, which are also those that leave it to bring the set to all its tiles."""
        return self.bytes_per_tile * (len(self.users) if self.per_tile else 1)


class Lack(Struct, frozen=True):
    """A tile that has too little room: for less than ``below_bytes``, or for none at all (0)."""

    tile: int
    below_bytes: int

    def __str__(self) -> str:
        has = f"< {format_bytes(self.below_bytes)}" if self.below_bytes else "no room"
        return f"tile {self.tile} has {has}"


class Run(Struct, frozen=True):
    """``bytes`` of a set from its byte ``first`` on, in wide rows, which ``tile`` keeps and sends: to all that need the
    set, or, if they are bytes of the part ``of`` a tile, to that one.
    """

    tile: int
    first: int
    bytes: int
    of: int | None = None


class Decision(Struct, frozen=True, dict=True):
    """Where a set lives; ``tile`` is the home tile, if it has one, and ``runs`` what is where if it has several.
    ``lack`` is what keeps it from all tiles that need it: of those the one with the least room, or, for a set that
    finds no single home tile either, that with the most.
    """

    set: ParameterSet
    home: Home
    tile: int | None = None
    lack: Lack | None = None
    runs: tuple[Run, ...] = ()

    @property
    def reason(self) -> str:
        """Why, in a few words."""
        if self.lack is None:
            return "each tile has room for its part" if self.set.per_tile else "each tile that needs it has room"
        needs = f"needs {format_bytes(self.set.bytes_per_tile)}"
        if self.runs and not self.set.per_tile:
            return f"{needs}, even {self.lack}, but {len(self.hosts)} tiles together"
        if self.set.per_tile:
            return f"part {needs}, {self.lack}"
        return f"{needs}, even {self.lack}" if self.tile is None else f"copy {needs}, {self.lack}"

    @property
    def cached(self) -> bool:
        """Whether the set is on the tiles before an inference begins."""
        return self.home is not Home.STREAMED

    @property
    def resident(self) -> bool:
        """Whether each tile that needs the set keeps it."""
        return self.home in {Home.COPY, Home.PARTITION}

    @cached_property
    def holders(self) -> tuple[int, ...]:
        """The tiles that keep ``bytes_per_tile`` of it: all of it, or a part that is their own."""
        if self.tile is not None:
            return (self.tile,)
        if self.runs and not self.set.per_tile:
            return ()
        away = {run.of for run in self.runs}
        return tuple(tile for tile in self.set.users if tile not in away) if self.cached else ()

    @property
    def hosts(self) -> tuple[int, ...]:
        """The tiles that keep some of it for others."""
        return (self.tile,) if self.tile is not None else tuple(sorted({run.tile for run in self.runs}))

    @property
    def kept_bytes(self) -> Counter[int]:
        """Bytes of it in each tile that keeps some."""
        kept = Counter(dict.fromkeys(self.holders, self.set.bytes_per_tile))
        for run in self.runs:
            kept[run.tile] += run.bytes
        return kept


class _Room(Struct):
    """What is left of each tile's budget. Cached bytes stay strictly below a budget, so a set that fills it is too
    large. Source: US 2025/0265455 [0007].
    """

    left: list[int]

    def fits(self, size: int, tiles: Iterable[int]) -> bool:
        return all(size < self.left[tile] for tile in tiles)

    def take(self, size: int, tiles: Iterable[int]) -> None:
        for tile in tiles:
            self.left[tile] -= size

    def most(self, tiles: Iterable[int]) -> int:
        """The tile with the most room, the first of several."""
        among = sorted(tiles)
        left = [self.left[tile] for tile in among]
        return among[left.index(max(left))]

    def least(self, tiles: Iterable[int]) -> int:
        return min(tiles, key=lambda tile: (self.left[tile], tile))

    def lack(self, tile: int) -> Lack:
        return Lack(tile, max(0, self.left[tile]))


def plan(
    sets: Sequence[ParameterSet], budget_bytes: Sequence[int], order: Sequence[int], row_bytes: int = 0
) -> tuple[Decision, ...]:
    """Where each of ``sets`` lives, given each tile's budget; they are asked in ``order`` (indices, the first first).

    Three times round: first a set gets one place, so that as many as possible need no data memory: a part in each tile
    that has one, or whole in the tile with the most room, rather one of those that need it. Then those that found none
    are split in runs of wide rows, of ``row_bytes``, over as few tiles as have room for them together, and parts that
    their own tiles have no room for go to others; not if ``row_bytes`` is 0. Then those with a single home tile
    get copies in all tiles that need them, where there is room for all: no bus then carries them at run time.

    Raises:
        ValueError: ``order`` does not name each set once.

    **Source**: US 2025/0265455 [0045], [0047], [0049], [0050], [0065], [0067], claims 7 to 9; that copies come last is
    an assumption.
    """
    if sorted(order) != list(range(len(sets))):
        raise ValueError(f"order must name each of {len(sets)} sets once, not {list(order)}")
    room = _Room(list(budget_bytes))
    placed = {index: _placed(sets[index], room) for index in order}
    if row_bytes:
        placed = {index: _split(placed[index], room, row_bytes) for index in order}
    copied = {index: _copied(placed[index], room) for index in order}
    return tuple(copied[index] for index in range(len(sets)))


def _placed(what: ParameterSet, room: _Room) -> Decision:
    if not what.per_tile:
        return _housed(what, room)
    if not room.fits(what.bytes_per_tile, what.users):
        return Decision(what, Home.STREAMED, lack=room.lack(room.least(what.users)))
    room.take(what.bytes_per_tile, what.users)
    return Decision(what, Home.PARTITION)


def _housed(what: ParameterSet, room: _Room) -> Decision:
    for tile in (room.most(what.users), room.most(range(len(room.left)))):
        if room.fits(what.bytes_per_tile, (tile,)):
            room.take(what.bytes_per_tile, (tile,))
            return Decision(what, Home.HOME_TILE, tile)
    return Decision(what, Home.STREAMED, lack=room.lack(tile))


def _split(decision: Decision, room: _Room, row_bytes: int) -> Decision:
    """A set that found no place, over several tiles that keep some of it, if they have room for all of it."""
    what = decision.set
    if decision.cached:
        return decision
    after = _Room(list(room.left))
    runs = _elsewhere(what, after, row_bytes) if what.per_tile else _over_tiles(what, after, row_bytes)
    if not runs:
        return decision
    room.left = after.left
    return replace(decision, home=Home.HOME_TILES, runs=runs)


def _over_tiles(what: ParameterSet, room: _Room, row_bytes: int) -> tuple[Run, ...]:
    """Runs of a set that all its tiles need; who at some time is the only one has nobody to get its own run from."""
    without = [tile for tile in what.users if len(what.users) == 1 or what.alone >> tile & 1]
    return _runs(what.bytes_per_tile, room, without, row_bytes)


def _elsewhere(what: ParameterSet, room: _Room, row_bytes: int) -> tuple[Run, ...]:
    """The parts that their own tiles have no room for, once the others have theirs."""
    own = [tile for tile in what.users if room.fits(what.bytes_per_tile, (tile,))]
    room.take(what.bytes_per_tile, own)
    runs: list[Run] = []
    for tile in (tile for tile in what.users if tile not in own):
        part = _runs(what.bytes_per_tile, room, (tile,), row_bytes)
        if not part:
            return ()
        runs += [replace(run, of=tile) for run in part]
    return tuple(runs)


def _runs(size: int, room: _Room, without: Sequence[int], row_bytes: int) -> tuple[Run, ...]:
    """So many bytes in runs of rows, along the ring, over as few tiles as can be; none if there is no room for all."""
    left = [0 if tile in without else most for tile, most in enumerate(room.left)]
    runs: list[Run] = []
    for tile, rows in sorted(blocks_per_tile(-(-size // row_bytes), row_bytes, left).items()):
        runs.append(Run(tile, sum(run.bytes for run in runs), rows * row_bytes))
        room.take(rows * row_bytes, (tile,))
    return tuple(runs)


def _copied(decision: Decision, room: _Room) -> Decision:
    """A set with a home tile in all the tiles that need it, if they have room; its home tile has it already."""
    if decision.tile is None:
        return decision
    what = decision.set
    others = [tile for tile in what.users if tile != decision.tile]
    if not room.fits(what.bytes_per_tile, others):
        return replace(decision, lack=room.lack(room.least(others)))
    room.take(what.bytes_per_tile, others)
    return Decision(what, Home.COPY)


def order_of(
    sets: Sequence[ParameterSet], network_priority: Sequence[int] = (), layer_priority: Sequence[tuple[int, int]] = ()
) -> tuple[int, ...]:
    """The indices of ``sets``, the most important first: the layers (network, layer) of ``layer_priority``, then the
    networks of ``network_priority``, both in descending order, then the others, first come first served: network by
    network, and in each of them first those with the least computing to hide their streaming, layer by layer.

    **Source**: US 2025/0265455 [0049], [0062] and claim 7; that named layers come before named networks, and that it
    counts how much computing could hide the streaming, are assumptions.
    """
    layers = {layer: place for place, layer in reversed(list(enumerate(layer_priority)))}
    networks = {network: place for place, network in reversed(list(enumerate(network_priority)))}

    def rank(index: int) -> tuple[float, ...]:
        parameters = sets[index]
        layer = layers.get((parameters.network, parameters.layer), len(layer_priority))
        network = networks.get(parameters.network, len(network_priority))
        hidden = parameters.issue_cycles / parameters.data_bytes if parameters.data_bytes else 0.0
        return layer, network, parameters.network, hidden, parameters.layer, parameters.chunk, index

    return tuple(sorted(range(len(sets)), key=rank))


def blocks_per_tile(blocks: int, block_bytes: int, budget_bytes: Sequence[int]) -> dict[int, int]:
    """The blocks of each tile that gets some: all in one tile if it has room, else over as few tiles as can be, the one
    with the most room first, each as full as it may be (strictly below its budget). Empty if there is no room for all.

    **Source**: US 2025/0265455 [0050] (rather one unit) and [0058] (split by blocks of outputs).
    """
    shares: dict[int, int] = {}
    left = blocks
    for tile in sorted(range(len(budget_bytes)), key=lambda tile: (-budget_bytes[tile], tile)):
        share = min(left, max(0, budget_bytes[tile] - 1) // block_bytes)
        if share:
            shares[tile] = share
        left -= share
    return {} if left else shares
