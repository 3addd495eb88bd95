"""Random programs for random rotating chips, without faults: what two models must agree on."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.program import DataSegment
from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.model.program import HostTensor, Layout, Program, Stripe
from tilesim.rotating.topology import Topology

INPUT_ROWS, WORK_ROWS, SENT_ROWS, IDLE_ROWS = 6, 6, 40, 4
WEIGHT_ROWS, TABLE_ROWS, STREAMED_ROWS = 8, 32, 6
"""Rows of the data RAM that DMA in brings, that only the array uses, that DMA out sends, that nobody reads; rows of the
weight RAM, with room for the parameters behind them.
"""


def random_topology(rng: Random) -> Topology:
    """A small chip of any shape."""
    units, segments = rng.choice((8, 12, 16, 24)), rng.choice((1, 1, 2))
    word_bits = rng.choice((8, 8, 16))
    keys: dict[str, Any] = {
        "machine": "rotating",
        "name": "random",
        "units": {
            "count": units,
            "word_bits": word_bits,
            "segments": segments,
            "segment_shift": rng.choice(("none", "quarter")) if segments == 2 else "none",
            "accumulator_bits": rng.choice((32, 32, 16, 12)),
            "overflow": rng.choice(("saturate", "wrap")),
        },
        "rotation": {"direction": rng.choice(("up", "down")), "distances": rng.choice(("1", "1 2", "1-3"))},
        "data_ram": {
            "rows": INPUT_ROWS + WORK_ROWS + SENT_ROWS + IDLE_ROWS,
            "ports": rng.choice(("single", "single", "dual")),
        },
        "weight_ram": {
            "rows": WEIGHT_ROWS + STREAMED_ROWS + 2 * 9 + TABLE_ROWS,
            "ports": rng.choice(("single", "single", "dual")),
            "shape": rng.choice(("rows", "rows", "half_rows")),
        },
        "output": {
            "words_per_cycle": rng.choice((0, 0, 2, units // 2, units)),
            "latency_cycles": rng.randint(1, 5),
            "buffers": rng.randint(1, 3),
        },
        "host": {
            "bytes_per_cycle": rng.choice((2, 4, 8, units * word_bits // 8)),
            "latency_cycles": rng.choice((0, 0, 0, 2)),
        },
    }
    return Topology.model_validate(keys)


@dataclass
class _Writer:
    """The program so far; ``counts`` are those of the loops around, ``seen`` the rows that may be loaded."""

    rng: Random
    topology: Topology
    ops: list[isa.Instruction] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    inputs_there: int = 0
    weights_there: int = WEIGHT_ROWS
    rows_written: int = 0
    sent: int = 0
    work: list[int] = field(default_factory=list)
    sets: set[int] = field(default_factory=set)
    table: bool = False
    rule: str = "double"
    """Of the whole program: only one of them can combine."""
    sends: list[tuple[int, int, int]] = field(default_factory=list)
    """First row, rows, and how many rows must have been written before."""

    def rows(self, low: int, high: int, repeat: int = 1) -> isa.Rows:
        """Rows from ``low`` up to ``high``, whatever the loops count."""
        room, strides = high - low - 1, []
        for count in self.counts:
            most = room // (count - 1) if count > 1 else 3
            strides.append(self.rng.randint(0, min(2, most)))
            room -= strides[-1] * (count - 1)
        step = self.rng.randint(0, min(1, room // (repeat - 1))) if repeat > 1 else 0
        room -= step * (repeat - 1)
        return isa.Rows(low + self.rng.randint(0, max(0, room)), tuple(strides), step)

    def data_rows(self, repeat: int = 1) -> isa.Rows:
        if self.work and self.rng.random() < 0.5:
            return isa.Rows(self.rng.choice(self.work))
        return self.rows(0, self.inputs_there, repeat)

    def weight_rows(self, repeat: int) -> isa.Rows:
        rows = self.weights_there * (2 if self.topology.weight_ram.shape == "half_rows" else 1)
        return self.rows(0, rows, repeat)

    def step(self) -> None:
        rng, repeat = self.rng, self.rng.choice((1, 1, 2, 5))
        alu = rng.choice((isa.Alu.MULTIPLY_ADD,) * 3 + tuple(isa.Alu))
        kind = rng.choice(("load", "rotate", "rotate", "hold"))
        self.ops.append(
            isa.Step(
                data=self.data_rows(repeat) if kind == "load" else None,
                rotate=rng.choice(self.topology.rotation.reach) if kind == "rotate" else 0,
                weights=self.weight_rows(repeat) if rng.random() < 0.6 else None,
                alu=alu,
                plane=rng.randint(0, 3) if alu is isa.Alu.PLANE else 0,
                repeat=repeat,
            )
        )

    def out(self) -> None:
        rng, turns = self.rng, prod(self.counts)
        data = self.data_rows() if rng.random() < 0.4 else None
        functions = [isa.Function.RAW] + [isa.Function.COMBINE] * (self.rule == "double")
        functions += [isa.Function.REQUANTISE] * (2 if self.sets else 0) + [isa.Function.LOOKUP] * self.table
        function = rng.choice(functions)
        rows = 4 if function is isa.Function.RAW else 1
        self.rows_written += turns * rows
        if rng.random() < 0.5 and self.sent + turns * rows <= SENT_ROWS:
            first = INPUT_ROWS + WORK_ROWS + self.sent
            strides = [rows * prod(self.counts[k + 1 :]) for k in range(len(self.counts))]
            row = isa.Rows(first, tuple(strides))
            self.sends.append((self.sent, turns * rows, self.loop_end()))
            self.sent += turns * rows
            outside = "fill"
        else:
            place = rng.randint(0, WORK_ROWS - rows)
            row, outside = isa.Rows(INPUT_ROWS + place), "fill"
            self.work += [INPUT_ROWS + place + k for k in range(rows)]
        self.ops.append(
            isa.Out(
                row=row,
                data=data,
                function=function,
                set=rng.choice(sorted(self.sets)) if function is isa.Function.REQUANTISE else 0,
                outside=outside,  # type: ignore[arg-type]
                fill=rng.randint(-100, 100),
                clear=rng.choice(("no", "zero", "least")),
            )
        )

    def loop_end(self) -> int:
        """A number that :meth:`loop` replaces by the rows that are written up to its end."""
        return -1 if self.counts else self.rows_written

    def control(self) -> None:
        rng, topology = self.rng, self.topology
        low, high = sorted(rng.sample(range(-100, 100), 2))
        self.ops.append(
            isa.Set(
                data_zero=rng.randint(-20, 20),
                weight_zero=rng.randint(-3, 3),
                rule=self.rule,
                zero_point=rng.randint(-10, 10),
                clamp=(low, high),
                scaling=(0, 1 << 30, 0, 3, 1 << 30, -1, 2, 1 << 30, -19),
            )
        )
        if rng.random() < 0.5:
            block = rng.choice([b for b in range(2, topology.units.count + 1) if topology.units.count % b == 0])
            count = rng.randint(1, block)
            self.ops.append(
                isa.Mask(
                    offset=rng.randrange(topology.units.count),
                    block=block,
                    stride=rng.randint(1, max(1, (block - 1) // max(1, count - 1))) if count > 1 else 1,
                    count=count,
                    blocks=rng.randint(1, topology.units.count // block),
                )
            )

    def parameters(self) -> None:
        first = WEIGHT_ROWS + STREAMED_ROWS
        if self.rng.random() < 0.3:
            self.ops.append(isa.Parameters(row=isa.Rows(first + 18), table=True))
            self.table = True
            return
        number = self.rng.randint(0, 1)
        self.sets.add(number)
        row = first + 9 * self.rng.randint(0, 1)
        self.ops.append(isa.Parameters(row=isa.Rows(row), set=number))

    def await_rows(self) -> None:
        more = self.rng.randint(0, INPUT_ROWS - self.inputs_there)
        self.inputs_there += more
        self.ops.append(isa.Sync(unit=isa.Queue.ARRAY, until=isa.Counter.DMA_IN, count=self.inputs_there))

    def loop(self) -> None:
        count = self.rng.randint(1, 3)
        self.counts.append(count)
        begun = len(self.sends)
        self.ops.append(isa.Loop(count=count))
        for _ in range(self.rng.randint(1, 4)):
            self.item(in_loop=True)
        self.ops.append(isa.End())
        self.counts.pop()
        if not self.counts:
            done = [(row, rows, self.rows_written) for row, rows, _ in self.sends[begun:]]
            self.sends[begun:] = done

    def item(self, in_loop: bool = False) -> None:
        kinds = [self.step] * 5 + [self.out] * 2 + [self.control]
        kinds += [] if in_loop else [self.parameters, self.await_rows]
        kinds += [self.loop] if len(self.counts) < 2 else []
        self.rng.choice(kinds)()


def random_program(seed: int) -> tuple[Program, list[NDArray[Any]]]:
    """A program that keeps to the rules, and its inputs."""
    rng, data = Random(seed), np.random.default_rng(seed)  # noqa: S311  (no secret)
    topology = random_topology(rng)
    writer = _Writer(rng, topology, rule=rng.choice(("double", "double", "single")))
    writer.control()
    writer.inputs_there = rng.randint(1, INPUT_ROWS)
    first = isa.Sync(unit=isa.Queue.ARRAY, until=isa.Counter.DMA_IN, count=writer.inputs_there)
    for _ in range(rng.randint(3, 14)):
        writer.item()
    while not writer.sent:
        writer.out()
    writer.ops.append(isa.Halt())
    run = [*_coming(rng), first, *writer.ops, *_going(rng, writer)]
    load = (
        isa.ReadHostMemory(source="data", rows=WEIGHT_ROWS, ram=isa.Ram.WEIGHT),
        isa.ReadHostMemory(
            source="data",
            offset=WEIGHT_ROWS,
            rows=18 + TABLE_ROWS,
            ram=isa.Ram.WEIGHT,
            row=WEIGHT_ROWS + STREAMED_ROWS,
        ),
        isa.Halt(),
    )
    program = Program(
        "random",
        topology,
        load,
        tuple(run),
        (DataSegment("rows", _data_rows(topology, data)),),
        (_tensor("in", INPUT_ROWS, topology),),
        (_tensor("out", writer.sent, topology),),
    )
    dtype = np.dtype(f"int{topology.units.word_bits}")
    limits = np.iinfo(dtype)
    return program, [data.integers(limits.min, limits.max, (1, INPUT_ROWS, topology.units.count, 1), dtype)]


def _coming(rng: Random) -> list[isa.Instruction]:
    """Inputs in one or two transfers, then rows that nobody reads, into either RAM."""
    cut = rng.randint(0, INPUT_ROWS)
    parts = [(0, cut), (cut, INPUT_ROWS - cut)]
    ops: list[isa.Instruction] = [
        isa.ReadHostMemory(offset=offset, rows=rows, row=offset) for offset, rows in parts if rows
    ]
    for _ in range(rng.randint(0, 2)):
        idle = INPUT_ROWS + WORK_ROWS + SENT_ROWS
        if rng.random() < 0.5:
            ops.append(isa.ReadHostMemory(rows=rng.randint(1, IDLE_ROWS), row=idle))
        else:
            rows = rng.randint(1, STREAMED_ROWS)
            ops.append(isa.ReadHostMemory(source="data", rows=rows, ram=isa.Ram.WEIGHT, row=WEIGHT_ROWS))
    return ops


def _going(rng: Random, writer: _Writer) -> list[isa.Instruction]:
    """Rows to the host, as soon as they are written or later."""
    ops: list[isa.Instruction] = []
    for row, rows, written in writer.sends:
        ops.append(isa.Sync(unit=isa.Queue.DMA_OUT, until=isa.Counter.OUTPUT, count=written))
        if rng.random() < 0.2:
            ops.append(isa.Sync(unit=isa.Queue.DMA_OUT, until=isa.Counter.DMA_IN, count=rng.randint(1, INPUT_ROWS)))
        ops.append(isa.WriteHostMemory(offset=row, rows=rows, row=INPUT_ROWS + WORK_ROWS + row))
    return ops


def _data_rows(topology: Topology, data: np.random.Generator) -> NDArray[np.uint8]:
    """Weights, two sets of parameters, a table."""
    rows = data.integers(0, 256, (WEIGHT_ROWS + 18 + TABLE_ROWS, topology.row_bytes), np.uint8)
    words = topology.word_bytes
    for first in (WEIGHT_ROWS, WEIGHT_ROWS + 9):
        values = rows[first : first + topology.parameter_rows].reshape(-1, topology.units.count, words)
        of_units = values.transpose(1, 0, 2).reshape(topology.units.count, -1)
        of_units[:, 3] = data.integers(0, 2, topology.units.count) * 255
        of_units[:, 7] &= 0x7F
        of_units[:, 8] = data.integers(-20, 3, topology.units.count).astype(np.int8).view(np.uint8)
        back = of_units.reshape(topology.units.count, -1, words).transpose(1, 0, 2)
        rows[first : first + topology.parameter_rows] = back.reshape(-1, topology.row_bytes)
    return rows.reshape(-1)


def _tensor(name: str, rows: int, topology: Topology) -> HostTensor:
    """A map that stands in ``rows`` rows, each word in its place."""
    units = topology.units.count
    layout = Layout(rows, units, 1, (Stripe(0, units, units, 0, ((0,),)),))
    dtype = f"int{topology.units.word_bits}"
    return HostTensor(name, 0 if name == "in" else 1, dtype, (1, rows, units, 1), (0, 1, 2, 3), dtype, layout)
