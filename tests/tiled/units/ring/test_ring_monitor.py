"""What the monitor notices is what the definition says, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.programs import program
from tests.tiled.test_determinism import disorder
from tests.tiled.units.bench import chip_of
from tilesim import simulate
from tilesim.errors import CollisionError, HangError
from tilesim.findings import sentence
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import Unit
from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.units.ring.node_link import NodeLink
from tilesim.tiled.units.ring.ring import Packet, RingStop
from tilesim.tiled.units.ring.ring_monitor import Passage, RingMonitor, SentTransfer

TILES = 5
NODES = TILES + 3


class Log(Passage):
    """Keeps what passes."""

    def __init__(self, node: int, monitor: RingMonitor, clock: Clock) -> None:
        super().__init__(node, monitor._meet, monitor._begin)
        self.passed: list[SentTransfer] = []
        self.cycles: list[int] = []
        self._clock = clock

    def note(self, transfer: SentTransfer, tail: bool) -> None:
        self.passed.append(transfer)
        self.cycles.append(self._clock.cycle)
        super().note(transfer, tail)


class Taker:
    """Takes everything at once."""

    def __init__(self, clock: Clock) -> None:
        self.unit = Unit(clock, "taker")

    def obstacle(self) -> None:
        return None

    def take(self, _: Packet) -> None:
        """Keep nothing."""


class Ring:
    """Eight stops that log, and masters with rows at given cycles: (node, destinations, start cycle, gaps)."""

    def __init__(self, masters: list[tuple[int, set[int], int, list[int]]], reading: Reading = Reading.MEET) -> None:
        self.clock = Clock()
        self.monitor = RingMonitor(self.clock, chip_of(1, TILES), False, self._on_ring, reading)
        self.logs = [Log(node, self.monitor, self.clock) for node in range(NODES)]
        self.monitor.passages = list(self.logs)
        bits = [None, *range(NODES - 1)]
        links = [NodeLink(self.clock, Unit(self.clock, f"link{k}")) for k in range(NODES)]
        self.stops = [RingStop(self.clock, chip_of(), *pair) for pair in zip(bits, links, strict=True)]
        for stop, log, following in zip(self.stops, self.logs, [*self.stops[1:], self.stops[0]], strict=True):
            stop.passage, stop.receiver = log, Taker(self.clock)
            stop.connect(following)
        for k, (node, destinations, start, gaps) in enumerate(masters):
            to = sum(1 << each - 1 for each in destinations)
            self.clock.process(self._send(SentTransfer(f"m{k}", 0, node, to), start, gaps))
        self.clock.run()

    def _send(self, transfer: SentTransfer, start: int, gaps: list[int]) -> Iterator[simpy.Event]:
        yield self.clock.timeout(start)
        for row, gap in enumerate(gaps):
            data = Packet(transfer.to, np_row(), row == len(gaps) - 1, transfer.sender, transfer, row)
            yield self.stops[transfer.master].send(data)
            yield self.clock.timeout(1 + gap)

    def _on_ring(self) -> list[SentTransfer]:
        return [packet.transfer for stop in self.stops for packet in stop.packets if packet.transfer is not None]

    def noticed(self, kind: str = "meeting") -> set[frozenset[str]]:
        return {frozenset(each["instructions"]) for each in self.monitor.findings() if each["kind"] == kind}

    def by_definition(self) -> set[frozenset[str]]:
        """Pairs of which, at some stop, a packet of one lies between the first and the last of the other."""
        found = set()
        for log in self.logs:
            for a, b in combinations(set(log.passed), 2):
                spans = [[k for k, each in enumerate(log.passed) if each is transfer] for transfer in (a, b)]
                if any(x[0] < k < x[-1] for x, y in (spans, spans[::-1]) for k in y):
                    found.add(frozenset((a.sender, b.sender)))
        return found

    def at_once(self, reading: Reading) -> set[frozenset[str]]:
        """Pairs that are under way in a cycle, from that of the first row sent up to before that of the last taken."""
        noted = [
            (log.node, cycle, each) for log in self.logs for each, cycle in zip(log.passed, log.cycles, strict=True)
        ]
        times, nodes = {}, {}
        for transfer in {each for *_, each in noted}:
            cycles = [cycle for _, cycle, each in noted if each is transfer]
            times[transfer] = range(min(cycles), max(cycles))
            nodes[transfer] = {node for node, _, each in noted if each is transfer}
        return {
            frozenset((a.sender, b.sender))
            for a, b in combinations(times, 2)
            if max(times[a].start, times[b].start) < min(times[a].stop, times[b].stop)
            and reading.forbids_at_once(not nodes[a].isdisjoint(nodes[b]))
        }


def np_row() -> Any:
    import numpy as np

    return np.zeros((1, 8), np.uint8)


@st.composite
def masters(draw: st.DrawFn) -> list[tuple[int, set[int], int, list[int]]]:
    """Some with nodes of their own each: what a node sends is one transfer after the other."""
    nodes = draw(st.lists(st.integers(0, NODES - 1), min_size=2, max_size=4, unique=True))
    others = [st.sets(st.integers(1, NODES - 1).filter(lambda d, n=node: d != n), min_size=1) for node in nodes]  # type: ignore[misc]
    gaps = st.lists(st.integers(0, 3), min_size=1, max_size=5)
    return [(node, draw(to), draw(st.integers(0, 12)), draw(gaps)) for node, to in zip(nodes, others, strict=True)]


@given(masters())
def test_it_notices_what_meets_by_definition(given_masters: list[tuple[int, set[int], int, list[int]]]) -> None:
    ring = Ring(given_masters)
    assert ring.noticed() == ring.by_definition()


@given(masters(), st.sampled_from([*Reading]))
def test_it_notices_who_is_under_way_at_once_by_definition(
    given_masters: list[tuple[int, set[int], int, list[int]]], reading: Reading
) -> None:
    ring = Ring(given_masters, reading)
    assert ring.noticed("under way at once") == ring.at_once(reading)
    assert ring.noticed() == ring.by_definition()


@given(masters())
def test_what_meets_is_under_way_at_once(given_masters: list[tuple[int, set[int], int, list[int]]]) -> None:
    """Each reading forbids what those after it do."""
    single, disjoint = (Ring(given_masters, reading) for reading in (Reading.SINGLE, Reading.DISJOINT))
    assert single.noticed("under way at once") >= disjoint.noticed("under way at once") >= disjoint.noticed()


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ((0, {2}), (1, {3}), True),
        ((0, {3}), (3, {4}), True),
        ((6, {1}), (2, {5}), False),
        ((6, {1}), (0, {3}), True),
        ((0, {1, 2, 3}), (4, {5, 6, 7}), False),
    ],
)
def test_oracles_10_and_11(one: tuple[int, set[int]], other: tuple[int, set[int]], meet: bool) -> None:
    """On 8 nodes, with a start time at which they meet, or at any."""
    rings = [Ring([(*one, 8, [1] * 4), (*other, start, [1] * 4)]) for start in range(20)]
    assert any(ring.noticed() for ring in rings) == meet


def test_back_to_back_is_legal_and_one_cycle_earlier_is_not() -> None:
    """Node 0's rows pass node 2 in cycles 2 and 4; in 4 they go first."""
    for start, gap, meet in ((0, 0, False), (0, 2, True), (1, 0, True), (3, 0, True), (4, 0, False), (5, 0, False)):
        ring = Ring([(0, {3}, 0, [1, 0]), (2, {4}, start, [gap, 0])])
        assert bool(ring.noticed()) == meet
        assert ring.by_definition() == ring.noticed()


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_a_transfer_that_is_over_at_the_end_of_the_cycle_meets_nobody_in_it(first: bool, ends: bool) -> None:
    """Its tail was taken elsewhere; its last row is taken in the cycle in which another transfer passes, before or
    after that.
    """
    clock = Clock()
    one, other = (SentTransfer(name, 0, node, 0b100) for node, name in enumerate(("one", "other")))
    afloat = [one, other]
    monitor = RingMonitor(clock, chip_of(1, TILES), False, lambda: afloat)
    monitor.passages[0].note(one, tail=True)
    stop = monitor.passages[3]
    stop.note(one, tail=False)
    if ends and first:
        afloat.remove(one)
    stop.note(other, tail=True)
    if ends and not first:
        afloat.remove(one)
    clock.run()
    assert (monitor.findings() == []) == ends


MASTERS = (
    "one: ring_produce tiles=0x1 read=[r:3 @0x0+r*16] to=0x8",
    "other: ring_produce tiles=0x4 read=[r:2 @0x0+r*16] to=0x8",
)
RUN = "\n".join(["take: ring_consume tiles=0x8 write=[r:{} @0x0+r*16]", *MASTERS])


def findings(run: str = RUN.format(5), **keys: Any) -> list[dict[str, Any]]:
    """On four tiles in a row."""
    options = {key: keys.pop(key) for key in ("holds", "rules") if key in keys}
    run_ = simulate(program(run, grid__rows=4, **keys), [], **{"rules": "observe", **options})
    return run_.statistics["findings"]  # type: ignore[no-any-return]


def test_a_meeting_in_full() -> None:
    found = findings(holds={"one": 40, "other": 43})
    assert found[0] == {
        "kind": "meeting",
        "section": "run",
        "cycle": 44,
        "stop": "tile 2",
        "instructions": ["one", "other"],
        "transfers": [0, 0],
        "masters": ["tile 0", "tile 2"],
        "nodes": [["tile 0", "tile 1", "tile 2", "tile 3"], ["tile 2", "tile 3"]],
    }
    assert json.loads(json.dumps(found)) == found


def test_strict_rules_end_the_run_with_a_sentence() -> None:
    with pytest.raises(CollisionError) as caught:
        findings(holds={"one": 40, "other": 43}, rules="strict")
    assert str(caught.value) == (
        "the run program lets transfers meet on the ring: in cycle 44 a packet of other from tile 2, which occupies "
        "tile 2 to tile 3, passes tile 2, where one from tile 0, which occupies tile 0 to tile 3, began first and has "
        "not ended"
    )
    assert [each["cycle"] for each in caught.value.findings] == [44]
    assert caught.value.exit_status == 3


def test_mixed_rows_and_whose_they_are() -> None:
    mixed = findings(holds={"one": 40, "other": 43})[1]
    assert (mixed["kind"], mixed["stop"], mixed["instruction"]) == ("mixed payload", "tile 3", "take")
    assert [(each["instruction"], each["rows"]) for each in mixed["rows"]] == [("one", [0, 2, 4]), ("other", [1, 3])]
    assert sentence(mixed) == (
        "take at tile 3 took rows of transfers that met: 0, 2, 4 of one from tile 0 and 1, 3 of other from tile 2"
    )


@pytest.mark.parametrize("rows", [(5,), (2, 3), (4, 1), (1, 1, 1, 1, 1)])
def test_whole_transfers_one_after_the_other_are_no_mix(rows: tuple[int, ...]) -> None:
    """However many consumers they are shared out to."""
    takes = [f"take{k}: ring_consume tiles=0x8 write=[r:{n} @{k * 128}+r*16]" for k, n in enumerate(rows)]
    assert findings("\n".join([*takes, *MASTERS]), holds={"other": 60}) == []


def test_a_pair_that_meets_again_and_again_is_one_finding() -> None:
    run = RUN.format(40).replace("r:3", "r:20").replace("r:2 ", "r:20 ")
    assert [each["kind"] for each in findings(run)] == ["meeting", "mixed payload"]


INFEED = """
take: ring_consume tiles=0x3 write=[r:2 @0x0+r*16]
more: ring_consume tiles=0x2 write=[r:1 @0x80+r*16]
send: infeed source=data rows=2 to=0x1 transfers=2
also: ring_produce tiles=0x1 read=[r:1 @0x100+r*16] to=0x2
"""


def test_the_second_transfer_of_an_infeed_is_called_so() -> None:
    """Between the rows, 8 cycles each to read, is time for another master."""
    found = [findings(INFEED, holds={"also": start}) for start in range(10, 60)]
    words = {sentence(each) for several in found for each in several if each["kind"] == "meeting"}
    for whose in ("send from source, which occupies source to tile 0", "send (transfer 2) from source, which occupies"):
        assert any(whose in each for each in words), words


def test_a_hang_tells_what_was_found_before() -> None:
    with pytest.raises(HangError) as caught:
        findings(RUN.format(6), holds={"one": 40, "other": 43})
    assert [each["kind"] for each in caught.value.findings] == ["meeting", "mixed payload"]
    assert sentence(caught.value.findings[0]) in str(caught.value).splitlines()


def test_load_programs_are_watched_as_well() -> None:
    subject = program("", load=RUN.format(5), grid__rows=4)
    held = {"one": 40, "other": 43}
    found = simulate(subject, [], rules="observe", holds=held).statistics["findings"]
    assert (found[0]["section"], found[0]["cycle"]) == ("load", 44)
    with pytest.raises(CollisionError, match="the load program lets transfers meet"):
        simulate(subject, [], holds=held)


@pytest.mark.parametrize("keys", [{}, {"ring__no_consumer": "circulate"}])
@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_events_within_a_phase_changes_no_finding(
    monkeypatch: pytest.MonkeyPatch, seed: int, keys: dict[str, Any]
) -> None:
    """Three masters, of which all pairs meet, two of them in the same cycle; and one that finds too few takers."""
    third = "third: ring_produce tiles=0x2 read=[r:4 @0x0+r*16] to=0xc"
    short = "short: ring_consume tiles=0x4 write=[r:1 @0x80+r*16]"
    run = "\n".join([RUN.format(6).replace("r:3", "r:4"), third, short])
    held = {"one": 40, "other": 40, "third": 41}

    def everything() -> list[list[dict[str, Any]]]:
        caught = []
        for rules in ("observe", "strict"):
            with pytest.raises((HangError, CollisionError)) as error:
                findings(run, rules=rules, holds=held, **keys)
            caught.append(error.value.findings)
        return caught

    plain = everything()
    assert len([each for each in plain[0] if each["kind"] == "meeting"]) == 3
    assert plain[1] == plain[0][:1]
    disorder(monkeypatch, seed)
    assert everything() == plain


def test_nodes_by_name() -> None:
    assert [node_name(node, 2) for node in range(5)] == ["source", "tile 0", "tile 1", "classifier", "sink"]
