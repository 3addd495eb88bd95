"""Random transfers inside a tile and between neighbours."""

from __future__ import annotations

from tests.tiled.corpus.sketch import Buffer, Sketch, folded, line
from tilesim.tiled.isa.model.fields import OPPOSITE, Loop, MemoryName, Nest, Reference, Side, Traversal, neighbour
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut, NarrowToWide, WideToNarrow

MOST_ROWS, MOST_WORDS = 5, 24


def bitmap(tiles: tuple[int, ...]) -> int:
    return sum(1 << tile for tile in tiles)


def rows_of(base: int, rows: int, stride: int) -> Traversal:
    """Rows in a loop ``r``, around it and in it a loop that runs once: ``b`` completes with each row."""
    return Traversal(Nest((Loop("o", 1), Loop("r", rows), Loop("b", 1))), Reference(base, (("r", stride),)))


def produced(sketch: Sketch) -> str | None:
    """The loop that raises the flag: with each row mostly, once, or never."""
    return sketch.random.choice(("b", "b", "b", "r", "o", None))


def unit_bytes(produce: str | None, each: int) -> int:
    return each if produce == "b" else 0


def narrow_to_wide(sketch: Sketch) -> None:
    rows, words = sketch.random.randint(1, MOST_ROWS), sketch.row // sketch.word
    size, produce = rows * sketch.row, produced(sketch)
    read, at = sketch.source("narrow", size)
    inside = line(at, "w", rows * words, sketch.word)
    read_nest = inside if sketch.maybe(0.5) else folded(at, ("r", rows), ("w", words), sketch.word)
    base = sketch.place("wide", size)
    op = NarrowToWide(
        tiles=bitmap(read.tiles),
        read=read_nest,
        write=rows_of(base, rows, sketch.row),
        wait=sketch.watch(read, "r", sketch.row),
        produce=produce,
    )
    sketch.post(op, Buffer("wide", base, size, read.tiles, unit_bytes=unit_bytes(produce, sketch.row)))


def wide_to_narrow(sketch: Sketch) -> None:
    rows, words = sketch.random.randint(1, MOST_ROWS), sketch.row // sketch.word
    size, produce = rows * sketch.row, produced(sketch)
    read, at = sketch.source("wide", size)
    base = sketch.place("narrow", size)
    op = WideToNarrow(
        tiles=bitmap(read.tiles),
        read=rows_of(at, rows, sketch.row),
        write=line(base, "w", rows * words, sketch.word),
        wait=sketch.watch(read, "r", sketch.row),
        produce=produce,
    )
    sketch.post(op, Buffer("narrow", base, size, read.tiles, unit_bytes=unit_bytes(produce, sketch.row)))


def mesh_fill(sketch: Sketch, tiles: tuple[int, ...] = ()) -> None:
    """Words that nobody sends, at any side, in ``tiles`` or in any."""
    tiles = tiles or sketch.some(range(sketch.tiles))
    side, fill = sketch.random.choice(list(Side)), sketch.random.randint(-128, 127)
    into = sketch.chip.mesh.destination
    each = sketch.word if into == "narrow" else sketch.row
    count = sketch.random.randint(1, MOST_WORDS if into == "narrow" else MOST_ROWS)
    base, produce = sketch.place(into, count * each), produced(sketch)
    op = MeshIn(tiles=bitmap(tiles), side=side, write=rows_of(base, count, each), fill=fill, produce=produce)
    sketch.post(op, Buffer(into, base, count * each, tiles, unit_bytes=unit_bytes(produce, each)))


def mesh(sketch: Sketch) -> None:
    """Words from some tiles to their neighbours at one side, or both ways at once."""
    grid = sketch.chip.grid
    sides = [side for side in Side if any(neighbour(grid, tile, side) is not None for tile in range(sketch.tiles))]
    if not sides:
        return
    side = sketch.random.choice(sides)
    for way in (side, OPPOSITE[side]) if sketch.maybe(0.6) else (side,):
        _one_way(sketch, way)


def _one_way(sketch: Sketch, side: Side) -> None:
    grid, into = sketch.chip.grid, sketch.chip.mesh.destination
    senders = [tile for tile in range(sketch.tiles) if neighbour(grid, tile, side) is not None]
    memory = sketch.random.choice(("narrow", into))
    rows = "wide" in (memory, into)
    count = sketch.random.randint(1, MOST_ROWS if rows else MOST_WORDS)
    size = count * (sketch.row if rows else sketch.word)
    read, at = sketch.source(memory, size, senders)
    out = MeshOut(
        tiles=bitmap(read.tiles),
        side=side,
        read=_places(sketch, memory, at, size),
        memory=MemoryName(memory),
        wait=sketch.watch(read, "r", _each(sketch, memory)),
        produce=produced(sketch),
    )
    base, produce = sketch.place(into, size), produced(sketch)
    takers = tuple(to for tile in read.tiles if (to := neighbour(grid, tile, side)) is not None)
    write = _places(sketch, into, base, size)
    wait = sketch.idle_watch(takers[0]) if len(takers) == 1 else ()
    into_op = MeshIn(tiles=bitmap(takers), side=OPPOSITE[side], write=write, wait=wait, produce=produce)
    written = Buffer(into, base, size, takers, unit_bytes=unit_bytes(produce, _each(sketch, into)))
    if sketch.maybe(0.5):
        sketch.post(out)
        sketch.post(into_op, written)
    else:
        sketch.post(into_op, written)
        sketch.post(out)


def _each(sketch: Sketch, memory: str) -> int:
    return sketch.row if memory == "wide" else sketch.word


def _places(sketch: Sketch, memory: str, base: int, size_bytes: int) -> Traversal:
    each = _each(sketch, memory)
    return rows_of(base, size_bytes // each, each)
