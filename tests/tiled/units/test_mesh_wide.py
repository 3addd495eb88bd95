"""A mesh between wide memories: rows that leave and arrive word by word, and what they cost at the wide ports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.tiled.programs import program
from tests.tiled.test_determinism import disorder
from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim.arithmetic.requantise import requantise
from tilesim.errors import HangError
from tilesim.tiled.isa.model.fields import Engine, Flag, MemoryName, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut, Operation, TensorOp
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import proof_of

ROW, WORD = 256, 4
WORDS = ROW // WORD
FROM, TO = 0x1000, 0x8000
MEMORIES = list(MemoryName)


def out(rows: int, memory: MemoryName = MemoryName.WIDE, **extra: Any) -> MeshOut:
    read = line(FROM, rows, ROW) if memory == MemoryName.WIDE else line(FROM, rows * WORDS, WORD)
    return MeshOut(tiles=1, side=Side.EAST, memory=memory, **{"read": read, "label": "out", **extra})


def into(rows: int, **extra: Any) -> MeshIn:
    return MeshIn(tiles=2, side=Side.WEST, **{"write": line(TO, rows, ROW), "label": "in", **extra})


def pair(**mesh: Any) -> Bench:
    """Two tiles with random bytes in the first."""
    bench = Bench(chip_of(1, 2, mesh={"destination": "wide", **mesh}), samples=2)
    bench.randomise()
    return bench


def check_rows(bench: Bench, rows: int, memory: MemoryName = MemoryName.WIDE) -> None:
    sent = bench.wide() if memory == MemoryName.WIDE else bench.narrow()
    assert np.array_equal(bench.wide(1)[:, TO : TO + rows * ROW], sent[:, FROM : FROM + rows * ROW])
    assert not bench.wide(1)[:, TO + rows * ROW :].any()
    assert not bench.wide(1)[:, :TO].any()


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("hop", "credit"), [(1, 4), (1, 1), (3, 2), (5, 9)])
def test_it_takes_as_long_as_between_narrow_memories(hop: int, credit: int, rows: int, memory: MemoryName) -> None:
    bench = pair(hop_cycles=hop, credits=credit)
    bench.deliver(out(rows, memory))
    bench.deliver(into(rows), tile=1)
    bench.clock.run()
    words = rows * WORDS
    last = (words - 1) // credit * max(credit, hop + 1) + (words - 1) % credit
    assert bench.retired == {"out": last + hop + 1, "in": last + hop + 1}
    assert last + hop + 1 == words + hop or credit <= hop
    check_rows(bench, rows, memory)
    [link] = [link.unit for link in bench.chip.mesh if link.unit.bytes]
    assert (link.bytes, link.cycles["busy"]) == (rows * ROW, words)


def weights(steps: int) -> TensorOp:
    """Reads a row of weights in each of its steps."""
    return TensorOp(
        tiles=3, operation=Operation.CONVOLUTION, nest=nest(x=1, k=steps, lane=64), reduce=("k",), input=at(0),
        weights=at(0), sums_out=at(0x40000), label="op",
    )  # fmt: skip


@pytest.mark.parametrize(("memory", "lost"), [(MemoryName.WIDE, 3), (MemoryName.NARROW, 0)])
def test_a_row_costs_the_tensorop_one_cycle_at_each_end(memory: MemoryName, lost: int) -> None:
    """Words of narrow memory keep it from its narrow port instead, a word a cycle."""
    bench = pair()
    for tile in (0, 1):
        bench.deliver(weights(400), tile=tile)
    bench.deliver(out(3, memory))
    bench.deliver(into(3), tile=1)
    bench.clock.run()
    taken = lost if memory == MemoryName.WIDE else 3 * WORDS
    assert bench.unit("tile0.tensor")["stall:port"] == taken
    assert bench.unit("tile1.tensor")["stall:port"] == 3
    assert bench.retired["in"] == 3 * WORDS + 1


def test_a_ring_commit_goes_first_and_holds_the_row_s_last_word_alone() -> None:
    """The other words of the row go through the register whatever the port does."""
    bench = pair()
    bench.deliver(out(1))
    bench.deliver(into(1), tile=1)
    tile = bench.chip.tiles[1].tensor.tile
    slot = tile.memories.slot(Engine.RING_CONSUMER, "write", MemoryName.WIDE)
    for cycle in (10, 20, WORDS, WORDS + 1):  # the last word could be written in cycle 64
        bench.clock.timeout(cycle).callbacks.append(lambda _: tile.arbiter.access(slot))
    bench.clock.run()
    assert bench.retired["in"] == WORDS + 1 + 2
    assert bench.unit("tile1.mesh_in_west")["stall:port"] == 2
    check_rows(bench, 1)


def test_watchers_and_flags_go_by_rows_at_both_ends() -> None:
    rows = Traversal(nest(r=3, each=1), at(FROM, r=ROW))
    bench = pair()
    bench.deliver(out(3, read=rows, produce="each", wait=(Watcher(Flag.AVDATA, 1, "r", 1),)))
    bench.deliver(into(3, write=Traversal(rows.nest, at(TO, r=ROW)), produce="each"), tile=1)
    for cycle in (10, 100, 400):
        rise = bench.clock.timeout(cycle)
        rise.callbacks.append(lambda _: bench.chip.tiles[0].flags.raise_by(Flag.AVDATA))
    bench.clock.run(until=300)
    counts = [bench.chip.tiles[tile].flags.count(flag) for tile, flag in enumerate(("mesh_east_out", "mesh_west_in"))]
    assert counts == [2, 2]
    bench.clock.run()
    assert bench.retired == {"out": 400 + WORDS + 1, "in": 400 + WORDS + 1}
    assert bench.unit("tile0.mesh_out_east")["busy"] == 3 * WORDS
    check_rows(bench, 3)


@pytest.mark.parametrize("rows", [1, 5])
def test_a_fill_gathers_rows_too(rows: int) -> None:
    bench = pair()
    bench.deliver(into(rows, fill=-3), tile=1)
    bench.deliver(weights(400), tile=1)
    bench.clock.run()
    assert bench.retired["in"] == rows * WORDS + 1
    assert (bench.wide(1)[:, TO : TO + rows * ROW] == 253).all()
    assert np.count_nonzero(bench.wide(1)) == 2 * rows * ROW
    assert bench.unit("tile1.tensor")["stall:port"] == rows


@given(st.lists(st.tuples(st.sampled_from(MEMORIES), st.integers(1, 4)), min_size=1, max_size=4), st.integers(1, 4))
def test_transfers_of_a_link_meet_in_order(transfers: list[tuple[MemoryName, int]], hop: int) -> None:
    """From either memory."""
    bench = pair(hop_cycles=hop)
    bench.narrow()[:, FROM : FROM + 0x4000] = bench.wide()[:, FROM : FROM + 0x4000]
    first = 0
    for k, (memory, rows) in enumerate(transfers):
        size = (rows, ROW) if memory == MemoryName.WIDE else (rows * WORDS, WORD)
        bench.deliver(out(rows, memory, read=line(FROM + first * ROW, *size)))
        bench.deliver(into(rows, write=line(TO + first * ROW, rows, ROW)), tile=1, after=50 * k)
        first += rows
    bench.clock.run()
    check_rows(bench, first)


LANES, STEPS, PIXELS = 64, 5, 6
HOP = """
l1: ring_consume tiles=1 write=[r:{rows} @0x1000+r*256] produce=r
l2: infeed source=data rows={rows} to=1
h1: mesh_out tiles=1 side=east read=[r:{rows} @0x1000+r*256] memory=wide wait=ring_read_a>=1
h2: mesh_in tiles=2 side=west write=[r:{rows} @0x8000+r*256] produce=r
"""
CONVOLVE = """
x1: ring_consume tiles=2 write=[r:1 @0x0] produce=r
x2: infeed source=data rows=1 address=0x10000 to=2
x3: wide_to_narrow tiles=2 read=[r:1 @0x0] write=[w:64 @0x0+w*4] wait=ring_read_a>=1 produce=r
op: tensorop tiles=2 operation=convolution nest=[x:6,k:5,lane:64] reduce=k input=@0x0+x*20+k*4 \
 weights=@0x8000+k*256 parameters=@0x8500 output=@0x400+x*64 rule=double wait=mesh_west_in>=1,wide_to_narrow>=1
"""


def hop() -> Program:
    text = (HOP.format(rows=STEPS + 3) + CONVOLVE).replace("\\\n", "")
    return program(text, "edge-1x1", grid__columns=2, mesh__destination="wide")


def test_parameters_of_a_convolution_hop_to_the_next_tile() -> None:
    """From data memory over the ring to tile 0, over the mesh to tile 1, row by row, and there they are used."""
    rows, made = STEPS + 3, hop()
    assert proof_of(made).proven
    assert tilesim.simulate(made, []).statistics["bytes"]["mesh"] == {"entered": rows * ROW, "carried": rows * ROW}
    generator = np.random.default_rng(4)
    parameters = np.zeros((rows, ROW), np.uint8)
    parameters[:STEPS] = generator.integers(0, 256, (STEPS, ROW), np.uint8)
    parameters[STEPS:].view(np.int32)[:] = [[300], [1 << 30], [-9]]
    x = generator.integers(-128, 128, ROW).astype(np.int8)
    bench = Bench(made.topology)
    bench.chip.data_memory.bytes[0, : rows * ROW] = parameters.reshape(-1)
    bench.chip.data_memory.bytes[0, 0x10000 : 0x10000 + ROW] = x.view(np.uint8)
    bench.run(*made.run)
    by_step = np.stack([x[20 * pixel : 20 * pixel + 4 * STEPS].reshape(STEPS, 4) for pixel in range(PIXELS)])
    weight = parameters[:STEPS].view(np.int8).reshape(STEPS, LANES, 4).astype(np.int64)
    sums = np.einsum("pki,kli->pl", by_step.astype(np.int64), weight).astype(np.int32) + 300
    expected = requantise("double", sums, np.full(LANES, 1 << 30, np.int32), np.full(LANES, -9, np.int32))
    found = bench.narrow(1)[0, 0x400 : 0x400 + PIXELS * LANES].view(np.int8).reshape(PIXELS, LANES)
    assert np.array_equal(found, np.clip(expected, -128, 127))
    assert len(np.unique(found)) > 10


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_in_which_simpy_takes_events_does_not_matter(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    plain = tilesim.simulate(hop(), [], trace=True).statistics["trace_sha256"]
    disorder(monkeypatch, seed)
    assert tilesim.simulate(hop(), [], trace=True).statistics["trace_sha256"] == plain


@pytest.mark.parametrize(("count", "sound"), [(1, True), (2, False)])
def test_the_static_check_counts_words_at_both_ends(count: int, sound: bool) -> None:
    """The second row is taken once tile 0 has sent something else, which it does when it has sent so many rows."""
    run = f"""
    mesh_out tiles=1 side=east read=[r:2,w:64 @0x0+r*256+w*4] produce=w
    ring_consume tiles=2 write=[r:1 @0x0] produce=r
    mesh_in tiles=2 side=west write=[r:2 @0x8000+r*256] wait=ring_read_a@r>=0+1
    ring_produce tiles=1 read=[r:1 @0x0] to=2 wait=mesh_east_out>={count}
    """
    made = program(run, "edge-1x1", grid__columns=2, mesh__destination="wide")
    assert proof_of(made).proven is sound
    if sound:
        assert tilesim.simulate(made, []).cycles > 2 * WORDS
    else:
        with pytest.raises(HangError):
            tilesim.simulate(made, [])
