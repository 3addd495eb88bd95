"""A program's instructions as rows of numbers, with a pool and bitmaps for what has no fixed length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from math import ceil

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.machines.holds import NO_HOLDS, Holds
from tilesim.tiled.flat.columns import ACCOUNTS_A_TILE, CHIP, COLUMNS, SENDINGS, STEPS
from tilesim.tiled.flat.host import owed, sent, step_rows
from tilesim.tiled.flat.rows import OWN, RowMaker
from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Instruction, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.tensor.decoder import Decoder

Numbers = NDArray[np.int64]
QUEUED_ROWS = 8
"""Rows that may wait at the controller beside those in data memory and on their way."""


class Tables(Struct, frozen=True):
    """What the core knows of a program and its chip: ``ops`` has a row an instruction, those of the load section first,
    ``chip`` the numbers of :data:`~tilesim.tiled.flat.columns.CHIP`.
    """

    ops: Numbers
    pool: Numbers
    bitmaps: NDArray[np.uint64]
    chip: Numbers
    sent: tuple[Numbers, Numbers]
    """What the host sends in either section, a row each, the numbers of
    :data:`~tilesim.tiled.flat.columns.SENDINGS`."""
    steps: Numbers
    """The steps of the host, a row each, those of :data:`~tilesim.tiled.flat.columns.STEPS`."""


def tables_of(program: Program, decoder: Decoder | None = None, holds: Holds = NO_HOLDS) -> Tables:
    """The tables of a sound program that is covered; ``decoder``: who else wants to know of its tensorops; ``holds``:
    before which cycles of a section instructions do not begin.
    """
    maker = RowMaker(program, decoder, holds)
    rows = maker.rows()
    rows[:, [COLUMNS.index(name) for name in OWN]] = maker.own()
    load, run = (_sent(program, section) for section in (program.load, program.run))
    of_chip = _chip(program, maker.bitmap_words, int(max(load[:, 2].sum(), run[:, 2].sum())))
    chip = np.array([of_chip[name] for name in CHIP], np.int64)
    return Tables(rows, maker.pool(), maker.bitmaps(), chip, (load, run), _steps(program))


def _sent(program: Program, section: Sequence[Instruction]) -> Numbers:
    topology, rate = program.topology, program.topology.host.to_chip_bytes_per_second
    rows = [
        (each.pause_cycles, owed(each.size_bytes, rate, topology), each.is_row, each.step)
        for each in sent(program, section)
    ]
    return np.array(rows, np.int64).reshape(-1, len(SENDINGS))


def _steps(program: Program) -> Numbers:
    cycles = [program.topology.step_cycles(step.bytes) for step in program.steps]
    return np.array([*zip(step_rows(program), cycles, repeat(0))], np.int64).reshape(-1, len(STEPS))


def _chip(program: Program, bitmap_words: int, host_rows: int) -> dict[str, int]:
    chip, row = program.topology, program.topology.wide_memory.row_bytes
    parameters = max((segment.address + segment.data.size for segment in program.data), default=0)
    spare_rows = 0 if chip.host.sends_parameters else (chip.data_memory.size_bytes - parameters) // row
    return {
        "tiles": chip.tiles,
        "columns": chip.grid.columns,
        "bitmap_words": bitmap_words,
        "layers": (len(program.layers) + 1) * max(1, len(program.requests)),
        "accounts": chip.tiles * ACCOUNTS_A_TILE + chip.ring_links + chip.instruction_bus_stops + 6,
        "buffer_depth": chip.instruction_bus.buffer_depth,
        "bus_hop_cycles": chip.instruction_bus.hop_cycles,
        "ring_hop_cycles": chip.ring.hop_cycles,
        "ring_parts": chip.ring_row_cycles,
        "mesh_hop_cycles": chip.mesh.hop_cycles,
        "mesh_room_beats": chip.mesh.credits * chip.mesh_beats,
        "mesh_to_wide": chip.mesh.destination == "wide",
        "output_fifo_groups": chip.tile.output_fifo_groups,
        "wide_ports": chip.wide_memory.ports,
        "fill_cycles": chip.tile.multiplier_cycles if chip.tile.traversal == "multiplier" else 0,
        "strict_compare": chip.tile.strict_compare,
        "to_chip_pays": chip.host.to_chip_bytes_per_second or 1,
        "from_chip_pays": chip.host.from_chip_bytes_per_second or 1,
        "announces": chip.host.announces_requests,
        "requests": max(1, len(program.requests)),
        "host_latency_cycles": chip.host.latency_cycles,
        "host_queue_rows": QUEUED_ROWS + chip.host.latency_cycles // chip.to_chip_cycles(row) + spare_rows,
        "host_rows": host_rows,
        "data_row_cycles": ceil(row / chip.data_memory.bytes_per_cycle),
        "transfers": _transfers(program.once(ByType)),
    }


def _transfers(ops: ByType) -> int:
    """Over the ring."""
    of_infeeds = sum(op.transfers for _, op in ops.of(Infeed))
    return of_infeeds + sum(op.tiles.bit_count() for _, op in ops.of(RingProduce)) + len(ops.of(Classify))
