"""What bound each layer: everything that the array's cycles went into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.model.program import Layer, Program
from tilesim.rotating.units.chip import Chip
from tilesim.sim.bottleneck import NO_LAYER, Bottleneck
from tilesim.sim.core.logged import Span
from tilesim.sim.core.unit import BUSY, Reason

USEFUL, BLOCKS, WORDS, PADDING = "useful MACs", "unused blocks", "words without an output", "padding channels"
ROTATION, ELEMENTWISE, CAPTURE, NO_WORK = "rotation", "element-wise", "capture", "no work"
MACS = (USEFUL, BLOCKS, WORDS, PADDING)
STALLS: Mapping[str, str] = {
    Reason.INPUT.kind: "input stall",
    Reason.WEIGHTS.kind: "parameter stall",
    Reason.FIFO.kind: "output stall",
    Reason.RAW.kind: "RAW stall",
    Reason.PORT.kind: "port stall",
}
"""What stands behind what the array waits for: rows from the host, parameters that outs need, buffers of the output
unit, rows or counts of other units, a port. ``useful MACs`` to ``padding channels`` share the cycles in which units
multiply; in those of ``rotation`` words only move on; ``element-wise``: the ALUs do something else; ``capture``: an
out, or what sets control registers for it; ``no work``: the array has halted, or is held back.
"""


def bottlenecks_of(program: Program, chip: Chip) -> dict[int, Bottleneck]:
    """For each layer of the program, and for none (-1), its cycles of the array; all together are the run's."""
    layers = {k: Bottleneck() for k in (*range(len(program.layers)), NO_LAYER)}
    ops = {op.label: op for op in program.run}
    for span in chip.array.unit.spans:
        op = ops.get(span.instruction)
        layers[NO_LAYER if op is None else op.layer].add(span.start, span.end, _cause(span, op))
    for k, layer in enumerate(program.layers):
        cycles = layers[k].cycles
        cycles.update(shares(layer, cycles.pop(USEFUL, 0), program.topology.units.count))
    return layers


def _cause(span: Span, op: isa.Instruction | None) -> str:
    if span.kind != BUSY:
        return STALLS.get(span.kind, NO_WORK)
    if isinstance(op, isa.Step):
        multiplies = op.alu is isa.Alu.MULTIPLY_ADD
        return USEFUL if multiplies else ROTATION if op.alu is isa.Alu.NONE and op.data is None else ELEMENTWISE
    return CAPTURE


def shares(layer: Layer, cycles: int, units: int) -> Counter[str]:
    """What a layer's ``cycles`` of multiplying went into: cycles of so many units, rounded so that they add up."""
    useful = min(layer.macs, cycles * units)
    outputs = max(useful, cycles * min(layer.output_units, units))
    used = max(outputs, cycles * min(layer.used_units, units))
    shared = Counter({USEFUL: useful, PADDING: outputs - useful, WORDS: used - outputs, BLOCKS: cycles * units - used})
    return _rounded(shared, units)


def _rounded(shared: Counter[str], units: int) -> Counter[str]:
    """Each a whole number of cycles, those with the largest rests rounded up, so that the sum stays."""
    whole = Counter({cause: share // units for cause, share in shared.items()})
    missing = shared.total() // units - whole.total()
    for cause in sorted(shared, key=lambda cause: -(shared[cause] % units))[:missing]:
        whole[cause] += 1
    return whole
