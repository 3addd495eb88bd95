"""A chip that is stuck, as an untimed execution that has come as far: so that both are explained alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from tilesim.sim.core.unit import Reason, Unit
from tilesim.sim.deadlock import stuck
from tilesim.tiled.isa.model.fields import Engine, Flag, channels_of
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Outfeed
from tilesim.tiled.rules.untimed.execution import NEVER, InstructionDelivery, UntimedExecution
from tilesim.tiled.rules.untimed.transfer_order import TransferOrder
from tilesim.tiled.rules.untimed.transfers import Transfer, first_stop
from tilesim.tiled.rules.untimed.work_queues import (
    CONTROLLER,
    FORWARDED,
    RESULTS,
    Count,
    Fence,
    WorkItem,
    WorkQueues,
)
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.classifier import ClassifierTile
from tilesim.tiled.units.host.infeed import InfeedEngine
from tilesim.tiled.units.host.outfeed import OutfeedEngine
from tilesim.tiled.units.ring.ring import Packet, RingStop


class _Arrived(InstructionDelivery):
    """What has come to its engine where nothing moves any more: at infeed and outfeed what stands before ``issued``, at
    each stop of the bus what stands before a place in ``at``.
    """

    def __init__(self, chip: Chip, issued: int, at: Sequence[int], execution: UntimedExecution) -> None:
        super().__init__(execution)
        self._issued, self._at = issued, at
        units = [stop.unit for stop in chip.bus] + [chip.sequencer.unit]
        self._stalled = {unit.instruction for unit in units if _waits_for(unit, Reason.FIFO)}

    def delivered(self, item: WorkItem) -> bool:
        controlled = isinstance(item.op, Infeed | Outfeed)
        come = self._issued if controlled else self._at[-1 if isinstance(item.op, Classify) else item.tile]
        return item.place < min(come, self.execution.fence_place(item.tile))

    def reached(self, fence: Fence) -> bool:
        return fence.place < self._at[fence.tile]

    def holder(self) -> WorkItem | None:
        work = self.execution.work
        late = (item for queue in work.queues for item in queue if item.name in self._stalled)
        return next((self.execution.in_hand(item.queue) for item in late if not self.delivered(item)), None)


class Standstill(UntimedExecution):
    """An execution of ``work`` that has come as far as a stuck ``chip``, with packets on its ring: of the whole
    program's, or, in the load program, of that alone's.
    """

    def __init__(self, chip: Chip, work: WorkQueues) -> None:
        running, current = chip.section[0] == "run", chip.sequencer.current
        self._chip = chip
        self._transfers = {(sent.name, sent.ordinal, sent.master): sent for sent in work.transfers}
        self._begin = work.load_end if running else 0
        places = {name: self._begin + k for k, (name, _) in enumerate(work.instructions[self._begin :])}
        issued = NEVER if current is None else places[current.label]
        at = list(_come(chip, places, issued))
        order = TransferOrder(work.transfers, work.stops_on_ring)
        super().__init__(work, order=order, delivery=partial(_Arrived, chip, issued, at))
        passed = [stop for stop in work.stops if (running if stop.fences is None else stop.place < issued)]
        self.controller["stop"] = len(passed)
        for tile, fences in enumerate(work.fences):
            come = sum(fence.place < at[tile] for fence in fences)
            self.through[tile] = come - chip.bus[tile].fenced
        self._note_rows(order)
        for stop in chip.stops:
            self._note_blocked(stop, order)
        self.counts.update(self._counts())
        for queue in range(len(work.queues)):
            self._note_item(queue)

    def _note_rows(self, order: TransferOrder) -> None:
        """Which rows have been taken, and which are on the ring."""
        for stop in self._chip.stops:
            taken = [] if stop.passage is None else [row for rows in stop.passage.taken.values() for row in rows]
            self.taken[stop.node] = len(taken)
            for sent, rows in Counter(taken).items():
                transfer = self._transfers[sent.sender, sent.ordinal, sent.master]
                self.rows[transfer.number][1 + transfer.destinations.index(stop.node)] = rows
        tails: dict[int, int] = {}
        for rows_of in self.rows:
            rows_of[0] = rows_of[1]
        for stop in self._chip.stops:
            for packet in stop.packets:
                transfer = self._transfer_of(packet)
                self.rows[transfer.number][0] += packet.header.bit_count() == len(transfer.destinations)
                if packet.tail:
                    tails[transfer.number] = transfer.hops(stop.node)
        for transfer in self.work.transfers:
            over = transfer.reach + 1 if self.rows[transfer.number][0] == transfer.rows else 0
            self.tails[transfer.number] = tails.get(transfer.number, over)
            for node in transfer.path:
                if self.tail_passed(transfer, node):
                    self.tails_at[node] |= order.bit(transfer)

    def _transfer_of(self, packet: Packet) -> Transfer:
        assert packet.transfer is not None, "the monitor has named every packet"
        return self._transfers[packet.transfer.sender, packet.transfer.ordinal, packet.transfer.master]

    def _note_blocked(self, stop: RingStop, order: TransferOrder) -> None:
        """Whatever is still to come by at a stop waits for the row that stands there, if that can't go on."""
        head = next(stop.packets, None)
        if head is None or stop.stuck is None:
            return
        first = self._transfer_of(head)
        for transfer in self.work.transfers:
            late = transfer.passes(stop.node) and not self.tail_passed(transfer, stop.node)
            if transfer is not first and transfer.master != stop.node and late:
                order.add(first, transfer, stop.node)

    def _counts(self) -> Iterator[tuple[Count, int]]:
        """What flags, and what stands for them at infeed and outfeed, have counted since they were reset."""
        for tile in self._chip.tiles:
            through = self.work.fences[tile.index][: self.through[tile.index]]
            resets = Counter(flag for fence in through for flag in fence.op.reset)
            yield from (((tile.index, flag, resets[flag]), tile.flags.count(flag)) for flag in Flag)
        for channel in channels_of(self.work.program.topology):
            passed = self.passed(first_stop(channel, self.work.tiles))
            yield from Counter(self.work.tails_at_source(transfer.place, channel) for transfer in passed).items()
        taken = self.taken[self.work.tiles + 2]
        for count in (FORWARDED, RESULTS):
            telling = [item for queue in self.work.queues for item in queue if item.raises == count]
            yield count, sum(min(item.rounds, max(0, taken - item.takes_before)) for item in telling)

    def _note_item(self, queue: int) -> None:
        """Which item a queue has in hand, and how far that is, as far as anybody can see."""
        items = self.work.queues[queue]
        units, labels = self._at_work(queue)
        left = (item for item in items if item.place >= self._begin and item.name in labels and not self._is_sent(item))
        in_hand = next(left, None)
        if in_hand is None:
            self.done[queue] = sum(map(self.delivery.delivered, items))
            return
        self.done[queue] = in_hand.number
        self.progress[queue] = self._rounds_over(in_hand)
        if any(unit.instruction == in_hand.name and _waits_for(unit, Reason.FLAG) for unit in units):
            self.progress[queue] = in_hand.rounds  # so that it is for the flag

    def _at_work(self, queue: int) -> tuple[list[Unit], set[str]]:
        """The units that take a queue's instructions, and the labels of those that have come to them and are left."""
        tile, name = self.work.keys[queue]
        if tile == CONTROLLER:
            parts: list[InfeedEngine | OutfeedEngine | ClassifierTile]
            parts = [self._chip.infeed, self._chip.outfeed, self._chip.classifier]
            part = parts[[Infeed.mnemonic, Outfeed.mnemonic, Classify.mnemonic].index(name)]
            return [part.unit], {part.unit.instruction, *(op.label for op in part.buffer.items)}
        shared = self.work.program.topology.ring.queue == "shared" and name == Engine.RING_CONSUMER
        roles = [Engine.RING_CONSUMER, Engine.RING_PRODUCER] if shared else [Engine(name)]
        engines = [self._chip.tiles[tile].engines[role] for role in roles]
        return [engine.unit for engine in engines], {op.label for engine in engines for op in engine.unfinished}

    def _is_sent(self, item: WorkItem) -> bool:
        """Whether an item of the controller's, of whose instruction others may be left, is over."""
        return item.tile == CONTROLLER and self._rounds_over(item) >= item.rounds

    def _rounds_over(self, item: WorkItem) -> int:
        """Rounds on the ring that are over; for want of better knowledge, none of those on the mesh, and all others."""
        if item.node is not None:
            return self.taken[item.node] - item.takes_before
        if item.transfer is not None:
            return self.rows[item.transfer.number][0]
        return 0 if item.needs_partner else item.rounds


def _come(chip: Chip, places: Mapping[str, int], issued: int) -> Iterator[int]:
    """What stands before this place has passed each stop of the instruction bus, or been copied there."""
    place = issued
    for stop in chip.bus:
        place = min(place, places[stop.unit.instruction]) if stuck(stop.unit) else place
        yield place


def _waits_for(unit: Unit, reason: Reason) -> bool:
    return unit.waiting is not None and unit.waiting.reason is reason
