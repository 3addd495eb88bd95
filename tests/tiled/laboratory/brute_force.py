"""Every start time up to a bound, on the stepped model, judged by a rule for masters of its own.

Nothing of what tilesim knows of transfers, proofs or findings is used: who sends to whom is read from the words of the
suite's table, and the packets that a run's stops saw are all that tells how it went.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, product
from random import Random

from tilesim.machines.holds import Holds
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.stepped.chip import Chip
from tilesim.tiled.stepped.ring import Packet, RingStop

Event = tuple[int, int, str]
"""A cycle, a node that a packet is sent from, forwarded at or taken at, and the transfer that it is of."""


@dataclass(frozen=True)
class Group:
    """A transfer: node ``master`` sends ``rows`` packets past the nodes of ``way``, of which the last takes them."""

    master: int
    way: tuple[int, ...]
    rows: int


def groups_of(row: Mapping[str, str]) -> dict[str, Group]:
    """The transfers of a row of the table. The nodes: source, tiles, classifier, sink."""
    tiles = int(row["tiles"])
    nodes = {"source": 0, **{str(tile): tile + 1 for tile in range(tiles)}, "sink": tiles + 2}
    found = {}
    for name in "abc":
        if row[f"{name}_master"]:
            way = [nodes[row[f"{name}_master"]]]
            missing = {nodes[word] for word in row[f"{name}_to"].split()}
            while missing:
                way.append((way[-1] + 1) % (tiles + 3))
                missing.discard(way[-1])
            found[name] = Group(way[0], tuple(way), int(row[f"{name}_rows"]))
    return found


def events_of(program: Program, holds: Holds) -> list[Event]:
    """What all stops saw in a run, in order."""
    chip = Chip(program.topology, program.data, keeps_spans=False, observes=True)
    events: list[Event] = []

    def note(stop: RingStop, packet: Packet) -> None:
        events.append((chip.clock.cycle, stop.node, packet.transfer.sender.removesuffix(".send")))

    for stop in chip.stops:
        stop.note = note
    chip.run(program.run, [], holds)
    return events


def broken(events: Sequence[Event], groups: Mapping[str, Group]) -> dict[str, set[frozenset[str]]]:
    """Which transfers broke which reading of the rule."""
    met = {pair for node in {node for _, node, _ in events} for pair in _met([n for _, at, n in events if at == node])}
    begun = {name: next(at for at, _, sent in events if sent == name) for name in {name for _, _, name in events}}
    ended = {
        name: max(at for at, node, sent in events if (node, sent) == (groups[name].way[-1], name)) for name in begun
    }
    at_once = {
        frozenset({one, two})
        for one, two in combinations(begun, 2)
        if max(begun[one], begun[two]) < min(ended[one], ended[two])
    }
    found = {
        "single": at_once,
        "disjoint": {pair for pair in at_once if set.intersection(*({*groups[name].way} for name in pair))},
        "meet": met,
    }
    return {
        reading: {pair for pair in pairs if len({groups[name].master for name in pair}) > 1}
        for reading, pairs in found.items()
    }


def _met(passing: Sequence[str]) -> Iterator[frozenset[str]]:
    """The pairs of which one has come by between two packets of the other."""
    for one, two in combinations({*passing}, 2):
        runs = [name for name, _ in groupby(name for name in passing if name in {one, two})]
        if len(runs) > 2:
            yield frozenset({one, two})


def complete(events: Sequence[Event], groups: Mapping[str, Group]) -> bool:
    """Whether every transfer came to its end."""
    last = [(node, name) for _, node, name in events]
    return all(last.count((group.way[-1], name)) == group.rows for name, group in groups.items())


def start_times(program: Program, sends: Sequence[int], receives: Sequence[int]) -> Iterator[Holds]:
    """Every combination of start times of all that send, and of all that receive, tile by tile, and at the sink."""
    keys: list[tuple[str, int | None]] = []
    times: list[Sequence[int]] = []
    for op in program.run:
        if op.label.endswith(".send"):
            keys.append((op.label, None))
            times.append(sends)
        elif op.label.endswith(".receive"):
            bitmap = getattr(op, "tiles", 0)
            tiles = [tile for tile in range(bitmap.bit_length()) if bitmap >> tile & 1]
            keys += [(op.label, tile) for tile in tiles]
            times += [receives] * len(tiles)
        elif op.label.endswith(".outfeed"):
            keys.append((op.label, None))
            times.append(receives)
    return (dict(zip(keys, cycles, strict=True)) for cycles in product(*times))


def some_times(program: Program, random: Random, runs: int, latest: int) -> Iterator[Holds]:
    """So many start times of all that send or receive, any up to the latest."""
    keys = [*next(start_times(program, (0,), (0,)))]
    return ({key: random.randint(0, latest) for key in keys} for _ in range(runs))
