"""What bound each layer: everything that the MAC arrays' cycles for it went into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tilesim.sim.bottleneck import NO_LAYER, Bottleneck
from tilesim.sim.core.unit import BUSY, Reason
from tilesim.tiled.isa.model.fields import ORDINALS, Flag
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.model.sheet import SHEET
from tilesim.tiled.run.measured import Measured
from tilesim.tiled.units.shares import RunPart

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
        for k, before in enumerate(_before(part, len(layers))):
            layers[k].cycles.update(_in_part(part, k, before, "host" if k in from_host else "ring", began))
    left = sum(unit.cycles.get(Reason.WORK.kind, 0) for unit in measured.mac_arrays)
    return {**layers, NO_LAYER: Bottleneck(Counter({NO_WORK: left}))}


def _before(part: RunPart, layers: int) -> Iterator[tuple[int, int]]:
    """For each layer, the last one before it that any tile had a share in (-1: none), and when all before were over."""
    ends: dict[int, int] = {}
    for shares in part.shares:
        for k, share in shares.items():
            ends[k] = max(ends.get(k, 0), share.end)
    last, over = -1, ends.get(-1, 0)
    for k in range(layers):
        yield last, over
        if k in ends:
            last, over = k, max(over, ends[k])


def _in_part(part: RunPart, layer: int, before: tuple[int, int], ring: str, began: int) -> Counter[str]:
    """Where a tile had no share in the last layer before, its wait for this one begins when all before are over. The
    controller ``began`` with the part's instructions in that cycle.
    """
    total: Counter[str] = Counter()
    last, over = before
    for shares in part.shares:
        share = shares.get(layer)
        if share is None:
            continue
        for what, cycles in share.spent.items():
            total[_cause(what, ring)] += cycles
        elsewhere = 0 if last in shares else over
        for what, wait in share.waits:
            without = min(len(wait), max(0, elsewhere - wait.start))
            unsent = _unsent(what, range(wait.start + without, wait.stop), began)
            total[NO_WORK] += without
            total["host"] += unsent
            total[_cause(what, ring)] += len(wait) - without - unsent
    return total


def _unsent(what: str, wait: range, began: int) -> int:
    """Cycles of a wait in which the instruction that it is for had not come from the host."""
    return len(range(wait.start, min(wait.stop, began))) if what == Reason.INSTRUCTION else 0


def _cause(what: str, ring: str) -> str:
    cause = CAUSES.get(what, what)
    return ring if cause == "ring" else cause
