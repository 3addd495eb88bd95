"""What bound each layer: everything that the MAC arrays' cycles for it went into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from tilesim.sim.bottleneck import NO_LAYER, Bottleneck
from tilesim.sim.core.unit import BUSY, Reason
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import ORDINALS, Flag
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.model.sheet import SHEET
from tilesim.tiled.run.measured import Measured
from tilesim.tiled.run.shares import Shares

OTHER = "flags"
CAUSES: Mapping[str, str] = {
    BUSY: "macs",
    Reason.FIFO: "output write",
    Reason.HAZARD: "output write",
    Reason.PORT: "port",
    **dict.fromkeys(Flag, OTHER),
    **dict.fromkeys(ORDINALS.values(), "ring"),
    **{flag: row.bus for row in SHEET.values() for flag in row.raises.values() if row.bus},
    Reason.INSTRUCTION: "instruction bus",
    Reason.TRAVERSAL: "instruction bus",
}
"""What stands behind what a tensor control does or waits for. ``macs``: they are busy; ``output write``: the output
FIFO is full, or empties after the last step, or holds a result that is to be read again; ``port``: a memory port is
denied, or reads parameters or sums; ``flags``: work of this tile; the others: data, or an instruction or its first
address, come too late. Any other reason stands for itself.
"""
NO_WORK = "no work"
"""Behind cycles in which a tile has nothing to do: layers run on other tiles only, or nothing is left to do."""


def bottlenecks_of(program: Program, measured: Measured) -> dict[int, Bottleneck]:
    """For each layer of the program, summed over the tiles that ran it, and for none (-1); all together have all cycles
    of the MAC arrays.

    Each tile accounts for its MAC array's cycles from the end of its tensorop before (or the start of the run) to the
    end of each of the layer's; those after its last tensorop (``stall:work``) belong to none. Where the host's inputs
    go into a layer, a wait for the ring is one for the host; so is one for an instruction as long as the controller
    itself waits for the host to send them.
    """
    from_host = {op.layer for op in program.run if isinstance(op, Infeed) and op.source == "host"}
    layers = {k: Bottleneck() for k in range(len(program.layers))}
    for number, part in enumerate(measured.parts):
        began = measured.began[number] if number < len(measured.began) else 0
        for cause, spent in zip((*part.causes, NO_WORK, "host"), _cycles(part, began).T.tolist(), strict=True):
            for k, layer in layers.items():
                if spent[k]:
                    layer.cycles[_cause(cause, "host" if k in from_host else "ring")] += spent[k]
    cycles = measured.accounts.cycles
    left = sum(cycles[f"chip.tile{tile}.mac_array"].get(Reason.WORK.kind, 0) for tile in range(program.topology.tiles))
    return {**layers, NO_LAYER: Bottleneck(Counter({NO_WORK: left}))}


def _cycles(part: Shares, began: int) -> Numbers:
    """For each layer the cycles for each cause, and behind them those without work, and those that wait for the host.

    Where a tile had no share in the last layer before, its wait for this one begins when all before are over. The
    controller ``began`` with the part's instructions in that cycle: what a tile waits for before had not come from the
    host.
    """
    last, over = _before(part)
    there = np.zeros((part.worked[:, 0].max(initial=0) + 1, len(part.spent)), bool)
    there[part.worked[:, 0], part.worked[:, 1]] = True
    tile, layer, cause, start, end = part.waits.T
    elsewhere = np.where(there[tile, last[layer]], 0, over[layer])
    without = np.minimum(end - start, np.maximum(0, elsewhere - start))
    of_instruction = np.array([what == Reason.INSTRUCTION for what in part.causes], bool)[cause]
    unsent = np.where(of_instruction, np.maximum(0, np.minimum(end, began) - start - without), 0)
    cycles = np.pad(part.spent, ((0, 0), (0, 2)))
    np.add.at(cycles, (layer, cause), end - start - without - unsent)
    np.add.at(cycles, (layer, -2), without)
    np.add.at(cycles, (layer, -1), unsent)
    return cycles


def _before(part: Shares) -> tuple[Numbers, Numbers]:
    """For each layer, the last one before it that any tile had a share in (-1: none), and when all before were over."""
    last, over = np.full_like(part.ended, -1), np.full_like(part.ended, part.ended[-1])
    for k in range(1, len(over) - 1):
        last[k] = k - 1 if part.tiles[k - 1] else last[k - 1]
        over[k] = max(over[k - 1], part.ended[k - 1])
    return last, over


def _cause(what: str, ring: str) -> str:
    cause = CAUSES.get(what, what)
    return ring if cause == "ring" else cause
