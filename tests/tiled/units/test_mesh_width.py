"""A mesh that is narrower than a word: m beats a word, one a cycle, gathered where they are written."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiled.units.bench import Bench, chip_of
from tests.tiled.units.test_mesh import FROM, TO, WORD, check_words, into, out, row_of
from tests.tiled.units.test_mesh_wide import ROW, check_rows, pair
from tests.tiled.units.test_mesh_wide import into as into_rows
from tests.tiled.units.test_mesh_wide import out as out_rows
from tilesim.tiled.isa.model.fields import Flag, MemoryName, Side
from tilesim.tiled.isa.model.instructions import MeshIn

WIDTHS = [4, 2, 1]


def last_read(words: int, credit: int, hop: int, m: int) -> int:
    """In which cycle the sender reads the last beat."""
    beat = words * m - 1
    return beat // (credit * m) * max(credit * m, hop + 1) + beat % (credit * m)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("hop", [1, 3])
def test_a_word_is_written_with_its_last_beat(hop: int, width: int) -> None:
    """It is read in t: hop + m - 1 cycles later, not one earlier; flags rise in the next."""
    m = WORD // width
    bench = row_of(2, hop_cycles=hop, width_bytes=width)
    bench.deliver(out(1, produce="r"))
    bench.deliver(into(1, produce="r"), tile=1)
    write = hop + m - 1
    bench.clock.run(until=write)
    assert not bench.narrow(1).any()
    assert bench.chip.tiles[1].flags.count(Flag.MESH_WEST_IN) == 0
    bench.clock.run()
    check_words(bench, 1)
    assert bench.retired == {"out": write + 1, "in": write + 1}
    assert (
        bench.chip.tiles[0].flags.count(Flag.MESH_EAST_OUT) == bench.chip.tiles[1].flags.count(Flag.MESH_WEST_IN) == 1
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", [1, 7, 40])
@pytest.mark.parametrize(("hop", "credit"), [(1, 1), (1, 4), (5, 1), (5, 2), (2, 9)])
def test_both_ends_retire_in_the_cycle_of_the_formula(hop: int, credit: int, words: int, width: int) -> None:
    m = WORD // width
    bench = row_of(2, hop_cycles=hop, credits=credit, width_bytes=width)
    bench.deliver(out(words))
    bench.deliver(into(words), tile=1)
    bench.clock.run()
    end = last_read(words, credit, hop, m) + hop + 1
    assert bench.retired == {"out": end, "in": end}
    assert end == words * m + hop or credit * m <= hop
    check_words(bench, words)
    [link] = [link.unit for link in bench.chip.mesh if link.unit.bytes]
    assert (link.bytes, link.cycles["busy"]) == (words * WORD, words * m)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("memory", list(MemoryName))
def test_it_takes_as_long_to_wide_memory(memory: MemoryName, width: int) -> None:
    bench = pair(width_bytes=width)
    bench.deliver(out_rows(3, memory))
    bench.deliver(into_rows(3), tile=1)
    bench.clock.run()
    end = 3 * ROW // width + 1
    assert bench.retired == {"out": end, "in": end}
    check_rows(bench, 3, memory)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_fill_crosses_no_link(width: int) -> None:
    bench = Bench(chip_of(1, 2, mesh={"width_bytes": width}))
    bench.deliver(MeshIn(tiles=1, side=Side.WEST, write=into(9).write, fill=5, label="fill"))
    bench.clock.run()
    assert bench.retired == {"fill": 10}
    assert (bench.narrow()[:, TO : TO + 9 * WORD] == 5).all()


def test_a_memory_is_asked_once_for_a_word_of_several_beats() -> None:
    """Two senders of a tile at one read port, each a word in four cycles: neither is in the other's way but once."""
    bench = row_of(3, width_bytes=1)
    for side, tile in ((Side.EAST, 2), (Side.WEST, 0)):
        bench.deliver(out(10, side, label=f"to {side}"), tile=1)
        bench.deliver(into(10, Side.WEST if side is Side.EAST else Side.EAST, label=f"at {tile}"), tile=tile)
    bench.clock.run()
    assert bench.retired == {"to east": 41, "at 2": 41, "to west": 42, "at 0": 42}
    assert bench.unit("tile1.mesh_out_west")["stall:port"] == 1
    assert np.array_equal(bench.narrow(1)[:, FROM : FROM + 40], bench.narrow(2)[:, TO : TO + 40])
