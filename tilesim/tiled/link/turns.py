"""Turns on the ring: what each waits for when programs follow one another, counted from the first of them on; and the
fence before which no transfer may pass a tile that counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.fields import ORDINALS, Channel, Flag, Watcher, bits
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Record, RingProduce, TileFence, Work
from tilesim.tiled.isa.model.issue import begin_of
from tilesim.tiled.rules.untimed.transfers import Transfer, first_stop, sent_by
from tilesim.tiled.topology import Topology

TURNS = frozenset(ORDINALS.values())


class TurnRewriter:
    """Rewrites the turns of programs that are issued one after the other.

    Rows may still be on their way when a program is over, the tiles idle and their flags reset: a tail that passes a
    stop then would be counted for the next program. So the count of tails is not reset between programs, and what the
    next one waits for grows by the tails of all before; a master that waits for no tail of its own program waits for
    those.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._passed: Counter[int] = Counter()
        self._before: Counter[int] = Counter()
        self._keeps = False
        self._programs = 0

    def begin(self) -> None:
        """The next program begins."""
        self._before = self._passed.copy()
        self._keeps = self._programs > 0
        self._programs += 1

    def rewrite_all(self, ops: Iterable[Instruction]) -> Iterator[Instruction]:
        """All instructions with the turns that they have now; of a record with more sub-instructions than before, so
        many are its own as its header has room for.
        """
        left = iter(ops)
        for op in left:
            if isinstance(op, Record):
                parts = [part for each in islice(left, op.parts) for part in self.rewrite(each)]
                yield self._announcing(op, len(parts))
                yield from parts
            else:
                yield from self.rewrite(op)

    def _announcing(self, op: Record, parts: int) -> Record:
        most_words = self._topology.instruction_bus.record_words
        fitting = (replace(op, parts=count) for count in range(parts, op.parts, -1))
        return next((longer for longer in fitting if longer.words <= most_words), op)

    def rewrite(self, op: Instruction) -> list[Instruction]:
        """The instruction with the turns that it has now: one for each group of tiles with the same."""
        rewritten: list[Instruction] = [op]
        if isinstance(op, TileFence):
            rewritten = [self._fence(op)]
        elif isinstance(op, Infeed) and op.turn:
            rewritten = [replace(op, turn=op.turn + self._before[self._stop(op.channel)])]
        elif isinstance(op, RingProduce) or (isinstance(op, Work) and any(w.flag in TURNS for w in op.wait)):
            rewritten = list(self._by_turn(op))
        self._count(op)
        return rewritten

    def _fence(self, op: TileFence) -> TileFence:
        """A fence before all transfers of a later program lets the count of tails be."""
        if not TURNS.intersection(op.reset):
            return op
        if self._keeps:
            return replace(op, reset=tuple(flag for flag in op.reset if flag not in TURNS))
        for channel, flag in ORDINALS.items():
            for tile in bits(op.tiles) if flag in op.reset else ():
                stop = self._stop(channel, tile)
                self._passed[stop] = self._before[stop] = 0
        return op

    def _stop(self, channel: Channel, tile: int = -1) -> int:
        """A tile's stop on a channel, or the infeed's."""
        return first_stop(channel, self._topology.tiles) + tile + 1

    def _by_turn(self, op: Work) -> Iterator[Work]:
        groups: dict[tuple[int, ...], int] = {}
        for tile in bits(op.tiles):
            before = tuple(self._before[self._stop(channel, tile)] for channel in ORDINALS)
            groups[before] = groups.get(before, 0) | 1 << tile
        for before, tiles in groups.items():
            label = op.label if len(groups) == 1 else f"{op.label}.t{bits(tiles)[0]}"
            yield replace(op, tiles=tiles, wait=self._waits(op, before), label=label)

    def _waits(self, op: Work, before: tuple[int, ...]) -> tuple[Watcher, ...]:
        """``before``: the tails of all programs before, of each channel."""
        more = dict(zip(ORDINALS.values(), before, strict=True))
        waits = tuple(w._replace(expected=w.expected + more.get(w.flag, 0)) for w in op.wait)
        if isinstance(op, RingProduce):
            turn = ORDINALS[op.channel]
            if more[turn] and all(w.flag != turn for w in op.wait):
                waits = (*waits, Watcher(turn, more[turn] - self._topology.tile.strict_compare))
        return waits

    def _count(self, op: Instruction) -> None:
        nodes = self._topology.tiles + 3
        for ordinal, (master, to, rows) in enumerate(sent_by(op, self._topology)):
            transfer = Transfer(0, op, op.label, 0, ordinal, master, to, rows, nodes)
            self._passed.update(transfer.path)
            self._keeps = False


def near_sink(ops: Sequence[Instruction], chip: Topology) -> int | None:
    """The place of the first instruction whose rows could overtake or meet replies of the classifier, whose tails no
    tile sees, or of what starts its broadcast or its record; None if there is none.
    """
    place = next((k for k, op in enumerate(ops) if _nears_sink(op, chip)), None)
    return None if place is None else begin_of(ops, place)


def _nears_sink(op: Instruction, chip: Topology) -> bool:
    if isinstance(op, isa.Outfeed) or (isinstance(op, Infeed) and op.source == "ring"):
        return True
    sent = sent_by(op, chip) if isinstance(op, RingProduce) else ()
    sink = chip.tiles + 2
    return any(Transfer(0, op, "", 0, 0, *transfer, sink + 1).passes(sink) for transfer in sent)


def with_start_fence(ops: Sequence[Instruction], chip: Topology) -> tuple[Instruction, ...]:
    """``ops``, with a wait for tiles to have begun in front of the first transfer whose tail they may otherwise miss.

    A tile has begun that sends or takes rows, whose instructions wait behind its fence, and stays so for all that
    follows on that channel, where transfers go one after the other. Only tiles count that wait for a turn there.
    """
    counting = {channel: _counting(ops, turn) for channel, turn in ORDINALS.items()}
    begun = dict.fromkeys(Channel, 0)
    fenced = 0
    before = []
    for place, op in enumerate(ops):
        before.append(begun.copy())
        if isinstance(op, TileFence) and op.increment:
            fenced |= op.tiles
        elif isinstance(op, isa.ScalarFence):
            begun = {channel: tiles | fenced for channel, tiles in begun.items()}
        for master, to, rows in sent_by(op, chip):
            transfer = Transfer(0, op, op.label, place, 0, master, to, rows, chip.tiles + 3)
            first, channel = transfer.first_stop, transfer.channel
            begun[channel] |= to | (1 << master - first) >> 1
            if transfer.occupied >> first + 1 & counting[channel] & ~begun[channel]:
                begin = begin_of(ops, place)
                begun = begun if begin == place else before[begin]
                late = [counting[each] & ~begun[each] for each in Channel]
                return (*ops[:begin], *_wait(late[0] | late[1]), *ops[begin:])
    return tuple(ops)


def _counting(ops: Sequence[Instruction], turn: Flag) -> int:
    """The tiles that wait for a turn on a channel."""
    tiles = 0
    for op in ops:
        if isinstance(op, Work) and any(watcher.flag == turn for watcher in op.wait):
            tiles |= op.tiles
    return tiles


def _wait(tiles: int) -> tuple[Instruction, Instruction]:
    return (
        TileFence(tiles=tiles, idle=(), increment=1, label="started.fence"),
        isa.ScalarFence(count=tiles.bit_count(), label="started"),
    )
