"""What each instruction for the tiled chip does, in words, and who raises the flags that it waits for."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import singledispatch
from math import prod

from tilesim.machines.instructions import Explanation, Wait
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.accesses import operands
from tilesim.tiled.isa.model.fields import ON_B, ORDINALS, Channel, Engine, Flag, Nest, Traversal, bits, node_name
from tilesim.tiled.isa.model.instructions import increments, raised_flag
from tilesim.tiled.isa.model.issue import records_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.model.sheet import Goes
from tilesim.tiled.rules.tile.effects import Effects, WatchedCounts
from tilesim.tiled.topology import Topology

Count = tuple[int, Flag, int]
"""A flag of a tile between two of its resets: (tile, flag, resets so far)."""
UNITS = {Goes.STOP: "instruction_bus.stop", Goes.CLASSIFIER: "classifier"}
TURN = "its turn on the ring, which counts the transfers that have passed the tile's stop"
LISTED = 6
"""Numbers of tiles that are listed; of more, in several stretches, only how many."""


def explanations(program: Program) -> list[Explanation]:
    """What each instruction of a sound program's ``run`` does."""
    raised = _Raised(program)
    return [
        Explanation(
            operands=words_of(op, program.topology) + _record_words(program.run, head),
            unit=_unit(op),
            tiles=tuple(bits(getattr(op, "tiles", 0))),
            raises=_raises(op),
            waits=tuple(raised.waits(place, op)),
        )
        for (place, op), head in zip(enumerate(program.run), records_of(program.run), strict=True)
    ]


def _record_words(ops: Sequence[isa.Instruction], head: int | None) -> str:
    """Of a sub-instruction, whose it is."""
    return "" if head is None else f"; in record {ops[head].label}"


def _unit(op: isa.Instruction) -> str:
    if isinstance(op, isa.TensorOp):
        return "mac_array"
    if isinstance(op, isa.Work):
        return op.engine
    if isinstance(op, isa.ScalarFence):
        return "controller"
    return UNITS.get(op.row.goes, op.mnemonic)


def _raises(op: isa.Instruction) -> str:
    times = increments(op) if isinstance(op, isa.Work) else 0
    return f"{raised_flag(op)} +{times:,}" if isinstance(op, isa.Work) and times else ""


# ---- who raises what


class _Raised:
    """Of each flag of each tile, since its last reset: how far it has counted behind each instruction that raises it.

    A flag that no instruction raises, the ring counts in: transfers that pass the tile's stop, or the infeed's.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._counts: defaultdict[Count, list[int]] = defaultdict(list)
        self._places: defaultdict[Count, list[int]] = defaultdict(list)
        self._resets: dict[int, Counter[tuple[int, Flag]]] = {}
        self._drained: dict[int, dict[Engine, set[int]]] = {}
        resets: Counter[tuple[int, Flag]] = Counter()
        last: dict[tuple[int, Engine], int] = {}
        for place, op in enumerate((*program.load, *program.run), -len(program.load)):
            self._resets[place] = resets
            if isinstance(op, isa.TileFence):
                self._drained[place] = {engine: _of_tiles(last, op.tiles, engine) for engine in op.idle}
                resets = resets + Counter((tile, flag) for tile in bits(op.tiles) for flag in op.reset)
            elif isinstance(op, isa.Work):
                self._note(place, op, resets)
                last |= {(tile, op.engine): place for tile in bits(op.tiles)}

    def _note(self, place: int, op: isa.Work, resets: Counter[tuple[int, Flag]]) -> None:
        flag, times = raised_flag(op), increments(op)
        for tile in bits(op.tiles) if times else ():
            count = tile, flag, resets[tile, flag]
            before = self._counts[count][-1] if self._counts[count] else 0
            self._counts[count].append(before + times)
            self._places[count].append(place)

    def waits(self, place: int, op: isa.Instruction) -> Iterator[Wait]:
        """What the instruction at ``place`` waits for."""
        if isinstance(op, isa.Work):
            yield from self._of_work(place, op)
        elif isinstance(op, isa.TileFence):
            yield from self._of_fence(place)
        elif isinstance(op, isa.ScalarFence):
            yield self._of_controller(place, op)
        elif isinstance(op, isa.Infeed) and op.turn:
            yield Wait(f"{op.turn:,} transfers that pass the infeed's stop on the ring{_channel_words(op)}")

    def _of_work(self, place: int, op: isa.Work) -> Iterator[Wait]:
        for wait in Effects.alone(op, self._program.topology).waits:
            yield Wait(_watcher_words(wait), _in_run(self._raisers(place, op, wait)))

    def _raisers(self, place: int, op: isa.Work, wait: WatchedCounts) -> Iterator[int]:
        """Those that raise a flag to what an instruction waits for, on any of its tiles."""
        flag, resets = wait.watcher.flag, self._resets[place]
        for tile in bits(op.tiles) if wait.last > 0 else ():
            count = tile, flag, resets[tile, flag]
            counts = self._counts.get(count, [])
            needed = slice(bisect_left(counts, max(1, wait.first)), bisect_left(counts, wait.last) + 1)
            yield from self._places.get(count, [])[needed]

    def _of_fence(self, place: int) -> Iterator[Wait]:
        for engine, places in self._drained[place].items():
            if by := _in_run(places):
                yield Wait(f"{engine.replace('_', ' ')} to be idle", by)

    def _of_controller(self, place: int, op: isa.ScalarFence) -> Wait:
        """The fences that it counts are those since the last one of its kind."""
        ops = self._program.run[:place]
        begin = max((k for k, other in enumerate(ops) if isinstance(other, isa.ScalarFence)), default=-1) + 1
        fences = (k for k in range(begin, place) if isinstance(other := ops[k], isa.TileFence) and other.increment)
        drained = f", and {' and '.join(op.idle)} to be idle" if op.idle else ""
        return Wait(f"{op.count:,} fences of tiles{drained}", tuple(fences))


def _of_tiles(last: Mapping[tuple[int, Engine], int], tiles: int, engine: Engine) -> set[int]:
    return {last[tile, engine] for tile in bits(tiles) if (tile, engine) in last}


def _in_run(places: Iterable[int]) -> tuple[int, ...]:
    """Places in the run section, those of the load section left out."""
    return tuple(sorted({place for place in places if place >= 0}))


def _watcher_words(wait: WatchedCounts) -> str:
    watcher = wait.watcher
    words = f"{watcher.flag} ≥ {wait.first:,}"
    if watcher.loop and watcher.stride:
        step = "k" if watcher.stride == 1 else f"{watcher.stride:,} k"
        words += f" + {step} in round k of {watcher.loop}, {wait.last:,} at last"
    return f"{words}: {TURN}" if watcher.flag in ORDINALS.values() else words


# ---- what an instruction does, in words


def _channel_words(op: isa.RingConsume | isa.RingProduce | isa.Infeed) -> str:
    return ON_B if op.channel is Channel.B else ""


def tiles_words(tiles: Sequence[int]) -> str:
    """Numbers of tiles, stretches in one: ``tiles 0-3, 5``."""
    starts = [tile for tile in tiles if tile - 1 not in tiles]
    ends = [tile for tile in tiles if tile + 1 not in tiles]
    if len(starts) > LISTED:
        return f"{len(tiles)} tiles"
    stretches = (f"{a}-{b}" if b > a else f"{a}" for a, b in zip(starts, ends, strict=True))
    return f"{'tile' if len(tiles) == 1 else 'tiles'} {', '.join(stretches)}"


def _nodes_words(to: int, topology: Topology) -> str:
    """The ring's stops in a bitmap ``to``: tiles, or those behind them."""
    tiles = [bit for bit in bits(to) if bit < topology.tiles]
    others = [node_name(bit + 1, topology.tiles) for bit in bits(to) if bit >= topology.tiles]
    return " and ".join([*([tiles_words(tiles)] if tiles else []), *others]) or "nobody"


def _count(nest: Nest) -> int:
    return prod(loop.bound for loop in nest.loops)


def _place(op: isa.Work, field: str, topology: Topology) -> str:
    """So many words or rows of a memory from an address on."""
    traversal: Traversal = getattr(op, field)
    operand = next(operand for operand in operands(op, topology) if operand.field == field)
    rounds = _count(traversal.nest)
    unit = operand.unit if rounds == 1 else f"{operand.unit}s"
    return f"{rounds:,} {unit} of {operand.memory} memory from {traversal.reference.base:#x}"


@singledispatch
def words_of(_op: object, _topology: Topology) -> str:
    """What an instruction does, with its operands."""
    return ""


@words_of.register
def _(op: isa.TensorOp, _topology: Topology) -> str:
    loops = " × ".join(f"{loop.name} {loop.bound:,}" for loop in op.nest.loops)
    named = [(row, getattr(op, row.field)) for row in op.row.operands]
    parts = [
        f"{'writes' if row.writes else 'reads'} {row.field.replace('_', ' ')} at {row.memory} {reference.base:#x}"
        for row, reference in named
        if reference is not None
    ]
    return f"{op.operation} over {loops}; {', '.join(parts)}"


@words_of.register
def _(op: isa.RingConsume, topology: Topology) -> str:
    kept = "" if op.filter is None else f", of which it keeps some bytes of {op.filter.rows:,} that come"
    return f"takes from the ring{_channel_words(op)} into {_place(op, 'write', topology)}{kept}"


@words_of.register
def _(op: isa.RingProduce, topology: Topology) -> str:
    return f"sends {_place(op, 'read', topology)} over the ring{_channel_words(op)} to {_nodes_words(op.to, topology)}"


@words_of.register(isa.NarrowToWide)
@words_of.register(isa.WideToNarrow)
def _(op: isa.Copy, topology: Topology) -> str:
    return f"copies {_place(op, 'read', topology)} into {_place(op, 'write', topology)}"


@words_of.register
def _(op: isa.MeshIn, topology: Topology) -> str:
    what = f"takes from the {op.side} into" if op.fill is None else f"puts {op.fill}, for want of a neighbour, into"
    return f"{what} {_place(op, 'write', topology)}"


@words_of.register
def _(op: isa.MeshOut, topology: Topology) -> str:
    return f"sends {_place(op, 'read', topology)} to the {op.side}"


@words_of.register
def _(op: isa.TileFence, _topology: Topology) -> str:
    resets = f", then sets {len(op.reset)} flags to 0" if op.reset else ""
    counts = f", and counts {op.increment} at the controller" if op.increment else ""
    return f"holds its tiles' later instructions{resets}{counts}"


@words_of.register
def _(_op: isa.Broadcast, _topology: Topology) -> str:
    return "starts the broadcast of the next instruction"


@words_of.register
def _(op: isa.Record, _topology: Topology) -> str:
    return f"is the header of the next {op.parts} instructions, which come behind it in a word less each"


@words_of.register
def _(op: isa.Classify, _topology: Topology) -> str:
    return f"{op.function} over {op.elements:,} elements of {op.rows:,} rows from the ring"


@words_of.register
def _(op: isa.Infeed, topology: Topology) -> str:
    source = f"data memory from {op.address:#x}" if op.source == "data" else f"the {op.source}"
    moves = f", in {op.transfers:,} transfers, each a stop further" if op.transfers > 1 else ""
    nodes = _nodes_words(op.to, topology)
    return f"puts {op.total_rows:,} rows from {source} on the ring{_channel_words(op)} for {nodes}{moves}"


@words_of.register
def _(op: isa.Outfeed, _topology: Topology) -> str:
    return f"passes {op.rows:,} rows from the ring on to the host, as output {op.output}"


@words_of.register
def _(_op: isa.ScalarFence, _topology: Topology) -> str:
    return "issues nothing before"
