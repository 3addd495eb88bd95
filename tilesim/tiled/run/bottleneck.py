"""What bound each layer: everything that the MAC arrays' cycles for it went into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tilesim.sim.core.unit import BUSY, Reason
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.model.sheet import SHEET
from tilesim.tiled.units.chip import Chip, Part

OTHER = "flags"
CAUSES: Mapping[str, str] = {
    BUSY: "macs",
    Reason.FIFO: "output write",
    Reason.HAZARD: "output write",
    Reason.PORT: "port",
    **dict.fromkeys(Flag, OTHER),
    **dict.fromkeys((Flag.RING_READ_B, Flag.RING_PRODUCER_A, Flag.RING_PRODUCER_B), "ring"),
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


def breakdowns(program: Program, chip: Chip) -> list[dict[str, int]]:
    """For each layer of the program, cycles by cause, the largest first, summed over the tiles that ran it.

    Each tile accounts for its MAC array's cycles from the end of its tensorop before (or the start of the run) to the
    end of each of the layer's. So all layers together have all cycles of the MAC arrays but those after a tile's last
    tensorop (``stall:work``). Where the host's inputs go into a layer, a wait for the ring is one for the host.
    """
    from_host = {op.layer for op in program.run if isinstance(op, Infeed) and op.source == "host"}
    totals: list[Counter[str]] = [Counter() for _ in program.layers]
    for part in chip.parts:
        for k, before in enumerate(_before(part, len(totals))):
            totals[k].update(_in_part(part, k, before, "host" if k in from_host else "ring"))
    return [_sorted(total) for total in totals]


def whole(layers: list[dict[str, int]], chip: Chip) -> dict[str, int]:
    """The breakdown of all layers together, and of all cycles of the MAC arrays that belong to none."""
    total: Counter[str] = Counter()
    for layer in layers:
        total.update(layer)
    total[NO_WORK] += sum(tile.tensor.mac_unit.cycles.get(Reason.WORK.kind, 0) for tile in chip.tiles)
    return _sorted(total)


def bound_by(breakdown: Mapping[str, int]) -> str | None:
    """The cause with the most cycles; None where no tile ran anything."""
    return next(iter(breakdown), None)


def layer_bound_by(breakdown: Mapping[str, int]) -> str | None:
    """What bound a layer: not that its tiles had nothing to do before."""
    return bound_by({cause: cycles for cause, cycles in breakdown.items() if cause != NO_WORK})


def _before(part: Part, layers: int) -> Iterator[tuple[int, int]]:
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


def _in_part(part: Part, layer: int, before: tuple[int, int], ring: str) -> Counter[str]:
    """Where a tile had no share in the last layer before, its wait for this one begins when all before are over."""
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
            total[NO_WORK] += without
            total[_cause(what, ring)] += len(wait) - without
    return total


def _cause(what: str, ring: str) -> str:
    cause = CAUSES.get(what, what)
    return ring if cause == "ring" else cause


def _sorted(cycles: Counter[str]) -> dict[str, int]:
    return {cause: n for cause, n in sorted(cycles.items(), key=lambda item: (-item[1], item[0])) if n}
