"""Additions that keep two transfers apart: the later one begins when the earlier one has passed, or has arrived.

They count on what :mod:`~tilesim.tiled.rules.untimed` has found out of the program as it is: who goes before whom in an
execution in which each transfer begins as early as it can, in the order of the program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from tilesim.tiled.isa.model.fields import ORDINALS, Engine, Flag, Watcher
from tilesim.tiled.isa.model.instructions import Infeed, RingProduce, ScalarFence, TileFence
from tilesim.tiled.isa.model.sheet import CONSUMERS, FLAGS
from tilesim.tiled.mending.additions import (
    AddedFence,
    AddedTurn,
    AddedWait,
    Addition,
    Draft,
    Fences,
    WiderFence,
    before,
    controller_fence,
)
from tilesim.tiled.rules.proof import Proof
from tilesim.tiled.rules.ring.masters import Masters
from tilesim.tiled.rules.untimed.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import CONTROLLER, Fence, WorkItem, WorkQueues, work_queues

MOST_FIRSTS = 64
"""Pairs of which additions are sought at once."""


class Pair(Struct, frozen=True):
    """``other`` is to come to ``stop`` only behind ``first``; or, ``at_once``, to begin only when ``first`` is over."""

    first: Transfer
    other: Transfer
    stop: int
    at_once: bool = False


def pairs_of(proof: Proof) -> list[Pair]:
    """The pairs of transfers in a proof that nothing orders, and that the rules want to be in an order."""
    masters = proof.masters
    if masters is None:
        return []
    pairs = [Pair(met.first, met.other, met.stop) for met in masters.collisions]
    known = {(pair.first, pair.other) for pair in pairs}
    strictly = [(first, other) for first, other in masters.forbidden(proof.reading) if (first, other) not in known]
    pairs += [Pair(first, other, first.destinations[-1], at_once=True) for first, other in strictly]
    known |= {*strictly}
    mixed = (each for each in masters.arrivals if each[:2] not in known)
    return [*pairs, *(Pair(first, other, _meeting_place(first, other)) for first, other, _ in mixed)][:MOST_FIRSTS]


def _meeting_place(first: Transfer, other: Transfer) -> int:
    return other.master if first.passes(other.master) else first.master


def transfer_additions(draft: Draft, proof: Proof) -> Iterator[Addition]:
    """Whatever may keep apart one of the pairs of a proof, or all those that are of one later transfer."""
    if proof.masters is None:
        return
    search = _Apart(draft, work_queues(draft.program), proof.masters)
    of_other: dict[Transfer, list[Pair]] = defaultdict(list)
    for pair in pairs_of(proof):
        of_other[pair.other].append(pair)
    for pairs in of_other.values():
        for pair in pairs:
            yield from search.apart(pair)
        if len(pairs) > 1:
            yield from search.behind_all(pairs)
    for fence, last in proof.masters.early_resets:
        yield from search.reset_behind(fence, last)


class _Apart(Struct, frozen=True):
    draft: Draft
    work: WorkQueues
    masters: Masters

    @property
    def _order(self) -> Sequence[Transfer]:
        return self.masters.history.order

    def apart(self, pair: Pair) -> Iterator[Addition]:
        """The later transfer waits: for its turn, for rows that come to its own tile, or behind a fence; or, where no
        tile would tell the difference, the earlier one does.
        """
        first, other = pair.first, pair.other
        yield from self._turns(other, self._order[: self._order.index(other)], first)
        yield from self._received(first, other)
        yield from self._fenced(pair)
        if not set(first.destinations) & set(other.destinations):
            begun = self._order[: self._order.index(first)]
            among = [earlier for earlier in self._order[: self._order.index(other) + 1] if earlier is not first]
            yield from self._turns(first, [t for t in among if t in begun or t.master != first.master], other)
            yield from self._received(other, first)

    def behind_all(self, pairs: Sequence[Pair]) -> Iterator[Addition]:
        """One fence for several: each of the earlier transfers has arrived."""
        tiles = 0
        for pair in pairs:
            last = self._tile(pair.first.destinations[-1])
            if last is None:
                return
            tiles |= 1 << last
        place = min(self._place(pair, pair.first.destinations[-1]) for pair in pairs)
        yield self._holding(place, tiles, CONSUMERS[pairs[0].first.channel])

    def reset_behind(self, fence: Fence, last: Transfer) -> Iterator[Addition]:
        """A reset of a tile's count comes when a transfer has passed that tile."""
        consumer = CONSUMERS[last.channel]
        for node in last.destinations:
            tile = self._tile(node)
            if tile == fence.tile:
                yield WiderFence(self.draft.places[fence.place], (consumer,))
            if tile is not None and last.hops(node) >= last.hops(last.first_stop + fence.tile + 1):
                yield self._holding(fence.place, 1 << tile, consumer)

    def _tile(self, node: int) -> int | None:
        """The tile at a stop, if one is there."""
        tile = node % self.work.nodes - 1
        return tile if 0 <= tile < self.work.tiles else None

    # Its turn

    def _turns(self, waits: Transfer, ahead: Sequence[Transfer], first: Transfer) -> Iterator[Addition]:
        """Its master counts the tails that pass: those ``ahead`` up to ``first``, or all of them."""
        node, item = waits.master, self._instruction(waits)
        if not first.passes(node) or not isinstance(item.op, RingProduce | Infeed):
            return
        begun = next((t for t in ahead if t.op is waits.op and t.place == waits.place), None)
        counted = [t for t in ahead if t.passes(node) and self._counts(t, item, waits)]
        if begun is not None or first not in counted:
            return
        for count in dict.fromkeys((len(counted), counted.index(first) + 1)):
            if isinstance(item.op, Infeed):
                yield AddedTurn(self.draft.places[item.place], count)
            else:
                yield self._wait(item, Watcher(ORDINALS[waits.channel], count - self._strict))

    def _counts(self, transfer: Transfer, item: WorkItem, waits: Transfer) -> bool:
        """Whether the tail of a transfer counts among those for which an item may wait, which sends another."""
        if item.tile == CONTROLLER:
            counts = [self.work.tails_at_source(place, waits.channel) for place in (transfer.place, item.place)]
            return counts[0] == counts[1]
        resets = self.masters.history.resets_before.get((transfer.number, item.tile), 0)
        return resets == self._resets(item, ORDINALS[waits.channel])

    def _resets(self, item: WorkItem, flag: Flag) -> int:
        """How often a flag of its tile has been reset when an item comes."""
        return sum(flag in fence.op.reset for fence in self.work.fences[item.tile] if fence.place < item.place)

    # Rows at its own tile

    def _received(self, first: Transfer, waits: Transfer) -> Iterator[Addition]:
        item = self._instruction(waits)
        if (
            waits.master == waits.first_stop
            or waits.master not in first.destinations
            or not isinstance(item.op, RingProduce)
        ):
            return
        taker = self._taker_of_last(first, waits.master)
        if taker is None:
            return
        consumer = CONSUMERS[first.channel]
        yield self._added(item.place, (TileFence(tiles=1 << item.tile, idle=(consumer,)),))
        count = self._raised(taker, self._rows_ahead(first, waits.master) + first.rows - taker.takes_before)
        flag = FLAGS[consumer]
        if count is not None and taker.raises == (item.tile, flag, self._resets(item, flag)):
            yield self._wait(item, Watcher(flag, count - self._strict))

    def _raised(self, taker: WorkItem, rows: int) -> int | None:
        """What its flag has counted to, at the least, when an item has taken so many rows and raised it again."""
        queue = self.work.queues[taker.queue]
        earlier = sum(len(item.rises) for item in queue[: taker.number] if item.raises == taker.raises)
        rise = bisect_left(taker.rises, rows)
        return earlier + rise + 1 if rise < len(taker.rises) else None

    # Fences

    def _fenced(self, pair: Pair) -> Iterator[Addition]:
        """The controller waits until ``first`` has passed the stop: been sent, or taken at a node from there on."""
        for node, engine in self._passed(pair):
            place = self._place(pair, node)
            if place <= pair.first.place:
                continue
            tile = self._tile(node)
            if tile is None:
                yield self._added(place, (ScalarFence(count=0, idle=("outfeed",)),))
            else:
                yield self._holding(place, 1 << tile, engine)

    def _passed(self, pair: Pair) -> Iterator[tuple[int, Engine]]:
        """Whose engines have drained when ``first`` has passed the stop, the nearest first."""
        first = pair.first
        if pair.stop == first.master and not pair.at_once and first.tile is not None:
            yield first.master, Engine.RING_PRODUCER
        far_enough = [node for node in first.destinations if first.hops(node) >= first.hops(pair.stop)]
        yield from ((node, CONSUMERS[first.channel]) for node in dict.fromkeys((*far_enough[:1], *far_enough[-1:])))

    def _place(self, pair: Pair, node: int) -> int:
        """Where a fence can stand that waits for a node: before the later transfer, and before what takes rows there
        that come only with that, or after it.
        """
        other = pair.other
        taken = self._rows_ahead(other, node)
        later = (item.place for item in self.work.taking(node) if item.takes_before + item.rounds > taken)
        return min((other.place, *later))

    def _rows_ahead(self, transfer: Transfer, node: int) -> int:
        """The rows that come to a node before a transfer begins."""
        earlier = self._order[: self._order.index(transfer)]
        return sum(each.rows for each in earlier if node in each.destinations)

    def _taker_of_last(self, transfer: Transfer, node: int) -> WorkItem | None:
        return self.work.taker(node, self._rows_ahead(transfer, node) + transfer.rows - 1)

    # In the words of the program

    @property
    def _strict(self) -> int:
        return int(self.work.program.topology.tile.strict_compare)

    def _instruction(self, transfer: Transfer) -> WorkItem:
        return self.work.senders[transfer.number]

    def _wait(self, item: WorkItem, watcher: Watcher) -> Addition:
        return AddedWait(self.draft.places[item.place], watcher)

    def _holding(self, place: int, tiles: int, engine: Engine) -> Addition:
        return self._added(place, controller_fence(self.draft.program, place, tiles, engine))

    def _added(self, place: int, fences: Fences) -> Addition:
        return AddedFence(self.draft.places[before(self.draft.program, place)], fences)
