"""Make the suite of transfers on the ring with known verdicts, ``workloads/dual-master/suite.csv``.

The cases are systematic: on four tiles every pair of masters with one receiver each; then rows, groups of several
receivers, the ways to wait, the infeed and the outfeed, three transfers, longer rings and slower links. The verdicts
are those of ``tilesim check``, and what is refuted has start times with which a run was seen to break the rule.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tilesim.tiled.laboratory.scenario import SINK, SOURCE, BareTransfer, Scenario, When, node_of, wait_faults
from tilesim.tiled.laboratory.suite import COLUMNS, HOP_CYCLES, row_of, table_path
from tilesim.tiled.laboratory.trial import tried
from tilesim.tiled.rules.ring.readings import Reading

Place = int | str
SMALL = 4
"""Tiles of most cases."""


@dataclass(frozen=True)
class Sketch:
    """A case before it has a name."""

    family: str
    transfers: tuple[BareTransfer, ...]
    tiles: int = SMALL
    hop_cycles: int = 1

    @property
    def scenario(self) -> Scenario:
        keys = {HOP_CYCLES: self.hop_cycles} if self.hop_cycles > 1 else {}
        return Scenario(tiles=self.tiles, keys=keys, transfers=self.transfers)


def send(name: str, master: Place, to: tuple[Place, ...] | Place, rows: int, **after: str) -> BareTransfer:
    """A transfer; ``after`` as a file has it."""
    places = to if isinstance(to, tuple) else (to,)
    waits = {first: When(when) for first, when in after.items()}
    return BareTransfer(name=name, master=master, to=places, rows=rows, after=waits)


def sketches() -> Iterator[Sketch]:
    """All cases, family by family."""
    yield from pairs()
    yield from with_source()
    yield from of_rows()
    yield from of_groups()
    yield from of_one_master()
    yield from waiting()
    yield from to_the_host()
    yield from of_three()
    yield from on_other_rings()


def geometry(tiles: int, first: BareTransfer, other: BareTransfer) -> str:
    """How the nodes of two transfers lie to each other."""
    one, two = path(tiles, first), path(tiles, other)
    shared = {*one} & {*two}
    wrapped = "-wrapped" if any(nodes != sorted(nodes) for nodes in (one, two)) else ""
    if not shared:
        touching = any((a[-1] + 1) % (tiles + 3) == b[0] for a, b in ((one, two), (two, one)))
        return f"{'adjacent' if touching else 'disjoint'}{wrapped}"
    if len(shared) == 1:
        return f"one-node{wrapped}"
    return f"{'nested' if shared in ({*one}, {*two}) else 'overlap'}{wrapped}"


def path(tiles: int, transfer: BareTransfer) -> list[int]:
    """The nodes that a transfer passes."""
    nodes, master = tiles + 3, node_of(transfer.master, tiles)
    reach = max((node_of(place, tiles) - master) % nodes for place in transfer.to)
    return [(master + hop) % nodes for hop in range(reach + 1)]


def pairs() -> Iterator[Sketch]:
    """Every two masters with one receiver each, the first of them tile 0: the others look like one of these."""
    for to, master, other in product((1, 2, 3), (1, 2, 3), range(4)):
        if other != master:
            both = send("a", 0, to, 3), send("b", master, other, 3)
            yield Sketch(f"pair-{geometry(SMALL, *both)}", both)


def with_source() -> Iterator[Sketch]:
    """The controller is a master like a tile."""
    for to, (master, other) in product((0, 2, 3), ((1, 2), (1, 3), (2, 3), (3, 1))):
        both = send("a", SOURCE, to, 3), send("b", master, other, 3)
        yield Sketch(f"source-{geometry(SMALL, *both)}", both)


def of_rows() -> Iterator[Sketch]:
    """Few rows and many: single packets can't lie inside one another."""
    ways = (((0, 2), (1, 3)), ((0, 2), (2, 3)), ((0, 3), (1, 2)), ((3, 1), (0, 2)))
    for (one, two), rows in product(ways, ((1, 1), (1, 2), (2, 1), (1, 4), (4, 1), (8, 8))):
        both = send("a", *one, rows[0]), send("b", *two, rows[1])
        yield Sketch(f"rows-{geometry(SMALL, *both)}", both)


def of_groups() -> Iterator[Sketch]:
    """Several receivers, in either order, with gaps between them, or with the other master among them."""
    groups: tuple[tuple[tuple[Place, tuple[Place, ...]], ...], ...] = (
        ((0, (1, 2)), (3, (4, 5))),
        ((0, (2, 1)), (3, (5, 4))),
        ((0, (1, 2, 3)), (4, (5,))),
        ((0, (1, 3)), (2, (4,))),
        ((0, (1, 4)), (2, (3,))),
        ((0, (1, 2)), (2, (3, 4))),
        ((0, (1, 2)), (1, (2, 3))),
        ((0, (1, 2, 3, 4, 5)), (3, (4, 5))),
        ((0, (3, 5)), (1, (2,))),
        ((1, (2, 3)), (5, (0,))),
        ((1, (2, 3)), (5, (0, 1))),
        ((4, (5, 0)), (1, (2, 3))),
        ((4, (0, 1)), (0, (1, 2))),
        ((4, (5, 1)), (2, (3,))),
        ((SOURCE, (0, 1, 2)), (3, (4, 5))),
        ((SOURCE, (0, 1, 2)), (2, (3, 4))),
        ((SOURCE, (0, 1, 2, 3, 4, 5)), (2, (3,))),
        ((SOURCE, (3,)), (4, (0,))),
    )
    for (one, two), rows in product(groups, (1, 3)):
        both = send("a", *one, rows), send("b", *two, rows)
        yield Sketch(f"group-{geometry(6, *both)}", both, tiles=6)


def of_one_master() -> Iterator[Sketch]:
    """Transfers of one master leave it one after the other."""
    for to, other in ((1, 1), (1, 2), (2, 1), (3, 2), ((1, 2), (2, 3))):
        yield Sketch("one-master", (send("a", 0, to, 3), send("b", 0, other, 2)))
    yield Sketch("one-master", (send("a", SOURCE, 3, 3), send("b", SOURCE, 1, 2)))


def waiting() -> Iterator[Sketch]:
    """The ways to wait, where there is something to wait for."""
    ways: tuple[tuple[Place, tuple[Place, ...], Place, tuple[Place, ...]], ...] = (
        (0, (2,), 1, (3,)),
        (0, (1,), 1, (2,)),
        (0, (1, 2), 1, (3,)),
        (0, (3,), 1, (2,)),
        (0, (1,), 2, (3,)),
        (1, (3,), 0, (2,)),
        (2, (0,), 3, (1,)),
        (0, (1, 3), 2, (1,)),
        (SOURCE, (0, 1), 1, (2,)),
        (1, (0,), SOURCE, (0, 1)),
    )
    for (one, to, two, other), when, rows in product(ways, When, (1, 2, 4)):
        first, second = send("a", one, to, rows), send("b", two, other, rows, a=when)
        if not any(wait_faults(second, {"a": first}, SMALL)):
            yield Sketch(f"after-{when}", (first, second))


def to_the_host() -> Iterator[Sketch]:
    """Results on their way to the outfeed, in turn or not, and inputs that come meanwhile."""
    for rows in (1, 3):
        yield Sketch("host", (send("a", 0, SINK, rows), send("b", 2, SINK, rows)))
        yield Sketch("host", (send("a", 0, SINK, rows), send("b", 2, SINK, rows, a="passed")))
        yield Sketch("host", (send("a", 2, SINK, rows), send("b", 0, SINK, rows, a="sent")))
        yield Sketch("host", (send("a", 2, SINK, rows), send("b", 0, SINK, rows, a="taken")))
        yield Sketch("host", (send("a", 2, SINK, rows), send("b", SOURCE, (0, 1), rows)))
        yield Sketch("host", (send("a", 1, SINK, rows), send("b", SOURCE, (0, 1), rows)))
        yield Sketch("host", (send("a", 1, SINK, rows), send("b", SOURCE, (0, 1), rows, a="taken")))
    order = send("a", 0, SINK, 2), send("b", 1, SINK, 2, a="passed"), send("c", 2, SINK, 2, b="passed")
    yield Sketch("host-in-turn", order)
    yield Sketch("host-in-turn", (order[0], order[1], send("c", 2, SINK, 2, a="passed")))
    yield Sketch("host-in-turn", (order[0], order[1], send("c", 2, SINK, 2)))


def of_three() -> Iterator[Sketch]:
    """Chains, forks and joins; counts that a third transfer can bring to what another one waits for."""
    for when, last in product(("passed", "received", "taken"), ("passed", "received", "taken", "")):
        waits = {"b": last} if last else {}
        yield Sketch("chain", (send("a", 0, 1, 2), send("b", 1, 2, 2, a=when), send("c", 2, 3, 2, **waits)))
    for when in ("passed", "taken"):
        three = send("a", 0, (1, 2), 2), send("b", 1, 3, 2, a=when), send("c", 2, 3, 2, a=when)
        yield Sketch("fork", three)
        yield Sketch("fork", (*three[:2], send("c", 2, 3, 2, a=when, b=when)))
        yield Sketch("join", (send("a", 0, 1, 2), send("b", 2, 3, 2), send("c", 3, 1, 2, b=when)))
        yield Sketch("join", (send("a", 0, 1, 2), send("b", 2, 3, 2), send("c", 3, 1, 2, a="taken", b=when)))
    for first, other in (((0, 3), (1, 3)), ((0, 2), (3, 1)), ((1, 3), (0, 3)), ((3, 2), (0, 2))):
        counted = send("a", *first, 2), send("b", *other, 2)
        yield Sketch("count", (*counted, send("c", 2, 3, 2)))
        for waited in ("a", "b"):
            third = send("c", 2, 3, 2, **{waited: "passed"})
            if not any(wait_faults(third, {each.name: each for each in counted}, SMALL)):
                yield Sketch("count", (*counted, third))
    for rows in ((1, 1, 1), (1, 3, 1), (3, 1, 2)):
        yield Sketch("three", (send("a", 0, 2, rows[0]), send("b", 1, 3, rows[1]), send("c", 2, 0, rows[2])))
        yield Sketch("three", (send("a", 0, 1, rows[0]), send("b", 2, 3, rows[1]), send("c", SOURCE, 3, rows[2])))
    apart = send("a", 0, 1, 3), send("b", 2, 3, 3), send("c", 4, 5, 3)
    yield Sketch("three", apart, tiles=6)
    yield Sketch("three", (*apart[:2], send("c", 4, 5, 3, a="taken")), tiles=6)
    yield Sketch("three", (*apart[:2], send("c", 4, 0, 3, b="taken")), tiles=6)
    yield Sketch("three", (*apart[:2], send("c", 4, 0, 3, a="taken", b="taken")), tiles=6)


def on_other_rings() -> Iterator[Sketch]:
    """Rings of other lengths, and links that take more cycles."""
    for tiles in (2, 3, 8, 16):
        both = send("a", 0, tiles - 1, 2), send("b", tiles - 1, 0, 2)
        yield Sketch("length", both, tiles=tiles)
        yield Sketch("length", (both[0], send("b", tiles - 1, 0, 2, a="passed")), tiles=tiles)
        yield Sketch("length", (both[0], send("b", tiles - 1, 0, 2, a="taken")), tiles=tiles)
    for hops, when in product((2, 4), ("sent", "passed", "received", "taken", "")):
        waits = {"a": when} if when else {}
        yield Sketch("slow-links", (send("a", 0, (1, 3), 2), send("b", 1, 2, 2, **waits)), hop_cycles=hops)
    for hops in (2, 4):
        yield Sketch("slow-links", (send("a", 0, 1, 2), send("b", 2, 3, 2)), hop_cycles=hops)


def named() -> dict[str, Sketch]:
    """The cases, each once, by their names: the family's and a number."""
    distinct = {repr((sketch.transfers, sketch.tiles, sketch.hop_cycles)): sketch for sketch in sketches()}
    numbers: Counter[str] = Counter()
    cases = {}
    for sketch in distinct.values():
        numbers[sketch.family] += 1
        cases[f"{sketch.family}-{numbers[sketch.family]:02}"] = sketch
    return cases


def row(name: str, sketch: Sketch) -> dict[str, str]:
    """A case's row, with the verdicts of today."""
    return row_of(sketch.family, sketch.scenario, tried(sketch.scenario, name, Reading.MEET).document)


def text(rows: Iterator[dict[str, str]]) -> str:
    """The table."""
    lines = io.StringIO()
    table = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return lines.getvalue()


def main(path: Path) -> None:
    path.write_text(text(row(*case) for case in named().items()), encoding="utf-8")


if __name__ == "__main__":
    main(table_path())
