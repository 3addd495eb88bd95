"""Random tensorops: every operation, with partial sums, parameters, watchers by rounds, and groups that read what those
before them write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.tiled.corpus.moves import bitmap
from tests.tiled.corpus.sketch import CONSTANT_ROWS, Buffer, Sketch
from tilesim.arithmetic.requantise import float_bits, quantise_multiplier
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference
from tilesim.tiled.isa.model.instructions import Operation, TensorOp

REGISTERS, PARAMETER_SETS = 3, 2
MOST_STEPS = 60
HALF, ONE = (int(float_bits(value)[0]) for value in (0.5, 1.0))
MANTISSA, SHIFT = quantise_multiplier(0.03)
FIXED_ADD = (3, MANTISSA, 0, -4, MANTISSA, 1, 5, MANTISSA, -10)
SCALINGS: dict[Operation, dict[str, tuple[int, ...]]] = {
    Operation.SUM: {"double": (MANTISSA, SHIFT), "single": (MANTISSA, SHIFT), "float": (HALF, 0), "divide": (5, 0)},
    Operation.AVERAGE: {"real": (1, HALF, 4, ONE, -3)},
    Operation.ADD: {"double": FIXED_ADD, "float": (HALF, ONE, HALF), "real": (3, HALF, -4, ONE, 5, HALF)},
    Operation.MULTIPLY: {
        "double": (1, 2, 3, MANTISSA, SHIFT),
        "float": (1, 2, 3, HALF, 0),
        "real": (1, HALF, 2, ONE, 3, HALF),
    },
}
WEIGHED = (Operation.CONVOLUTION, Operation.DEPTHWISE)
TWO = (Operation.ADD, Operation.MULTIPLY)
OPERATIONS = (*Operation, *WEIGHED, *WEIGHED, Operation.CONVOLUTION)


def parameters(random: np.random.Generator, lanes: int) -> np.ndarray:
    """The bytes of all sets: bias, multiplier and shift of each lane."""
    values = np.zeros((PARAMETER_SETS, REGISTERS, lanes), np.int32)
    values[:, 0] = random.integers(-5000, 5000, (PARAMETER_SETS, lanes))
    values[:, 1] = random.integers(1 << 30, 1 << 31, (PARAMETER_SETS, lanes))
    values[:, 2] = random.integers(-12, -4, (PARAMETER_SETS, lanes))
    return values.view(np.uint8).reshape(-1)


@dataclass(frozen=True)
class Shape:
    """Rounds of the loops around the result groups, reduction steps, lanes, and the bytes of a group's output."""

    outer: int
    inner: int
    steps: int
    lanes: int
    group_bytes: int

    @property
    def groups(self) -> int:
        return self.outer * self.inner

    @property
    def nest(self) -> tuple[Loop, ...]:
        return (Loop("o", self.outer), Loop("g", self.inner), Loop("k", self.steps), Loop("l", self.lanes))


def tensorop(sketch: Sketch) -> None:
    random, tile = sketch.random, sketch.chip.tile
    operation = random.choice(OPERATIONS)
    broadcast = operation is Operation.CONVOLUTION
    lanes = random.randint(1, tile.lanes if broadcast else tile.vector_bytes)
    reduces = operation not in (*TWO, Operation.TABLE)
    sums_out = reduces and operation not in (Operation.MAXIMUM, Operation.AVERAGE) and sketch.maybe(0.7)
    unit = min(sketch.word, tile.lanes if broadcast else tile.vector_bytes)
    shape = Shape(
        outer=random.choice((1, 1, 2, 3, 4)),
        inner=random.choice((1, 1, 2, 3, 5)),
        steps=random.choice((1, 1, 2, 3, 5, 9)) if reduces else 1,
        lanes=lanes,
        group_bytes=-(-lanes // unit) * unit,
    )
    if shape.groups * shape.steps <= MOST_STEPS:
        Making(sketch, operation, shape, sums_out).post()


@dataclass
class Making:
    """A tensorop in the making: first what it reads, which decides on the tiles, then where it writes."""

    sketch: Sketch
    operation: Operation
    shape: Shape
    sums_out: bool
    apart: bool = False

    def post(self) -> None:
        sketch, shape = self.sketch, self.shape
        operand = (
            sketch.chip.tile.inputs_per_cycle
            if self.operation is Operation.CONVOLUTION
            else sketch.chip.tile.vector_bytes
        )
        written_bytes = sketch.chip.tile.register_bytes if self.sums_out else shape.group_bytes
        memory = "wide" if self.sums_out else "narrow"
        moving = sketch.random.choice((True, True, False))
        needed = operand * shape.groups * shape.steps if moving else operand * shape.steps
        source, at = sketch.source("narrow", -(-needed // sketch.word) * sketch.word)
        whole = sketch.row if self.sums_out else sketch.word
        behind = -(-written_bytes // whole) * whole
        base = sketch.place(memory, behind + written_bytes * shape.groups) + behind
        group, step = (shape.steps * operand, operand) if moving else (0, operand)
        self.fields: dict[str, Any] = {"input": self._moved(at, group, step)}
        loop, chunk = ("o", shape.inner * group) if moving else ("", 0)
        self.wait = [*sketch.watch(source, loop, chunk)]
        self.tiles = source.tiles
        again = not self.sums_out and operand <= shape.group_bytes and sketch.maybe(0.4)
        if again and shape.group_bytes % operand == 0:  # a group reads what the one before it has written
            self.fields["input"] = Reference(base - written_bytes, self._by_group(written_bytes))
            self.wait = []
        self._add_operands(base, operand)
        self._add_results(base, written_bytes)
        produce = sketch.random.choice(("o", "g", "k", "k", None))
        op = TensorOp(
            tiles=bitmap(self.tiles),
            operation=self.operation,
            nest=Nest(shape.nest, self._alternate()),
            reduce=("k",),
            wait=tuple(self.wait),
            produce=produce,
            widths=sketch.random.choice(((8, 8), (8, 8), (8, 16), (16, 16))),
            **self.fields,
        )
        unit = 0 if self.apart else {"g": shape.inner, "k": 1}.get(produce or "", 0) * written_bytes
        size = written_bytes * shape.groups // whole * whole
        sketch.post(op, Buffer(memory, base, size, self.tiles, unit_bytes=unit))

    def _by_group(self, stride: int) -> tuple[tuple[str, int], ...]:
        return (("o", self.shape.inner * stride), ("g", stride))

    def _interleaved(self, base: int) -> Reference:
        """The first words of all groups, then their second ones, and so on."""
        word = self.sketch.word
        strides = (*self._by_group(word), ("l", self.shape.groups * word))
        return Reference(base, strides)

    def _moved(self, base: int, group: int, step: int) -> Reference:
        return Reference(base, (*self._by_group(group), ("k", step)))

    def _alternate(self) -> Alternate | None:
        loop = self.sketch.random.choice(("o", "g", None, None))
        return Alternate(loop, self.sketch.random.randint(1, self.shape.lanes)) if loop else None

    def _add_operands(self, base: int, operand: int) -> None:
        sketch, shape = self.sketch, self.shape
        if self.operation in TWO:
            at = sketch.random.randrange(0, 16) * max(sketch.word, operand)
            self.fields["input_b"] = self._moved(at, operand, 0)
        if self.operation in WEIGHED:
            self._add_weights()
        if self.operation in (*WEIGHED, Operation.SUM) and sketch.maybe(0.3):
            self._add_sums_in(base)
        self.fields |= {"input_zero_point": sketch.random.randint(-9, 9), "output_zero_point": shape.lanes}

    def _add_weights(self) -> None:
        """A row a step, by rounds of the outer loop if they come from an instruction that is still at work."""
        sketch, shape = self.sketch, self.shape
        by_round = sketch.maybe(0.5)
        rows = shape.steps * (shape.outer if by_round else 1)
        if rows > CONSTANT_ROWS:
            by_round, rows = False, shape.steps
        weights, at = sketch.source("wide", rows * sketch.row, self.tiles)
        self._narrow_down(weights)
        chunk = shape.steps * sketch.row
        self.wait += sketch.watch(weights, "o" if by_round else "", chunk)
        strides = (("o", chunk if by_round else 0), ("k", sketch.row))
        self.fields["weights"] = Reference(at, strides)

    def _narrow_down(self, operand: Buffer) -> None:
        self.tiles = tuple(tile for tile in self.tiles if tile in operand.tiles)

    def _add_sums_in(self, base: int) -> None:
        sketch = self.sketch
        if self.sums_out and sketch.maybe(0.5):  # those of the group before
            register_bytes = sketch.chip.tile.register_bytes
            self.fields["sums_in"] = Reference(base - register_bytes, self._by_group(register_bytes))
            return
        if self.shape.steps <= CONSTANT_ROWS and sketch.maybe(0.5):  # the same rows for all groups, one for each step
            sums, at = sketch.source("wide", sketch.row * self.shape.steps, self.tiles)
            self._narrow_down(sums)
            self.wait += sketch.watch(sums, "", sketch.row * self.shape.steps)
            self.fields["sums_in"] = Reference(at, (("k", sketch.row),))
            return
        sums, at = sketch.source("wide", sketch.row * self.shape.outer, self.tiles)
        self._narrow_down(sums)
        self.wait += sketch.watch(sums, "o", sketch.row)
        self.fields["sums_in"] = Reference(at, (("o", sketch.row),))

    def _add_results(self, base: int, written_bytes: int) -> None:
        sketch = self.sketch
        target = Reference(base, self._by_group(written_bytes))
        if self.sums_out:
            self.fields["sums_out"] = target
            return
        self.apart = self.shape.lanes > sketch.word and sketch.maybe(0.7)
        self.fields["output"] = self._interleaved(base) if self.apart else target
        if self.operation is Operation.TABLE:
            self.fields["parameters"] = Reference(sketch.first_row)
        elif self.operation in WEIGHED:
            strides = (("o", sketch.random.choice((0, sketch.chip.tile.register_bytes * REGISTERS))),)
            few = self.shape.outer <= PARAMETER_SETS
            self.fields["parameters"] = Reference(sketch.first_row, strides if few else ())
            self.fields["rule"] = sketch.random.choice(("double", "single"))
        elif self.operation in SCALINGS:
            rule = sketch.random.choice(sorted(SCALINGS[self.operation]))
            self.fields |= {"rule": rule, "scaling": SCALINGS[self.operation][rule]}
