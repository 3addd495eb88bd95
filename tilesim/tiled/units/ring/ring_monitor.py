"""Watches the ring in every run for transfers that meet, and for what comes of it.

Two transfers *meet* when at some stop a packet of one lies between the first and the last of the other; back to back is
legal. Where the rule for masters is read more strictly, two that are under way at once are told, too: see
:mod:`~tilesim.tiled.rules.ring.readings`. The hardware has nothing to notice that with: what is noted here changes
nothing that a unit does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations

import simpy
from msgspec import Struct

from tilesim.errors import CollisionError
from tilesim.findings import Finding, NamedTransfer, sentence
from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.trace.packets import PacketSeen
from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.topology import Topology


class SentTransfer(Struct, frozen=True, eq=False):
    """Rows that end with one tail: number ``ordinal`` of the instruction ``sender``, from the ring's stop ``master`` to
    the stops in the bitmap ``to``. The stops of channel B are numbered behind those of A, so that those on two channels
    pass none in common.
    """

    sender: str
    ordinal: int
    master: int
    to: int


class Afloat(Struct, frozen=True):
    """A row on the ring that nobody will take: number ``row`` of its transfer, ``header`` the bits that it has left,
    ``node`` the stop where it stands or arrives next.
    """

    transfer: SentTransfer
    row: int
    header: int
    node: int


Meet = Callable[["Passage", SentTransfer, SentTransfer], None]
MEETING, AT_ONCE = "meeting", "under way at once"
"""Kinds of findings."""


class Passage:
    """What passes one stop of the ring: the transfers that have begun there but not shown their tail, in the order in
    which they began, those that its node has ``sent`` to the end, and whose rows each instruction there has taken, in
    order.
    """

    def __init__(self, node: int, meet: Meet, begin: Callable[[Passage, SentTransfer], None]) -> None:
        self.node = node
        self.under_way: list[SentTransfer] = []
        self.sent: set[SentTransfer] = set()
        self.taken: defaultdict[str, list[SentTransfer]] = defaultdict(list)
        self.met: set[frozenset[SentTransfer]] = set()
        self.heard: Callable[[SentTransfer, bool], None] | None = None
        self._meet = meet
        self._begin = begin

    def note(self, transfer: SentTransfer, tail: bool) -> None:
        """A packet of ``transfer`` is sent, forwarded or taken here in this cycle."""
        if self.heard is not None:
            self.heard(transfer, tail)
        under_way = self.under_way
        if transfer.master == self.node and transfer not in under_way and transfer not in self.sent:
            self._begin(self, transfer)
        if under_way and (len(under_way) > 1 or under_way[0] is not transfer):
            for other in [earlier for earlier in under_way if earlier is not transfer]:
                self._meet(self, other, transfer)
        if transfer not in under_way:
            if not tail:
                under_way.append(transfer)
        elif tail:
            under_way.remove(transfer)
        if tail and transfer.master == self.node:
            self.sent.add(transfer)

    def mixed(self) -> Iterator[tuple[str, dict[SentTransfer, list[int]]]]:
        """The instructions that took rows of two transfers that met here, with the numbers of each one's rows."""
        for label, transfers in self.taken.items() if self.met else ():
            rows: dict[SentTransfer, list[int]] = {}
            for k, transfer in enumerate(transfers):
                rows.setdefault(transfer, []).append(k)
            if any(frozenset(pair) in self.met for pair in combinations(rows, 2)):
                yield label, rows


class _Meeting(Struct, frozen=True):
    """``second`` passed ``node`` while ``first`` was not over: there, if it is a meeting, or anywhere."""

    kind: str
    section: str
    start: int
    cycle: int
    node: int
    first: SentTransfer
    second: SentTransfer

    @property
    def place(self) -> tuple[int, int]:
        return self.cycle, self.node


class RingMonitor:
    """Hears of every packet at every stop; ``strict``: the first meeting ends the run, or whatever else the ``reading``
    of the rule for masters forbids.

    ``on_ring`` tells the transfers that have packets on the ring. One that has none left at the end of a cycle meets
    nobody in it, though some stop has not seen its tail. Only the earliest meeting of each pair is kept, of
    several in one cycle that at the first node.
    """

    def __init__(
        self,
        clock: Clock,
        topology: Topology,
        strict: bool,
        on_ring: Callable[[], Iterable[SentTransfer]],
        reading: Reading = Reading.MEET,
    ) -> None:
        self._nodes = topology.ring_links
        stops = self._nodes * topology.ring.consumer_queues
        self.passages = [Passage(node, self._meet, self._begin) for node in range(stops)]
        self._clock = clock
        self._tiles = topology.tiles
        self._strict = strict
        self._on_ring = on_ring
        self._reading = reading
        self._under_way: list[SentTransfer] = []
        self._section, self._start = "run", 0
        self._meetings: dict[tuple[str, frozenset[SentTransfer]], _Meeting] = {}
        self._suspected: list[tuple[str, Passage, SentTransfer, SentTransfer]] = []

    def begin(self, section: str) -> None:
        """A section, ``load`` or ``run``, begins in this cycle."""
        self._section, self._start = section, self._clock.cycle

    def tell(self, on_packet: Callable[[PacketSeen], None]) -> None:
        """Let somebody else hear of every packet, too, in cycles of the chip's clock."""

        def heard(passage: Passage, transfer: SentTransfer, tail: bool) -> None:
            here, master = (node_name(node, self._tiles) for node in (passage.node, transfer.master))
            name = f"{transfer.sender}/{transfer.ordinal + 1}" if transfer.ordinal else transfer.sender
            on_packet((self._clock.cycle, here, master, name, tail))

        for passage in self.passages:
            passage.heard = partial(heard, passage)

    def findings(self, afloat: Iterable[Afloat] = ()) -> list[Finding]:
        """Everything found so far: who met, or was under way at once, in their order in time, mixed payloads by stop,
        then what is ``afloat``.
        """
        return [
            *(self._meeting(meeting) for meeting in sorted(self._meetings.values(), key=lambda meeting: meeting.place)),
            *(self._mixed(passage, *mixed) for passage in self.passages for mixed in passage.mixed()),
            *(self._floating(row) for row in afloat),
        ]

    def _meet(self, passage: Passage, first: SentTransfer, second: SentTransfer) -> None:
        """``second`` passes while ``first`` is under way, unless that turns out to be over at the end of the cycle."""
        if frozenset((first, second)) not in passage.met:
            self._suspect(MEETING, passage, first, second)

    def _begin(self, passage: Passage, transfer: SentTransfer) -> None:
        """The first packet of ``transfer`` enters the ring."""
        if self._reading is Reading.MEET:
            return
        for other in self._under_way:
            apart = other.master // self._nodes != transfer.master // self._nodes  # on two channels
            if (
                not apart
                and other.master != transfer.master
                and self._reading.forbids_at_once(self._share(other, transfer))
            ):
                self._suspect(AT_ONCE, passage, other, transfer)
        self._under_way.append(transfer)

    def _suspect(self, kind: str, passage: Passage, first: SentTransfer, second: SentTransfer) -> None:
        if not self._suspected:
            self._clock.phase(Phase.CLAIM).callbacks.append(self._judge)  # when all stops have passed on what they can
        self._suspected.append((kind, passage, first, second))

    def _judge(self, _: simpy.Event) -> None:
        suspected, self._suspected = self._suspected, []
        for kind, passage, first, second in suspected:
            if not self._is_over(first):
                self._note(kind, passage, first, second)
            elif first in passage.under_way:
                passage.under_way.remove(first)
        self._under_way = [transfer for transfer in self._under_way if not self._is_over(transfer)]
        if self._strict and self._meetings:
            self._refuse()

    def _note(self, kind: str, passage: Passage, first: SentTransfer, second: SentTransfer) -> None:
        pair = frozenset((first, second))
        if kind == MEETING:
            passage.met.add(pair)
        meeting = _Meeting(kind, self._section, self._start, self._clock.cycle, passage.node, first, second)
        known = self._meetings.get((kind, pair))
        if known is None or meeting.place < known.place:
            self._meetings[kind, pair] = meeting

    def _is_over(self, transfer: SentTransfer) -> bool:
        """Whether all its packets have left the ring, though some stop has not seen its tail: it was taken on a later
        lap than they.
        """
        return transfer in self.passages[transfer.master].sent and transfer not in set(self._on_ring())

    def _refuse(self) -> None:
        finding = self.findings()[0]
        what = "meet" if finding["kind"] == MEETING else "be under way at once"
        raise CollisionError(
            f"the {finding['section']} program lets transfers {what} on the ring: {sentence(finding)}", [finding]
        )

    def _meeting(self, meeting: _Meeting) -> Finding:
        transfers = (meeting.first, meeting.second)
        both = [self._named(transfer) for transfer in transfers]
        return {
            "kind": meeting.kind,
            "section": meeting.section,
            "cycle": meeting.cycle - meeting.start,
            "stop": node_name(meeting.node, self._tiles),
            "instructions": [side["instruction"] for side in both],
            "transfers": [side["transfer"] for side in both],
            "masters": [side["master"] for side in both],
            "nodes": [[node_name(node, self._tiles) for node in self._path(transfer)] for transfer in transfers],
        }

    def _mixed(self, passage: Passage, label: str, rows: dict[SentTransfer, list[int]]) -> Finding:
        return {
            "kind": "mixed payload",
            "stop": node_name(passage.node, self._tiles),
            "instruction": label,
            "rows": [{**self._named(transfer), "rows": numbers} for transfer, numbers in rows.items()],
        }

    def _floating(self, afloat: Afloat) -> Finding:
        sent = self._named(afloat.transfer)
        base = afloat.transfer.master // self._nodes * self._nodes
        return {
            "kind": "floating packet",
            "instruction": sent["instruction"],
            "transfer": sent["transfer"],
            "master": sent["master"],
            "row": afloat.row,
            "bitmap": afloat.header,
            "to": [
                node_name(base + bit + 1, self._tiles) for bit in range(self._tiles + 2) if afloat.header >> bit & 1
            ],
            "stop": node_name(afloat.node, self._tiles),
        }

    def _named(self, transfer: SentTransfer) -> NamedTransfer:
        return {
            "instruction": transfer.sender,
            "transfer": transfer.ordinal,
            "master": node_name(transfer.master, self._tiles),
        }

    def _path(self, transfer: SentTransfer) -> list[int]:
        count = self._nodes
        base = transfer.master // count * count
        reach = max((bit + 1 - transfer.master) % count for bit in range(count - 1) if transfer.to >> bit & 1)
        return [base + (transfer.master + step) % count for step in range(reach + 1)]

    def _share(self, one: SentTransfer, other: SentTransfer) -> bool:
        return not set(self._path(one)).isdisjoint(self._path(other))
