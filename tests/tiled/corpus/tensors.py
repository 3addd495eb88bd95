"""Random tensorops: every operation, with partial sums, parameters, watchers by rounds, and groups that read what those
before them write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.tiled.corpus.moves import bitmap
from tests.tiled.corpus.sketch import CONSTANT_BYTES, CONSTANT_ROWS, Buffer, Sketch
from tilesim.arithmetic.requantise import float_bits, quantise_multiplier
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp

REGISTERS, PARAMETER_SETS = 3, 2
MOST_STEPS = 60
HALF, ONE = (int(float_bits(value)[0]) for value in (0.5, 1.0))
MANTISSA, SHIFT = quantise_multiplier(0.03)
FIXED_ADD = (3, MANTISSA, 0, -4, MANTISSA, 1, 5, MANTISSA, -10)
SCALINGS: dict[Operation, dict[str, tuple[int, ...]]] = {
    Operation.SUM: {"double": (MANTISSA, SHIFT), "single": (MANTISSA, SHIFT), "float": (HALF, 0), "divide": (5, 0)},
    Operation.AVERAGE: {"real": (1, HALF, 4, ONE, -3)},
    Operation.ADD: {"double": FIXED_ADD, "float": (HALF, ONE, HALF), "real": (3, HALF, -4, ONE, 5, HALF)},
    Operation.LEAKY_RELU: {"double": (MANTISSA, 3, MANTISSA, 1), "single": (MANTISSA, 2, -MANTISSA, 0)},
    Operation.MULTIPLY: {
        "double": (1, 2, 3, MANTISSA, SHIFT),
        "float": (1, 2, 3, HALF, 0),
        "real": (1, HALF, 2, ONE, 3, HALF),
    },
}
WEIGHED = (Operation.CONVOLUTION, Operation.DEPTHWISE)
TWO = (Operation.ADD, Operation.MULTIPLY)
ALONE = (Operation.TABLE, Operation.LEAKY_RELU)
OPERATIONS = (
    *(each for each in Operation if each is not Operation.LEAKY_RELU),
    *WEIGHED,
    *WEIGHED,
    Operation.LEAKY_RELU,
)
WIDE_SCALINGS = {
    **SCALINGS,
    Operation.ADD: {**SCALINGS[Operation.ADD], "double16": FIXED_ADD, "shift": (2, 0, -1)},
}
"""Of operands of 16 bits."""
CLAMPS = ((-128, 127), (-128, 127), (-100, 90), (0, 127))
I8, I16 = ElementType.I8, ElementType.I16
TYPES = ((I8, I8, I8), (I16, I8, I16), (I16, I8, I16), (I16, I8, I8), (I8, I8, I16), (I8, I16, I8), (I16, I16, I16))
"""Of activations, weights and outputs."""


def parameters(random: np.random.Generator, lanes: int) -> np.ndarray:
    """The bytes of all sets: bias, multiplier and shift of each lane; then sets whose biases have 64 bits."""
    values = np.zeros((PARAMETER_SETS, REGISTERS, lanes), np.int32)
    values[:, 0] = random.integers(-5000, 5000, (PARAMETER_SETS, lanes))
    values[:, 1] = random.integers(1 << 30, 1 << 31, (PARAMETER_SETS, lanes))
    values[:, 2] = random.integers(-12, -4, (PARAMETER_SETS, lanes))
    wide = np.zeros((PARAMETER_SETS, REGISTERS + 1, lanes), np.int32)
    biases = random.integers(-(1 << 36), 1 << 36, (PARAMETER_SETS, lanes))
    wide[:, 0], wide[:, 1] = biases.astype(np.int32), biases >> 32
    wide[:, 2:] = values[:, 1:] - np.array([[0], [12]], np.int32)
    return np.concatenate([values.reshape(-1), wide.reshape(-1)]).view(np.uint8)


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
    reduces = operation not in (*TWO, *ALONE)
    sums_out = reduces and operation not in (Operation.MAXIMUM, Operation.AVERAGE) and sketch.maybe(0.7)
    types = sketch.types.choice(TYPES) if sketch.wide and operation is not Operation.TABLE else TYPES[0]
    unit = min(sketch.word, (tile.lanes if broadcast else tile.vector_bytes) * types[2].bytes)
    shape = Shape(
        outer=random.choice((1, 1, 2, 3, 4)),
        inner=random.choice((1, 1, 2, 3, 5)),
        steps=random.choice((1, 1, 2, 3, 5, 9)) if reduces else 1,
        lanes=lanes,
        group_bytes=-(-lanes * types[2].bytes // unit) * unit,
    )
    if shape.groups * shape.steps <= MOST_STEPS:
        Making(sketch, operation, shape, sums_out, types).post()


def many_groups(sketch: Sketch) -> None:
    """A product whose tile may have little else to do for a long time; often it writes for as long as it reads."""
    random = sketch.random
    operation = random.choice(WEIGHED)
    most = sketch.chip.tile.lanes if operation is Operation.CONVOLUTION else sketch.chip.tile.vector_bytes
    lanes = random.choice((1, most, most))
    unit = min(sketch.word, most)
    words = -(-lanes // unit)
    shape = Shape(
        outer=random.choice((1, 2, 3, 5)),
        inner=random.choice((4, 6, 9, 14, 24, 40)),
        steps=random.choice((words, words, words, 1, 2, 3, 5, 8)),
        lanes=lanes,
        group_bytes=words * unit,
    )
    Making(sketch, operation, shape, sketch.maybe(0.2), TYPES[0]).post()


@dataclass
class Making:
    """A tensorop in the making: first what it reads, which decides on the tiles, then where it writes."""

    sketch: Sketch
    operation: Operation
    shape: Shape
    sums_out: bool
    types: tuple[ElementType, ElementType, ElementType]
    apart: bool = False

    def post(self) -> None:
        sketch, shape = self.sketch, self.shape
        operand = self._elements * self.types[0].bytes
        written_bytes = self._sum_bytes if self.sums_out else shape.group_bytes
        memory = "wide" if self.sums_out else "narrow"
        moving = sketch.random.choice((True, True, False))
        moving &= operand * shape.groups * shape.steps <= CONSTANT_BYTES
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
            input_type=self.types[0],
            weight_type=self.types[1],
            output_type=self.types[2],
            widths=self._widths,
            clamp=tuple(limit << (self.types[2].bits - 8) for limit in sketch.random.choice(CLAMPS)),
            **self.fields,
        )
        unit = 0 if self.apart else {"g": shape.inner, "k": 1}.get(produce or "", 0) * written_bytes
        size = written_bytes * shape.groups // whole * whole
        sketch.post(op, Buffer(memory, base, size, self.tiles, unit_bytes=unit))

    @property
    def _elements(self) -> int:
        tile = self.sketch.chip.tile
        return tile.inputs_per_cycle if self.operation is Operation.CONVOLUTION else tile.vector_bytes

    @property
    def _widths(self) -> tuple[int, int]:
        if self.operation is Operation.MULTIPLY:
            return self.types[0].bits, self.types[0].bits
        return self.types[0].bits, self.types[1].bits if self.operation in WEIGHED else 8

    @property
    def _sum_registers(self) -> int:
        return 2 if 16 in self._widths else 1

    @property
    def _sum_bytes(self) -> int:
        return self.sketch.chip.tile.register_bytes * self._sum_registers

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
            at = sketch.random.randrange(0, 16) * max(sketch.word, operand) // self.types[0].bytes
            at -= at % sketch.word
            self.fields["input_b"] = self._moved(at, operand, 0)
        if self.operation in WEIGHED:
            self._add_weights()
        if self.operation in (*WEIGHED, Operation.SUM) and sketch.maybe(0.3):
            self._add_sums_in(base)
        self.fields |= {"input_zero_point": sketch.random.randint(-9, 9), "output_zero_point": shape.lanes}

    def _add_weights(self) -> None:
        """A row a step, or two, by rounds of the outer loop if they come from an instruction that is still at work."""
        sketch, shape = self.sketch, self.shape
        by_round = sketch.maybe(0.5)
        row = sketch.row * self.types[1].bytes
        rows = shape.steps * (shape.outer if by_round else 1)
        if rows * row > CONSTANT_ROWS * sketch.row:
            by_round, rows = False, shape.steps
        weights, at = sketch.source("wide", rows * row, self.tiles)
        at -= at % row  # a pair of rows begins with an even one
        self._narrow_down(weights)
        chunk = shape.steps * row
        self.wait += sketch.watch(weights, "o" if by_round else "", chunk)
        strides = (("o", chunk if by_round else 0), ("k", row))
        self.fields["weights"] = Reference(at, strides)

    def _narrow_down(self, operand: Buffer) -> None:
        self.tiles = tuple(tile for tile in self.tiles if tile in operand.tiles)

    def _add_sums_in(self, base: int) -> None:
        sketch, row = self.sketch, max(self.sketch.row, self._sum_bytes)
        if self.sums_out and sketch.maybe(0.5):  # those of the group before
            self.fields["sums_in"] = Reference(base - self._sum_bytes, self._by_group(self._sum_bytes))
            return
        if self.shape.steps <= CONSTANT_ROWS // max(1, row // sketch.row) and sketch.maybe(0.5):
            sums, at = sketch.source("wide", row * self.shape.steps, self.tiles)  # for all groups, rows for each step
            self._narrow_down(sums)
            self.wait += sketch.watch(sums, "", row * self.shape.steps)
            self.fields["sums_in"] = Reference(at, (("k", row),))
            return
        sums, at = sketch.source("wide", row * self.shape.outer, self.tiles)
        self._narrow_down(sums)
        self.wait += sketch.watch(sums, "o", row)
        self.fields["sums_in"] = Reference(at, (("o", row),))

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
            wide, register_bytes = self._sum_registers > 1, sketch.chip.tile.register_bytes
            first = sketch.first_row + register_bytes * PARAMETER_SETS * REGISTERS * wide
            strides = (("o", sketch.random.choice((0, register_bytes * (REGISTERS + wide)))),)
            few = self.shape.outer <= PARAMETER_SETS
            self.fields["parameters"] = Reference(first, strides if few else ())
            rules = sketch.types.choice((("double", "long"), ("wide", "float"))) if wide else ("double", "single")
            self.fields["rule"] = sketch.random.choice(rules)
        elif self.operation in SCALINGS:
            scalings = (WIDE_SCALINGS if self._sum_registers > 1 else SCALINGS)[self.operation]
            rule = sketch.random.choice(sorted(scalings))
            self.fields |= {"rule": rule, "scaling": scalings[rule]}
