"""Random programs by number: each small, legal, and the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from tests.tiled.corpus.chips import random_chip
from tests.tiled.corpus.moves import mesh, mesh_fill, narrow_to_wide, wide_to_narrow
from tests.tiled.corpus.rings import Ring
from tests.tiled.corpus.sketch import CONSTANT_ROWS, Sketch
from tests.tiled.corpus.tensors import many_groups, parameters, tensorop
from tilesim.tiled.isa.model.fields import Engine, Loop, Nest, Reference, Traversal
from tilesim.tiled.isa.model.instructions import Instruction, WideToNarrow
from tilesim.tiled.isa.model.program import DataSegment, Program
from tilesim.tiled.isa.model.sheet import CONSUMERS
from tilesim.tiled.topology import Topology

LENGTHS = (2, 4, 6, 10)
"""Steps of a program, of one or a few instructions each."""
INSIDE = {"tensorop": 6, "narrow_to_wide": 3, "wide_to_narrow": 3}
THEMES: dict[str, dict[str, int]] = {
    "everything": {"transfer": 4, "singles": 1, "beyond": 1, "mesh": 3, "mesh_fill": 1, "fence": 1, "jam": 1, **INSIDE},
    "ring": {"transfer": 7, "singles": 7, "feed": 1, "jam": 1, "tensorop": 3, "wide_to_narrow": 1, "fence": 1},
    "host": {"feed": 2, "jam": 1, "beyond": 5, "transfer": 1, "tensorop": 2},
    "mesh": {"mesh": 10, "mesh_fill": 2, "transfer": 1, "fence": 1, **INSIDE},
    "inside": {"transfer": 1, "mesh_fill": 1, **INSIDE},
}
"""How often each kind of step comes, by what programs are about."""
UNRULY, LOADED, CRIPPLED = 0.15, 0.15, 0.03
"""Shares of programs: those that let masters meet, that load constants first, and that lack an instruction."""
CROWDED = 0.15
"""Share of steps, on chips with two channels, before which both bring rows to one tile."""
LOADED_BYTES = 256
"""Constants that come to narrow memory."""


def random_program(number: int, serial: bool = False, queues: int = 1) -> Program:
    """The program of that number; it may be one that :func:`tilesim.simulate` refuses, for want of some order.

    In a ``serial`` one, each step begins when all before it are through. ``queues``: how many ring consumers the tiles
    of its chip have, whose channels it uses.
    """
    random = Random(number)  # noqa: S311
    chip, unruly = random_chip(random, queues), random.random() < UNRULY and not serial
    sketch = Sketch(random, chip, unruly, Random(f"types {number}"))  # noqa: S311
    ring = Ring(sketch)
    loaded = sketch.maybe(LOADED)
    if loaded:
        _load(sketch, ring)
    load = sketch.new_section()
    ring.section, ring.loose = 1, []
    theme = random.choice(sorted(THEMES))
    for _ in range(random.choice(LENGTHS)):
        _step(sketch, ring, theme)
        if serial:
            ring.barrier()
            sketch.fence(range(sketch.tiles), tuple(Engine), 1)
            sketch.scalar_fence(sketch.fenced)
    sketch.scalar_fence(sketch.fenced)
    run = sketch.new_section()
    return _program(number, sketch, load, _crippled(random, run) if random.random() < CRIPPLED else run)


def program_of_many_groups(number: int) -> Program:
    """Another one of that number: of long tensorops, beside which little happens, now and then."""
    random = Random(f"groups {number}")  # noqa: S311
    sketch = Sketch(random, _with_room_for_results(random_chip(random), random))
    ring, fill = Ring(sketch), partial(mesh_fill, sketch)
    load = sketch.new_section()
    ring.section, ring.loose = 1, []
    for _ in range(random.randint(1, 3)):
        random.choice((fill, fill, partial(wide_to_narrow, sketch), ring.transfer, ring.transfer))()
        many_groups(sketch)
        random.choice((fill, ring.transfer, ring.singles))()
    sketch.scalar_fence(sketch.fenced)
    return _program(number, sketch, load, sketch.new_section())


def _with_room_for_results(chip: Topology, random: Random) -> Topology:
    """For some more than other random chips have; and the compiled engine covers it."""
    tree = chip.model_dump()
    tree["ring"] |= {"queue": "split", "no_consumer": "stall"}
    tree["tile"]["output_fifo_groups"] = random.choice((2, 3, 8))
    return Topology.model_validate(tree)


def _program(number: int, sketch: Sketch, load: Sequence[Instruction], run: Sequence[Instruction]) -> Program:
    return Program(
        f"random {number}",
        sketch.chip,
        tuple(load),
        tuple(run),
        data=(_data(number, sketch),),
        inputs=(sketch.host_tensor("in", sketch.host_rows),) if sketch.host_rows else (),
        outputs=tuple(sketch.host_tensor(f"out{k}", rows) for k, rows in enumerate(sketch.outputs)),
    )


def inputs_of(program: Program) -> list[NDArray[np.int8]]:
    """The same for the same program."""
    random = np.random.default_rng(len(program.run))
    return [random.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in program.inputs]


def _step(sketch: Sketch, ring: Ring, theme: str) -> None:
    makers: dict[str, Callable[[], None]] = {
        "transfer": ring.transfer,
        "singles": ring.singles,
        "feed": ring.feed,
        "beyond": ring.beyond,
        "tensorop": partial(tensorop, sketch),
        "mesh": partial(mesh, sketch),
        "mesh_fill": partial(mesh_fill, sketch),
        "narrow_to_wide": partial(narrow_to_wide, sketch),
        "wide_to_narrow": partial(wide_to_narrow, sketch),
        "fence": partial(_fence, sketch),
        "jam": partial(_jam, sketch, ring),
    }
    if sketch.chip.ring.consumer_queues > 1 and sketch.maybe(CROWDED):
        ring.crowd()
    names, weights = zip(*THEMES[theme].items(), strict=True)
    makers[sketch.random.choices(names, weights)[0]]()


def _load(sketch: Sketch, ring: Ring) -> None:
    ring.load()
    loaded = sketch.first_row + (CONSTANT_ROWS - LOADED_BYTES // sketch.row) * sketch.row
    words = Nest((Loop("w", LOADED_BYTES // sketch.word),))
    rows = Nest((Loop("r", LOADED_BYTES // sketch.row),))
    every = (1 << sketch.tiles) - 1
    sketch.fence(range(sketch.tiles), (Engine.RING_CONSUMER,), 1)
    sketch.post(
        WideToNarrow(
            tiles=every,
            read=Traversal(rows, Reference(loaded, (("r", sketch.row),))),
            write=Traversal(words, Reference(0, (("w", sketch.word),))),
        )
    )
    sketch.scalar_fence(sketch.fenced)


def _fence(sketch: Sketch) -> None:
    """Of some engines of some tiles; sometimes the controller waits for it, sometimes flags begin anew."""
    tiles, everything = sketch.some(range(sketch.tiles)), _engines(sketch)
    idle = everything if sketch.maybe(0.4) else sketch.some(everything)
    sketch.fence(tiles, idle, sketch.random.randint(0, 2), reset=idle == everything and sketch.maybe(0.7))
    if sketch.maybe(0.5):
        sketch.scalar_fence(sketch.random.randint(0, sketch.fenced))


def _engines(sketch: Sketch) -> tuple[Engine, ...]:
    two = sketch.chip.ring.consumer_queues > 1
    return tuple(engine for engine in Engine if two or engine is not Engine.RING_CONSUMER_B)


def _jam(sketch: Sketch, ring: Ring) -> None:
    """Instructions for the last tile, behind a fence there that waits for rows: the instruction bus fills up."""
    last = sketch.tiles - 1
    ring.feed(last)
    sketch.fence((last,), (CONSUMERS[ring.channel],), 0)
    for _ in range(sketch.random.randint(3, 8)):
        mesh_fill(sketch, (last,))


def _crippled(random: Random, ops: list[Instruction]) -> list[Instruction]:
    """One of them is missing, so that others may wait in vain."""
    kept = [op for op in ops if op.mnemonic not in ("outfeed", "infeed", "broadcast")]
    missing = random.choice(kept)
    return [op for op in ops if op is not missing and op.mnemonic != "broadcast"]


def _data(number: int, sketch: Sketch) -> DataSegment:
    """Constants: parameters first."""
    random = np.random.default_rng(number)
    data = random.integers(0, 256, sketch.chip.data_memory.size_bytes, np.uint8)
    values = parameters(random, sketch.chip.tile.lanes)
    data[: values.size] = values
    return DataSegment("constants", data, 0)
