"""What packets did that the rule for masters forbids, each reading by itself, as the monitor of a run tells it.

At a stop, packets of one cycle come in the order in which a stop has them: one that is forwarded or taken before one
that is sent there. A transfer is under way at a stop from its first packet there to its tail. It is over when its tail
has passed all stops where it was seen; or, of one whose packets go round, so that the tail may have been taken on
another lap than the rest, with its last packet. What is not over when the recording ends is under way until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.findings import Finding
from tilesim.sim.trace.packets import Packets, read_packets
from tilesim.tiled.isa.model.fields import ON_B
from tilesim.tiled.rules.ring.readings import Reading

SCHEMA = "tilesim.ring-trace/1"
NEVER = 1 << 62
MOST_LOOKS = 20_000_000
"""Packets between those of others that are looked at."""
MOST_PAIRS = 100_000
MOST_FINDINGS = 1_000
MEETING, AT_ONCE = "meeting", "under way at once"

Pair = tuple[int, int]


def judged(path: Path, reading: Reading) -> dict[str, Any]:
    """What the packets in a .csv file did, in plain values; ``reading`` is the one that binds.

    Raises:
        InputError: with every fault of the file.
    """
    packets = read_packets(path)
    verdict = Judgement(packets)
    forbidden = {each: verdict.forbidden(each) for each in Reading}
    findings = verdict.findings(reading)
    return {
        "schema": SCHEMA,
        "file": str(path),
        "kept": not forbidden[reading],
        "reading": str(reading),
        "readings": {str(each): {"kept": not pairs, "pairs": len(pairs)} for each, pairs in forbidden.items()},
        "complete": verdict.complete,
        "packets": len(packets.cycles),
        "transfers": len(packets.transfer_names),
        "masters": len(np.unique(packets.masters)),
        "cycles": [int(packets.cycles.min()), int(packets.cycles.max())] if len(packets.cycles) else [],
        "unfinished": [packets.transfer_names[k] for k in np.flatnonzero(~verdict.ended).tolist()][:MOST_FINDINGS],
        "findings": findings[:MOST_FINDINGS],
    }


class Seen(Struct, frozen=True):
    """``second`` passed ``node`` in ``cycle`` while ``first`` was under way; ``place`` is which of the packets there
    that was.
    """

    cycle: int
    node: int
    place: int
    first: int
    second: int

    @property
    def when(self) -> tuple[int, int, int]:
        return self.cycle, self.node, self.place


class Judgement:
    """What some packets did. ``complete``: all of it was looked at; of more than so much, only a part is."""

    def __init__(self, packets: Packets) -> None:
        self.complete = True
        self._packets = packets
        self._count = len(packets.transfer_names)
        at_master = packets.nodes == packets.masters[packets.transfers]
        self._over = np.full(self._count, -1, np.int64)
        np.maximum.at(self._over, packets.transfers, packets.cycles)
        self.ended = self._ended(at_master)
        """Whether each transfer is over when the recording ends."""
        self._over[~self.ended] = NEVER
        self._begun = np.full(self._count, NEVER, np.int64)
        np.minimum.at(self._begun, packets.transfers[at_master], packets.cycles[at_master])
        unseen = (self._begun == NEVER)[packets.transfers]
        np.minimum.at(self._begun, packets.transfers[unseen], packets.cycles[unseen])
        order = np.lexsort((at_master, packets.cycles, packets.nodes))
        self._cycles, self._nodes = packets.cycles[order], packets.nodes[order]
        self._transfers, self._tails = packets.transfers[order], packets.tails[order]

    def _ended(self, at_master: NDArray[np.bool_]) -> NDArray[np.bool_]:
        packets, count = self._packets, self._count
        sent = np.full(count, NEVER, np.int64)
        at_tail = at_master & packets.tails
        np.minimum.at(sent, packets.transfers[at_tail], packets.cycles[at_tail])
        comes_again = at_master & (packets.cycles > sent[packets.transfers])
        keys = packets.transfers * len(packets.node_names) + packets.nodes
        untailed = np.setdiff1d(keys, keys[packets.tails]) // max(1, len(packets.node_names))
        ended = np.ones(count, np.bool_)
        ended[untailed] = False
        ended[packets.transfers[comes_again]] = True
        return ended & (sent < NEVER)

    def forbidden(self, reading: Reading) -> Sequence[Seen]:
        """A sight of each pair that does what a reading forbids."""
        if reading is Reading.MEET:
            return self.meetings
        if reading is Reading.SINGLE:
            return self.at_once
        return [seen for seen in self.at_once if self._occupied[seen.first] & self._occupied[seen.second]]

    def findings(self, reading: Reading) -> list[Finding]:
        """What the monitor of a run says of the same, in its order in time."""
        seen = [(MEETING, each) for each in self.meetings]
        seen += [(AT_ONCE, each) for each in self.forbidden(reading)] if reading is not Reading.MEET else []
        return [self._finding(kind, each) for kind, each in sorted(seen, key=lambda one: one[1].when)]

    @cached_property
    def meetings(self) -> Sequence[Seen]:
        """The first of each pair."""
        found: dict[Pair, Seen] = {}
        looks = 0
        for first, low, end in self._mixed():
            looks += end - low
            if looks > MOST_LOOKS or len(found) > MOST_PAIRS:
                self.complete = False
                break
            others, places = np.unique(self._transfers[low:end], return_index=True)
            for other, place in zip(others.tolist(), (places + low).tolist(), strict=True):
                if other == first:
                    continue
                seen = Seen(int(self._cycles[place]), int(self._nodes[place]), place, first, other)
                pair = (min(first, other), max(first, other))
                known = found.get(pair)
                if known is None or seen.when < known.when:
                    found[pair] = seen
        return [*found.values()]

    @cached_property
    def at_once(self) -> Sequence[Seen]:
        """The beginning of the later one of each pair of different masters."""
        masters, found = self._packets.masters, list[Seen]()
        active: list[int] = []
        looks = 0
        for other in np.argsort(self._begun, kind="stable").tolist():
            begun = int(self._begun[other])
            active = [first for first in active if self._over[first] > begun]
            looks += len(active)
            if looks > MOST_LOOKS or len(found) > MOST_PAIRS:
                self.complete = False
                break
            node = int(masters[other])
            others = (first for first in active if masters[first] != masters[other])
            found += [Seen(begun, node, 0, first, other) for first in others if self._on_b[first] == self._on_b[other]]
            active.append(other)
        return found

    @cached_property
    def _on_b(self) -> Sequence[bool]:
        """Whether each transfer is on channel B, which has nothing to do with channel A."""
        return [self._packets.node_names[master].endswith(ON_B) for master in self._packets.masters.tolist()]

    def _mixed(self) -> Iterator[tuple[int, int, int]]:
        """The stretches of a stop's packets in which a transfer is under way there, but not alone: which one, and the
        first packet behind its own first and the end of the stretch.
        """
        keys = self._nodes * self._count + self._transfers
        order = np.argsort(keys, kind="stable")
        if not order.size:
            return
        grouped, tails = keys[order], self._tails[order]
        begins = np.append(True, (grouped[1:] != grouped[:-1]) | tails[:-1])
        first = np.flatnonzero(begins)
        last = np.append(first[1:], order.size) - 1
        low, high = order[first], order[last]
        for k in np.flatnonzero(~tails[last]).tolist():
            high[k] = self._until(int(low[k]), int(high[k]))
        for k in np.flatnonzero(high - low > last - first).tolist():
            yield int(self._transfers[low[k]]), int(low[k]) + 1, int(high[k]) + 1

    def _until(self, low: int, high: int) -> int:
        """The last packet at the stop before a transfer is over of which no tail is seen there."""
        end = int(np.searchsorted(self._nodes, self._nodes[low], side="right"))
        over = self._over[self._transfers[low]]
        return max(high, low + int(np.searchsorted(self._cycles[low:end], over)) - 1)

    @cached_property
    def _paths(self) -> Sequence[Sequence[int]]:
        """The nodes that each transfer passes, in the order in which it does."""
        keys = self._transfers * (len(self._packets.node_names) + 1) + self._nodes
        unique, places = np.unique(keys, return_index=True)
        transfers, nodes = np.divmod(unique, len(self._packets.node_names) + 1)
        order = np.lexsort((nodes != self._packets.masters[transfers], self._cycles[places], transfers))
        cuts = np.searchsorted(transfers, np.arange(1, self._count))
        return [part.tolist() for part in np.split(nodes[order], cuts)]

    @cached_property
    def _occupied(self) -> Sequence[int]:
        """The same as bitmaps."""
        return [sum(1 << node for node in path) for path in self._paths]

    def _finding(self, kind: str, seen: Seen) -> Finding:
        names, both = self._packets.node_names, (seen.first, seen.second)
        return {
            "kind": kind,
            "section": "trace",
            "cycle": seen.cycle,
            "stop": names[seen.node],
            "instructions": [self._packets.transfer_names[each] for each in both],
            "transfers": [0, 0],
            "masters": [names[self._packets.masters[each]] for each in both],
            "nodes": [[names[node] for node in self._paths[each]] for each in both],
        }
