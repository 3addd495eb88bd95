"""A ring narrower than a row: k cycles a link, the header ahead of the rest, the row there with its last part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.sim.core.clock import Work
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.fields import Flag, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import RingConsume, RingProduce
from tilesim.tiled.units.ring.ring import Packet

ROW = 256
WIDTHS = [256, 128, 8, 1]
FROM, TO = 0x400, 0x8000


def bench_of(tiles: int, width_bytes: int, **ring: Any) -> Bench:
    """Random bytes in the first tile, where a producer reads."""
    bench = Bench(chip_of(1, tiles, ring={"width_bytes": width_bytes, **ring}))
    bench.wide()[:, :TO] = bench.random.integers(0, 256, (1, TO), np.uint8)
    return bench


def parts(width_bytes: int) -> int:
    return -(-ROW // width_bytes)


def consume(rows: int, **extra: Any) -> RingConsume:
    write = Traversal(nest(r=rows, each=1), at(TO, r=ROW))
    return RingConsume(tiles=1, write=write, produce="each", **{"label": "consume", **extra})


def produce(rows: int, to: int, **extra: Any) -> RingProduce:
    read = Traversal(nest(r=rows, each=1), at(FROM, r=ROW))
    return RingProduce(tiles=1, read=read, to=to, label="produce", produce="each", **extra)


def put(bench: Bench, rows: int, header: int, start: int = 0) -> list[Bytes]:
    """Rows that the source sends as fast as its link takes them, from ``start`` on."""
    data = [bench.random.integers(1, 256, (1, ROW), np.uint8) for _ in range(rows)]

    def send() -> Work:
        yield bench.clock.timeout(start)
        stop = bench.chip.stops[0]
        for k, row in enumerate(data):
            yield stop.send(Packet(header, row, k == rows - 1, "test"))
            yield bench.clock.timeout(stop.row_cycles)

    bench.clock.process(send())
    return data


def spans(bench: Bench, track: str) -> list[tuple[int, int, str]]:
    """Of a unit: (start, cycles, kind), those that follow one another and say the same as one."""
    found: list[tuple[int, int, str]] = []
    for start, cycles, kind, _ in bench.spans(track):
        follows = bool(found) and found[-1][2] == kind and sum(found[-1][:2]) == start
        first, before, _ = found.pop() if follows else (start, 0, kind)
        found.append((first, before + cycles, kind))
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("hop", "tile"), [(1, 0), (1, 2), (3, 1)])
def test_a_row_is_committed_with_its_last_part(width: int, hop: int, tile: int) -> None:
    """It leaves from t on: t + h * hop_cycles + k - 1, not a cycle before; a flag tells in the next one."""
    bench = bench_of(3, width, hop_cycles=hop)
    bench.deliver(consume(1), tile)
    [row] = put(bench, 1, 1 << tile, start=5)
    commit = 5 + (tile + 1) * hop + parts(width) - 1
    bench.clock.run(until=commit)
    assert not bench.wide(tile)[:, TO : TO + ROW].any()
    bench.clock.run(until=commit + 1)
    assert np.array_equal(bench.wide(tile)[:, TO : TO + ROW], row)
    assert bench.chip.tiles[tile].flags.count(Flag.RING_READ_A) == 0
    bench.clock.run()
    assert bench.retired == {"consume": commit + 1}
    assert bench.chip.tiles[tile].flags.count(Flag.RING_READ_A) == 1
    assert bench.unit(f"tile{tile}.ring_consumer") == {"stall:fifo": commit - parts(width) + 1, "busy": parts(width)}


@pytest.mark.parametrize("width", WIDTHS)
def test_the_peak_rate_is_a_row_in_as_many_cycles_as_it_has_parts(width: int) -> None:
    rows, k = 9, parts(width)
    bench = bench_of(2, width)
    bench.deliver(consume(rows), 1)
    data = put(bench, rows, 0b10)
    bench.clock.run()
    assert bench.retired == {"consume": 2 + rows * k}
    assert np.array_equal(bench.wide(1)[:, TO : TO + rows * ROW], np.concatenate(data, axis=1))
    for link in ("ring.link0", "ring.link1"):
        assert bench.unit(link)["busy"] == rows * k
        assert spans(bench, link) == [(int(link[-1]), rows * k, "busy")]
    assert [stop.link.bytes for stop in bench.chip.stops] == [rows * ROW, rows * ROW, 0, 0, 0]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_producer_reads_a_row_when_the_one_before_has_left(width: int) -> None:
    """R rows take (1 + k) * R cycles; its flag rises with the last part of each."""
    rows, k = 4, parts(width)
    bench = bench_of(2, width)
    bench.deliver(consume(rows), 1)
    bench.deliver(produce(rows, 0b10))
    bench.clock.run(until=1 + k)
    assert bench.chip.tiles[0].flags.count(Flag.RING_WRITE) == 0
    bench.clock.run()
    assert bench.retired == {"produce": (1 + k) * rows, "consume": (1 + k) * rows + 1}
    assert bench.chip.tiles[0].flags.count(Flag.RING_WRITE) == rows
    assert np.array_equal(bench.wide(1)[:, TO : TO + rows * ROW], bench.wide()[:, FROM : FROM + rows * ROW])


def test_a_header_goes_on_while_the_rest_still_comes() -> None:
    """Of one row for both, the second consumer has the last part a hop after the first."""
    bench = bench_of(3, 8)
    for tile in (0, 2):
        bench.deliver(consume(1, label=f"at {tile}"), tile)
    put(bench, 1, 0b101)
    bench.clock.run()
    assert bench.retired == {"at 0": 1 + 32, "at 2": 3 + 32}


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_is_taken_and_forwarded_together_or_not_at_all(width: int) -> None:
    """The second consumer is there, the first only from 600 on, when all of the row is: neither gets anything first."""
    bench, k = bench_of(3, width), parts(width)
    bench.deliver(consume(1, label="first"), 0, after=600)
    bench.deliver(consume(1, label="second"), 1)
    put(bench, 1, 0b011)
    bench.clock.run()
    assert bench.retired == {"first": 600 + k, "second": 600 + 1 + k}
    assert "stall:credit" not in bench.unit("ring.link1")


@pytest.mark.parametrize("width", WIDTHS)
def test_credits_are_for_whole_rows(width: int) -> None:
    """hop + 1 = 2 places a stop; the third row comes in when all of the first has left the register."""
    bench, k = bench_of(2, width), parts(width)
    bench.deliver(consume(4), 0, after=1000)
    put(bench, 4, 0b01)
    bench.clock.run()
    held = [(0, 2 * k, "busy"), (2 * k, 1000 - k, "stall:credit"), (1000 + k, 2 * k, "busy")]
    assert spans(bench, "ring.link0") == held
    assert bench.retired == {"consume": 1000 + 4 * k}


def test_what_is_put_in_waits_until_the_link_has_carried_what_is_on_its_way() -> None:
    """And the other way round: a packet in the middle of the link is not interrupted."""
    bench, k = bench_of(3, 8), 32
    bench.deliver(consume(2, label="both"), 2)
    put(bench, 1, 0b100)
    bench.deliver(produce(1, 0b100), 1, after=10)  # read in 10, while the other row is on the link from 2 on
    bench.clock.run()
    assert spans(bench, "ring.link2") == [(2, 2 * k, "busy")]
    assert bench.unit("tile1.ring_producer")["stall:credit"] == 2 + k - 11
    bench = bench_of(3, 8)
    bench.deliver(consume(2, label="both"), 2)
    bench.deliver(produce(1, 0b100), 1)
    put(bench, 1, 0b100)  # its header is at the stop in 2, the tile's own row on the link from 1 on
    bench.clock.run()
    assert spans(bench, "ring.link2") == [(1, 2 * k, "busy")]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_tail_counts_when_its_last_part_has_passed(width: int) -> None:
    bench, k = bench_of(2, width), parts(width)
    bench.deliver(consume(2), 1)
    bench.deliver(produce(1, 0b01, wait=(Watcher(Flag.RING_PRODUCER_A, 1),)), 1)
    put(bench, 2, 0b10)
    bench.clock.run(until=2 + 2 * k - 1)
    assert bench.chip.tiles[1].flags.count(Flag.RING_PRODUCER_A) == 0
    bench.clock.run(until=2 + 2 * k + 1)
    assert bench.chip.tiles[1].flags.count(Flag.RING_PRODUCER_A) == 1
    assert bench.unit("tile1.ring_producer") == {"stall:flag": 2 + 2 * k}
